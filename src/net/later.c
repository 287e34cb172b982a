/* later.c - replies that come later, whatever they came by. */
#include "config.h"

#include "later.h"

#include <stdlib.h>

bool
net_later_is_wanted(const struct net_later *later)
{
	return later != NULL && later->end != NULL;
}

void
net_later_send(struct net_later *later, const uint8_t *reply, size_t len)
{
	if (net_later_is_wanted(later))
		later->end(later, reply, len, false);
	free(later);
}

void
net_later_drop(struct net_later *later, bool closes)
{
	if (net_later_is_wanted(later))
		later->end(later, NULL, 0, closes);
	free(later);
}

void
later_forget_all(struct cds_list_head *list)
{
	struct net_later *later, *next;

	cds_list_for_each_entry_safe(later, next, list, by_owner)
		later->end = NULL;
	CDS_INIT_LIST_HEAD(list);
}
