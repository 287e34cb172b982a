/*
 * xfrd_options.h - the configuration of a zone, as it is published: xfrd reads
 * it in the store, as workers do, and keeps no copy.
 *
 * Nothing is published of a zone that the loader does not know yet, or any
 * more. And the published options may differ from those that the machine has:
 * an index of a server may lead nowhere.
 */
#ifndef XFRD_XFRD_OPTIONS_H
#define XFRD_XFRD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "settings/pattern.h"
#include "zone/zone.h"

struct xfrd;
struct xfrd_zone;

struct xfrd_options {
	const struct store_view *view;
	const struct zone_entry *entry;         /* NULL: the zone is not
						 * published */
	const struct settings_pattern *pattern; /* the same */
};

/* The store is being read: see xfrd_read_begin. */
struct xfrd_reading {
	unsigned depth;
	const struct xfrd_zone *zone;   /* zone that was looked for last; or
					 * NULL */
	const struct zone_entry *entry; /* entry of that zone; NULL: none */
};

/* Begins and ends to read the store. Pairs may be nested; objects are lent
 * until the outermost one ends. Until then a zone is looked for once, as long
 * as others are not. */
const struct store_view *xfrd_read_begin(struct xfrd *xfrd);
void xfrd_read_end(struct xfrd *xfrd);

/* Begins to read the options of a zone; xfrd_read_end ends it. */
struct xfrd_options xfrd_options_begin(struct xfrd *xfrd,
	const struct xfrd_zone *zone);
/* The same of a zone that xfrd may not know. apex: in lower case. */
struct xfrd_options xfrd_options_find(struct xfrd *xfrd, const uint8_t *apex);

/* Lent until then, if anything is: */

/* The lists; NULL: they are empty. */
const struct settings_options *xfrd_options_lists(
	const struct xfrd_options *options);
/* Returns the length of a list of servers, or of our addresses. */
uint32_t xfrd_options_count(const struct xfrd_options *options,
	enum settings_list list);
/* Returns the texts of an element of these; NULLs if there is none. */
struct settings_texts xfrd_options_texts(const struct xfrd_options *options,
	enum settings_list list, uint32_t index);
/* Returns the pattern of a zone that was added at run time; NULL: it was
 * not. */
const char *xfrd_options_pattern(const struct xfrd_options *options);
/* Returns the zone's file, with its % not replaced; NULL: it has none. */
const char *xfrd_options_file(const struct xfrd_options *options);

/* Returns the zone's role among catalogs. More of it is in
 * options->pattern->catalog. */
enum conf_catalog xfrd_options_catalog(const struct xfrd_options *options);

/* True if clients may change the zone by UPDATE. */
bool xfrd_options_take_updates(const struct xfrd_options *options);

/* True if versions of the zone come from xfrd: conf_is_from_xfrd. */
bool xfrd_options_are_from_xfrd(const struct xfrd_options *options);

/* True if catalogs with this pattern may have a member of this name, which is
 * in lower case: it is one of catalog-allow or below one, or there is none.
 * Cost: linear in their count. */
bool xfrd_pattern_allows(const struct settings_pattern *pattern,
	const uint8_t *name);

/* True if a group of members of catalogs with this pattern counts: it is one of
 * catalog-group-pattern, or there is none. Cost: linear in their count. */
bool xfrd_pattern_takes_group(const struct settings_pattern *pattern,
	const char *group);

/* True if zones may be added with this pattern. */
bool xfrd_has_pattern(struct xfrd *xfrd, const char *name);

/* Shorthands that read a single option. */
bool xfrd_zone_is_secondary(struct xfrd *xfrd, const struct xfrd_zone *zone);
/* True if versions of the zone come from xfrd: conf_is_from_xfrd. */
bool xfrd_zone_is_from_xfrd(struct xfrd *xfrd, const struct xfrd_zone *zone);
uint32_t xfrd_zone_count(struct xfrd *xfrd, const struct xfrd_zone *zone,
	enum settings_list list);

/* Prints the name of a zone as it was written; its apex, if nothing is
 * published. Returns out. */
const char *xfrd_zone_print_name(struct xfrd *xfrd,
	const struct xfrd_zone *zone, char out[NAME_TEXT_MAX]);
/* Prints the name of a zone's file; "its file" if there is none, or no room.
 * Returns out. */
const char *xfrd_zone_print_file(struct xfrd *xfrd,
	const struct xfrd_zone *zone, char *out, size_t size);

/* True if versions of the zone from elsewhere are judged before they are
 * served. Begins and ends by itself. */
bool xfrd_options_are_checked(struct xfrd *xfrd, const struct xfrd_zone *zone);

#endif
