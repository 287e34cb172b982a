/*
 * gen_changes.c - makes differences of a zone that gen_zone tld has made: the
 * messages of an IXFR (RFC 1995), as they go over TCP, to the standard output.
 *
 *	gen_changes ZONEFILE FROM COUNT EVERY BUT
 *
 * FROM is the serial that is replaced, the next one the new. Of delegations
 * without DS and without servers of their own each of number 1 modulo EVERY
 * changes, but those of number 1 modulo BUT (0: none is left out), until COUNT
 * have: half of them get other name servers, a quarter goes, and a quarter
 * stays while a new one comes beside it. So BUT can be the EVERY of a change
 * before.
 * The question is that of the zone; the ID is 0, for the sender to fill in.
 * Opt-out spares such delegations a place in the NSEC3 chain.
 */
#include "config.h"

#include <err.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/octets.h"
#include "gen.h"

#define SERVERS_MAX 4
#define NAME_ROOM 256u
#define MESSAGE_ROOM 16384u
#define HEAD_LEN 23u /* with the question */
#define TTL_SEC 86400u
#define TYPE_NS 2
#define TYPE_SOA 6
#define TYPE_IXFR 251

/* A delegation, as the zone file has it. */
struct delegation {
	char label[LABEL_MAX];
	char servers[SERVERS_MAX][NAME_ROOM];
	unsigned count;
	bool is_other; /* has a DS, or servers of its own */
};

/* Records of one half of the differences, in a file of their own. */
struct half {
	FILE *records;
	unsigned long count;
};

static struct half gone, come;
static uint8_t message[MESSAGE_ROOM];
static size_t used = HEAD_LEN;
static unsigned in_message;

/* ---- records ------------------------------------------------------------- */

/* Writes the labels of a text that ends in a point. Returns the octets. */
static size_t
write_name(uint8_t *out, const char *text)
{
	uint8_t *at = out;

	while (*text != '\0') {
		size_t len = strcspn(text, ".");

		*at++ = (uint8_t)len;
		memcpy(at, text, len);
		at += len;
		text += len + (text[len] == '.');
	}
	*at++ = 0;
	return (size_t)(at - out);
}

/* Writes owner (below the question's name, to which a pointer leads), type,
 * class and TTL. Returns the octets. */
static size_t
write_owner(uint8_t *out, const char *label, uint16_t type, uint32_t ttl_sec)
{
	size_t len = strlen(label), at = 0;

	if (len > 0) {
		out[at++] = (uint8_t)len;
		memcpy(out + at, label, len);
		at += len;
	}
	out[at++] = 0xc0;
	out[at++] = 12;
	octets_put_u16(out + at, type);
	octets_put_u16(out + at + 2, 1);
	octets_put_u32(out + at + 4, ttl_sec);
	return at + 8;
}

static size_t
write_server(uint8_t *out, const char *label, const char *server)
{
	size_t at = write_owner(out, label, TYPE_NS, TTL_SEC);
	size_t len = write_name(out + at + 2, server);

	octets_put_u16(out + at, (uint16_t)len);
	return at + 2 + len;
}

static size_t
write_soa(uint8_t *out, uint32_t serial)
{
	static const uint32_t times[] = { 1800, 900, 604800, 900 };
	size_t begin = write_owner(out, "", TYPE_SOA, 3600), at = begin + 2;

	at += write_name(out + at, "ns1.nic.net.");
	at += write_name(out + at, "hostmaster.nic.net.");
	octets_put_u32(out + at, serial);
	at += 4;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++, at += 4)
		octets_put_u32(out + at, times[i]);
	octets_put_u16(out + begin, (uint16_t)(at - begin - 2));
	return at;
}

static void
half_put(struct half *half, const char *label, const char *server)
{
	uint8_t record[2 + 2 * NAME_ROOM];
	size_t len = write_server(record + 2, label, server);

	octets_put_u16(record, (uint16_t)len);
	if (fwrite_unlocked(record, 1, 2 + len, half->records) != 2 + len)
		err(1, "write");
	half->count++;
}

/* ---- changes ------------------------------------------------------------- */

static void
change(const struct delegation *d, unsigned long number)
{
	char label[LABEL_MAX + 8], server[NAME_ROOM];

	if (number % 4 == 3) {
		snprintf(label, sizeof(label), "%s-new", d->label);
		for (unsigned i = 0; i < d->count; i++)
			half_put(&come, label, d->servers[i]);
		return;
	}
	for (unsigned i = 0; i < d->count; i++)
		half_put(&gone, d->label, d->servers[i]);
	for (unsigned i = 1; number % 4 != 2 && i <= 2; i++) {
		snprintf(server, sizeof(server), "ns%u.other%lu.net.", i,
			number % 1000);
		half_put(&come, d->label, server);
	}
}

/* Takes a record of the zone file apart. False: it is not of a delegation. */
static bool
read_line(char *line, char **owner, char **type, char **rdata)
{
	char *rest = line, *label;

	*owner = strsep(&rest, "\t");
	(void)strsep(&rest, "\t");
	(void)strsep(&rest, "\t");
	*type = strsep(&rest, "\t ");
	*rdata = rest;
	if (rest == NULL)
		return false;
	rest[strcspn(rest, "\n")] = '\0';
	label = strchr(*owner, '.');
	return label != NULL && label != *owner
		&& strchr(label + 1, '.') == label + strlen(label) - 1;
}

/* Begins another delegation if this is the owner of one. True: there was one
 * before, that has all its records. */
static bool
next_owner(const struct delegation *d, const char *owner)
{
	size_t len = strcspn(owner, ".");

	return strlen(d->label) != len || memcmp(d->label, owner, len) != 0;
}

static void
note_record(struct delegation *d, const char *owner, const char *type,
	const char *rdata)
{
	size_t len = strlen(rdata), own = strlen(owner);

	if (strcmp(type, "NS") != 0 || d->count == SERVERS_MAX
		|| len >= NAME_ROOM
		|| (len > own && strcmp(rdata + len - own, owner) == 0)) {
		d->is_other = true;
		return;
	}
	memcpy(d->servers[d->count++], rdata, len + 1);
}

struct choice {
	unsigned long every, but, count;
	unsigned long seen, changed;
};

static void
take(struct choice *choice, const struct delegation *d)
{
	unsigned long number;

	if (d->count == 0 || d->is_other)
		return;
	number = choice->seen++;
	if (number % choice->every != 1 % choice->every
		|| (choice->but != 0 && number % choice->but == 1))
		return;
	change(d, choice->changed++);
}

static void
read_zone(FILE *zone, struct choice *choice)
{
	struct delegation d = {.count = 0};
	char *line = NULL, *owner, *type, *rdata;
	size_t room = 0;

	while (choice->changed < choice->count
		&& getline(&line, &room, zone) != -1) {
		if (!read_line(line, &owner, &type, &rdata))
			continue;
		if (next_owner(&d, owner)) {
			take(choice, &d);
			memset(&d, 0, sizeof(d));
			/* The label of an NSEC3 record is longer. */
			snprintf(d.label, sizeof(d.label), "%.*s",
				(int)strcspn(owner, "."), owner);
		}
		note_record(&d, owner, type, rdata);
	}
	if (choice->changed < choice->count)
		take(choice, &d);
	free(line);
}

/* ---- messages ------------------------------------------------------------ */

static void
message_end(void)
{
	static const char question[] = "\5bench\0\0\373\0\1";
	uint8_t size[2];

	memset(message, 0, 12);
	message[2] = 0x84;
	message[5] = 1;
	octets_put_u16(message + 6, (uint16_t)in_message);
	memcpy(message + 12, question, HEAD_LEN - 12);
	octets_put_u16(size, (uint16_t)used);
	fwrite_unlocked(size, 1, sizeof(size), stdout);
	fwrite_unlocked(message, 1, used, stdout);
	used = HEAD_LEN;
	in_message = 0;
}

static void
message_put(const uint8_t *record, size_t len)
{
	if (used + len > MESSAGE_ROOM)
		message_end();
	memcpy(message + used, record, len);
	used += len;
	in_message++;
}

static void
message_put_soa(uint32_t serial)
{
	uint8_t record[NAME_ROOM];

	message_put(record, write_soa(record, serial));
}

static void
message_put_half(const struct half *half)
{
	uint8_t size[2], record[2 * NAME_ROOM];

	rewind(half->records);
	for (unsigned long i = 0; i < half->count; i++) {
		size_t len;

		if (fread_unlocked(size, 1, 2, half->records) != 2)
			err(1, "read");
		len = octets_get_u16(size);
		if (fread_unlocked(record, 1, len, half->records) != len)
			err(1, "read");
		message_put(record, len);
	}
}

int
main(int argc, char **argv)
{
	struct choice choice = {.count = 0};
	uint32_t from;
	FILE *zone;

	if (argc != 6)
		errx(2, "usage: gen_changes ZONEFILE FROM COUNT EVERY BUT");
	zone = fopen(argv[1], "r");
	gone.records = tmpfile();
	come.records = tmpfile();
	if (zone == NULL || gone.records == NULL || come.records == NULL)
		err(1, "%s", argv[1]);
	setvbuf(zone, NULL, _IOFBF, 1 << 20);
	from = (uint32_t)strtoul(argv[2], NULL, 10);
	choice.count = strtoul(argv[3], NULL, 10);
	choice.every = strtoul(argv[4], NULL, 10);
	choice.but = strtoul(argv[5], NULL, 10);
	if (choice.every == 0)
		errx(2, "every none");
	read_zone(zone, &choice);
	message_put_soa(from + 1);
	message_put_soa(from);
	message_put_half(&gone);
	message_put_soa(from + 1);
	message_put_half(&come);
	message_put_soa(from + 1);
	message_end();
	finish(stdout);
	if (choice.changed < choice.count)
		errx(1, "only %lu of %lu delegations could change",
			choice.changed, choice.count);
	return 0;
}
