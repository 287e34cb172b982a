/*
 * ring.h - records of queries and answers, on their way from a worker to the
 * collector, in memory that both share.
 *
 * Each worker has a ring, which it alone writes, and each ring a cursor, which
 * the collector alone writes. Positions count octets since the memory was made;
 * a position modulo TAP_RING_SIZE is a place in the ring. The ring holds the
 * records from cursor.read up to ring.written:
 *
 *   octets 0-3    length of the record with this head, without padding
 *          4-7    its position / 8, modulo 2^32: a record that was written for
 *                 another place is none
 *          8-71   struct tap_head
 *          72-    the octets of the query, then those of the response
 *          ...    up to 7 octets that have no meaning: positions of records are
 *                 multiples of 8
 *
 * A record may go on at the begin of the ring. The writer never waits: if there
 * is no room, it drops the record and counts it. The reader trusts nothing: it
 * copies each length once, checks it, and copies the record before it looks at
 * it. A ring with garbage loses the records that it held.
 *
 * Pure: no clock, no sockets. Integers are those of the machine.
 */
#ifndef TAP_RING_H
#define TAP_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A power of two. At 150,000 answers of 450 octets a second it holds the
 * records of 60 ms. */
#define TAP_RING_SIZE (UINT32_C(4) << 20)
#define TAP_HEAD_LEN 72u
/* The longest message of DNS. */
#define TAP_MESSAGE_MAX 65535u
#define TAP_RECORD_MAX (TAP_HEAD_LEN + 2 * TAP_MESSAGE_MAX)

/* The kinds of messages, by opcode. */
enum tap_kind {
	TAP_AUTH,   /* a query, and whatever is none of the others */
	TAP_UPDATE, /* RFC 2136 */
	TAP_NOTIFY, /* RFC 1996 */
	TAP_KIND_COUNT
};

/* The parts of an exchange that a record is about. */
enum tap_part {
	TAP_QUERY = 1,    /* the query was received */
	TAP_RESPONSE = 2, /* the response was made */
	TAP_PENDING = 4,  /* only with QUERY: the response is made later, and
			   * comes in a record of its own, with the octets of
			   * the query: the first message of a zone transfer,
			   * or the reply to an UPDATE */
};

/* The numbers are those of dnstap's SocketProtocol. */
enum tap_protocol {
	TAP_UDP = 1,
	TAP_TCP = 2,
	TAP_DOT = 3, /* TLS */
};

struct tap_address {
	uint8_t octets[16]; /* of IPv4 the first 4 */
	uint16_t port;
	uint8_t len;        /* 4, 16; 0: not known */
};

/* One query and its response. */
struct tap_record {
	enum tap_kind kind;
	unsigned parts; /* enum tap_part, or-ed: QUERY or RESPONSE or both */
	enum tap_protocol protocol;
	int64_t query_nsec;    /* since 1970: when the query was received */
	int64_t response_nsec; /* when the response was made; 0 without one */
	struct tap_address peer;  /* the client; not the proxy between */
	struct tap_address local; /* the address that the client asked */
	/* Octets of the zone's name: the last ones of the question's name; 0:
	 * the server has no zone for it. */
	uint8_t zone_len;
	const uint8_t *query;    /* any octets */
	uint32_t query_len;      /* up to TAP_MESSAGE_MAX */
	const uint8_t *response; /* NULL without one */
	uint32_t response_len;   /* 0: no response was sent, or see PENDING */
};

struct tap_ring {
	uint64_t written; /* position behind the last record; atomic */
	uint64_t dropped; /* records that had no room; atomic */
	uint64_t owner;   /* the worker that may write; atomic */
	uint8_t unused[64 - 3 * 8];
	uint8_t octets[TAP_RING_SIZE];
} __attribute__((aligned(64)));

struct tap_cursor {
	uint64_t read; /* position of the next record to read; atomic */
	uint64_t dropped; /* of the ring's drops, how many are counted */
	uint8_t unused[64 - 2 * 8]; /* a line of the cache for each */
} __attribute__((aligned(64)));

/* ---- writing ------------------------------------------------------------- */

struct tap_writer {
	struct tap_ring *ring;
	const struct tap_cursor *cursor;
	uint64_t at;    /* position of the next record */
	uint64_t owner;
};

/* Takes a ring over from the worker that wrote it before. owner: a number that
 * no other living worker has. Both may be as any process has left them. */
void tap_writer_init(struct tap_writer *w, struct tap_ring *ring,
	const struct tap_cursor *cursor, uint64_t owner);

/* Writes a record; borrows its octets. False: it was dropped and counted, as
 * there is no room; or it was dropped because another worker has taken the ring
 * over. Does not block. Cost: linear in the octets. */
bool tap_write(struct tap_writer *w, const struct tap_record *record);

/* ---- reading ------------------------------------------------------------- */

struct tap_reader {
	const struct tap_ring *ring;
	struct tap_cursor *cursor;
	uint8_t *copy; /* of TAP_RECORD_MAX octets; readers may share it */
};

enum tap_outcome {
	TAP_NOTHING, /* the ring is empty */
	TAP_READ,    /* *record is set, and is lent until the next call with the
		      * same copy */
	TAP_GARBAGE, /* the ring held no record here: all that it held is
		      * dropped */
};

/* Reads the next record, and makes room for others. Each field of *record is
 * within its bounds; the octets of its messages are any. Cost: linear in the
 * octets of one record. */
enum tap_outcome tap_read(struct tap_reader *reader,
	struct tap_record *record);

/* Takes the count of records that the worker has dropped since the last call. A
 * worker that was taken over may say any number. */
uint64_t tap_take_dropped(const struct tap_reader *reader);

/* ---- records ------------------------------------------------------------- */

struct sockaddr;

/* Sets an address; NULL, or one of neither family: not known. The memory need
 * not be aligned. */
void tap_address_set(struct tap_address *address, const struct sockaddr *from);

/* Writes the name of the record's zone in lower case, up to 255 octets; returns
 * their count; 0: there is no zone, or the message has no question that is of
 * it. */
size_t tap_find_zone(const struct tap_record *record, uint8_t zone[255]);

/* ---- the switch ---------------------------------------------------------- */

/* Kinds and parts that are wanted, as bits; 0: none. */
#define TAP_WANT(kind, part) (1u << (2 * (kind) + ((part) == TAP_RESPONSE)))
#define TAP_WANT_KIND(kind)                                                  \
	(TAP_WANT(kind, TAP_QUERY) | TAP_WANT(kind, TAP_RESPONSE))
#define TAP_WANT_ALL 0x3fu

/* The operator's word beside nsd.conf. */
enum tap_said {
	TAP_SAID_NOTHING,
	TAP_SAID_OFF, /* no records */
	TAP_SAID_ON,  /* dnstap, whatever dnstap-enable says */
};

/* A set of zones that may have some more: a bit for each hash of a name. */
#define TAP_ZONE_BITS (UINT32_C(1) << 14)

struct tap_zones {
	uint64_t bits[TAP_ZONE_BITS / 64];
};

/* Adds a zone; or says whether one may be in the set. name: of len octets, up
 * to 255, in lower case. */
void tap_zones_add(struct tap_zones *zones, const uint8_t *name, size_t len);
bool tap_zones_may_have(const struct tap_zones *zones, const uint8_t *name,
	size_t len);

/* Set by main; workers read it with each batch. */
struct tap_switch {
	uint32_t wants;  /* atomic; 0: write no records */
	uint32_t sample; /* atomic: of so many queries one; 0 or 1: all */
	uint32_t said;   /* atomic: enum tap_said */
	uint32_t chosen; /* atomic: write records of the zones in sets[chosen
			  * - 1] alone; 0: of all, and of queries without a
			  * zone. Main fills the other set, and then changes
			  * this. */
	struct tap_zones sets[2];
};

/* The figures of the collector, for statistics. Atomic words. */
struct tap_counts {
	uint64_t sent;     /* frames that the system has taken */
	uint64_t dropped;  /* records that had no room in a ring, frames that
			    * had none for the receiver */
	uint64_t garbage;  /* rings that were given up */
	uint64_t connected; /* 1: to a receiver */
	uint64_t lines;         /* of the query log, that were written */
	uint64_t lines_dropped; /* of the query log */
	uint64_t log_error;     /* errno that keeps the query log from being
				 * written; 0: nothing does */
};

#endif
