/* measure.h - counts the memory that all zones use, by its use. */
#ifndef ZONE_MEASURE_H
#define ZONE_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/name.h"
#include "store/store.h"

/* The uses of memory, each with the text that says what it counts. */
#define ZONE_KINDS(X)                                                        \
	X(names, "nodes: names and what they refer to")                      \
	X(tries, "branches, of names and of the table")                      \
	X(rrsets, "RRsets, shared ones once")                                \
	X(signatures, "RRSIG records but of NSEC3")                          \
	X(nsec3, "chains of NSEC3 records and their signatures")             \
	X(addresses, "where additional data is found")                       \
	X(zones, "entries, settings, files and the like of each zone")        \
	X(sharing, "what the writer finds equal RRsets by")                  \
	X(history, "what the last versions differ by, for IXFR")

#define ZONE_KIND_ENUM(name, meaning) ZONE_KIND_##name,
enum zone_kind { ZONE_KINDS(ZONE_KIND_ENUM) ZONE_KIND_COUNT };
#undef ZONE_KIND_ENUM

struct zone_measure {
	uint64_t octets[ZONE_KIND_COUNT];
};

/* Measures all zones that are served. Each object counts with the octets that
 * the store rounds it up to. The writer's process only. Cost: a walk of all
 * zones. */
void zone_measure(const struct store_view *view, struct zone_measure *measure);

/*
 * zone_measure in steps, for a process that has other work. Begin with a zeroed
 * struct zone_measuring. Zones may change, come and go between two steps;
 * whether their changes count is left open.
 */
struct zone_measure_place {
	bool begun; /* done up to this name */
	uint8_t len;
	uint8_t name[NAME_MAX_LEN];
};
struct zone_measuring {
	/* private */
	uint64_t parts[ZONE_KIND_COUNT];
	struct zone_measure_place zone;
	bool in_zone; /* `zone` is not done; the rest is the place in it */
	uint8_t section;
	struct zone_measure_place name;
};

/* Looks at `objects` objects (0 counts as 1), which take some 0.1 us each.
 * returns false when all is measured, or before the first publish. */
bool zone_measure_step(const struct store_view *view,
	struct zone_measuring *measuring, size_t objects);
/* Copies what is measured so far, which is all of it once a step has returned
 * false. */
void zone_measure_get(const struct zone_measuring *measuring,
	struct zone_measure *measure);

/*
 * Begins to measure one zone, for any reader: objects that it shares with other
 * zones count in part, and those that only the writer may look at (sharing, the
 * files) do not count. apex: wire name, any case, which is copied. The reader
 * is online during a step, and may be offline between two.
 */
void zone_measure_begin_one(struct zone_measuring *measuring,
	const uint8_t *apex);
/* Measures further objects of the zone. returns false when it is measured, or
 * the zone is not there (any more). */
bool zone_measure_step_one(const struct store_view *view,
	struct zone_measuring *measuring, size_t objects);

/* The name of a kind as in ZONE_KINDS: "names". Below ZONE_KIND_COUNT. */
const char *zone_kind_name(enum zone_kind kind);

#endif
