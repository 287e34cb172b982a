/*
 * record.c - one line of a master file that is a record: [owner] [TTL] [class]
 * type RDATA (RFC 1035 section 5.1).
 */
#include "zonefile/reader.h"

#include <string.h>

#include "base/assert.h"
#include "dns/rdata.h"
#include "dns/rrtype.h"
#include "dns/token.h"

void
record_set_bad_owner(struct reader *r)
{
	r->state.owner_is_bad = true;
	r->owner_text = NULL;
	r->set |= PART_OWNER;
}

bool
record_parse_name(struct reader *r, const struct token *t, const char *field,
	const char *of, uint8_t name[NAME_MAX_LEN], uint8_t *name_size)
{
	const char *why = "a name without quotes";
	size_t size;

	if (t->quoted || name_parse_text(t->text, t->len, r->state.origin,
			name, &size, &why) != NSD_OK) {
		reader_error_word(r, t, why, "Invalid %s in %s", field, of);
		return false;
	}
	/* A dot at the end may be an escaped one. */
	if ((t->escaped || t->text[t->len - 1] != '.')
			&& (r->set & PART_ORIGIN) == 0)
		r->used |= PART_ORIGIN;
	name_lower(name);
	*name_size = (uint8_t)size;
	return true;
}

bool
record_parse_ttl(struct reader *r, const struct token *t, const char *of,
	uint32_t *ttl_sec)
{
	if (t->quoted || !token_parse_period(t->text, t->len, ttl_sec)) {
		reader_error_word(r, t, "seconds or a period such as 1h30m",
			"Invalid ttl in %s", of);
		return false;
	}
	/* RFC 2181 section 8: 31 bits; with the top bit set it is 0. */
	if (*ttl_sec > INT32_MAX) {
		reader_diag(r, DIAG_WARNING, t->text,
			"ttl %.*s in %s exceeds 2147483647, taken as 0",
			(int)(t->len < 20 ? t->len : 20), t->text, of);
		*ttl_sec = 0;
	}
	return true;
}

/* An owner in quotes is one label for NSD and a name for BIND. Where that is
 * the same it is taken, with a warning. */
static bool
is_quoted_label(const struct token *t)
{
	return t->quoted && t->len > 0 && *t->text != '@'
		&& memchr(t->text, '.', t->len) == NULL
		&& memchr(t->text, '\n', t->len) == NULL;
}

static bool
set_owner(struct reader *r, const struct token *t)
{
	struct token label;

	if (r->owner_text != NULL && !t->quoted
			&& t->len == r->owner_text_len
			&& memcmp(t->text, r->owner_text, t->len) == 0)
		return true;
	r->owner_is_appended = false;
	if (is_quoted_label(t)) {
		reader_diag_word(r, DIAG_WARNING, t, "a name without quotes",
			"Invalid OWNER in RR");
		label = *t;
		label.quoted = false;
		t = &label;
	}
	if (!record_parse_name(r, t, "OWNER", "RR", r->state.owner,
			&r->state.owner_len)) {
		record_set_bad_owner(r);
		return false;
	}
	r->state.owner_is_bad = false;
	r->set |= PART_OWNER;
	r->owner_text = t->text;
	r->owner_text_len = t->len;
	return true;
}

/* The owner of a line that begins with a blank. */
static bool
repeat_owner(struct reader *r)
{
	if ((r->set & PART_OWNER) == 0)
		r->used |= PART_OWNER;
	/* The line with the bad owner was reported. */
	if (r->state.owner_is_bad)
		return false;
	if (r->state.owner_len == 0) {
		reader_error(r, r->tokens[0].text,
			"Invalid OWNER in RR: no owner before this line");
		return false;
	}
	return true;
}

/* The fields between the owner and the RDATA. */
struct record_head {
	uint32_t ttl_sec;
	uint16_t type;
	bool has_ttl;
	bool has_class;
};

/* Up to eight octets of a word as a number; 0 if it is longer. The text has
 * SCAN_PADDING behind it, and a word holds no NUL. */
static inline uint64_t
short_text(const struct token *t)
{
	uint64_t v;

	if (t->len - 1 >= 8)
		return 0;
	memcpy(&v, t->text, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v & ~(uint64_t)0 >> (64 - 8 * t->len);
}

/* The TTL of a record. Most are written as the one before. */
static bool
parse_ttl(struct reader *r, const struct token *t, uint32_t *ttl_sec)
{
	uint64_t text = short_text(t);

	if (text != 0 && text == r->ttl_text && !t->quoted) {
		*ttl_sec = r->ttl_text_sec;
		return true;
	}
	if (!record_parse_ttl(r, t, "RR", ttl_sec))
		return false;
	/* A TTL with a warning is not kept: each record has the warning. */
	r->ttl_text = *ttl_sec != 0 ? text : 0;
	r->ttl_text_sec = *ttl_sec;
	return true;
}

static bool
parse_class(struct reader *r, const struct token *t, struct record_head *h,
	bool *is_class)
{
	uint16_t rrclass;

	*is_class = false;
	if (!h->has_class && t->len == 2 && (t->text[0] | 0x20) == 'i'
			&& (t->text[1] | 0x20) == 'n') {
		*is_class = true;
		h->has_class = true;
		return true;
	}
	if (h->has_class
		|| rrtype_parse_class(t->text, t->len, &rrclass) != NSD_OK)
		return true;
	if (rrclass != CLASS_IN) {
		reader_error_word(r, t, NULL, "only class IN is supported");
		return false;
	}
	*is_class = true;
	h->has_class = true;
	return true;
}

/* True if a record of the type may take the origin into its RDATA. */
static bool
rdata_has_names(uint16_t type)
{
	const uint8_t *field = rrtype_get(type)->fields;

	for (; *field != FIELD_END; field++) {
		switch (*field) {
		case FIELD_NAME_COMPRESSED:
		case FIELD_NAME:
		case FIELD_A6:
		case FIELD_HIP:
		case FIELD_IPSECKEY:
		case FIELD_AMTRELAY:
			return true;
		}
	}
	return false;
}

/* Looks a type up. Most records have one of a few. NULL: no such type. */
static const struct reader_type *
find_type(struct reader *r, const struct token *t)
{
	uint64_t text = short_text(t);
	struct reader_type *found = &r->types[text * 0x9e3779b97f4a7c15
		>> 60 & (READER_TYPES - 1)];
	uint16_t type;

	if (text != 0 && text == found->text)
		return found;
	if (rrtype_parse(t->text, t->len, &type) != NSD_OK)
		return NULL;
	found->text = text;
	found->type = type;
	found->is_meta = type == 0 || rrtype_is_meta(type);
	found->has_names = rdata_has_names(type);
	return found;
}

/* Parses TTL and class, in either order or absent, then the type. *next comes
 * back as the index of the first RDATA token. */
static bool
parse_head(struct reader *r, struct record_head *h, size_t *next)
{
	size_t i;

	for (i = *next; i < r->token_count; i++) {
		const struct token *t = &r->tokens[i];
		const struct reader_type *type;
		bool is_class;

		if (!h->has_ttl && t->len > 0 && t->text[0] >= '0'
				&& t->text[0] <= '9') {
			if (!parse_ttl(r, t, &h->ttl_sec))
				return false;
			h->has_ttl = true;
			continue;
		}
		if (t->quoted)
			break;
		if (!parse_class(r, t, h, &is_class))
			return false;
		if (is_class)
			continue;
		type = find_type(r, t);
		if (type == NULL)
			break;
		*next = i + 1;
		h->type = type->type;
		if (type->has_names && (r->set & PART_ORIGIN) == 0)
			r->used |= PART_ORIGIN;
		if (type->is_meta) {
			reader_error_word(r, t, "a type that can stand in a "
				"zone", "Invalid type in RR");
			return false;
		}
		return true;
	}
	if (i == r->token_count)
		reader_error(r, r->tokens[i - 1].text,
			"Missing type in RR");
	else
		reader_error_word(r, &r->tokens[i], "an RR type",
			"Invalid type in RR");
	return false;
}

/*
 * A record without TTL has that of $TTL. Without $TTL it has the last TTL
 * stated (RFC 1035 section 5.1), and before any was stated a fixed one: that of
 * the SOA's minimum is not for it any more (RFC 2308 section 4).
 */
static uint32_t
choose_ttl(struct reader *r, const struct record_head *h)
{
	struct reader_state *s = &r->state;

	if (h->has_ttl) {
		s->ttl_last = h->ttl_sec;
		s->has_ttl_last = true;
		r->set |= PART_TTL_LAST;
		return h->ttl_sec;
	}
	if ((r->set & PART_TTL_DEFAULT) == 0)
		r->used |= PART_TTL_DEFAULT;
	if (s->has_ttl_default)
		return s->ttl_default;
	if ((r->set & PART_TTL_LAST) == 0)
		r->used |= PART_TTL_LAST;
	return s->has_ttl_last ? s->ttl_last : r->ttl_fallback;
}

static void
tell_rdata(struct reader *r, enum diag_severity severity, uint16_t type,
	size_t first, const struct rdata_error *error)
{
	const struct token *last = &r->tokens[r->token_count - 1];
	char name[RRTYPE_TEXT_MAX];
	size_t i = first + error->token;

	rrtype_print(type, name);
	if (i < r->token_count)
		reader_diag_word(r, severity, &r->tokens[i], error->text,
			"Invalid rdata in %s", name);
	else
		reader_diag(r, severity, last->text + last->len,
			"Missing rdata in %s: expected %s", name,
			error->text);
}

/* ---- batches ---------------------------------------------------------- */

/* Adds a batch with room for a record of at most size octets. */
static enum nsd_err
add_batch(struct reader *r, size_t size)
{
	size_t capacity = r->last == NULL ? r->capacity_hint
		: r->last->capacity;
	struct rrbatch *batch;

	if (capacity < size)
		capacity = size;
	batch = rrbatch_pool_take(r->pool, capacity);
	if (batch == NULL)
		return NSD_E_MEMORY;
	if (r->last != NULL)
		r->last->next = batch;
	else
		r->first = batch;
	r->last = batch;
	r->owner_is_appended = false;
	return NSD_OK;
}

/* Adds a record, as rrbatch_append does. The owner is in lower case and its
 * length is known, which makes it faster. */
static enum nsd_err
append_record(struct reader *r, uint32_t ttl_sec, uint16_t type,
	const uint8_t *rdata, size_t rdlen)
{
	size_t owner_len = r->state.owner_len;
	struct rrbatch *batch = r->last;
	struct rrbatch_rr *rr;
	size_t len, size;

	if (batch == NULL || batch->capacity - batch->len
			< sizeof(*rr) + owner_len + rdlen + 3) {
		if (add_batch(r, sizeof(*rr) + owner_len + rdlen + 3)
				!= NSD_OK)
			return NSD_E_MEMORY;
		batch = r->last;
	}
	if (r->owner_is_appended)
		owner_len = 0;
	rr = (struct rrbatch_rr *)(batch->data + batch->len);
	len = sizeof(*rr) + owner_len + rdlen;
	size = (len + 3) & ~(size_t)3;
	/* The gap is zeroed, before what is in front of it is there. */
	memset((uint8_t *)rr + size - 4, 0, 4);
	*rr = (struct rrbatch_rr){
		.line = r->line_fixed != 0 ? r->line_fixed : r->line,
		.ttl_sec = ttl_sec,
		.type = type,
		.rdlen = (uint16_t)rdlen,
		.file = r->file,
		.owner_len = (uint8_t)owner_len,
	};
	memcpy(rr->data, r->state.owner, owner_len);
	memcpy(rr->data + owner_len, rdata, rdlen);
	ASSERT_HOT(size == rrbatch_rr_size(rr)
		&& batch->len + size <= batch->capacity);
	batch->len += size;
	batch->count++;
	r->rr_count++;
	r->owner_is_appended = true;
	return NSD_OK;
}

/* ---- the line --------------------------------------------------------- */

enum reader_stop
record_parse(struct reader *r, bool has_owner)
{
	uint8_t rdata[RDATA_MAX_LEN];
	struct record_head h = { 0, 0, false, false };
	struct rdata_error error;
	size_t rdlen, first = has_owner;
	uint32_t ttl_sec;
	enum nsd_err err;

	if (has_owner ? !set_owner(r, &r->tokens[0]) : !repeat_owner(r))
		return READER_END;
	if (!parse_head(r, &h, &first))
		return READER_END;
	err = rdata_parse(h.type, r->tokens + first, r->token_count - first,
		r->state.origin, rdata, &rdlen, &error);
	if (err == NSD_E_ZONE && (r->is_secondary || error.is_doubt)) {
		/* Broken RDATA of a secondary zone is served as it was sent;
		 * RDATA in doubt, as other servers serve it. */
		tell_rdata(r, DIAG_WARNING, h.type, first, &error);
	} else if (err != NSD_OK) {
		tell_rdata(r, DIAG_ERROR, h.type, first, &error);
		return READER_END;
	}
	ttl_sec = choose_ttl(r, &h);
	r->err = append_record(r, ttl_sec, h.type, rdata, rdlen);
	return r->err == NSD_OK ? READER_END : READER_FAILED;
}
