/*
 * statistics.h - the server's counters as text: the lines of `nsd-control
 * stats` (doc/surface.md section 4) and Prometheus' text format (section 5). No
 * clock, no processes: numbers in, text out.
 */
#ifndef CTL_STATISTICS_H
#define CTL_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/latency.h"
#include "dns/counters.h"

/* Octets that names of groups are cut to. */
#define STATISTICS_NAME_MAX 1100u

/* Text that grows. Once there is no memory, nothing is added any more. */
struct statistics_text {
	char *text; /* no NUL behind it */
	size_t len;
	size_t room;
	bool failed;
};

void statistics_text_free(struct statistics_text *out);
void statistics_text_printf(struct statistics_text *out, const char *format,
	...) __attribute__((format(printf, 2, 3)));

/* The server's figures, without those of groups of zones. */
struct statistics {
	unsigned server_count;
	const uint64_t *queries;  /* of each server */
	int64_t up_usec;          /* since the server was started */
	int64_t elapsed_usec;     /* since the counters were 0 */
	uint64_t db_disk, db_mem; /* octets, as all sizes */
	uint64_t xfrd_mem;
	uint64_t config_disk, config_mem;
	struct counters all;      /* of all servers */
	struct latency_block latency; /* of all servers, since the start */
	uint64_t primary_zones, secondary_zones;
	uint64_t refused_zones; /* zones whose last version was refused */
};

/* Appends the lines of `stats` from server0.queries to zone.slave. */
void statistics_print(struct statistics_text *out, const struct statistics *s);
/* Appends the lines of a group, which come behind those of statistics_print. */
void statistics_print_group(struct statistics_text *out, const char *name,
	const struct counters *counters);

/* Appends counters by name that NSD 4 shows by number or in one sum, for
 * stats_more: num.type.NAME=COUNT and num.class.NAME=COUNT. */
void statistics_print_names(struct statistics_text *out,
	const struct counters *c);

/* Appends lines PREFIX.ltNus=COUNT, one for each bucket, PREFIX.more=COUNT for
 * the last one, and PREFIX.usec=SUM. */
void statistics_print_latency(struct statistics_text *out, const char *prefix,
	const struct latency *latency);

/* ---- trouble ------------------------------------------------------------- */

/* The trouble of a zone, the gravest first: a zone has the first that holds. */
enum statistics_zone_trouble {
	STATISTICS_ZONE_WELL,
	STATISTICS_ZONE_NOT_LOADED,    /* a primary zone */
	STATISTICS_ZONE_AS_IT_WAS,     /* the same: its file cannot be used */
	STATISTICS_ZONE_EXPIRED,       /* a secondary zone, as in the next ones
					* up to NOT_WRITTEN */
	STATISTICS_ZONE_NO_DATA,       /* no transfer has succeeded yet, and the
					* last one failed */
	STATISTICS_ZONE_NOT_REFRESHED, /* the last refresh failed */
	STATISTICS_ZONE_NOT_WRITTEN,   /* the zone file cannot be written */
	STATISTICS_ZONE_NOT_HEARD,     /* any zone: a target of NOTIFY does not
					* acknowledge */
	STATISTICS_ZONE_TROUBLES,
};

/* Kinds of processes. */
enum {
	STATISTICS_LOADER,
	STATISTICS_XFRD,
	STATISTICS_SERVER, /* the workers together */
	STATISTICS_PROCESSES,
};

/* The counts of troubles that `status` shows. */
struct statistics_trouble {
	uint64_t zones[STATISTICS_ZONE_TROUBLES];
	uint64_t refused_zones; /* zones whose last version was refused */
	uint64_t refusals;      /* of versions, so far */
	int64_t oldest_refresh_msec; /* time since a secondary zone with data
				      * was last known to be fresh: the longest
				      * of all */
	uint64_t deaths[STATISTICS_PROCESSES]; /* unwanted ones, since the
						* start */
	unsigned in_hand; /* processes that died with a message in hand, which
			   * is kept */
	unsigned waiting; /* options of nsd.conf that wait for a restart */
	bool no_journal;  /* the journal cannot be used: nothing is
			   * transferred */
	bool no_changes;  /* zones cannot be added or deleted */
	unsigned catalogs; /* consumed, and folders, that something is wrong
			    * with */
};

/* A catalog that is consumed, or a folder of zones. */
struct statistics_source {
	char name[STATISTICS_NAME_MAX + 1]; /* cut, if it is longer */
	uint64_t members; /* zones that it has here */
	uint64_t refused;
	bool is_invalid;  /* members stay as they were */
};

/* Appends the troubles in the format of metrics. */
void statistics_print_trouble(struct statistics_text *out,
	const struct statistics_trouble *t);
/* Appends the sources of member zones; nothing, if there are none. */
void statistics_print_sources(struct statistics_text *out,
	const struct statistics_source *sources, size_t count);

/* ---- records of queries -------------------------------------------------- */

/* The figures of the collector of records, since the server's start. */
struct statistics_records {
	bool has_dnstap;
	uint64_t sent;      /* messages of dnstap */
	uint64_t dropped;
	bool is_connected;  /* to the receiver */
	bool has_log;
	uint64_t lines;     /* of the query log */
	uint64_t lines_dropped;
	int log_error;      /* errno; 0: the query log can be written */
};

/* Appends the lines dnstap.NAME and querylog.NAME; nothing of what is not
 * enabled. */
void statistics_print_records(struct statistics_text *out,
	const struct statistics_records *r);
/* The same in the format of metrics. */
void statistics_print_records_metrics(struct statistics_text *out,
	const struct statistics_records *r);

/* ---- metrics ------------------------------------------------------------- */

/* Gets the name, which has room for STATISTICS_NAME_MAX + 1 octets, and the
 * counters of a group from 1 on; an empty name: the group is not shown. False:
 * there is no such group. */
typedef bool statistics_get_group(void *ctx, uint32_t group, char *name,
	struct counters *counters);

/* The place that printing of the metrics has come to. A family stands in one
 * place, so there is a walk of all groups for each family. */
struct statistics_metrics {
	const struct statistics *all;
	statistics_get_group *get_group;
	void *ctx;
	unsigned family; /* of the groups; the rest is written at once */
	uint32_t group;  /* the next group to print; 0: the family has not
			  * begun */
};

/* Appends the next lines: a family of one group, or all lines that are not of
 * groups. False: there are no more. In the beginning, family and group are
 * 0. */
bool statistics_print_metrics(struct statistics_text *out,
	struct statistics_metrics *m);

#endif
