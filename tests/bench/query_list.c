/* query_list.c - see query_list.h. */
#include "config.h"

#include "query_list.h"

#include <err.h>
#include <stdio.h>
#include <string.h>

static uint16_t
type_number(const char *text)
{
	static const struct { const char *text; uint16_t number; } rows[] = {
		{ "A", 1 }, { "NS", 2 }, { "CNAME", 5 }, { "SOA", 6 },
		{ "MX", 15 }, { "TXT", 16 }, { "AAAA", 28 }, { "DS", 43 },
		{ "DNSKEY", 48 }, { "HTTPS", 65 }, { "ANY", 255 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(text, rows[i].text) == 0)
			return rows[i].number;
	errx(1, "%s: not a type that is known here", text);
}

void
query_list_read(const char *file, query_list_line *line, void *ctx)
{
	char text[512], name[256], type[32];
	FILE *f = fopen(file, "r");

	if (f == NULL)
		err(1, "%s", file);
	while (fgets(text, sizeof(text), f) != NULL)
		if (sscanf(text, "%255s %31s", name, type) == 2)
			line(ctx, name, type_number(type));
	if (ferror(f))
		err(1, "%s", file);
	fclose(f);
}

static uint8_t *
write_name(uint8_t *at, const char *name)
{
	while (*name != '\0' && strcmp(name, ".") != 0) {
		size_t len = strcspn(name, ".");

		if (len == 0 || len > 63)
			errx(1, "%s: no label", name);
		*at++ = (uint8_t)len;
		memcpy(at, name, len);
		at += len;
		name += len + (name[len] == '.');
	}
	*at++ = 0;
	return at;
}

static uint8_t *
write_u16(uint8_t *at, uint16_t number)
{
	at[0] = (uint8_t)(number >> 8);
	at[1] = (uint8_t)number;
	return at + 2;
}

static uint8_t *
write_edns(uint8_t *at, const struct query_edns *edns)
{
	static const uint8_t cookie[12] = { 0, 10, 0, 8, 'c', 'l', 'i', 'e',
		'n', 't', '_', '_' };

	*at++ = 0;
	at = write_u16(at, 41);
	at = write_u16(at, edns->size);
	at = write_u16(at, 0);
	at = write_u16(at, edns->dnssec ? 0x8000 : 0);
	at = write_u16(at, edns->cookie ? sizeof(cookie) : 0);
	if (edns->cookie) {
		memcpy(at, cookie, sizeof(cookie));
		at += sizeof(cookie);
	}
	return at;
}

size_t
query_list_write(uint8_t *start, const char *name, uint16_t type,
	const struct query_edns *edns, uint16_t *question_len)
{
	static const uint8_t head[12] = { 0, 0, 0, 0, 0, 1 };
	uint8_t *at = start;

	memcpy(at, head, sizeof(head));
	at = write_name(at + sizeof(head), name);
	at = write_u16(at, type);
	at = write_u16(at, 1);
	*question_len = (uint16_t)(at - start - 12);
	if (edns->size != 0) {
		start[11] = 1;
		at = write_edns(at, edns);
	}
	return (size_t)(at - start);
}
