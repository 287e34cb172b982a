/* text.c - text that grows into a buffer of limited size. */
#include "dns/text.h"

#include <string.h>

#include "dns/codec.h"
#include "dns/name.h"
#include "dns/scan.h"

void
text_put(struct text *t, const char *text, size_t len)
{
	if (t->len < t->size) {
		size_t room = t->size - t->len;

		memcpy(t->out + t->len, text, len < room ? len : room);
	}
	t->len += len;
}

void
text_put_char(struct text *t, char c)
{
	if (t->len < t->size)
		t->out[t->len] = c;
	t->len++;
}

void
text_put_number(struct text *t, uint64_t value)
{
	char digits[20];

	text_put(t, digits, (size_t)(scan_print_number(value, digits)
		- digits));
}

void
text_put_blank(struct text *t)
{
	if (t->len > 0)
		text_put_char(t, ' ');
}

void
text_put_octet(struct text *t, uint8_t c)
{
	if (c < 0x20 || c > 0x7e) {
		char escape[4] = { '\\', (char)('0' + c / 100),
			(char)('0' + c / 10 % 10), (char)('0' + c % 10) };

		text_put(t, escape, sizeof(escape));
	} else {
		text_put_char(t, (char)c);
	}
}

void
text_put_quoted(struct text *t, const uint8_t *octets, size_t len)
{
	size_t i;

	text_put_char(t, '"');
	for (i = 0; i < len; i++) {
		if (octets[i] == '"' || octets[i] == '\\')
			text_put_char(t, '\\');
		text_put_octet(t, octets[i]);
	}
	text_put_char(t, '"');
}

/* Encodes in pieces of whole groups: 3 octets are 4 digits of base64. */
#define PIECE 240

void
text_put_hex(struct text *t, const uint8_t *octets, size_t len)
{
	char piece[2 * PIECE];

	while (len > 0) {
		size_t some = len < PIECE ? len : PIECE;

		text_put(t, piece, codec_print_hex(octets, some, piece));
		octets += some;
		len -= some;
	}
}

void
text_put_base64(struct text *t, const uint8_t *octets, size_t len)
{
	char piece[PIECE / 3 * 4];

	while (len > 0) {
		size_t some = len < PIECE ? len : PIECE;

		text_put(t, piece, codec_print_base64(octets, some, piece));
		octets += some;
		len -= some;
	}
}

void
text_put_name(struct text *t, const uint8_t *name)
{
	char text[NAME_TEXT_MAX];

	if (t->len < t->size && t->size - t->len >= NAME_TEXT_MAX) {
		t->len += name_print_text(name, t->out + t->len);
		return;
	}
	text_put(t, text, name_print_text(name, text));
}
