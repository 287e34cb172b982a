/*
 * table.h - the table of served zones: a trie of apexes at STORE_ROOT_ZONES.
 */
#ifndef ZONE_TABLE_H
#define ZONE_TABLE_H

#include "base/err.h"
#include "store/store.h"
#include "zone/zone.h"

#define TABLE_FILTER_BITS 1024u

/* The table of zones; STORE_ROOT_ZONES refers to it. */
struct zone_table {
	struct trie apexes; /* struct zone_entry */
	uint32_t zone_count;
	store_ref only;     /* the entry if there is just one, for speed */
	/* The bit table_filter_bit() of each apex is set. Most names outside of
	 * the served zones are recognized by their bit alone. */
	uint64_t tld_filter[TABLE_FILTER_BITS / 64];
};

/*
 * A number for the layout of objects in the store. A program reads only images
 * with its own number. Settings do not count, as no program takes them from an
 * image. The sizes of the objects go into it. If the meaning of an object
 * changes and its size does not, raise ZONE_LAYOUT_VERSION in table.c.
 */
uint64_t table_layout(void);

/* The current table; NULL before the first publish. Lent until the reader is
 * quiescent, or until the writer changes the table. */
const struct zone_table *table_get(const struct store_view *view);

/* False if no served zone encloses the name (wire name, any case). True if one
 * may. */
bool table_may_serve(const struct zone_table *table, const uint8_t *name);

/* Finds the entry of the zone with exactly this apex (wire name, any case).
 * returns NSD_OK; NSD_E_NOT_FOUND if there is no such zone, or no table yet
 * (*entry is not set). */
enum nsd_err table_find_apex(const struct store_view *view,
	const uint8_t *apex, store_ref *entry) MUST_USE;

/* ---- for those who edit the table -------------------------------------- */

/* The number of a name's bit in tld_filter, from a hash of its last label (any
 * case). The name is not the root. */
unsigned table_filter_bit(const uint8_t *name);

/* Finds an entry in a table, published or not. Returns as table_find_apex. */
enum nsd_err table_find_in(const struct store_view *view,
	const struct zone_table *table, const uint8_t *apex, store_ref *entry)
	MUST_USE;

/* Splits a wire name for a look-up in the trie of apexes. name gets it in lower
 * case. key keeps name and label_at. */
void table_split_apex(const uint8_t *apex, uint8_t name[NAME_MAX_LEN],
	uint8_t label_at[NAME_MAX_LABELS + 1], struct trie_name *key);

#endif
