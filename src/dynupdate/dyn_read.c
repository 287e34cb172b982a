/* dyn_read.c - reads the sections of a message, and refuses what RFC 2136 says
 * of single records. */
#include <stdarg.h>
#include <string.h>

#include "base/grow.h"
#include "dynupdate/dyn.h"

/* RDATA that has a message of its own with any owner, and a question and SOA
 * beside it: longer ones no transfer could send. */
#define RDLEN_MAX 64000u

/* ---- refusals ------------------------------------------------------------ */

enum nsd_err
dyn_refuse(struct dynupdate_result *result, enum rcode rcode, uint16_t ede,
	const char *format, ...)
{
	va_list args;

	result->rcode = rcode;
	result->ede = ede;
	va_start(args, format);
	vsnprintf(result->why, sizeof(result->why), format, args);
	va_end(args);
	return NSD_OK;
}

enum nsd_err
dyn_refuse_rr(struct dynupdate_result *result, enum rcode rcode, uint16_t ede,
	const uint8_t *owner, uint16_t type, const char *why)
{
	char name[NAME_TEXT_MAX], text[RRTYPE_TEXT_MAX];

	name_print_text(owner, name);
	rrtype_print(type, text);
	return dyn_refuse(result, rcode, ede, "%s %s: %s", name, text, why);
}

static enum nsd_err
refuse_form(struct dynupdate_result *result, const char *why)
{
	return dyn_refuse(result, RCODE_FORMERR, EDE_OTHER, "%s", why);
}

/* ---- the zone section ---------------------------------------------------- */

/* RFC 2136 section 3.1.1 */
void
dyn_read_zone(const struct dynupdate *d, struct cursor *message,
	struct dynupdate_result *result)
{
	const uint8_t *head = cursor_read_octets(message, MESSAGE_HEADER_LEN);
	struct message_question zone;
	char name[NAME_TEXT_MAX];

	if (head == NULL || message_get_opcode(head) != OPCODE_UPDATE
		|| message_get_count(head, MESSAGE_QDCOUNT) != 1
		|| message_read_question(message, &zone) != NSD_OK
		|| zone.type != TYPE_SOA) {
		refuse_form(result, "the zone section is not one SOA");
		return;
	}
	if (zone.rrclass == CLASS_IN && zone.name.len == d->apex_len
		&& memcmp(zone.name.name, d->apex, d->apex_len) == 0)
		return;
	name_print_text(zone.name.name, name);
	dyn_refuse(result, RCODE_NOTAUTH, EDE_NOT_AUTHORITATIVE,
		"%s is not the zone that is updated", name);
}

/* ---- records ------------------------------------------------------------- */

struct dyn_reading {
	struct dynupdate *d;
	const struct cursor *message;
	enum dyn_section section;
	struct message_rr rr; /* as it stands */
	struct message_name owner;
	struct dynupdate_result *result;
};

static enum nsd_err
reading_refuse(struct dyn_reading *r, enum rcode rcode, const char *why)
{
	return dyn_refuse_rr(r->result, rcode, EDE_OTHER, r->owner.name,
		r->rr.type, why);
}

/* RFC 2136 section 3.2.5 and RFC 2136 section 3.4.1.3: TTL, RDLENGTH and type
 * by the class. NULL: there is no fault. */
static const char *
reading_find_fault(const struct dyn_reading *r)
{
	bool updates = r->section == DYN_UPDATES;
	bool is_any = r->rr.type == TYPE_ANY;
	bool is_meta = r->rr.type == 0 || rrtype_is_meta(r->rr.type);

	if (r->rr.ttl_sec != 0 && (!updates || r->rr.rrclass != CLASS_IN))
		return "the TTL is not 0";
	switch (r->rr.rrclass) {
	case CLASS_IN:
		return is_meta ? "no zone has this type" : NULL;
	case CLASS_ANY:
		if (r->rr.rdlen != 0)
			return "class ANY with RDATA";
		return updates && is_meta && !is_any ? "no zone has this type"
						     : NULL;
	case CLASS_NONE:
		if (!updates)
			return r->rr.rdlen != 0 ? "class NONE with RDATA"
						: NULL;
		return is_meta ? "no zone has this type" : NULL;
	default:
		return "the class is not that of the zone, ANY or NONE";
	}
}

/* why: of rdata_check, what was expected. */
static void
reading_refuse_value(struct dyn_reading *r, const char *why)
{
	char text[200];

	snprintf(text, sizeof(text), "needs %s", why);
	(void)reading_refuse(r, RCODE_FORMERR, text);
}

/* Makes RDATA whole. False: there is a fault. */
static bool
reading_take_rdata(struct dyn_reading *r, struct dyn_rr *rr)
{
	struct dynupdate *d = r->d;
	struct cursor c = *r->message;
	bool is_new = r->section == DYN_UPDATES && rr->rrclass == CLASS_IN;
	const char *why;
	size_t len;
	enum nsd_err err;

	c.at = r->rr.rdata;
	if (rdata_read(rr->type, &c, r->rr.rdlen, d->scratch, &len) != NSD_OK) {
		reading_refuse(r, RCODE_FORMERR,
			"the RDATA is not that of this type");
		return false;
	}
	err = rdata_check(rr->type, d->scratch, len, &why);
	if (err == NSD_E_ZONE && !is_new)
		err = NSD_OK;
	if (err == NSD_OK && len <= RDLEN_MAX) {
		rr->rdlen = (uint16_t)len;
		return true;
	}
	if (err == NSD_OK)
		reading_refuse(r, RCODE_REFUSED, "too long for a message");
	else
		reading_refuse_value(r, why);
	return false;
}

static enum nsd_err
reading_keep(struct dyn_reading *r, struct dyn_rr *rr)
{
	struct dynupdate *d = r->d;
	struct dyn_rr *rrs = grow_array(d->rrs, d->rr_count, &d->rr_room,
		sizeof(*rrs));
	uint8_t *rdata;

	if (rrs == NULL)
		return NSD_E_MEMORY;
	d->rrs = rrs;
	rdata = grow_octets(d->rdata, d->rdata_len + rr->rdlen + 1,
		&d->rdata_room);
	if (rdata == NULL)
		return NSD_E_MEMORY;
	d->rdata = rdata;
	rr->name = dyn_name_get(d, r->owner.name, r->owner.len);
	if (rr->name == NULL)
		return NSD_E_MEMORY;
	rr->rdata_at = d->rdata_len;
	memcpy(d->rdata + d->rdata_len, d->scratch, rr->rdlen);
	d->rdata_len += rr->rdlen;
	d->rrs[d->rr_count++] = *rr;
	return NSD_OK;
}

/* Takes the record at hand. RFC 2181 section 8: a TTL with its highest bit set
 * is 0. */
static enum nsd_err
reading_take_rr(struct dyn_reading *r)
{
	struct dyn_rr rr = {
		.type = r->rr.type,
		.rrclass = r->rr.rrclass,
		.ttl_sec = r->rr.ttl_sec > INT32_MAX ? 0 : r->rr.ttl_sec,
	};
	bool has_rdata = rr.rrclass == CLASS_IN
		|| (rr.rrclass == CLASS_NONE && r->section == DYN_UPDATES);
	const char *fault;

	if (message_expand_name(r->message->start,
			(size_t)(r->message->end - r->message->start),
			r->rr.owner_at, &r->owner) != NSD_OK)
		return refuse_form(r->result, "an owner is not a name");
	fault = reading_find_fault(r);
	if (!name_is_within(r->owner.name, r->d->apex)
		&& (r->section == DYN_UPDATES || r->rr.ttl_sec == 0))
		return reading_refuse(r, RCODE_NOTZONE, "not in the zone");
	if (fault != NULL)
		return reading_refuse(r, RCODE_FORMERR, fault);
	if (has_rdata && !reading_take_rdata(r, &rr))
		return NSD_OK;
	return reading_keep(r, &rr);
}

enum nsd_err
dyn_read_section(struct dynupdate *d, struct cursor *message, unsigned count,
	enum dyn_section section, struct dynupdate_result *result)
{
	struct dyn_reading r = {
		.d = d,
		.message = message,
		.section = section,
		.result = result,
	};
	enum nsd_err err = NSD_OK;

	d->rr_count = 0;
	d->rdata_len = 0;
	for (unsigned i = 0; i < count && err == NSD_OK
		&& result->rcode == RCODE_NOERROR; i++) {
		if (message_read_rr(message, &r.rr) != NSD_OK)
			return refuse_form(result, "the message is cut");
		err = reading_take_rr(&r);
	}
	return err;
}
