/*
 * frame.h - the part that all replies of a primary have: header, question,
 * TSIG, OPT.
 */
#ifndef XFR_FRAME_H
#define XFR_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/octets.h"
#include "dns/message.h"
#include "dns/tsig.h"
#include "xfr/fault.h"

/* Requirements of a reply. */
struct frame_wanted {
	const uint8_t *apex;
	uint8_t apex_len;
	uint8_t opcode;
	uint16_t id;
	uint16_t qtype;
	bool may_lack_question;
	bool any_question;        /* or one question, whatever it is */
	bool is_stream;           /* over TCP: the reply may lack QR */
	struct tsig_chain *chain; /* NULL: the request is not signed */
	uint64_t now;             /* seconds since 1970 */
};

/* A reply, as it was read. */
struct frame {
	struct cursor records; /* at the answer section */
	uint16_t record_count; /* of it */
	uint16_t flags;
	uint16_t rcode;        /* with its extension; with TSIG_WRONG and
				* TSIG_REFUSED that of the TSIG */
	uint16_t ede;          /* of the OPT (RFC 8914); EDE_NONE */
	uint64_t tsig_time_sec; /* of a TSIG with such a fault: the other's
				* clock; 0: unknown */
	bool has_question;
	bool is_signed;
	bool has_opt;
	bool has_expire;
	uint32_t expire_sec;
};

/*
 * Reads a message: any octets. Checks ID, QR, opcode, question, and the TSIG if
 * the request was signed (RFC 8945 section 5.3). A message without a TSIG is
 * one between signed ones; the first may not be.
 * returns XFR_FAULT_NONE; XFR_FAULT_RCODE: with the frame filled but for the
 *     records, and perhaps not signed; or another fault.
 * Cost: linear in the message; without authority and additional section, and
 *     without a key, the records are not looked at.
 */
enum xfr_fault frame_read(const struct frame_wanted *wanted,
	const uint8_t *message, size_t len, struct frame *frame);

#endif
