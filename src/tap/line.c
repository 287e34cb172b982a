/* line.c - prints a record as a line of the query log. */
#include "config.h"

#include <arpa/inet.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "dns/edns.h"
#include "dns/message.h"
#include "dns/name.h"
#include "dns/rcode_text.h"
#include "dns/rrtype.h"
#include "tap/line.h"

#define SECOND_NSEC INT64_C(1000000000)

/* The room for a line. A line that does not fit ends early, which does not
 * happen: TAP_LINE_MAX. */
struct line_out {
	char *at, *end; /* end: of the room, without that of the '\n' */
	bool json;
};

/* The parts of a message that fields are made of. */
struct line_message {
	const uint8_t *octets; /* NULL: there is no whole header */
	uint32_t len;
	bool has_question;
	uint8_t qname[NAME_MAX_LEN];
	uint16_t qtype, qclass;
	bool is_walked;        /* has_opt and opt are set */
	bool has_opt;
	struct message_rr opt;
};

struct line_source {
	const struct tap_record *record;
	struct line_message query, response;
};

/* ---- texts and numbers --------------------------------------------------- */

static inline void
line_put(struct line_out *o, const char *text, size_t len)
{
	ASSERT_HOT(len <= (size_t)(o->end - o->at));
	if (len > (size_t)(o->end - o->at))
		return;
	memcpy(o->at, text, len);
	o->at += len;
}

static inline void
line_put_text(struct line_out *o, const char *text)
{
	line_put(o, text, strlen(text));
}

/* A number with zeros before it, up to so many digits. */
static void
line_put_digits(struct line_out *o, uint64_t number, unsigned digits)
{
	char text[20];
	unsigned at = sizeof(text);

	do {
		text[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (at > 0 && (number != 0 || sizeof(text) - at < digits));
	line_put(o, text + at, sizeof(text) - at);
}

static void
line_put_number(struct line_out *o, uint64_t number)
{
	line_put_digits(o, number, 1);
}

static void
line_put_absent(struct line_out *o)
{
	line_put_text(o, o->json ? "null" : "-");
}

/* Quotes a text for JSON. It has no octets but those that can be printed. */
static void
line_put_quoted(struct line_out *o, const char *text, size_t len)
{
	line_put(o, "\"", 1);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"' || text[i] == '\\')
			line_put(o, "\\", 1);
		line_put(o, text + i, 1);
	}
	line_put(o, "\"", 1);
}

/* A word: no blanks, no control characters. */
static void
line_put_word(struct line_out *o, const char *text, size_t len)
{
	if (o->json)
		line_put_quoted(o, text, len);
	else if (len == 0)
		line_put_absent(o);
	else
		line_put(o, text, len);
}

static void
line_put_name(struct line_out *o, const uint8_t *name)
{
	char text[NAME_TEXT_MAX];

	line_put_word(o, text, name_print_text(name, text));
}

static void
line_put_bool(struct line_out *o, bool value)
{
	if (o->json)
		line_put_text(o, value ? "true" : "false");
	else
		line_put_text(o, value ? "yes" : "no");
}

/* ---- time and addresses -------------------------------------------------- */

/* The time of a line: that of the query, if it is known. */
static int64_t
line_time(const struct tap_record *r)
{
	return r->query_nsec > 0 ? r->query_nsec : r->response_nsec;
}

static void
line_put_date(struct line_out *o, const struct tm *tm)
{
	const int parts[] = {tm->tm_year + 1900, tm->tm_mon + 1, tm->tm_mday,
		tm->tm_hour, tm->tm_min, tm->tm_sec};
	static const char before[][2] = {"", "-", "-", "T", ":", ":"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		line_put_text(o, before[i]);
		line_put_digits(o, (uint64_t)parts[i], 2);
	}
}

/* ISO 8601, in UTC and microseconds. */
static void
line_put_time(struct line_out *o, int64_t nsec)
{
	time_t seconds = (time_t)(nsec / SECOND_NSEC);
	struct tm tm;

	if (nsec <= 0 || gmtime_r(&seconds, &tm) == NULL) {
		line_put_absent(o);
		return;
	}
	if (o->json)
		line_put(o, "\"", 1);
	line_put_date(o, &tm);
	line_put(o, ".", 1);
	line_put_digits(o, (uint64_t)(nsec % SECOND_NSEC) / 1000, 6);
	line_put_text(o, o->json ? "Z\"" : "Z");
}

static void
line_put_epoch(struct line_out *o, int64_t nsec)
{
	if (nsec <= 0) {
		line_put_absent(o);
		return;
	}
	line_put_number(o, (uint64_t)(nsec / SECOND_NSEC));
	line_put(o, ".", 1);
	line_put_digits(o, (uint64_t)(nsec % SECOND_NSEC), 9);
}

/* Microseconds from the query to the response. */
static void
line_put_latency(struct line_out *o, const struct tap_record *r)
{
	if (r->query_nsec <= 0 || r->response_nsec < r->query_nsec)
		line_put_absent(o);
	else
		line_put_number(o, (uint64_t)(r->response_nsec
			- r->query_nsec) / 1000);
}

static void
line_put_address(struct line_out *o, const struct tap_address *address)
{
	char text[INET6_ADDRSTRLEN];

	if (address->len == 0)
		line_put_absent(o);
	else if (inet_ntop(address->len == 4 ? AF_INET : AF_INET6,
		    address->octets, text, sizeof(text)) != NULL)
		line_put_word(o, text, strlen(text));
}

static void
line_put_port(struct line_out *o, const struct tap_address *address)
{
	if (address->len == 0)
		line_put_absent(o);
	else
		line_put_number(o, address->port);
}

/* ---- parts of messages --------------------------------------------------- */

static void
message_init(struct line_message *m, const uint8_t *octets, uint32_t len)
{
	struct cursor c;
	size_t size;

	m->octets = octets != NULL && len >= MESSAGE_HEADER_LEN ? octets
		: NULL;
	m->len = len;
	m->has_question = m->is_walked = m->has_opt = false;
	if (m->octets == NULL
		|| message_get_count(octets, MESSAGE_QDCOUNT) == 0)
		return;
	cursor_init(&c, octets, len);
	cursor_read_octets(&c, MESSAGE_HEADER_LEN);
	if (name_read_uncompressed(&c, m->qname, &size) != NSD_OK)
		return;
	m->qtype = cursor_read_u16(&c);
	m->qclass = cursor_read_u16(&c);
	m->has_question = !c.failed;
}

/* Moves behind all questions. */
static void
message_skip_questions(struct cursor *c, unsigned count)
{
	uint8_t name[NAME_MAX_LEN];
	size_t size;

	cursor_read_octets(c, MESSAGE_HEADER_LEN);
	for (; count > 0 && !c->failed; count--)
		if (name_read(c, name, &size) == NSD_OK)
			cursor_read_octets(c, MESSAGE_QUESTION_TAIL);
}

/* Finds the OPT record (RFC 6891 section 6.1.1); NULL: there is none. The
 * octets bound the walk, whatever the counts say. */
static const struct message_rr *
message_find_opt(struct line_message *m)
{
	struct cursor c;
	unsigned before, left;

	if (m->is_walked || m->octets == NULL)
		return m->has_opt ? &m->opt : NULL;
	m->is_walked = true;
	before = message_get_count(m->octets, MESSAGE_ANCOUNT)
		+ message_get_count(m->octets, MESSAGE_NSCOUNT);
	left = message_get_count(m->octets, MESSAGE_ARCOUNT);
	if (left == 0)
		return NULL;
	cursor_init(&c, m->octets, m->len);
	message_skip_questions(&c,
		message_get_count(m->octets, MESSAGE_QDCOUNT));
	for (left += before; left > 0 && !c.failed; left--) {
		if (message_read_rr(&c, &m->opt) != NSD_OK)
			return NULL;
		if (before > 0) {
			before--;
		} else if (m->opt.type == TYPE_OPT
			&& message_rr_at_root(&c, &m->opt)) {
			m->has_opt = true;
			return &m->opt;
		}
	}
	return NULL;
}

/* ---- fields -------------------------------------------------------------- */

/* A value without a name: what it is of, and its number. */
static void
line_put_unnamed(struct line_out *o, const char *of, unsigned number)
{
	char text[sizeof("OPCODE65535")];
	struct line_out word = {text, text + sizeof(text), false};

	line_put_text(&word, of);
	line_put_number(&word, number);
	line_put_word(o, text, (size_t)(word.at - text));
}

static void
line_put_opcode(struct line_out *o, unsigned opcode)
{
	static const char *const names[] = {
		[OPCODE_QUERY] = "QUERY", [OPCODE_IQUERY] = "IQUERY",
		[OPCODE_STATUS] = "STATUS", [OPCODE_NOTIFY] = "NOTIFY",
		[OPCODE_UPDATE] = "UPDATE", [OPCODE_DSO] = "DSO",
	};

	if (opcode < sizeof(names) / sizeof(*names) && names[opcode] != NULL)
		line_put_word(o, names[opcode], strlen(names[opcode]));
	else
		line_put_unnamed(o, "OPCODE", opcode);
}

static void
line_put_class(struct line_out *o, uint16_t rrclass)
{
	switch (rrclass) {
	case CLASS_IN:
		line_put_word(o, "IN", 2);
		break;
	case CLASS_CH:
		line_put_word(o, "CH", 2);
		break;
	case CLASS_NONE:
		line_put_word(o, "NONE", 4);
		break;
	case CLASS_ANY:
		line_put_word(o, "ANY", 3);
		break;
	default:
		line_put_unnamed(o, "CLASS", rrclass);
	}
}

static void
line_put_type(struct line_out *o, uint16_t type)
{
	char text[RRTYPE_TEXT_MAX];

	line_put_word(o, text, rrtype_print(type, text));
}

/* The flags of a header but QR, in the order that they have there. */
static void
line_put_flags(struct line_out *o, uint16_t flags)
{
	static const struct {
		char name[4];
		uint16_t flag;
	} rows[] = {
		{",aa", MESSAGE_AA}, {",tc", MESSAGE_TC}, {",rd", MESSAGE_RD},
		{",ra", MESSAGE_RA}, {",z", MESSAGE_Z}, {",ad", MESSAGE_AD},
		{",cd", MESSAGE_CD},
	};
	char text[sizeof(rows)];
	struct line_out list = {text, text + sizeof(text), false};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if ((flags & rows[i].flag) != 0)
			line_put_text(&list, rows[i].name
				+ (list.at == text));
	line_put_word(o, text, (size_t)(list.at - text));
}

/* The RCODE with the octet that is in the OPT record (RFC 6891 section
 * 6.1.3). */
static void
line_put_rcode(struct line_out *o, struct line_message *m)
{
	const struct message_rr *opt = message_find_opt(m);
	unsigned rcode = message_get_rcode(m->octets);
	const char *name;

	if (opt != NULL)
		rcode |= opt->ttl_sec >> 24 << 4;
	name = rcode_text_name((uint16_t)rcode);
	if (name != NULL)
		line_put_word(o, name, strlen(name));
	else
		line_put_unnamed(o, "RCODE", rcode);
}

/* RFC 8914 */
static void
line_put_ede(struct line_out *o, struct line_message *m)
{
	const struct message_rr *opt = message_find_opt(m);
	const uint8_t *data;
	uint16_t len;

	data = opt != NULL ? edns_find_option(opt, EDNS_EDE, &len) : NULL;
	if (data != NULL && len >= 2)
		line_put_number(o, octets_get_u16(data));
	else
		line_put_absent(o);
}

/* RFC 7873: whether a client has a cookie of this server. */
static void
line_put_cookie(struct line_out *o, const struct message_rr *opt)
{
	uint16_t len;

	if (opt == NULL || edns_find_option(opt, EDNS_COOKIE, &len) == NULL)
		line_put_absent(o);
	else if (len > EDNS_COOKIE_CLIENT_LEN)
		line_put_word(o, "server", 6);
	else
		line_put_word(o, "client", 6);
}

static void
line_put_zone(struct line_out *o, const struct tap_record *r)
{
	uint8_t zone[NAME_MAX_LEN];

	if (tap_find_zone(r, zone) > 0)
		line_put_name(o, zone);
	else
		line_put_absent(o);
}

static void
line_put_protocol(struct line_out *o, enum tap_protocol protocol)
{
	line_put_word(o, protocol == TAP_UDP ? "udp"
		: protocol == TAP_TCP ? "tcp" : "tls", 3);
}

/* ---- the line ------------------------------------------------------------ */

/* Fields that a record always has a place for. */
static bool
line_put_of_record(struct line_out *o, const struct tap_record *r,
	enum log_field field)
{
	switch (field) {
	case LOG_FIELD_TIME:
		line_put_time(o, line_time(r));
		return true;
	case LOG_FIELD_EPOCH:
		line_put_epoch(o, line_time(r));
		return true;
	case LOG_FIELD_CLIENT:
		line_put_address(o, &r->peer);
		return true;
	case LOG_FIELD_PORT:
		line_put_port(o, &r->peer);
		return true;
	case LOG_FIELD_LOCAL:
		line_put_address(o, &r->local);
		return true;
	case LOG_FIELD_LOCAL_PORT:
		line_put_port(o, &r->local);
		return true;
	case LOG_FIELD_PROTOCOL:
		line_put_protocol(o, r->protocol);
		return true;
	case LOG_FIELD_ZONE:
		line_put_zone(o, r);
		return true;
	case LOG_FIELD_QUERY_SIZE:
		line_put_number(o, r->query_len);
		return true;
	case LOG_FIELD_LATENCY:
		line_put_latency(o, r);
		return true;
	default:
		return false;
	}
}

/* Fields of the question. */
static bool
line_put_of_question(struct line_out *o, const struct line_message *m,
	enum log_field field)
{
	if (!m->has_question)
		return false;
	switch (field) {
	case LOG_FIELD_QNAME:
		line_put_name(o, m->qname);
		return true;
	case LOG_FIELD_QTYPE:
		line_put_type(o, m->qtype);
		return true;
	case LOG_FIELD_QCLASS:
		line_put_class(o, m->qclass);
		return true;
	default:
		return false;
	}
}

/* Other fields of the query, which has a header. */
static bool
line_put_of_query(struct line_out *o, struct line_message *m,
	enum log_field field)
{
	const struct message_rr *opt;

	switch (field) {
	case LOG_FIELD_ID:
		line_put_number(o, message_get_id(m->octets));
		return true;
	case LOG_FIELD_OPCODE:
		line_put_opcode(o, message_get_opcode(m->octets));
		return true;
	case LOG_FIELD_FLAGS:
		line_put_flags(o, message_get_flags(m->octets));
		return true;
	case LOG_FIELD_EDNS:
		opt = message_find_opt(m);
		if (opt != NULL)
			line_put_number(o, opt->rrclass);
		return opt != NULL;
	case LOG_FIELD_DO:
		opt = message_find_opt(m);
		line_put_bool(o, opt != NULL && (opt->ttl_sec & EDNS_DO) != 0);
		return true;
	case LOG_FIELD_COOKIE:
		line_put_cookie(o, message_find_opt(m));
		return true;
	default:
		return false;
	}
}

/* Fields of the response, which has a header. */
static bool
line_put_of_response(struct line_out *o, struct line_message *m,
	enum log_field field)
{
	switch (field) {
	case LOG_FIELD_RCODE:
		line_put_rcode(o, m);
		return true;
	case LOG_FIELD_ANSWER_FLAGS:
		line_put_flags(o, message_get_flags(m->octets));
		return true;
	case LOG_FIELD_ANSWERS:
		line_put_number(o, message_get_count(m->octets,
			MESSAGE_ANCOUNT));
		return true;
	case LOG_FIELD_SIZE:
		line_put_number(o, m->len);
		return true;
	case LOG_FIELD_EDE:
		line_put_ede(o, m);
		return true;
	default:
		return false;
	}
}

static void
line_put_field(struct line_out *o, struct line_source *from,
	enum log_field field)
{
	if (line_put_of_record(o, from->record, field)
		|| line_put_of_question(o, &from->query, field)
		|| (from->query.octets != NULL
			&& line_put_of_query(o, &from->query, field))
		|| (from->response.octets != NULL
			&& line_put_of_response(o, &from->response, field)))
		return;
	line_put_absent(o);
}

static void
line_put_key(struct line_out *o, enum log_field field, bool is_first)
{
	const char *name = log_field_name(field);

	line_put(o, is_first ? "{\"" : ",\"", 2);
	line_put(o, name, strlen(name));
	line_put(o, "\":", 2);
}

size_t
tap_line_print(const struct tap_record *record,
	const struct log_format *format, char out[TAP_LINE_MAX])
{
	struct line_out o = {out, out + TAP_LINE_MAX - 1, format->json};
	struct line_source from = {.record = record};

	message_init(&from.query, record->query, record->query_len);
	message_init(&from.response, record->response, record->response_len);
	for (unsigned i = 0; i < format->count; i++) {
		enum log_field field = (enum log_field)format->fields[i];

		if (o.json)
			line_put_key(&o, field, i == 0);
		else if (i > 0)
			line_put(&o, " ", 1);
		line_put_field(&o, &from, field);
	}
	if (o.json)
		line_put(&o, "}", 1);
	*o.at++ = '\n';
	return (size_t)(o.at - out);
}
