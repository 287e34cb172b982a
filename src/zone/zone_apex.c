/* zone_apex.c - copies what a zone has to know of its apex into the zone. */
#include "base/octets.h"
#include "zone/zone.h"

void
zone_read_apex(const struct store_view *view, struct zone *zone)
{
	const struct node *apex = store_get(view, zone->apex);
	const struct node_rrset *soa = node_find_entry(apex, TYPE_SOA);
	const struct rrset *rrset = store_get(view, soa->ref);
	const uint8_t *end = rrset->data + rrset_len(rrset);
	uint32_t minimum = octets_get_u32(end - 4);

	zone->soa = soa->ref;
	zone->soa_sigs = node_entry_sigs(apex, soa);
	zone->serial = octets_get_u32(end - 20);
	zone->negative_ttl_sec = minimum < rrset->ttl_sec ? minimum
							  : rrset->ttl_sec;
	if (node_find_entry(apex, TYPE_DNSKEY) != NULL
		&& node_entry_sigs(apex, soa) != STORE_NONE)
		zone->flags |= ZONE_SIGNED;
	if (node_find_entry(apex, TYPE_NSEC) != NULL)
		zone->flags |= ZONE_NSEC;
}
