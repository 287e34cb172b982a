/* sources.c - reads the record of the files that a zone was read from last. */
#include "zone/sources.h"

const struct zone_sources *
zone_sources_get(const struct store_view *view, store_ref entry)
{
	const struct zone_entry *e = store_get(view, entry);
	store_ref ref = store_load_ref(&e->sources);

	return ref == STORE_NONE ? NULL : store_get(view, ref);
}

const struct zone_source *
zone_sources_first(const struct zone_sources *sources)
{
	return (const struct zone_source *)(sources + 1);
}

const struct zone_source *
zone_sources_next(const struct zone_source *source)
{
	return (const struct zone_source *)((const uint8_t *)source
		+ zone_source_size(source->path_len));
}
