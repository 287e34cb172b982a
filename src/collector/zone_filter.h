/* zone_filter.h - the zones whose records are collected. */
#ifndef SRC_COLLECTOR_ZONE_FILTER_H
#define SRC_COLLECTOR_ZONE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/conf.h"
#include "dns/name.h"
#include "tap/ring.h"

struct zone_filter {
	size_t count;               /* 0: all zones, and queries of none */
	uint8_t (*apexes)[NAME_MAX_LEN]; /* wire names in lower case, in the
				     * order of their octets; zeros behind
				     * them */
};

/* Takes the names of nsd.conf. NSD_E_MEMORY; NSD_E_SYNTAX: not a name. */
enum nsd_err zone_filter_init(struct zone_filter *filter,
	const struct conf_strings *names) MUST_USE;

/* True if the record is of one of the zones. */
bool zone_filter_takes(const struct zone_filter *filter,
	const struct tap_record *record);

#endif
