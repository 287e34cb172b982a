/* xfrd_apexes.c - trees of what xfrd has of zones, by apex. */
#include <assert.h>
#include <search.h>

#include "dns/name.h"
#include "xfrd/xfrd_apexes.h"

static int
apexes_order(const void *a, const void *b)
{
	return name_compare(a, b);
}

void *
xfrd_apexes_find(void *const *tree, const uint8_t *apex)
{
	void **place = tfind(apex, tree, apexes_order);

	return place != NULL ? *place : NULL;
}

bool
xfrd_apexes_add(void **tree, void *object)
{
	void **place = tsearch(object, tree, apexes_order);

	assert(place == NULL || *place == object);
	return place != NULL;
}

void
xfrd_apexes_remove(void **tree, void *object)
{
	(void)tdelete(object, tree, apexes_order);
}
