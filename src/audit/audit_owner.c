/* audit_owner.c - the records of the owner at hand, in groups by type. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit_part.h"
#include "base/grow.h"
#include "zone/walk.h"

const struct audit_group *
audit_owner_find(const struct audit_owner *owner, uint16_t type)
{
	for (size_t i = 0; i < owner->group_count; i++)
		if (owner->groups[i].type == type && !owner->groups[i].sigs)
			return &owner->groups[i];
	return NULL;
}

void
audit_owner_find_algorithms(const struct audit_owner *owner, uint16_t type,
	uint8_t bits[32])
{
	memset(bits, 0, 32);
	for (size_t i = 0; i < owner->group_count; i++) {
		const struct audit_group *g = &owner->groups[i];
		const uint8_t *p = owner->data + g->at, *end = p + g->len;

		for (; g->sigs && g->type == type && p < end;
			p += 6u + octets_get_u16(p + 4))
			bits[p[8] / 8] |= (uint8_t)(1u << p[8] % 8);
	}
}

/* The group that the next record belongs to: the last one, or a new one. NULL
 * without memory. */
static struct audit_group *
owner_get_group(struct audit_owner *o, uint16_t type, bool sigs,
	uint32_t ttl_sec)
{
	struct audit_group *groups, *g = o->groups + o->group_count;

	if (o->group_count > 0 && g[-1].type == type && g[-1].sigs == sigs)
		return g - 1;
	groups = grow_array(o->groups, o->group_count, &o->group_room,
		sizeof(*groups));
	if (groups == NULL)
		return NULL;
	o->groups = groups;
	g = groups + o->group_count;
	*g = (struct audit_group){type, sigs, ttl_sec, o->data_len, 0};
	o->group_count++;
	return g;
}

/* Makes room for the next len octets; NULL without memory. */
static uint8_t *
owner_get_room(struct audit_owner *o, size_t len)
{
	uint8_t *data = grow_octets(o->data, o->data_len + len,
		&o->data_room);

	if (data == NULL)
		return NULL;
	o->data = data;
	return data + o->data_len;
}

enum nsd_err
audit_owner_add(struct audit_owner *o, const struct zone_rr *rr)
{
	bool sigs = rr->type == TYPE_RRSIG;
	struct audit_group *g;
	size_t len = 2u + rr->rdlen + (sigs ? 4 : 0);
	uint8_t *at;

	/* An RRSIG that is too short has no fields to check. */
	if (sigs && rr->rdlen < RRSIG_HEAD)
		return NSD_OK;
	g = owner_get_group(o, sigs ? octets_get_u16(rr->rdata) : rr->type,
		sigs, rr->ttl_sec);
	at = owner_get_room(o, len);
	if (g == NULL || at == NULL)
		return NSD_E_MEMORY;
	if (sigs) {
		octets_put_u32(at, rr->ttl_sec);
		at += 4;
	}
	octets_put_u16(at, rr->rdlen);
	memcpy(at + 2, rr->rdata, rr->rdlen);
	g->len += len;
	o->data_len += len;
	return NSD_OK;
}

void
audit_owner_begin(struct audit_owner *o, const uint8_t *name, size_t len)
{
	assert(len > 0 && len <= NAME_MAX_LEN);
	memcpy(o->name, name, len);
	o->name_len = (uint8_t)len;
	o->group_count = 0;
	o->data_len = 0;
}

void
audit_owner_fini(struct audit_owner *o)
{
	free(o->groups);
	free(o->data);
}
