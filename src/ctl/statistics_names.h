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
	const char *name;   /* as in num.NAME.ITEM, and the label of metrics */
	const char *family; /* of metrics, behind nsd_ */
	const char *help;
	uint16_t at;        /* octets, within struct counters */
	uint16_t count;     /* of items that are shown */
	bool (*has_name)(unsigned item, char *name); /* false: shown only when
			     * not 0 */
};

enum { STATISTICS_TYPES, STATISTICS_OPCODES, STATISTICS_CLASSES,
	STATISTICS_RCODES, STATISTICS_ARRAYS };
extern const struct statistics_array statistics_arrays[STATISTICS_ARRAYS];

static inline const uint64_t *
statistics_array_values(const struct statistics_array *array,
	const struct counters *c)
{
	return (const uint64_t *)(const void *)((const uint8_t *)c
		+ array->at);
}

/* Prints the name of an item; room for STATISTICS_ITEM_MAX. False: the item is
 * not shown. */
bool statistics_array_name(const struct statistics_array *array,
	const uint64_t *values, unsigned item, char *name);

/* A single counter. */
struct statistics_single {
	const char *name;   /* behind num. */
	const char *family; /* of metrics, behind nsd_; those of a family
			     * stand together */
	const char *label;  /* of metrics: name="value", or NULL */
	const char *help;
	uint16_t at;        /* octets, within struct counters */
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
