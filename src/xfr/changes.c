/* changes.c - reads the text of a transfer, record by record. */
#include "xfr/changes.h"

#include "dns/rrtype.h"
#include "dns/serial.h"

#define SERIAL_FROM_END 20u

enum changes_state {
	AT_HEAD,
	IN_WHOLE,     /* the SOA has come */
	IN_REMOVALS,  /* the old SOA has come */
	IN_ADDITIONS, /* the new SOA has come */
};

/* Lengths of labels are below 'A', so they need no care. */
static bool
is_lower(const uint8_t *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (name[i] != name_lower_octet(name[i]))
			return false;
	return true;
}

enum nsd_err
changes_open(struct changes *changes, const uint8_t *octets, size_t len)
{
	struct cursor *c = &changes->cursor;
	uint8_t kind;
	size_t apex_len;

	memset(changes, 0, sizeof(*changes));
	cursor_init(c, octets, len);
	kind = cursor_read_u8(c);
	if (name_read_uncompressed(c, changes->apex, &apex_len) != NSD_OK
		|| (kind != XFR_WHOLE && kind != XFR_DIFFS))
		return NSD_E_WIRE;
	changes->kind = (enum changes_kind)kind;
	changes->apex_len = (uint8_t)apex_len;
	changes->state = AT_HEAD;
	return is_lower(changes->apex, apex_len) ? NSD_OK : NSD_E_WIRE;
}

void
changes_feed(struct changes *changes, const uint8_t *octets, size_t len)
{
	cursor_init(&changes->cursor, octets, len);
	changes->owner = NULL;
}

/* Measures the name at the cursor, in octets. NSD_E_AGAIN: it is cut. */
static enum nsd_err
measure_name(const struct cursor *c, size_t *len)
{
	size_t at = 0, left = cursor_left(c);

	for (;;) {
		if (at >= NAME_MAX_LEN)
			return NSD_E_WIRE;
		if (at >= left)
			return NSD_E_AGAIN;
		if (c->at[at] > LABEL_MAX_LEN)
			return NSD_E_WIRE;
		if (c->at[at] == 0)
			break;
		at += 1u + c->at[at];
	}
	*len = at + 1;
	return NSD_OK;
}

/* Reads the owner at the cursor. NSD_E_AGAIN: it is cut. */
static enum nsd_err
changes_read_owner(struct changes *changes, struct cursor *c,
	struct changes_rr *rr)
{
	enum nsd_err err;
	size_t len;

	/* The owner is mostly that of the record before. */
	if (changes->owner != NULL && cursor_left(c) >= changes->owner_len
		&& memcmp(c->at, changes->owner, changes->owner_len) == 0) {
		rr->owner_len = changes->owner_len;
		rr->owner = cursor_read_octets(c, rr->owner_len);
		return NSD_OK;
	}
	err = measure_name(c, &len);
	if (err != NSD_OK)
		return err;
	rr->owner_len = (uint8_t)len;
	rr->owner = cursor_read_octets(c, len);
	return is_lower(rr->owner, len)
			&& name_is_within(rr->owner, changes->apex)
		? NSD_OK
		: NSD_E_WIRE;
}

/* Reads a record at the cursor, and looks at nothing but its layout. */
static enum nsd_err
changes_read_record(struct changes *changes, struct cursor *c,
	struct changes_rr *rr)
{
	uint8_t action = cursor_read_u8(c);
	const char *why;
	enum nsd_err err;

	if (c->failed)
		return NSD_E_AGAIN;
	if (action != XFR_REMOVE && action != XFR_ADD)
		return NSD_E_WIRE;
	rr->action = (enum changes_action)action;
	err = changes_read_owner(changes, c, rr);
	if (err != NSD_OK)
		return err;
	rr->type = cursor_read_u16(c);
	rr->ttl_sec = cursor_read_u32(c);
	rr->rdlen = cursor_read_u16(c);
	rr->rdata = cursor_read_octets(c, rr->rdlen);
	if (c->failed)
		return NSD_E_AGAIN;
	if (rr->type == 0 || rrtype_is_meta(rr->type)
		|| rr->ttl_sec > INT32_MAX
		|| rdata_check(rr->type, rr->rdata, rr->rdlen, &why)
			== NSD_E_WIRE)
		return NSD_E_WIRE;
	return NSD_OK;
}

/* Takes the SOA of the apex. False: it must not stand here. */
static bool
changes_take_soa(struct changes *changes, struct changes_rr *rr)
{
	uint32_t before = changes->serial;

	if (rr->owner_len != changes->apex_len)
		return false; /* below the apex */
	rr->serial = octets_get_u32(rr->rdata + rr->rdlen - SERIAL_FROM_END);
	rr->part = rr->action == XFR_ADD ? CHANGES_NEW_SOA : CHANGES_OLD_SOA;
	changes->serial = rr->serial;
	if (changes->kind == XFR_WHOLE) {
		if (changes->state != AT_HEAD || rr->action != XFR_ADD)
			return false;
		changes->state = IN_WHOLE;
		return true;
	}
	if (rr->action == XFR_ADD) {
		if (changes->state != IN_REMOVALS
			|| !serial_is_newer(rr->serial, before))
			return false;
		changes->state = IN_ADDITIONS;
		return true;
	}
	if (changes->state == IN_REMOVALS
		|| (changes->state == IN_ADDITIONS && rr->serial != before))
		return false;
	changes->state = IN_REMOVALS;
	return true;
}

/* True if a record of no SOA may stand here. */
static bool
is_in_place(const struct changes *changes, const struct changes_rr *rr)
{
	switch (changes->state) {
	case IN_WHOLE:
	case IN_ADDITIONS:
		return rr->action == XFR_ADD;
	case IN_REMOVALS:
		return rr->action == XFR_REMOVE;
	default:
		return false;
	}
}

enum nsd_err
changes_read(struct changes *changes, struct changes_rr *rr)
{
	struct cursor c = changes->cursor;
	enum nsd_err err = changes_read_record(changes, &c, rr);

	if (err != NSD_OK)
		return err;
	rr->part = CHANGES_RECORD;
	rr->serial = 0;
	if (rr->type == TYPE_SOA ? !changes_take_soa(changes, rr)
				 : !is_in_place(changes, rr))
		return NSD_E_WIRE;
	changes->owner = rr->owner;
	changes->owner_len = rr->owner_len;
	changes->cursor = c;
	changes->records++;
	return NSD_OK;
}

enum nsd_err
changes_close(const struct changes *changes, uint32_t *to)
{
	if (changes_left(changes) > 0
		|| (changes->state != IN_WHOLE
			&& changes->state != IN_ADDITIONS))
		return NSD_E_WIRE;
	if (to != NULL)
		*to = changes->serial;
	return NSD_OK;
}
