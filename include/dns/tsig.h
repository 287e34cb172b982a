/*
 * tsig.h - messages signed with a shared secret (TSIG, RFC 8945).
 *
 * A message ends in a TSIG record with a MAC over the message, the MAC before
 * and the time. A chain is the state of one exchange: a request, and one answer
 * or many. Both sides use it in the same way: one signs the request and checks
 * the answers, the other checks the request and signs the answers.
 *
 * Times are seconds since 1970, 48 bits of them count.
 */
#ifndef DNS_TSIG_H
#define DNS_TSIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mac.h"
#include "dns/message.h"
#include "dns/name.h"

#define TSIG_FUDGE_SEC 300u /* RFC 8945 section 10 */
#define TSIG_OTHER_MAX 6u   /* section 5.2.3: a time, or nothing */
#define TSIG_UNSIGNED_MAX 99u /* section 5.3.1: messages between two signed */

struct tsig_key {
	uint8_t name[NAME_MAX_LEN]; /* wire form, lower case */
	enum mac_kind kind;
	/* The MAC of the key, for the thread at hand. A chain over several
	 * messages needs a MAC of its own while it lasts. */
	struct mac *mac;
};

/* A TSIG record; pointers are lent from the message. */
struct tsig {
	size_t at;               /* offset of the record: the message ends
				  * here */
	struct message_name key;
	struct message_name algorithm;
	uint64_t time_sec;
	uint16_t fudge_sec;
	uint16_t mac_len;
	uint16_t original_id;
	uint16_t error;          /* enum rcode */
	uint16_t other_len;
	const uint8_t *mac;
	const uint8_t *other;
};

/* The signatures of one exchange, request and answers. Fields are private. */
struct tsig_chain {
	const struct tsig_key *key;
	uint8_t prior[MAC_LEN_MAX]; /* the MAC before, as it was sent */
	size_t prior_len;
	unsigned unsigned_count;    /* messages since, already added */
	bool is_answered;           /* an answer has been signed or checked */
	uint64_t time_sec;          /* of the MAC before */
};

/*
 * The names of algorithms: the wire form in lower case, such as
 * \013hmac-sha256\000. NULL from the first, false from the second: unknown.
 */
const uint8_t *tsig_algorithm_name(enum mac_kind kind);
bool tsig_find_algorithm(const uint8_t *name, enum mac_kind *kind);

/*
 * Reads the record at an offset of a message (RFC 8945 section 4.2).
 * in: a message of len octets, which may be hostile.
 * returns NSD_OK; NSD_E_WIRE if there is no well-formed TSIG that is the last
 *     thing in the message: class, TTL, lengths, names.
 */
enum nsd_err tsig_read(const uint8_t *message, size_t len, size_t at,
	struct tsig *tsig) MUST_USE;

/* Begins an exchange with a key, which outlives it. */
void tsig_begin(struct tsig_chain *chain, const struct tsig_key *key);

/*
 * Checks the next message of an exchange, in the order of RFC 8945 section 5.2.
 * in: the message without its TSIG record ends at tsig->at; now: the time.
 * returns RCODE_NOERROR: the MAC and the time are right;
 *     RCODE_BADKEY: signed with another algorithm or under another name;
 *     RCODE_FORMERR: a MAC of a length that RFC 8945 section 5.2.2.1 forbids;
 *     RCODE_BADSIG: not by the holder of the key, or not the next message;
 *     RCODE_BADTIME: by the holder, at a wrong time. tsig_sign can answer it.
 *     RCODE_SERVFAIL: no memory.
 * After BADKEY, FORMERR, BADSIG and SERVFAIL the chain is of no use any more.
 * Cost: linear in the message.
 */
enum rcode tsig_check(struct tsig_chain *chain, const uint8_t *message,
	const struct tsig *tsig, uint64_t now) MUST_USE;

/*
 * Takes an answer without a TSIG between signed ones (RFC 8945 section 5.3.1).
 * It counts only once a signed answer behind it is checked.
 * returns NSD_OK; NSD_E_PEER: the first answer has to be signed, and there are
 *     at most TSIG_UNSIGNED_MAX between two.
 */
enum nsd_err tsig_skip(struct tsig_chain *chain, const uint8_t *message,
	size_t len) MUST_USE;

/* The fields of the TSIG record of a message to be signed. */
struct tsig_stamp {
	uint64_t time_sec;
	uint16_t fudge_sec;
	enum rcode error;     /* RCODE_NOERROR or RCODE_BADTIME */
	uint64_t server_time; /* with BADTIME: added to the record, whose
			       * time_sec is then the client's */
};

/* Octets that tsig_sign adds; with BADTIME it is TSIG_OTHER_MAX more. */
size_t tsig_len(const struct tsig_key *key);

/*
 * Signs the next message of an exchange: adds the record, and counts it in the
 * header.
 * in: message of *len octets with room for capacity.
 * returns NSD_OK with *len grown; NSD_E_LIMIT: there is no room; NSD_E_MEMORY.
 *     After an error the message is as before, and the chain of no use any
 *     more.
 */
enum nsd_err tsig_sign(struct tsig_chain *chain, uint8_t *message, size_t *len,
	size_t capacity, const struct tsig_stamp *stamp) MUST_USE;

/*
 * Adds a TSIG without a MAC to an error reply: BADKEY or BADSIG (RFC 8945
 * section 5.2). Counts it in the header.
 * in: request: the record of the request; message, len, capacity as above.
 * returns NSD_OK; NSD_E_LIMIT: there is no room.
 */
enum nsd_err tsig_refuse(const struct tsig *request, enum rcode error,
	uint8_t *message, size_t *len, size_t capacity) MUST_USE;

#endif
