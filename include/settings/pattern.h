/*
 * pattern.h - options of zones that answering does not need: the names and
 * texts that xfrd, the loader and the writer of zone files look for.
 *
 *   STORE_ROOT_SETTINGS -> settings -> settings_pattern, of each pattern
 *   zone_entry                      -> settings_pattern
 *
 * It is published and shared as settings_options is (settings.h): equal
 * contents are one object, which all zones of a pattern share.
 */
#ifndef SETTINGS_PATTERN_H
#define SETTINGS_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "settings/settings.h"

/* Checks of versions from elsewhere before they are served. */
enum settings_checks {
	SETTINGS_CHECKS = 1,           /* by the server itself */
	SETTINGS_VERIFIES = 2,         /* verify-zone: yes */
	SETTINGS_VERIFIES_AS_ALL = 4,  /* by a verifier, if verify-zones says
					* so */
};

/* The numbers of doc/surface.md 1.5. */
struct settings_storing {
	uint64_t size_limit_xfr; /* octets; 0: any number */
	uint64_t ixfr_size;      /* octets */
	uint32_t ixfr_number;
	uint16_t store_ixfr;
	uint16_t create_ixfr;
	uint16_t checks;         /* enum settings_checks, or-ed */
	uint16_t unused[3];      /* 0 */
};

/* The role of a zone among catalogs (RFC 9432), and whose member it becomes.
 * Texts and names are places as in struct settings_pattern; names are in wire
 * form and in lower case. */
struct settings_catalog {
	uint32_t max;               /* members; 0: any number */
	uint32_t member_pattern_at; /* for members without a known group */
	uint32_t groups_at;         /* catalog-group-pattern: texts, one behind
				     * the other */
	uint32_t group_count;       /* 0: all groups count */
	uint32_t producer_at;       /* name of the catalog that has the zones of
				     * this pattern as members */
	uint32_t folder_at;         /* zone-directory, as written; of patterns,
				     * not of zones in nsd.conf */
	uint32_t suffixes_at;       /* catalog-allow: names, one behind the
				     * other */
	uint32_t suffix_count;      /* 0: all names are allowed */
	uint16_t role;              /* enum conf_catalog */
	uint16_t empty_deletes;     /* 0: an empty catalog keeps members */
};

struct settings_pattern {
	uint32_t refs; /* holders; the writer's */
	uint32_t len;  /* octets of this object */
	store_ref options; /* of its zones; none: no lists */
	/* Of texts with a NUL, in octets from the start; 0: there is none. */
	uint32_t name_at; /* none: the options of a zone in nsd.conf */
	uint32_t file_at; /* zonefile, as written; see also struct zone_own */
	/* The counts of elements of request-xfr, notify and outgoing-interface,
	 * and the places of their texts, three of each: settings_texts. */
	uint32_t counts[SETTINGS_LIST_COUNT - SETTINGS_CLIENT_LISTS];
	uint32_t texts_at;
	struct settings_storing storing;
	struct settings_catalog catalog;
	char octets[];
};

static inline const char *
settings_pattern_text(const struct settings_pattern *pattern, uint32_t at)
{
	return at == 0 ? NULL : (const char *)pattern + at;
}

/* A name in wire form, as a text. */
static inline const uint8_t *
settings_pattern_name(const struct settings_pattern *pattern, uint32_t at)
{
	return (const uint8_t *)settings_pattern_text(pattern, at);
}

/* The texts of an element, as nsd.conf has them. */
struct settings_texts {
	const char *spec;     /* the address */
	const char *key_name; /* NULL: NOKEY */
	const char *tls_auth; /* NULL: none */
};

/*
 * The texts of an element of one of the lists behind SETTINGS_CLIENT_LISTS,
 * whose elements stand in the order of settings_options_list. index is below
 * its count. Lent until the reader is quiescent. Cost: linear in the index.
 */
struct settings_texts settings_pattern_texts(
	const struct settings_pattern *pattern, enum settings_list list,
	uint32_t index);

/* Finds the pattern with this name in the published settings, or none. */
store_ref settings_find_pattern(const struct store_view *view,
	const char *name);

#endif
