/* counts_tap.c - the parts of the shared memory for records of queries. */
#include "config.h"

#include "process/counts.h"
#include "process/counts_part.h"

struct tap_switch *
counts_get_switch(const struct counts *c)
{
	return counts_part_get(c, PART_SWITCH, 0);
}

struct tap_ring *
counts_get_ring(const struct counts *c, unsigned worker)
{
	return counts_part_get(c, PART_RINGS, worker);
}

struct tap_cursor *
counts_get_cursor(const struct counts *c, unsigned worker)
{
	return counts_part_get(c, PART_CURSORS, worker);
}

struct tap_counts *
counts_get_tap(const struct counts *c)
{
	return counts_part_get(c, PART_TAP, 0);
}
