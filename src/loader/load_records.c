/* load_records.c - reads the records of changes of the older sort. */
#include "config.h"

#include "dns/rdata.h"
#include "dns/rrtype.h"
#include "loader/load_records.h"
#include "loader/load_update.h"

enum nsd_err
load_records_read_head(struct cursor *c, uint8_t *kind, uint8_t *apex)
{
	size_t apex_len;

	*kind = cursor_read_u8(c);
	if (name_read_uncompressed(c, apex, &apex_len) != NSD_OK)
		return NSD_E_WIRE;
	name_lower(apex);
	return NSD_OK;
}

bool
load_records_read(struct cursor *c, struct load_record *record)
{
	size_t len;

	if (c->failed || cursor_left(c) == 0)
		return false;
	record->action = cursor_read_u8(c);
	if (name_read_uncompressed(c, record->owner, &len) != NSD_OK) {
		c->failed = true;
		return false;
	}
	name_lower(record->owner);
	record->rr.owner = record->owner;
	record->rr.type = cursor_read_u16(c);
	record->rr.ttl_sec = cursor_read_u32(c);
	record->rr.rdlen = cursor_read_u16(c);
	record->rr.rdata = cursor_read_octets(c, record->rr.rdlen);
	return !c->failed;
}

bool
load_records_check(const struct load_record *record)
{
	const struct zone_rr *rr = &record->rr;
	const char *why;

	if (record->action == LOAD_UPDATE_REMOVE_RRSET)
		return rr->rdlen == 0;
	return !rrtype_is_meta(rr->type)
		&& rdata_check(rr->type, rr->rdata, rr->rdlen, &why)
		!= NSD_E_WIRE;
}

bool
load_records_next(struct cursor *c, struct load_record *record)
{
	if (!load_records_read(c, record))
		return false;
	if (!load_records_check(record))
		c->failed = true;
	return !c->failed;
}
