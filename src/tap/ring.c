/* ring.c - records of queries and answers in memory that two processes
 * share. */
#include "config.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "base/assert.h"
#include "dns/message.h"
#include "tap/ring.h"

#define RING_MASK (TAP_RING_SIZE - 1)
#define NAME_AT MESSAGE_HEADER_LEN
#define NAME_MAX_OCTETS 255u

struct tap_head {
	int64_t query_nsec;
	int64_t response_nsec;
	uint8_t peer[16];
	uint8_t local[16];
	uint16_t query_len;
	uint16_t response_len;
	uint16_t peer_port;
	uint16_t local_port;
	uint8_t peer_len;
	uint8_t local_len;
	uint8_t kind;
	uint8_t parts;
	uint8_t protocol;
	uint8_t zone_len;
	uint8_t unused[2];
};

/* The beginning of a record. */
struct tap_begin {
	uint32_t len;
	uint32_t place; /* position / 8 */
	struct tap_head head;
};

static_assert(sizeof(struct tap_begin) == TAP_HEAD_LEN, "no padding");
static_assert((TAP_RING_SIZE & RING_MASK) == 0, "a power of two");

static uint64_t
round_up_8(uint64_t octets)
{
	return (octets + 7) & ~UINT64_C(7);
}

/* ---- writing ------------------------------------------------------------- */

void
tap_writer_init(struct tap_writer *w, struct tap_ring *ring,
	const struct tap_cursor *cursor, uint64_t owner)
{
	w->ring = ring;
	w->cursor = cursor;
	w->owner = owner;
	__atomic_store_n(&ring->owner, owner, __ATOMIC_RELAXED);
	w->at = round_up_8(__atomic_load_n(&ring->written, __ATOMIC_RELAXED));
}

/* Copies octets to a position; they may go on at the start of the ring. */
static inline void
ring_put(struct tap_ring *ring, uint64_t position, const void *octets,
	size_t len)
{
	size_t at = position & RING_MASK, first = TAP_RING_SIZE - at;

	if (__builtin_expect(len <= first, 1)) {
		memcpy(ring->octets + at, octets, len);
		return;
	}
	memcpy(ring->octets + at, octets, first);
	memcpy(ring->octets, (const uint8_t *)octets + first, len - first);
}

static inline void
begin_set(struct tap_begin *b, const struct tap_record *r)
{
	b->head = (struct tap_head){
		.query_nsec = r->query_nsec,
		.response_nsec = r->response_nsec,
		.query_len = (uint16_t)r->query_len,
		.response_len = (uint16_t)r->response_len,
		.peer_port = r->peer.port,
		.local_port = r->local.port,
		.peer_len = r->peer.len,
		.local_len = r->local.len,
		.kind = (uint8_t)r->kind,
		.parts = (uint8_t)r->parts,
		.protocol = (uint8_t)r->protocol,
		.zone_len = r->zone_len,
	};
	memcpy(b->head.peer, r->peer.octets, sizeof(b->head.peer));
	memcpy(b->head.local, r->local.octets, sizeof(b->head.local));
}

/* Drops a record. A cursor that is not in the ring has followed garbage; the
 * position is said again, so that the reader comes back. */
static __attribute__((noinline, cold)) void
ring_drop(const struct tap_writer *w, uint64_t used)
{
	__atomic_store_n(&w->ring->dropped, w->ring->dropped + 1,
		__ATOMIC_RELAXED);
	if (used > TAP_RING_SIZE)
		__atomic_store_n(&w->ring->written, w->at, __ATOMIC_RELEASE);
}

bool
tap_write(struct tap_writer *w, const struct tap_record *r)
{
	struct tap_ring *ring = w->ring;
	uint64_t used = w->at
		- __atomic_load_n(&w->cursor->read, __ATOMIC_ACQUIRE);
	struct tap_begin begin;

	ASSERT_HOT(r->query_len <= TAP_MESSAGE_MAX
		&& r->response_len <= TAP_MESSAGE_MAX);
	if (__atomic_load_n(&ring->owner, __ATOMIC_RELAXED) != w->owner)
		return false;
	begin.len = TAP_HEAD_LEN + r->query_len + r->response_len;
	if (used > TAP_RING_SIZE
		|| round_up_8(begin.len) > TAP_RING_SIZE - used) {
		ring_drop(w, used);
		return false;
	}
	begin.place = (uint32_t)(w->at / 8);
	begin_set(&begin, r);
	ring_put(ring, w->at, &begin, sizeof(begin));
	ring_put(ring, w->at + TAP_HEAD_LEN, r->query, r->query_len);
	if (r->response_len > 0)
		ring_put(ring, w->at + TAP_HEAD_LEN + r->query_len,
			r->response, r->response_len);
	w->at += round_up_8(begin.len);
	__atomic_store_n(&ring->written, w->at, __ATOMIC_RELEASE);
	return true;
}

/* ---- reading ------------------------------------------------------------- */

static void
ring_get(const struct tap_ring *ring, uint64_t position, uint8_t *octets,
	size_t len)
{
	size_t at = position & RING_MASK, first = TAP_RING_SIZE - at;

	if (len < first)
		first = len;
	memcpy(octets, ring->octets + at, first);
	memcpy(octets + first, ring->octets, len - first);
}

static bool
address_get(struct tap_address *address, const uint8_t octets[16], uint8_t len,
	uint16_t port)
{
	memcpy(address->octets, octets, 16);
	address->port = port;
	address->len = len;
	return len == 0 || len == 4 || len == 16;
}

/* Reads a head that no other process can alter any more. False: a field is not
 * within its bounds. */
static bool
head_get(const struct tap_begin *begin, struct tap_record *r)
{
	const struct tap_head *head = &begin->head;

	r->query_nsec = head->query_nsec;
	r->response_nsec = head->response_nsec;
	r->query_len = head->query_len;
	r->response_len = head->response_len;
	r->kind = (enum tap_kind)head->kind;
	r->parts = head->parts;
	r->protocol = (enum tap_protocol)head->protocol;
	r->zone_len = head->zone_len;
	return begin->len == TAP_HEAD_LEN + r->query_len + r->response_len
		&& head->kind < TAP_KIND_COUNT
		&& (r->parts & (TAP_QUERY | TAP_RESPONSE)) != 0
		&& r->parts <= (TAP_QUERY | TAP_RESPONSE | TAP_PENDING)
		&& head->protocol >= TAP_UDP && head->protocol <= TAP_DOT
		&& r->query_nsec >= 0 && r->response_nsec >= 0
		&& address_get(&r->peer, head->peer, head->peer_len,
			head->peer_port)
		&& address_get(&r->local, head->local, head->local_len,
			head->local_port);
}

/* Reads the record at a position; held: octets from there on. Returns the
 * octets that it takes; 0: there is none. */
static uint64_t
record_get(struct tap_reader *reader, uint64_t position, uint64_t held,
	struct tap_record *r)
{
	struct tap_begin begin;
	size_t messages;

	if (held < sizeof(begin))
		return 0;
	ring_get(reader->ring, position, (uint8_t *)&begin, sizeof(begin));
	if (begin.place != (uint32_t)(position / 8) || !head_get(&begin, r)
		|| begin.len > held)
		return 0;
	messages = begin.len - sizeof(begin);
	ring_get(reader->ring, position + sizeof(begin), reader->copy,
		messages);
	r->query = reader->copy;
	r->response = r->response_len > 0 ? reader->copy + r->query_len
					  : NULL;
	return round_up_8(begin.len);
}

enum tap_outcome
tap_read(struct tap_reader *reader, struct tap_record *record)
{
	uint64_t *read = &reader->cursor->read;
	uint64_t at = *read;
	/* The next worker of a ring with garbage begins there, too. */
	uint64_t written = round_up_8(__atomic_load_n(&reader->ring->written,
		__ATOMIC_ACQUIRE));
	uint64_t held = written - at, len = 0;

	if (held == 0)
		return TAP_NOTHING;
	if (held <= TAP_RING_SIZE && at % 8 == 0)
		len = record_get(reader, at, held, record);
	/* A record ends within what is held, padding and all. */
	if (len == 0 || len > held) {
		__atomic_store_n(read, written, __ATOMIC_RELEASE);
		return TAP_GARBAGE;
	}
	__atomic_store_n(read, at + len, __ATOMIC_RELEASE);
	return TAP_READ;
}

uint64_t
tap_take_dropped(const struct tap_reader *reader)
{
	uint64_t dropped = __atomic_load_n(&reader->ring->dropped,
		__ATOMIC_RELAXED);
	uint64_t more = dropped - reader->cursor->dropped;

	reader->cursor->dropped = dropped;
	return more;
}

/* ---- records ------------------------------------------------------------- */

void
tap_address_set(struct tap_address *address, const struct sockaddr *from)
{
	struct sockaddr_in ip4;
	struct sockaddr_in6 ip6;
	sa_family_t family = AF_UNSPEC;

	memset(address, 0, sizeof(*address));
	if (from != NULL)
		memcpy(&family, (const uint8_t *)from
				+ offsetof(struct sockaddr, sa_family),
			sizeof(family));
	if (family == AF_INET) {
		memcpy(&ip4, from, sizeof(ip4));
		memcpy(address->octets, &ip4.sin_addr, 4);
		address->port = ntohs(ip4.sin_port);
		address->len = 4;
	} else if (family == AF_INET6) {
		memcpy(&ip6, from, sizeof(ip6));
		memcpy(address->octets, &ip6.sin6_addr, 16);
		address->port = ntohs(ip6.sin6_port);
		address->len = 16;
	}
}

/* The octets of the name of the first question, with its end; 0: there is no
 * whole one. */
static size_t
question_find_name(const uint8_t *message, size_t len)
{
	size_t at = NAME_AT;

	if (len <= NAME_AT || (message[4] == 0 && message[5] == 0))
		return 0;
	while (at < len && at - NAME_AT < NAME_MAX_OCTETS) {
		if (message[at] == 0)
			return at + 1 - NAME_AT;
		if (message[at] > 63)
			return 0;
		at += message[at] + 1u;
	}
	return 0;
}

/* True if a label begins so many octets before the end of the name. */
static bool
name_has_suffix(const uint8_t *name, size_t len, size_t suffix)
{
	size_t at = 0;

	while (at + suffix < len)
		at += name[at] + 1u;
	return at + suffix == len;
}

size_t
tap_find_zone(const struct tap_record *r, uint8_t zone[255])
{
	const uint8_t *message = r->query;
	size_t len = question_find_name(message, r->query_len);
	const uint8_t *name;

	if (len == 0 && r->response != NULL) {
		message = r->response;
		len = question_find_name(message, r->response_len);
	}
	if (r->zone_len == 0 || r->zone_len > len)
		return 0;
	name = message + NAME_AT;
	if (!name_has_suffix(name, len, r->zone_len))
		return 0;
	name += len - r->zone_len;
	/* Octets of lengths are below 64, no letters. */
	for (size_t i = 0; i < r->zone_len; i++)
		zone[i] = name[i] >= 'A' && name[i] <= 'Z'
			? (uint8_t)(name[i] + ('a' - 'A')) : name[i];
	return r->zone_len;
}

/* ---- sets of zones ------------------------------------------------------- */

/* FNV-1a. A name that is made to collide has its records looked at in vain. */
static uint32_t
zone_find_bit(const uint8_t *name, size_t len)
{
	uint32_t hash = UINT32_C(2166136261);

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ name[i]) * UINT32_C(16777619);
	return (hash ^ hash >> 16) % TAP_ZONE_BITS;
}

void
tap_zones_add(struct tap_zones *zones, const uint8_t *name, size_t len)
{
	uint32_t bit = zone_find_bit(name, len);

	zones->bits[bit / 64] |= UINT64_C(1) << bit % 64;
}

bool
tap_zones_may_have(const struct tap_zones *zones, const uint8_t *name,
	size_t len)
{
	uint32_t bit = zone_find_bit(name, len);

	return (zones->bits[bit / 64] >> bit % 64 & 1) != 0;
}
