/*
 * fuzz_rdata.c - RDATA of every type, from text and from messages.
 *
 * The first two octets choose the type (the n-th of the table, or any), the
 * third the input: even text, odd a message whose RDATA starts at the offset
 * of the fourth.
 */
#include <stdlib.h>
#include <string.h>

#include "dns/name.h"
#include "dns/rdata.h"
/* The runner builds a target of one file. */
#include "lib/words.c"
#include "target.h"

#define WORDS_MAX 512
#define TEXT_MAX (6 * RDATA_MAX_LEN + 4096)
#define TEXT_WORDS_MAX 40000

static const uint8_t origin[] = "\7example\3com";
static uint8_t rdata[RDATA_MAX_LEN], again[RDATA_MAX_LEN];
static char text[TEXT_MAX];
static struct token words[TEXT_WORDS_MAX];

static uint16_t
choose_type(const uint8_t *data)
{
	size_t count = 0;

	while (rrtype_at(count) != NULL)
		count++;
	if (data[0] < 255)
		return rrtype_at(data[1] % count)->number;
	return (uint16_t)(data[1] * 257u);
}

/* Printed text reads back to the same octets with the same verdict, and is no
 * more than doubted. */
static void
check_print(uint16_t type, const uint8_t *octets, size_t len,
	enum nsd_err verdict)
{
	struct rdata_error error = { 0, "", false };
	size_t text_len, count, again_len;

	text_len = rdata_print(type, octets, len, text, sizeof(text));
	MUST(text_len < sizeof(text) && strlen(text) == text_len);
	count = words_split(text, text_len, words, TEXT_WORDS_MAX);
	MUST(count <= TEXT_WORDS_MAX);
	MUST(rdata_parse(type, words, count, origin, again, &again_len,
		&error) == verdict);
	MUST(verdict == NSD_OK || error.is_doubt);
	MUST(again_len == len && memcmp(again, octets, len) == 0);
}

static void
check_wire(uint16_t type, const uint8_t *octets, size_t len,
	enum nsd_err verdict)
{
	struct rdata_name names[RDATA_NAMES_MAX];
	unsigned i, count;

	check_print(type, octets, len, verdict);
	MUST(rdata_compare(type, octets, len, octets, len) == 0);
	count = rdata_list_names(type, octets, len, names);
	MUST(count <= RDATA_NAMES_MAX);
	for (i = 0; i < count; i++)
		MUST(names[i].offset + name_len(octets + names[i].offset)
			<= len);
	MUST(rdata_additional_offset(type, octets, len) < (int)len);
}

static void
fuzz_text(uint16_t type, const uint8_t *data, size_t size)
{
	struct rdata_error error = { SIZE_MAX, "", false };
	uint8_t *wire;
	const char *why;
	size_t count, len;
	enum nsd_err err;

	count = words_split((const char *)data, size, words, WORDS_MAX);
	if (count > WORDS_MAX)
		return;
	err = rdata_parse(type, words, count, origin, rdata, &len, &error);
	if (err != NSD_OK)
		MUST(error.token <= count && strlen(error.text) > 0);
	if (err != NSD_OK && err != NSD_E_ZONE)
		return;
	wire = malloc(len + (len == 0));
	MUST(wire != NULL);
	memcpy(wire, rdata, len);
	/* A doubt may be about the text alone. */
	if (err == NSD_E_ZONE && error.is_doubt)
		err = rdata_check(type, wire, len, &why);
	MUST(rdata_check(type, wire, len, &why) == err);
	MUST(err == NSD_OK || err == NSD_E_ZONE);
	check_wire(type, wire, len, err);
	free(wire);
}

static void
fuzz_message(uint16_t type, const uint8_t *message, size_t size,
	size_t offset)
{
	const char *why = NULL;
	struct cursor c;
	size_t len;
	enum nsd_err err;

	if (offset > size)
		return;
	err = rdata_check(type, message + offset, size - offset, &why);
	MUST(err == NSD_OK || why != NULL);
	if (err != NSD_E_WIRE)
		check_wire(type, message + offset, size - offset, err);
	else
		rdata_print(type, message + offset, size - offset, text,
			sizeof(text));
	cursor_init(&c, message, size);
	c.at += offset;
	if (rdata_read(type, &c, (uint16_t)(size - offset), rdata, &len)
		!= NSD_OK) {
		MUST(c.failed && err == NSD_E_WIRE);
		return;
	}
	MUST(cursor_left(&c) == 0);
	err = rdata_check(type, rdata, len, &why);
	MUST(err != NSD_E_WIRE);
	check_wire(type, rdata, len, err);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t type;

	if (size < 4 || size > RDATA_MAX_LEN)
		return 0;
	type = choose_type(data);
	if (data[2] % 2 == 0)
		fuzz_text(type, data + 3, size - 3);
	else
		fuzz_message(type, data + 4, size - 4, data[3]);
	return 0;
}
