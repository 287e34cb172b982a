/*
 * greeting.c - looks at a client's octets before the handshake. OpenSSL takes
 * memory for all of a message once it has its first four octets, and allows 128
 * KiB for a client's first message: nine octets on each of many connections
 * would take much memory for the time of a handshake.
 */
#include "config.h"

#include "base/octets.h"
#include "inside.h"

/* The type of a ClientHello, RFC 8446 section 4.1.2. In practice it has some
 * hundred octets, and some thousand with large keys. */
#define HELLO 1u
/* The octets that OpenSSL has room for from the beginning. */
#define HELLO_MAX 16384u

enum record_type {
	RECORD_CHANGE = 20, /* before it: plain, after it: encrypted, if it is
			     * of 1.2 */
	RECORD_HANDSHAKE = 22,
	RECORD_ENCRYPTED = 23, /* of 1.3 */
};

/* Takes octets of the head of a record. Returns how many. */
static size_t
greeting_take_head(struct greeting *g, const uint8_t *in, size_t len,
	bool dated)
{
	size_t taken = 0;

	while (taken < len && g->record_at < sizeof(g->record))
		g->record[g->record_at++] = in[taken++];
	if (g->record_at < sizeof(g->record))
		return taken;
	g->record_at = 0;
	g->record_left = octets_get_u16(g->record + 3);
	g->over = g->record[0] == RECORD_ENCRYPTED
		|| (g->record[0] == RECORD_CHANGE && dated);
	return taken;
}

/* Takes octets of messages. False: one is too long. */
static bool
greeting_take_messages(struct greeting *g, const uint8_t *in, size_t len)
{
	while (len > 0) {
		size_t part = g->message_left < len ? g->message_left : len;

		g->message_left -= (uint32_t)part;
		in += part;
		len -= part;
		if (len == 0)
			break;
		g->message[g->message_at++] = *in++;
		len--;
		if (g->message_at < sizeof(g->message))
			continue;
		g->message_at = 0;
		g->message_left = octets_get_u32(g->message) & 0xffffffu;
		if (g->message[0] == HELLO && g->message_left > HELLO_MAX)
			return false;
	}
	return true;
}

bool
greeting_is_short(struct greeting *g, const uint8_t *in, size_t len, bool dated)
{
	while (len > 0 && !g->over) {
		size_t taken;

		if (g->record_left == 0) {
			taken = greeting_take_head(g, in, len, dated);
		} else {
			taken = g->record_left < len ? g->record_left : len;
			g->record_left -= (uint16_t)taken;
			if (g->record[0] == RECORD_HANDSHAKE
				&& !greeting_take_messages(g, in, taken))
				return false;
		}
		in += taken;
		len -= taken;
	}
	return true;
}
