/* measure.h - what the memory of all zones is used for. */
#ifndef ZONE_MEASURE_H
#define ZONE_MEASURE_H

#include <stdint.h>

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

/* "names" */
const char *zone_kind_name(enum zone_kind kind);

#endif
