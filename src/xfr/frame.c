/* frame.c - header, question, TSIG and OPT of the replies of a primary. */
#include "xfr/frame.h"

#include <string.h>

#include "dns/edns.h"
#include "dns/rrtype.h"

/* RFC 5936 section 2.2.1, RFC 1996 section 4. */
static enum xfr_fault
check_header(const struct frame_wanted *wanted, const uint8_t *message,
	size_t len)
{
	if (len < MESSAGE_HEADER_LEN)
		return XFR_FAULT_HEADER;
	if (message_get_id(message) != wanted->id)
		return XFR_FAULT_ID;
	/* Over TCP a message without QR can only be of the primary; NSD takes
	 * it, too. */
	if ((message_get_flags(message) & MESSAGE_QR) == 0
		&& !wanted->is_stream)
		return XFR_FAULT_QR;
	if (message_get_opcode(message) != wanted->opcode)
		return XFR_FAULT_OPCODE;
	return XFR_FAULT_NONE;
}

/* RFC 5936 section 2.2.2: messages behind the first may lack it. So do some
 * errors. */
static enum xfr_fault
check_question(const struct frame_wanted *wanted, struct frame *frame)
{
	const uint8_t *message = frame->records.start;
	struct message_question question;

	switch (message_get_count(message, MESSAGE_QDCOUNT)) {
	case 0:
		return wanted->may_lack_question || wanted->any_question
				|| frame->rcode != 0
			? XFR_FAULT_NONE
			: XFR_FAULT_QUESTION;
	case 1:
		break;
	default:
		return XFR_FAULT_QUESTION;
	}
	if (message_read_question(&frame->records, &question) != NSD_OK)
		return XFR_FAULT_QUESTION;
	frame->has_question = question.type == wanted->qtype
		&& question.rrclass == CLASS_IN
		&& question.name.len == wanted->apex_len
		&& memcmp(question.name.name, wanted->apex, wanted->apex_len)
			== 0;
	return frame->has_question || wanted->any_question
		? XFR_FAULT_NONE
		: XFR_FAULT_QUESTION;
}

/* EXPIRE of a reply has 4 octets (RFC 7314 section 2). Other lengths are
 * ignored. */
static void
read_opt(const struct message_rr *rr, struct frame *frame)
{
	const uint8_t *data;
	uint16_t len;

	frame->rcode |= (uint16_t)(rr->ttl_sec >> 24 << 4);
	data = edns_find_option(rr, EDNS_EDE, &len);
	if (data != NULL && len >= 2)
		frame->ede = octets_get_u16(data);
	data = edns_find_option(rr, EDNS_EXPIRE, &len);
	if (data == NULL || len != 4)
		return;
	frame->has_expire = true;
	frame->expire_sec = octets_get_u32(data);
}

/* Reads the sections behind the answer section. *tsig_at: the offset of a TSIG;
 * 0: none. A TSIG is the last record (RFC 8945 section 5.1), and there is one
 * OPT at most (RFC 6891 section 6.1.1). */
static enum xfr_fault
read_rest(struct frame *frame, size_t *tsig_at)
{
	struct cursor c = frame->records;
	unsigned before = frame->record_count
		+ message_get_count(c.start, MESSAGE_NSCOUNT);
	unsigned count = message_get_count(c.start, MESSAGE_ARCOUNT);
	bool has_opt = false;
	struct message_rr rr;

	for (unsigned i = 0; i < before; i++)
		if (message_read_rr(&c, &rr) != NSD_OK)
			return XFR_FAULT_MALFORMED;
	for (unsigned i = 0; i < count; i++) {
		if (message_read_rr(&c, &rr) != NSD_OK)
			return XFR_FAULT_MALFORMED;
		if (rr.type == TYPE_TSIG) {
			if (i + 1 != count)
				return XFR_FAULT_MALFORMED;
			*tsig_at = rr.owner_at;
		} else if (rr.type == TYPE_OPT) {
			if (has_opt || !message_rr_at_root(&c, &rr))
				return XFR_FAULT_MALFORMED;
			has_opt = frame->has_opt = true;
			read_opt(&rr, frame);
		}
	}
	return XFR_FAULT_NONE;
}

/* Returns the time of a primary's clock, which it sends with BADTIME (RFC 8945
 * section 5.2.3). */
static uint64_t
read_clock(const struct tsig *tsig)
{
	return tsig->error == RCODE_BADTIME && tsig->other_len == 6
		? (uint64_t)octets_get_u16(tsig->other) << 32
			| octets_get_u32(tsig->other + 2)
		: 0;
}

static enum xfr_fault
check_tsig(const struct frame_wanted *wanted, struct frame *frame,
	size_t tsig_at)
{
	const uint8_t *message = frame->records.start;
	size_t len = (size_t)(frame->records.end - message);
	struct tsig tsig;
	enum rcode rcode;

	if (tsig_at == 0) {
		/* An error ends the transfer, signed or not. */
		if (wanted->chain == NULL || frame->rcode != RCODE_NOERROR)
			return XFR_FAULT_NONE;
		return tsig_skip(wanted->chain, message, len) == NSD_OK
			? XFR_FAULT_NONE
			: XFR_FAULT_TSIG_MISSING;
	}
	if (wanted->chain == NULL)
		return XFR_FAULT_TSIG_UNASKED;
	if (tsig_read(message, len, tsig_at, &tsig) != NSD_OK)
		return XFR_FAULT_MALFORMED;
	if (tsig.error != RCODE_NOERROR && frame->rcode != RCODE_NOERROR) {
		frame->rcode = tsig.error;
		frame->tsig_time_sec = read_clock(&tsig);
		return XFR_FAULT_TSIG_REFUSED;
	}
	rcode = tsig_check(wanted->chain, message, &tsig, wanted->now);
	if (rcode == RCODE_SERVFAIL)
		return XFR_FAULT_MEMORY;
	if (rcode != RCODE_NOERROR) {
		frame->rcode = (uint16_t)rcode;
		frame->tsig_time_sec = tsig.time_sec;
		return XFR_FAULT_TSIG_WRONG;
	}
	frame->is_signed = true;
	return XFR_FAULT_NONE;
}

enum xfr_fault
frame_read(const struct frame_wanted *wanted, const uint8_t *message,
	size_t len, struct frame *frame)
{
	enum xfr_fault fault = check_header(wanted, message, len);
	size_t tsig_at = 0;

	memset(frame, 0, sizeof(*frame));
	frame->ede = EDE_NONE;
	if (fault != XFR_FAULT_NONE)
		return fault;
	cursor_init(&frame->records, message, len);
	cursor_read_octets(&frame->records, MESSAGE_HEADER_LEN);
	frame->flags = message_get_flags(message);
	frame->rcode = (uint16_t)message_get_rcode(message);
	frame->record_count = message_get_count(message, MESSAGE_ANCOUNT);
	fault = check_question(wanted, frame);
	if (fault != XFR_FAULT_NONE)
		return fault;
	if (message_get_count(message, MESSAGE_NSCOUNT) != 0
		|| message_get_count(message, MESSAGE_ARCOUNT) != 0)
		fault = read_rest(frame, &tsig_at);
	if (fault == XFR_FAULT_NONE)
		fault = check_tsig(wanted, frame, tsig_at);
	if (fault == XFR_FAULT_NONE && frame->rcode != RCODE_NOERROR)
		fault = XFR_FAULT_RCODE;
	return fault;
}
