/*
 * text.h - text that grows into a buffer of limited size: what does not fit is
 * counted and left out, as snprintf does.
 */
#ifndef DNS_TEXT_H
#define DNS_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
	char *out;
	size_t size; /* octets of room in out */
	size_t len;  /* octets needed so far, no NUL counted */
};

void text_put(struct text *t, const char *text, size_t len);
void text_put_char(struct text *t, char c);
void text_put_number(struct text *t, uint64_t value);
/* Puts a blank, but not at the start. */
void text_put_blank(struct text *t);
/* Puts an octet of a string, as \DDD if it cannot be printed. */
void text_put_octet(struct text *t, uint8_t c);
/* Puts octets in quotes, with escapes (RFC 1035 section 5.1). */
void text_put_quoted(struct text *t, const uint8_t *octets, size_t len);
void text_put_hex(struct text *t, const uint8_t *octets, size_t len);
void text_put_base64(struct text *t, const uint8_t *octets, size_t len);
/* Puts a wire name with its final dot. */
void text_put_name(struct text *t, const uint8_t *name);

#endif
