/* reader.c - reads the messages of a transfer. */
#include "xfr/reader.h"

#include <assert.h>
#include <string.h>

#include "base/assert.h"
#include "dns/message.h"
#include "dns/rdata.h"
#include "dns/rrtype.h"
#include "dns/serial.h"
#include "xfr/frame.h"

/* The number of messages of a transfer that may be without records. */
#define EMPTY_MAX 16u

#define POINTER 0xc0u
#define OWNER_STEP 32u
#define NO_OWNER SIZE_MAX /* no record has been read */

/* The part of a transfer that has been read. */
enum intake_state {
	AT_BEGINNING,
	BEHIND_SOA,   /* the first one. IXFR: are there differences? */
	IN_WHOLE,
	IN_REMOVALS,
	IN_ADDITIONS,
	AT_END,       /* the last SOA has come */
	IS_OLD,       /* the first SOA has no newer serial than ours */
};

_Static_assert(sizeof(struct xfr_reader) <= 1024, "a reader is small");

/* A message that is being read. */
struct message_parser {
	struct xfr_reader *reader;
	struct cursor c;
	uint8_t *out;      /* records in the format of changes.h */
	size_t out_len;
	size_t last_len;   /* of the record at the end of it; 0: none */
	bool has_question; /* the apex is at the beginning of the message */
	/* The owner of the record at hand, or of the one before, in lower case.
	 * A copy of OWNER_STEP octets never leaves it. */
	uint8_t owner_len;
	size_t owner_at;   /* offset of the name in the message; NO_OWNER */
	bool is_foreign;   /* the owner is not in the zone */
	uint8_t owner[NAME_MAX_LEN];
};

void
xfr_reader_init(struct xfr_reader *reader, const struct xfr_read_setup *setup)
{
	assert(setup->asking == XFR_ASK_AXFR
		|| (setup->asking == XFR_ASK_IXFR && setup->has_serial));
	memset(reader, 0, sizeof(*reader));
	reader->setup = *setup;
	reader->apex_len = (uint8_t)name_len(setup->apex);
	reader->state = AT_BEGINNING;
}

/* ---- output -------------------------------------------------------------- */

static bool
is_too_large(const struct xfr_reader *r)
{
	return r->setup.octets_max > 0
		&& r->result.octets + r->result.left_out.octets
			> r->setup.octets_max;
}

static enum xfr_fault
intake_flush(struct message_parser *m)
{
	struct xfr_reader *r = m->reader;
	const struct xfr_sink *sink = &r->setup.sink;

	if (m->out_len == 0)
		return XFR_FAULT_NONE;
	r->result.octets += m->out_len;
	if (is_too_large(r))
		return XFR_FAULT_OCTETS;
	r->result.sink_err = sink->on_octets(sink->ctx, m->out, m->out_len);
	m->out_len = 0;
	m->last_len = 0;
	return r->result.sink_err == NSD_OK ? XFR_FAULT_NONE : XFR_FAULT_SINK;
}

/* Output that waits to be flushed has at most FULL octets when a record comes.
 * The end of the room is for the RDATA of an SOA alone. */
#define SPARE_AT (sizeof(struct xfr_room) - RDATA_MAX_LEN)
#define FULL 65536u
#define SOA_RECORD_MAX (CHANGES_RECORD_MAX - RDATA_MAX_LEN + XFR_SOA_RDATA_MAX)
_Static_assert(FULL + CHANGES_HEAD_MAX + SOA_RECORD_MAX + CHANGES_RECORD_MAX
	<= SPARE_AT, "head, SOA and a record fit behind what is there");

/* Once the kind is known: writes the head, and for a whole zone the first
 * SOA. */
static void
intake_begin(struct message_parser *m, enum changes_kind kind)
{
	struct xfr_reader *r = m->reader;
	const struct changes_rr soa = {
		.action = XFR_ADD,
		.type = TYPE_SOA,
		.ttl_sec = r->result.soa_ttl_sec,
		.owner = r->setup.apex,
		.owner_len = r->apex_len,
		.rdata = r->soa,
		.rdlen = r->soa_len,
	};

	r->result.kind = kind;
	m->out_len += changes_write_head(m->out + m->out_len, kind,
		r->setup.apex, r->apex_len);
	if (kind == XFR_DIFFS)
		return;
	m->out_len += changes_write(m->out + m->out_len, &soa);
	r->state = IN_WHOLE;
}

/* ---- owners -------------------------------------------------------------- */

/* Lengths of labels are below 'A', so they need no care. */
static void
lower_name(uint8_t *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		name[i] = name_lower_octet(name[i]);
}

/*
 * Reads labels that end in a pointer to the apex in the question, as most
 * owners do that are not a pointer alone. False: it is another name, or broken,
 * and the cursor is where it was.
 */
static bool
read_below_apex(struct message_parser *m)
{
	const struct xfr_reader *r = m->reader;
	const uint8_t *at = m->c.at;
	size_t left = cursor_left(&m->c), len = 0;

	if (!m->has_question)
		return false;
	for (;;) {
		if (len + 2 > left)
			return false;
		if (at[len] > LABEL_MAX_LEN)
			break;
		if (at[len] == 0)
			return false;
		len += 1u + at[len];
	}
	if (octets_get_u16(at + len) != (POINTER << 8 | MESSAGE_HEADER_LEN)
		|| len + r->apex_len > NAME_MAX_LEN)
		return false;
	memcpy(m->owner, at, len);
	lower_name(m->owner, len);
	memcpy(m->owner + len, r->setup.apex, r->apex_len);
	m->owner_len = (uint8_t)(len + r->apex_len);
	m->c.at += len + 2;
	return true;
}

/* Reads the owner at the cursor into m->owner. */
static enum xfr_fault
read_owner(struct message_parser *m)
{
	size_t start = cursor_offset(&m->c), len;

	if (cursor_left(&m->c) >= 2 && *m->c.at >= POINTER) {
		start = octets_get_u16(m->c.at) & MESSAGE_POINTER_MAX;
		/* Mostly the owner is that of the record before. */
		if (start == m->owner_at) {
			m->c.at += 2;
			return XFR_FAULT_NONE;
		}
	}
	m->owner_at = start;
	m->is_foreign = false;
	if (read_below_apex(m))
		return XFR_FAULT_NONE;
	if (name_read(&m->c, m->owner, &len) != NSD_OK)
		return XFR_FAULT_MALFORMED;
	lower_name(m->owner, len);
	m->owner_len = (uint8_t)len;
	m->is_foreign = !name_is_within(m->owner, m->reader->setup.apex);
	return XFR_FAULT_NONE;
}

/* ---- SOAs ---------------------------------------------------------------- */

static enum xfr_fault
take_first_soa(struct message_parser *m, const struct changes_rr *rr)
{
	struct xfr_reader *r = m->reader;

	memcpy(r->soa, rr->rdata, rr->rdlen);
	r->soa_len = rr->rdlen;
	xfr_soa_read(r->soa, r->soa_len, &r->result.soa);
	r->result.soa_ttl_sec = rr->ttl_sec;
	r->result.to = r->result.soa.serial;
	r->state = BEHIND_SOA;
	if (r->setup.has_serial
		&& !serial_is_newer(r->result.to, r->setup.serial))
		r->state = IS_OLD;
	else if (r->setup.asking == XFR_ASK_AXFR)
		intake_begin(m, XFR_WHOLE);
	return XFR_FAULT_NONE;
}

/* True if an SOA is the first one; the case of names does not matter. */
static bool
is_first_soa(const struct xfr_reader *r, const struct changes_rr *rr)
{
	return rdata_compare(TYPE_SOA, rr->rdata, rr->rdlen, r->soa,
		r->soa_len) == 0;
}

static void
intake_put(struct message_parser *m, const struct changes_rr *rr)
{
	m->last_len = 0;
	m->out_len += changes_write(m->out + m->out_len, rr);
}

/* Takes the old SOA, with which a version begins. */
static enum xfr_fault
begin_version(struct message_parser *m, struct changes_rr *rr)
{
	m->reader->version_from = rr->serial;
	m->reader->state = IN_REMOVALS;
	rr->action = XFR_REMOVE;
	intake_put(m, rr);
	return XFR_FAULT_NONE;
}

/* Takes the new SOA of a version, which is newer than the old one, and not
 * beyond the announced one. */
static enum xfr_fault
take_new_soa(struct message_parser *m, struct changes_rr *rr)
{
	struct xfr_reader *r = m->reader;

	if (!serial_is_newer(rr->serial, r->version_from)
		|| serial_is_newer(rr->serial, r->result.to))
		return XFR_FAULT_ORDER;
	if (rr->serial == r->result.to && !is_first_soa(r, rr))
		return XFR_FAULT_SOA_DIFFERS;
	r->version_to = rr->serial;
	r->state = IN_ADDITIONS;
	rr->action = XFR_ADD;
	intake_put(m, rr);
	return XFR_FAULT_NONE;
}

static enum xfr_fault
take_last_soa(struct xfr_reader *r, const struct changes_rr *rr)
{
	if (!is_first_soa(r, rr))
		return XFR_FAULT_SOA_DIFFERS;
	r->state = AT_END;
	return XFR_FAULT_NONE;
}

/* Takes an SOA of the apex: these separate the parts of a transfer (RFC 5936
 * section 2.2, RFC 1995 section 4). */
static enum xfr_fault
take_soa(struct message_parser *m, struct changes_rr *rr)
{
	struct xfr_reader *r = m->reader;

	rr->serial = octets_get_u32(rr->rdata + rr->rdlen
		- XFR_SOA_NUMBERS_LEN);
	switch (r->state) {
	case AT_BEGINNING:
		return take_first_soa(m, rr);
	case BEHIND_SOA:
		if (rr->serial == r->result.to)
			return XFR_FAULT_NO_DIFFERENCES;
		if (rr->serial != r->setup.serial)
			return XFR_FAULT_BEGINNING;
		intake_begin(m, XFR_DIFFS);
		r->result.from = rr->serial;
		return begin_version(m, rr);
	case IN_WHOLE:
		return take_last_soa(r, rr);
	case IN_REMOVALS:
		return take_new_soa(m, rr);
	case IN_ADDITIONS:
		if (r->version_to == r->result.to)
			return take_last_soa(r, rr);
		return rr->serial == r->version_to ? begin_version(m, rr)
						   : XFR_FAULT_ORDER;
	default:
		return XFR_FAULT_BEHIND_END;
	}
}

/* ---- records ------------------------------------------------------------- */

/* Reads an SOA, which may have to stand behind others. */
static enum xfr_fault
read_soa(struct message_parser *m, struct changes_rr *rr)
{
	uint8_t *spare = m->out + SPARE_AT;
	size_t len;

	if (m->is_foreign)
		return XFR_FAULT_OWNER;
	if (rdata_read(TYPE_SOA, &m->c, rr->rdlen, spare, &len) != NSD_OK)
		return XFR_FAULT_RDATA;
	if (rr->owner_len != m->reader->apex_len)
		return XFR_FAULT_SOA_BELOW;
	rr->rdata = spare;
	rr->rdlen = (uint16_t)len;
	return take_soa(m, rr);
}

/* Leaves out the record at hand, of len octets, which is of another zone. */
static enum xfr_fault
leave_out(struct message_parser *m, const struct changes_rr *rr, size_t len)
{
	struct xfr_left_out *left_out = &m->reader->result.left_out;

	if (left_out->records++ == 0) {
		left_out->type = rr->type;
		memcpy(left_out->owner, rr->owner, rr->owner_len);
	}
	left_out->octets += len;
	return is_too_large(m->reader) ? XFR_FAULT_OCTETS : XFR_FAULT_NONE;
}

/* Reads a record that is no SOA straight into the output. */
static enum xfr_fault
read_other(struct message_parser *m, struct changes_rr *rr)
{
	struct xfr_reader *r = m->reader;
	size_t at = changes_rdata_offset(rr->owner_len), len;
	uint8_t *out;

	switch (r->state) {
	case AT_BEGINNING:
		return XFR_FAULT_NO_SOA;
	case BEHIND_SOA:
		intake_begin(m, XFR_WHOLE);
		break;
	case AT_END:
		return XFR_FAULT_BEHIND_END;
	default:
		break;
	}
	rr->action = r->state == IN_REMOVALS ? XFR_REMOVE : XFR_ADD;
	out = m->out + m->out_len;
	/* Most owners are short, and a copy of fixed length is the fastest.
	 * Octets beyond the owner are written over. */
	memcpy(out + 1, m->owner, OWNER_STEP);
	if (rr->owner_len > OWNER_STEP)
		memcpy(out + 1, m->owner, rr->owner_len);
	if (rdata_read(rr->type, &m->c, rr->rdlen, out + at, &len) != NSD_OK)
		return XFR_FAULT_RDATA;
	rr->rdlen = (uint16_t)len;
	changes_write_fixed(out, rr);
	len += at;
	if (m->is_foreign)
		return leave_out(m, rr, len);
	/* NSD makes differences in which a record is added twice in a row. */
	if (len == m->last_len && memcmp(out - len, out, len) == 0)
		return XFR_FAULT_NONE;
	m->out_len += len;
	m->last_len = len;
	return XFR_FAULT_NONE;
}

static enum xfr_fault
read_record(struct message_parser *m)
{
	struct cursor *c = &m->c;
	struct changes_rr rr;
	uint16_t rrclass;
	uint32_t ttl_sec;
	enum xfr_fault fault = read_owner(m);

	if (fault != XFR_FAULT_NONE)
		return fault;
	rr.owner = m->owner;
	rr.owner_len = m->owner_len;
	rr.type = cursor_read_u16(c);
	rrclass = cursor_read_u16(c);
	ttl_sec = cursor_read_u32(c);
	rr.rdlen = cursor_read_u16(c);
	if (c->failed || cursor_left(c) < rr.rdlen)
		return XFR_FAULT_MALFORMED;
	/* RFC 2181 section 8 */
	rr.ttl_sec = ttl_sec > INT32_MAX ? 0 : ttl_sec;
	if (rr.type == 0 || rrtype_is_meta(rr.type))
		return XFR_FAULT_TYPE;
	if (rrclass != CLASS_IN)
		return XFR_FAULT_CLASS;
	return rr.type == TYPE_SOA ? read_soa(m, &rr) : read_other(m, &rr);
}

static enum xfr_fault
read_records(struct message_parser *m, unsigned count)
{
	struct xfr_reader *r = m->reader;
	enum xfr_fault fault = XFR_FAULT_NONE;

	for (unsigned i = 0; i < count && r->state != IS_OLD; i++) {
		fault = read_record(m);
		if (fault == XFR_FAULT_NONE && m->out_len > FULL)
			fault = intake_flush(m);
		if (fault != XFR_FAULT_NONE)
			return fault;
		r->result.records++;
	}
	return intake_flush(m);
}

/* ---- messages ------------------------------------------------------------ */

/* Counts a message that belongs to the transfer, and checks it. AA does not
 * matter: Knot never sets it, and BIND not always (doc/decisions/0073). */
static enum xfr_fault
check_message(struct xfr_reader *r, const struct frame *frame, size_t len)
{
	const struct xfr_read_setup *setup = &r->setup;
	bool first = r->result.messages == 0;

	r->result.messages++;
	r->result.received += len;
	if (first) {
		r->result.has_expire = frame->has_expire;
		r->result.expire_sec = frame->expire_sec;
	}
	/* TC counts over UDP alone; on a connection the last SOA tells if the
	 * transfer is whole. */
	if ((frame->flags & MESSAGE_TC) != 0 && setup->udp)
		return XFR_FAULT_TRUNCATED;
	if (frame->record_count == 0
		&& (first || ++r->empty_count > EMPTY_MAX))
		return XFR_FAULT_EMPTY;
	if (setup->octets_max > 0 && r->result.received > setup->octets_max)
		return XFR_FAULT_OCTETS;
	return XFR_FAULT_NONE;
}

static enum xfr_verdict
reader_fail(struct xfr_reader *r, enum xfr_fault fault)
{
	r->result.fault = fault;
	return XFR_READ_FAILED;
}

/* Returns the verdict at the end of a message. */
static enum xfr_verdict
reader_end_message(struct xfr_reader *r, const struct frame *frame)
{
	switch (r->state) {
	case IS_OLD:
		r->result.is_ended = frame->record_count == 1
			&& r->setup.asking == XFR_ASK_IXFR;
		return XFR_READ_UNCHANGED;
	case AT_END:
		/* RFC 8945 section 5.3.1: the last one is signed. */
		if (r->setup.chain != NULL && !frame->is_signed)
			return reader_fail(r, XFR_FAULT_TSIG_MISSING);
		r->result.is_ended = true;
		return XFR_READ_DONE;
	case BEHIND_SOA:
		/* RFC 1995 section 2: a lone SOA. */
		if (r->setup.udp)
			return XFR_READ_USE_TCP;
		break;
	default:
		break;
	}
	return r->setup.udp ? reader_fail(r, XFR_FAULT_CUT) : XFR_READ_MORE;
}

enum xfr_verdict
xfr_reader_take(struct xfr_reader *r, const uint8_t *message, size_t len,
	uint64_t now, struct xfr_room *room)
{
	const struct frame_wanted wanted = {
		.apex = r->setup.apex,
		.apex_len = r->apex_len,
		.opcode = OPCODE_QUERY,
		.id = r->setup.id,
		.qtype = r->setup.asking == XFR_ASK_AXFR ? TYPE_AXFR
							 : TYPE_IXFR,
		.may_lack_question = r->result.messages > 0,
		/* On a connection the ID tells the request of a reply. */
		.any_question = !r->setup.udp,
		.is_stream = !r->setup.udp,
		.chain = r->setup.chain,
		.now = now,
	};
	struct message_parser m = {.reader = r, .out = room->octets,
		.owner_at = NO_OWNER};
	struct frame frame;
	enum xfr_fault fault = frame_read(&wanted, message, len, &frame);

	assert(r->state != AT_END && r->state != IS_OLD);
	POISON_HOT(room, sizeof(*room));
	r->result.rcode = frame.rcode;
	r->result.has_opt = frame.has_opt;
	r->result.ede = frame.ede;
	r->result.tsig_time_sec = frame.tsig_time_sec;
	if (fault != XFR_FAULT_NONE)
		return reader_fail(r, fault);
	fault = check_message(r, &frame, len);
	if (fault == XFR_FAULT_TRUNCATED)
		return XFR_READ_USE_TCP;
	if (fault == XFR_FAULT_NONE) {
		m.c = frame.records;
		m.has_question = frame.has_question;
		fault = read_records(&m, frame.record_count);
	}
	return fault != XFR_FAULT_NONE ? reader_fail(r, fault)
		: reader_end_message(r, &frame);
}
