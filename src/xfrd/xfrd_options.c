/* xfrd_options.c - reads the published configuration of a zone. */
#include "config.h"

#include <assert.h>
#include <stdio.h>

#include "store/store.h"
#include "xfrd/xfrd.h"
#include "zone/table.h"

const struct store_view *
xfrd_read_begin(struct xfrd *xfrd)
{
	if (xfrd->reading.depth++ == 0)
		store_reader_online(xfrd->reader);
	return store_reader_view(xfrd->reader);
}

void
xfrd_read_end(struct xfrd *xfrd)
{
	assert(xfrd->reading.depth > 0);
	if (--xfrd->reading.depth > 0)
		return;
	xfrd->reading.zone = NULL;
	store_reader_offline(xfrd->reader);
}

static const struct zone_entry *
options_find_entry(const struct store_view *view, const uint8_t *apex)
{
	store_ref ref;

	return table_find_apex(view, apex, &ref) == NSD_OK
		? store_get(view, ref) : NULL;
}

static void
options_get_pattern(struct xfrd_options *options)
{
	store_ref ref;

	if (options->entry == NULL)
		return;
	ref = store_load_ref(&options->entry->pattern);
	assert(ref != STORE_NONE);
	options->pattern = store_get(options->view, ref);
}

struct xfrd_options
xfrd_options_begin(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	struct xfrd_options options = {.view = xfrd_read_begin(xfrd)};
	struct xfrd_reading *reading = &xfrd->reading;

	if (reading->zone != zone) {
		reading->zone = zone;
		reading->entry = options_find_entry(options.view,
			xfrd_zone_apex(zone));
	}
	options.entry = reading->entry;
	options_get_pattern(&options);
	return options;
}

struct xfrd_options
xfrd_options_find(struct xfrd *xfrd, const uint8_t *apex)
{
	struct xfrd_options options = {.view = xfrd_read_begin(xfrd)};

	options.entry = options_find_entry(options.view, apex);
	options_get_pattern(&options);
	return options;
}

const struct settings_options *
xfrd_options_lists(const struct xfrd_options *options)
{
	const struct settings_pattern *pattern = options->pattern;

	/* The lists of the pattern that was read: those of the entry may be
	 * others by now. */
	return pattern == NULL || pattern->options == STORE_NONE ? NULL
		: store_get(options->view, pattern->options);
}

uint32_t
xfrd_options_count(const struct xfrd_options *options, enum settings_list list)
{
	assert(list >= SETTINGS_CLIENT_LISTS);
	return options->pattern == NULL ? 0
		: options->pattern->counts[list - SETTINGS_CLIENT_LISTS];
}

struct settings_texts
xfrd_options_texts(const struct xfrd_options *options, enum settings_list list,
	uint32_t index)
{
	return index < xfrd_options_count(options, list)
		? settings_pattern_texts(options->pattern, list, index)
		: (struct settings_texts){.spec = NULL};
}

const char *
xfrd_options_pattern(const struct xfrd_options *options)
{
	const struct zone_entry *entry = options->entry;

	if (entry == NULL
		|| (__atomic_load_n(&entry->flags, __ATOMIC_RELAXED)
			& ZONE_ENTRY_LISTED) == 0)
		return NULL;
	return settings_pattern_text(options->pattern,
		options->pattern->name_at);
}

const char *
xfrd_options_file(const struct xfrd_options *options)
{
	return options->entry == NULL ? NULL
		: zone_entry_file(options->view, options->entry);
}

enum conf_catalog
xfrd_options_catalog(const struct xfrd_options *options)
{
	return options->pattern == NULL ? CONF_CATALOG_NONE
		: (enum conf_catalog)options->pattern->catalog.role;
}

bool
xfrd_pattern_allows(const struct settings_pattern *pattern,
	const uint8_t *name)
{
	const struct settings_catalog *catalog = &pattern->catalog;
	const uint8_t *suffix = settings_pattern_name(pattern,
		catalog->suffixes_at);

	for (uint32_t i = 0; i < catalog->suffix_count; i++) {
		if (name_is_within(name, suffix))
			return true;
		suffix += name_len(suffix);
	}
	return catalog->suffix_count == 0;
}

bool
xfrd_pattern_takes_group(const struct settings_pattern *pattern,
	const char *group)
{
	const struct settings_catalog *catalog = &pattern->catalog;
	const char *at = settings_pattern_text(pattern, catalog->groups_at);

	for (uint32_t i = 0; i < catalog->group_count; i++) {
		if (strcmp(at, group) == 0)
			return true;
		at += strlen(at) + 1;
	}
	return catalog->group_count == 0;
}

bool
xfrd_has_pattern(struct xfrd *xfrd, const char *name)
{
	bool has = settings_find_pattern(xfrd_read_begin(xfrd), name)
		!= STORE_NONE;

	xfrd_read_end(xfrd);
	return has;
}

uint32_t
xfrd_zone_count(struct xfrd *xfrd, const struct xfrd_zone *zone,
	enum settings_list list)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	uint32_t count = xfrd_options_count(&options, list);

	xfrd_read_end(xfrd);
	return count;
}

bool
xfrd_zone_is_secondary(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	return xfrd_zone_count(xfrd, zone, SETTINGS_REQUEST_XFR) > 0;
}

bool
xfrd_options_take_updates(const struct xfrd_options *options)
{
	return xfrd_options_count(options, SETTINGS_REQUEST_XFR) == 0
		&& settings_options_take_updates(xfrd_options_lists(options));
}

bool
xfrd_options_are_from_xfrd(const struct xfrd_options *options)
{
	return xfrd_options_count(options, SETTINGS_REQUEST_XFR) > 0
		|| xfrd_options_catalog(options) == CONF_CATALOG_PRODUCER
		|| xfrd_options_take_updates(options);
}

bool
xfrd_zone_is_from_xfrd(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	bool is = xfrd_options_are_from_xfrd(&options);

	xfrd_read_end(xfrd);
	return is;
}

const char *
xfrd_zone_print_name(struct xfrd *xfrd, const struct xfrd_zone *zone,
	char out[NAME_TEXT_MAX])
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	size_t len;

	if (options.entry == NULL) {
		len = name_print_text(xfrd_zone_apex(zone), out);
		out[len > 1 ? len - 1 : len] = '\0';
	} else {
		const char *name = zone_entry_name(options.view,
			options.entry, out);

		if (name != out)
			snprintf(out, NAME_TEXT_MAX, "%s", name);
	}
	xfrd_read_end(xfrd);
	return out;
}

const char *
xfrd_zone_print_file(struct xfrd *xfrd, const struct xfrd_zone *zone,
	char *out, size_t size)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	const char *file = xfrd_options_file(&options);
	char text[NAME_TEXT_MAX];
	size_t len;

	if (file == NULL
		|| conf_expand_name(file, zone_entry_name(options.view,
						options.entry, text),
			   xfrd_zone_apex(zone), out, size, &len)
			!= NSD_OK)
		snprintf(out, size, "its file");
	xfrd_read_end(xfrd);
	return out;
}

bool
xfrd_options_are_checked(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	const struct conf_verify *verify = &xfrd->role.server->conf->verify;
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	uint16_t checks = options.pattern != NULL
		? options.pattern->storing.checks : 0;

	xfrd_read_end(xfrd);
	return (checks & SETTINGS_CHECKS) != 0
		|| (verify->enable && ((checks & SETTINGS_VERIFIES) != 0
			|| (verify->verify_zones
				&& (checks & SETTINGS_VERIFIES_AS_ALL) != 0)));
}
