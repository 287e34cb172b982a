/* zone_search.c - finds a type among those of a name with very many. */
#include "zone/zone.h"

const struct node_rrset *
zone_search_entries(const struct node_rrset *entries, size_t count,
	uint32_t key)
{
	const struct node_rrset *e = entries;

	while (count > 0) {
		size_t half = count / 2;

		if (node_entry_key(&e[half]) < key) {
			e += half + 1;
			count -= half + 1;
		} else if (node_entry_key(&e[half]) == key) {
			return &e[half];
		} else {
			count = half;
		}
	}
	return NULL;
}
