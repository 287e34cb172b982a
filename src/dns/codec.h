/*
 * codec.h - hexadecimal, base64 and base32hex (RFC 4648).
 *
 * Blanks may cut a value into words anywhere in presentation format. So a
 * decoder keeps the digits of a group that is not full from word to word.
 */
#ifndef DNS_CODEC_H
#define DNS_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct codec {
	uint32_t bits;    /* of the digits below */
	unsigned digits;  /* read, of a group that is not full */
	unsigned padding; /* '=' seen */
	uint8_t *out;
	size_t room;      /* octets left in out */
};

static inline void
codec_init(struct codec *c, uint8_t *out, size_t room)
{
	c->bits = 0;
	c->digits = 0;
	c->padding = 0;
	c->out = out;
	c->room = room;
}

/* Decode one word and move c->out. False if a digit is not in the alphabet, if
 * base64 has wrong padding, or if there is no room. */
bool codec_read_hex(struct codec *c, const char *text, size_t len);
bool codec_read_base64(struct codec *c, const char *text, size_t len);

/* True if the words so far make whole octets. */
static inline bool
codec_is_whole(const struct codec *c)
{
	return c->digits == 0;
}

/* Decodes one word of base32hex without padding (RFC 5155 section 3.3). Returns
 * the count of octets; 0 if the word is malformed, empty or too long. */
size_t codec_decode_base32hex(const char *text, size_t len, uint8_t *out,
	size_t room);

/* Print octets. Return the count of characters written; no NUL. */
size_t codec_print_hex(const uint8_t *octets, size_t len, char *out);
size_t codec_print_base64(const uint8_t *octets, size_t len, char *out);
size_t codec_print_base32hex(const uint8_t *octets, size_t len, char *out);

#endif
