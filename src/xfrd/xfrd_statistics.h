/*
 * xfrd_statistics.h - counters of all processes, for `nsd-control stats` and
 * for metrics. They are read in shared memory (counts.h), without a request.
 */
#ifndef XFRD_XFRD_STATISTICS_H
#define XFRD_XFRD_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#include "ctl/statistics.h"

struct xfrd;

/* A look at the counters. */
struct xfrd_statistics {
	struct xfrd *xfrd;
	bool reset;            /* counters shown are to be 0 from then on */
	int64_t at_usec;       /* when it began, of clock_now_usec */
	uint64_t *sums;        /* of each server, with nothing taken off */
	uint32_t groups;       /* names that there were */
	uint64_t *queries;     /* of each server */
	struct statistics all;
};

/*
 * Sums up all counters but those of groups. reset: counters that this look has
 * shown may be set back to 0 by xfrd_statistics_reset, once all groups are
 * shown, and if no other such look is opened before: of two, the later one does
 * it. Gives a look, or NULL: no memory.
 */
struct xfrd_statistics *xfrd_statistics_open(struct xfrd *xfrd, bool reset);
/* Sets counters that were shown, and have arrived, back to 0, for all later
 * looks. */
void xfrd_statistics_reset(struct xfrd_statistics *look);
void xfrd_statistics_close(struct xfrd_statistics *look);

/* A statistics_get_group; ctx: the look. */
bool xfrd_statistics_get_group(void *ctx, uint32_t group, char *name,
	struct counters *counters);

/* Serves metrics, if nsd.conf wants it; before xfrd is confined. Faults are
 * logged, and leave xfrd without them. */
void xfrd_metrics_follow(struct xfrd *xfrd);

/* Gets the figures of the collector of records. */
void xfrd_statistics_get_records(const struct xfrd *xfrd,
	struct statistics_records *records);

#endif
