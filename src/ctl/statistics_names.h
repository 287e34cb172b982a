/* statistics_names.h - the names of counters, in their order: those of `stats`
 * and those of metrics. */
#ifndef CTL_STATISTICS_NAMES_H
#define CTL_STATISTICS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "dns/counters.h"

#define STATISTICS_ITEM_MAX 32

/* An array of struct counters. */
struct statistics_array {
	const char *name;   /* as in num.NAME.ITEM */
	const char *label;  /* of metrics */
	const char *family; /* of metrics, behind nsd_ */
	const char *help;
	uint16_t at;        /* octets, within struct counters */
	uint16_t count;     /* of items that are shown */
	uint16_t size;      /* of all: the last that is shown has the sum of
			     * itself and of those behind it */
	bool (*has_name)(unsigned item, char *name); /* false: shown only when
			     * not 0 */
};

enum { STATISTICS_TYPES, STATISTICS_OPCODES, STATISTICS_CLASSES,
	STATISTICS_RCODES, STATISTICS_UPDATES, STATISTICS_ARRAYS };
extern const struct statistics_array statistics_arrays[STATISTICS_ARRAYS];

/* Gets what is shown of an item, and its name, which has room for
 * STATISTICS_ITEM_MAX. False: the item is not shown. */
bool statistics_array_get(const struct statistics_array *array,
	const struct counters *c, unsigned item, char *name, uint64_t *value);

/* A single counter. */
struct statistics_single {
	const char *name;   /* behind num. */
	const char *family; /* of metrics, behind nsd_; those of a family
			     * stand together */
	const char *label;  /* of metrics: name="value", or NULL */
	const char *help;
	uint16_t at;        /* octets, within struct counters */
	bool may_lack;      /* `stats` shows it only when not 0 */
};

extern const struct statistics_single statistics_singles[];
extern const unsigned statistics_single_count;

static inline uint64_t
statistics_single_value(const struct statistics_single *single,
	const struct counters *c)
{
	return *(const uint64_t *)(const void *)((const uint8_t *)c
		+ single->at);
}

#endif
