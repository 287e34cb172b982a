/* zone_filter.c - the zones whose records are collected. */
#include "config.h"

#include "collector/zone_filter.h"

#include <stdlib.h>
#include <string.h>

static int
compare_apexes(const void *a, const void *b)
{
	return memcmp(a, b, NAME_MAX_LEN);
}

enum nsd_err
zone_filter_init(struct zone_filter *filter, const struct conf_strings *names)
{
	if (names->count == 0)
		return NSD_OK;
	filter->apexes = calloc(names->count, sizeof(*filter->apexes));
	if (filter->apexes == NULL)
		return NSD_E_MEMORY;
	for (size_t i = 0; i < names->count; i++)
		if (!conf_parse_zone_name(names->items[i], filter->apexes[i]))
			return NSD_E_SYNTAX;
	filter->count = names->count;
	qsort(filter->apexes, filter->count, sizeof(*filter->apexes),
		compare_apexes);
	return NSD_OK;
}

bool
zone_filter_takes(const struct zone_filter *filter,
	const struct tap_record *record)
{
	uint8_t zone[NAME_MAX_LEN] = {0};

	if (filter->count == 0)
		return true;
	return tap_find_zone(record, zone) > 0
		&& bsearch(zone, filter->apexes, filter->count,
			   sizeof(*filter->apexes), compare_apexes)
			!= NULL;
}
