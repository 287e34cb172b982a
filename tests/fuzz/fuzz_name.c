/*
 * fuzz_name.c - names from text and from messages.
 *
 * The first octet chooses: 0 to 127 text, else a message whose name starts
 * at the offset that the next octet gives.
 */
#include <string.h>

#include "dns/name.h"
#include "target.h"

static void
check_name(const uint8_t *name, size_t size)
{
	uint8_t lower[NAME_MAX_LEN], again[NAME_MAX_LEN];
	char text[NAME_TEXT_MAX];
	const char *why;
	size_t len, again_size;

	MUST(size >= 1 && size <= NAME_MAX_LEN);
	MUST(name_len(name) == size);
	MUST(name_count_labels(name) <= NAME_MAX_LABELS);
	len = name_print_text(name, text);
	MUST(len < NAME_TEXT_MAX && strlen(text) == len);
	MUST(name_parse_text(text, len, NULL, again, &again_size, &why)
		== NSD_OK);
	MUST(again_size == size && memcmp(again, name, size) == 0);
	memcpy(lower, name, size);
	name_lower(lower);
	MUST(name_equal(lower, name) && name_compare(lower, name) == 0);
	MUST(name_is_within(name, name_skip_labels(lower, 1)));
}

static void
fuzz_text(const char *text, size_t len)
{
	static const uint8_t origin[] = "\7example\3com";
	uint8_t name[NAME_MAX_LEN];
	const char *why = NULL;
	size_t size;
	int i;

	for (i = 0; i < 2; i++) {
		if (name_parse_text(text, len, i == 0 ? origin : NULL, name,
			&size, &why) == NSD_OK)
			check_name(name, size);
		else
			MUST(why != NULL);
	}
}

static void
fuzz_message(const uint8_t *message, size_t len, size_t offset)
{
	uint8_t name[NAME_MAX_LEN], plain[NAME_MAX_LEN];
	struct cursor c;
	size_t size, plain_size;

	if (offset > len)
		return;
	cursor_init(&c, message, len);
	c.at += offset;
	if (name_read(&c, name, &size) != NSD_OK) {
		MUST(c.failed);
	} else {
		MUST(c.at > message + offset && c.at <= message + len);
		check_name(name, size);
	}
	cursor_init(&c, message, len);
	c.at += offset;
	if (name_read_uncompressed(&c, plain, &plain_size) == NSD_OK) {
		/* The reader of compressed names must have read the same. */
		MUST(plain_size == size && memcmp(plain, name, size) == 0);
		MUST((size_t)(c.at - message) == offset + size);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	if (data[0] < 128)
		fuzz_text((const char *)data + 1, size - 1);
	else
		fuzz_message(data + 2, size - 2, data[1]);
	return 0;
}
