/*
 * message.h - DNS messages: the header, the question, the heads of records
 * (RFC 1035 section 4.1).
 */
#ifndef DNS_MESSAGE_H
#define DNS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/octets.h"
#include "dns/name.h"

#define MESSAGE_HEADER_LEN 12u
#define MESSAGE_MAX_LEN 65535u
#define MESSAGE_QUESTION_TAIL 4u /* QTYPE and QCLASS, behind QNAME */
#define MESSAGE_UDP_MIN 512u     /* RFC 1035 section 2.3.4 */
#define MESSAGE_POINTER_MAX 0x3fffu /* greatest offset a pointer can hold */

/* Where the fields of the header stand. */
enum message_field {
	MESSAGE_ID = 0,
	MESSAGE_FLAGS = 2,
	MESSAGE_QDCOUNT = 4,
	MESSAGE_ANCOUNT = 6,
	MESSAGE_NSCOUNT = 8,
	MESSAGE_ARCOUNT = 10,
};

/* The second word of the header (RFC 1035 section 4.1.1, RFC 4035). */
enum message_flag {
	MESSAGE_QR = 0x8000,
	MESSAGE_OPCODE_MASK = 0x7800,
	MESSAGE_AA = 0x0400,
	MESSAGE_TC = 0x0200,
	MESSAGE_RD = 0x0100,
	MESSAGE_RA = 0x0080,
	MESSAGE_Z = 0x0040,
	MESSAGE_AD = 0x0020,
	MESSAGE_CD = 0x0010,
	MESSAGE_RCODE_MASK = 0x000f,
};

enum opcode {
	OPCODE_QUERY = 0,
	OPCODE_IQUERY = 1,
	OPCODE_STATUS = 2,
	OPCODE_NOTIFY = 4,
	OPCODE_UPDATE = 5,
	OPCODE_DSO = 6,
};

/* Above 15 only with EDNS (RFC 6891) or inside a TSIG (RFC 8945). */
enum rcode {
	RCODE_NOERROR = 0,
	RCODE_FORMERR = 1,
	RCODE_SERVFAIL = 2,
	RCODE_NXDOMAIN = 3,
	RCODE_NOTIMP = 4,
	RCODE_REFUSED = 5,
	RCODE_YXDOMAIN = 6,
	RCODE_YXRRSET = 7,
	RCODE_NXRRSET = 8,
	RCODE_NOTAUTH = 9,
	RCODE_NOTZONE = 10,
	RCODE_BADVERS = 16,
	RCODE_BADSIG = 16,
	RCODE_BADKEY = 17,
	RCODE_BADTIME = 18,
	RCODE_BADTRUNC = 22,
	RCODE_BADCOOKIE = 23,
};

static inline uint16_t
message_get_id(const uint8_t *message)
{
	return octets_get_u16(message + MESSAGE_ID);
}

static inline uint16_t
message_get_flags(const uint8_t *message)
{
	return octets_get_u16(message + MESSAGE_FLAGS);
}

static inline unsigned
message_get_opcode(const uint8_t *message)
{
	return (message[MESSAGE_FLAGS] >> 3) & 0xfu;
}

static inline unsigned
message_get_rcode(const uint8_t *message)
{
	return message[MESSAGE_FLAGS + 1] & 0xfu;
}

static inline uint16_t
message_get_count(const uint8_t *message, enum message_field field)
{
	return octets_get_u16(message + field);
}

/*
 * A name taken apart for look-ups: in lower case, with the place of each label.
 * label_at has one entry more than there are labels, for the root label.
 */
struct message_name {
	uint8_t len;   /* octets, root label counted */
	uint8_t count; /* labels, the root label not counted */
	uint8_t label_at[NAME_MAX_LABELS + 1];
	/* Wire form. The octets behind it, up to a multiple of 8, have no
	 * defined value and may be written. */
	uint8_t name[256];
};

struct message_question {
	struct message_name name;
	uint16_t type;
	uint16_t rrclass;
};

/*
 * Reads a question (RFC 1035 section 4.1.2). A compression pointer in its name
 * is an error: there is no name before it to point to.
 * returns NSD_OK with the cursor behind it; NSD_E_WIRE, and the cursor has
 *     failed, if it is cut, or its name is over 255 octets or not plain labels.
 * Cost: one pass over the name.
 */
enum nsd_err message_read_question(struct cursor *message,
	struct message_question *question) MUST_USE;

/*
 * Expands a name in a message into lower case and labels; follows compression
 * pointers (RFC 1035 section 4.1.4). The message may be hostile.
 * in: a message of len octets; at is the offset of the name.
 * returns NSD_OK; NSD_E_WIRE for what name_read refuses, at the same cost.
 */
enum nsd_err message_expand_name(const uint8_t *message, size_t len, size_t at,
	struct message_name *name) MUST_USE;

/* A record's head, with its RDATA lent from the message. */
struct message_rr {
	size_t owner_at; /* offset of its owner in the message */
	uint16_t type;
	uint16_t rrclass;
	uint32_t ttl_sec;
	uint16_t rdlen;
	const uint8_t *rdata;
};

/*
 * Reads a record's head and moves behind its RDATA (RFC 1035 section 4.1.3).
 * Does not follow pointers in its owner, nor look at the RDATA.
 * returns NSD_OK; NSD_E_WIRE, and the cursor has failed, if it is cut or its
 *     owner is not a name.
 */
enum nsd_err message_read_rr(struct cursor *message, struct message_rr *rr)
	MUST_USE;

/* True if the record's owner is the root, not compressed. */
static inline bool
message_rr_at_root(const struct cursor *message, const struct message_rr *rr)
{
	ASSERT_HOT(message->start + rr->owner_at < message->end);
	return message->start[rr->owner_at] == 0;
}

#endif
