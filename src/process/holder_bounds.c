/* holder_bounds.c - how much of old versions a reader may keep, and for how
 * long. */
#include "config.h"

#include "process/holder_bounds.h"

/* The least bounds, whatever the store holds: fewer octets are what updates of
 * small zones replace, and a transfer may take this long. */
#define OCTETS_MIN ((uint64_t)64 << 20)
#define SEC_MIN 3600u

void
holder_get_bounds(uint64_t served, struct holder_bounds *bounds)
{
	uint64_t sec = served / HOLDER_STREAM_RATE;

	bounds->octets = served > OCTETS_MIN ? served : OCTETS_MIN;
	bounds->age_msec = 1000 * (int64_t)(sec > SEC_MIN ? sec : SEC_MIN);
}
