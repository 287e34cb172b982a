/* nsec3_params.c - the parameters of NSEC3 and NSEC3PARAM records (RFC 5155
 * sections 3.1 and 4.1), and which of them a zone can use. */
#include <string.h>

#include "compile/build.h"
#include "compile/pack_parts.h"

#define PARAM_HEAD 5u /* octets before the salt, in both types */

bool
nsec3_params_read(const struct rrbatch_rr *rr, struct nsec3_params *params)
{
	const uint8_t *rdata = rrbatch_rr_rdata(rr);

	if (rr->rdlen < PARAM_HEAD
		|| rr->rdlen < PARAM_HEAD + (unsigned)rdata[4])
		return false;
	params->iterations = octets_get_u16(rdata + 2);
	params->salt_len = rdata[4];
	params->salt = rdata + PARAM_HEAD;
	return true;
}

int
nsec3_params_compare(const struct nsec3_params *a, const struct nsec3_params *b)
{
	if (a->iterations != b->iterations)
		return a->iterations < b->iterations ? -1 : 1;
	if (a->salt_len != b->salt_len)
		return a->salt_len < b->salt_len ? -1 : 1;
	return memcmp(a->salt, b->salt, a->salt_len);
}

bool
nsec3_has_params(const struct rrbatch_rr *rr, const struct nsec3_params *params)
{
	struct nsec3_params own;

	return nsec3_params_read(rr, &own)
		&& rrbatch_rr_rdata(rr)[0] == NSEC3_ALGORITHM_SHA1
		&& nsec3_params_compare(&own, params) == 0;
}

uint32_t
nsec3_params_limit(uint32_t max)
{
	return max == 0 ? NSEC3_ITERATIONS_MAX : max;
}

bool
build_keeps_nsec3_limit(const struct store_view *view, const struct zone *zone,
	uint32_t iterations_max)
{
	const struct nsec3_chain *chain;

	if (zone->chain == STORE_NONE)
		return true;
	chain = store_get(view, zone->chain);
	return (chain->iterations > nsec3_params_limit(iterations_max))
		== ((chain->flags & NSEC3_CHAIN_COSTLY) != 0);
}

/* NSEC3PARAM records of a zone that can be used. */
static size_t
zone_count_params(const struct store_view *view, const struct zone *zone)
{
	const struct node *apex = store_get(view, zone->apex);
	const struct node_rrset *e = node_find_entry(apex, TYPE_NSEC3PARAM);
	const struct rrset *rrset;
	const uint8_t *at;
	size_t count = 0;

	if (e == NULL)
		return 0;
	rrset = store_get(view, e->ref);
	for (at = rrset->data; at < rrset->data + rrset_len(rrset);
		at += 2u + octets_get_u16(at))
		count += octets_get_u16(at) >= PARAM_HEAD
			&& at[2] == NSEC3_ALGORITHM_SHA1 && at[3] == 0;
	return count;
}

bool
nsec3_change_needs_build(const struct store_view *view,
	const struct zone *zone, const struct owner *owner, uint16_t type)
{
	size_t params;

	if (type == TYPE_NSEC3PARAM)
		return owner->labels == 0;
	if (type != TYPE_NSEC3)
		return false;
	params = zone_count_params(view, zone);
	return params > 1 || (params == 1 && zone->chain == STORE_NONE);
}
