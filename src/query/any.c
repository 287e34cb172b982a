/* any.c - chooses what to send when any type will do (RFC 8482). */
#include "dns/rrtype.h"
#include "query/answer.h"

/* True for types that are the last choice: they help no client that asks for
 * ANY. */
static bool
is_dnssec(uint16_t type)
{
	return type == TYPE_NSEC || type == TYPE_NSEC3 || type == TYPE_DNSKEY
		|| type == TYPE_NSEC3PARAM;
}

const struct node_rrset *
any_choose(const struct store_view *view, const struct node *node)
{
	const struct node_rrset *e = node_entries(node);
	const struct node_rrset *best = NULL;
	uint32_t best_cost = UINT32_MAX;

	/* More are looked at only if no RRset is among the first. */
	for (unsigned i = 0; i < node->entry_count
		&& (i < QUERY_ENTRIES_MAX || best == NULL); i++) {
		const struct rrset *rrset;
		uint32_t cost;

		if ((e[i].flags & NODE_RRSET_SIGS) != 0)
			continue;
		rrset = store_get(view, e[i].ref);
		cost = rrset_len(rrset) + rrset->count * RRSET_RR_HEAD;
		if (is_dnssec(e[i].type))
			cost |= 0x80000000u;
		if (cost < best_cost) {
			best = &e[i];
			best_cost = cost;
		}
	}
	return best;
}
