/* request.c - requests to primaries, NOTIFY to secondaries, and their short
 * replies. */
#include "xfr/request.h"

#include <assert.h>
#include <string.h>

#include "dns/rdata.h"
#include "dns/rrtype.h"
#include "xfr/frame.h"

#define POINTER_TO_QNAME (0xc000u | MESSAGE_HEADER_LEN)
#define RR_FIXED 10u

void
xfr_soa_read(const uint8_t *rdata, size_t rdata_len, struct xfr_soa *soa)
{
	const uint8_t *numbers = rdata + rdata_len - XFR_SOA_NUMBERS_LEN;

	assert(rdata_len > XFR_SOA_NUMBERS_LEN);
	soa->serial = octets_get_u32(numbers);
	soa->refresh_sec = octets_get_u32(numbers + 4);
	soa->retry_sec = octets_get_u32(numbers + 8);
	soa->expire_sec = octets_get_u32(numbers + 12);
}

/* ---- writing ------------------------------------------------------------ */

static uint16_t
qtype_of(enum xfr_asking asking)
{
	switch (asking) {
	case XFR_ASK_AXFR:
		return TYPE_AXFR;
	case XFR_ASK_IXFR:
		return TYPE_IXFR;
	default:
		return TYPE_SOA;
	}
}

/* Writes a record of type SOA at the apex. */
static uint8_t *
write_soa(const struct xfr_ask *ask, uint8_t *out)
{
	uint8_t none[2 + XFR_SOA_NUMBERS_LEN] = {0};
	const uint8_t *rdata = ask->soa != NULL ? ask->soa : none;
	uint16_t len = ask->soa != NULL ? ask->soa_len : sizeof(none);

	assert(len <= XFR_SOA_RDATA_MAX);
	octets_put_u32(none + 2, ask->serial);
	octets_put_u16(out, POINTER_TO_QNAME);
	octets_put_u16(out + 2, TYPE_SOA);
	octets_put_u16(out + 4, CLASS_IN);
	octets_put_u32(out + 6, ask->soa != NULL ? ask->soa_ttl_sec : 0);
	octets_put_u16(out + 10, len);
	memcpy(out + 2 + RR_FIXED, rdata, len);
	return out + 2 + RR_FIXED + len;
}

static uint8_t *
request_write_opt(const struct xfr_ask *ask, uint8_t *out)
{
	uint16_t len = ask->wants_expire ? EDNS_OPTION_HEAD : 0;

	out[0] = 0; /* the root */
	octets_put_u16(out + 1, TYPE_OPT);
	octets_put_u16(out + 3, ask->udp_size);
	octets_put_u32(out + 5, 0);
	octets_put_u16(out + 9, len);
	out += EDNS_OPT_LEN;
	if (ask->wants_expire) {
		/* The option is empty in a request: RFC 7314 section 2. */
		octets_put_u16(out, EDNS_EXPIRE);
		octets_put_u16(out + 2, 0);
	}
	return out + len;
}

static enum nsd_err
sign_request(const struct xfr_ask *ask, uint64_t now, uint8_t *out, size_t *len)
{
	const struct tsig_stamp stamp = {
		.time_sec = now,
		.fudge_sec = TSIG_FUDGE_SEC,
		.error = RCODE_NOERROR,
	};

	return ask->chain == NULL
		? NSD_OK
		: tsig_sign(ask->chain, out, len, XFR_ASK_MAX, &stamp);
}

enum nsd_err
xfr_ask_write(const struct xfr_ask *ask, uint64_t now,
	uint8_t out[XFR_ASK_MAX], size_t *len)
{
	bool notify = ask->asking == XFR_TELL_NOTIFY;
	size_t apex_len = name_len(ask->apex);
	uint8_t *at = out + MESSAGE_HEADER_LEN;

	memset(out, 0, MESSAGE_HEADER_LEN);
	octets_put_u16(out + MESSAGE_ID, ask->id);
	/* RFC 1996 section 3.7: NOTIFY has AA. */
	if (notify)
		octets_put_u16(out + MESSAGE_FLAGS,
			OPCODE_NOTIFY << 11 | MESSAGE_AA);
	octets_put_u16(out + MESSAGE_QDCOUNT, 1);
	memcpy(at, ask->apex, apex_len);
	at += apex_len;
	octets_put_u16(at, qtype_of(ask->asking));
	octets_put_u16(at + 2, CLASS_IN);
	at += MESSAGE_QUESTION_TAIL;
	if (ask->asking == XFR_ASK_IXFR) {
		/* RFC 1995 section 3 */
		octets_put_u16(out + MESSAGE_NSCOUNT, 1);
		at = write_soa(ask, at);
	} else if (notify && ask->soa != NULL) {
		octets_put_u16(out + MESSAGE_ANCOUNT, 1);
		at = write_soa(ask, at);
	}
	if (ask->udp_size > 0) {
		octets_put_u16(out + MESSAGE_ARCOUNT, 1);
		at = request_write_opt(ask, at);
	}
	*len = (size_t)(at - out);
	return sign_request(ask, now, out, len);
}

/* ---- SOAs that come ------------------------------------------------------ */

/* An SOA in an answer section. */
struct found_soa {
	uint32_t ttl_sec;
	size_t len;
	uint8_t rdata[RDATA_MAX_LEN]; /* uncompressed */
};

/* Finds the SOA of an apex among records, count at most. */
static enum xfr_fault
find_soa(struct cursor *c, unsigned count, const uint8_t *apex,
	struct found_soa *soa)
{
	uint8_t owner[NAME_MAX_LEN];
	struct message_rr rr;
	struct cursor at;
	size_t len;

	for (unsigned i = 0; i < count; i++) {
		if (message_read_rr(c, &rr) != NSD_OK)
			return XFR_FAULT_MALFORMED;
		if (rr.type != TYPE_SOA || rr.rrclass != CLASS_IN)
			continue;
		at = *c;
		at.at = at.start + rr.owner_at;
		if (name_read(&at, owner, &len) != NSD_OK)
			return XFR_FAULT_MALFORMED;
		if (!name_equal(owner, apex))
			continue;
		at.at = rr.rdata;
		/* RFC 2181 section 8 */
		soa->ttl_sec = rr.ttl_sec > INT32_MAX ? 0 : rr.ttl_sec;
		return rdata_read(TYPE_SOA, &at, rr.rdlen, soa->rdata,
				&soa->len) == NSD_OK
			? XFR_FAULT_NONE
			: XFR_FAULT_RDATA;
	}
	return XFR_FAULT_NO_SOA;
}

bool
xfr_notify_read(const uint8_t *message, size_t len,
	struct xfr_notified *notified)
{
	struct message_question question;
	struct found_soa found;
	struct xfr_soa soa;
	struct cursor c;

	cursor_init(&c, message, len);
	if (cursor_read_octets(&c, MESSAGE_HEADER_LEN) == NULL
		|| message_get_opcode(message) != OPCODE_NOTIFY
		|| (message_get_flags(message) & MESSAGE_QR) != 0
		|| message_get_count(message, MESSAGE_QDCOUNT) != 1
		|| message_read_question(&c, &question) != NSD_OK
		|| question.type != TYPE_SOA || question.rrclass != CLASS_IN)
		return false;
	memcpy(notified->apex, question.name.name, question.name.len);
	notified->has_serial = find_soa(&c,
		message_get_count(message, MESSAGE_ANCOUNT), notified->apex,
		&found) == XFR_FAULT_NONE;
	notified->serial = 0;
	if (notified->has_serial) {
		xfr_soa_read(found.rdata, found.len, &soa);
		notified->serial = soa.serial;
	}
	return true;
}

bool
xfr_lacks_edns(enum xfr_fault fault, uint16_t rcode, bool has_opt)
{
	if (fault != XFR_FAULT_RCODE)
		return false;
	switch (rcode) {
	case RCODE_BADVERS:
	case RCODE_FORMERR:
		return true;
	case RCODE_NOTIMP:
	case RCODE_SERVFAIL:
	case RCODE_REFUSED:
		return !has_opt;
	default:
		return false;
	}
}

/* ---- replies ------------------------------------------------------------- */

/* Takes the SOA of the apex in the answer section (RFC 1034 section 4.3.5). */
static enum xfr_fault
request_take_soa(const struct xfr_ask *ask, struct frame *frame,
	struct xfr_answer *answer)
{
	struct found_soa soa;
	enum xfr_fault fault = find_soa(&frame->records, frame->record_count,
		ask->apex, &soa);

	if (fault != XFR_FAULT_NONE)
		return fault;
	memcpy(answer->soa_rdata, soa.rdata, soa.len);
	answer->soa_len = (uint16_t)soa.len;
	answer->soa_ttl_sec = soa.ttl_sec;
	answer->has_soa = true;
	xfr_soa_read(soa.rdata, soa.len, &answer->soa);
	return XFR_FAULT_NONE;
}

enum xfr_fault
xfr_answer_read(const struct xfr_ask *ask, const uint8_t *message, size_t len,
	uint64_t now, struct xfr_answer *answer)
{
	bool notify = ask->asking == XFR_TELL_NOTIFY;
	const struct frame_wanted wanted = {
		.apex = ask->apex,
		.apex_len = (uint8_t)name_len(ask->apex),
		.opcode = notify ? OPCODE_NOTIFY : OPCODE_QUERY,
		.id = ask->id,
		.qtype = qtype_of(ask->asking),
		.may_lack_question = notify,
		.is_stream = ask->is_stream,
		.chain = ask->chain,
		.now = now,
	};
	struct frame frame;
	enum xfr_fault fault = frame_read(&wanted, message, len, &frame);

	memset(answer, 0, sizeof(*answer));
	answer->rcode = frame.rcode;
	answer->has_opt = frame.has_opt;
	answer->ede = frame.ede;
	answer->tsig_time_sec = frame.tsig_time_sec;
	if (fault != XFR_FAULT_NONE)
		return fault;
	answer->has_expire = frame.has_expire;
	answer->expire_sec = frame.expire_sec;
	if (notify)
		return XFR_FAULT_NONE;
	if ((frame.flags & MESSAGE_TC) != 0)
		return XFR_FAULT_TRUNCATED;
	if ((frame.flags & MESSAGE_AA) == 0)
		return XFR_FAULT_NO_AA;
	return request_take_soa(ask, &frame, answer);
}
