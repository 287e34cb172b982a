/*
 * octets.h - integers in network order at any alignment, and a bounded
 * cursor over untrusted octets.
 */
#ifndef BASE_OCTETS_H
#define BASE_OCTETS_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"

static inline uint16_t
octets_get_u16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t
octets_get_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline void
octets_put_u16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void
octets_put_u32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

/*
 * A cursor reads forward and never past its end. A read that does not fit sets
 * failed; it and all later ones return zeros. So read all fields, then check
 * failed once.
 */
struct cursor {
	const uint8_t *start; /* of the whole buffer, for offsets */
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

static inline void
cursor_init(struct cursor *c, const uint8_t *data, size_t len)
{
	c->start = data;
	c->at = data;
	c->end = data + len;
	c->failed = false;
}

static inline size_t
cursor_left(const struct cursor *c)
{
	ASSERT_HOT(c->at <= c->end);
	return (size_t)(c->end - c->at);
}

static inline size_t
cursor_offset(const struct cursor *c)
{
	return (size_t)(c->at - c->start);
}

/* Lends the next len octets, as long as the buffer is there, and moves past
 * them; NULL if fewer are left. */
static inline const uint8_t *
cursor_read_octets(struct cursor *c, size_t len)
{
	const uint8_t *p = c->at;

	if (c->failed || cursor_left(c) < len) {
		c->failed = true;
		return NULL;
	}
	c->at += len;
	return p;
}

static inline uint8_t
cursor_read_u8(struct cursor *c)
{
	const uint8_t *p = cursor_read_octets(c, 1);

	return p != NULL ? *p : 0;
}

static inline uint16_t
cursor_read_u16(struct cursor *c)
{
	const uint8_t *p = cursor_read_octets(c, 2);

	return p != NULL ? octets_get_u16(p) : 0;
}

static inline uint32_t
cursor_read_u32(struct cursor *c)
{
	const uint8_t *p = cursor_read_octets(c, 4);

	return p != NULL ? octets_get_u32(p) : 0;
}

#endif
