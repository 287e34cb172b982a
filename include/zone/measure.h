/* measure.h - what the memory of all zones is used for. */
#ifndef ZONE_MEASURE_H
#define ZONE_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/name.h"
#include "store/store.h"

/*   kind, what it is */
#define ZONE_KINDS(X)                                                        \
	X(names, "nodes: names and what they refer to")                      \
	X(tries, "branches, of names and of the table")                      \
	X(rrsets, "RRsets, shared ones once")                                \
	X(signatures, "RRSIG records but of NSEC3")                          \
	X(nsec3, "chains of NSEC3 records and their signatures")             \
	X(addresses, "where additional data is found")                       \
	X(zones, "entries, options, files and the like of each zone")        \
	X(sharing, "what the writer finds equal RRsets by")

#define ZONE_KIND_ENUM(name, meaning) ZONE_KIND_##name,
enum zone_kind { ZONE_KINDS(ZONE_KIND_ENUM) ZONE_KIND_COUNT };
#undef ZONE_KIND_ENUM

struct zone_measure {
	uint64_t octets[ZONE_KIND_COUNT];
};

/* Of all zones that are served, rounded as the store does. The writer's
 * process. Cost: a walk of all zones. */
void zone_measure(const struct store_view *view, struct zone_measure *measure);

/*
 * The same in steps, for a process that has other things to do. Zeroed: at the
 * beginning. Between two steps zones may change, come and go; what does while
 * it is looked at may be in the result or not.
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
	bool in_zone; /* that one; and this is where */
	uint8_t section;
	struct zone_measure_place name;
};

/* Looks at so many objects, some 0.1 us each, at least one. False: all is
 * measured. */
bool zone_measure_step(const struct store_view *view,
	struct zone_measuring *measuring, size_t objects);
void zone_measure_get(const struct zone_measuring *measuring,
	struct zone_measure *measure);

/* "names" */
const char *zone_kind_name(enum zone_kind kind);

#endif
