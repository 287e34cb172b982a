/*
 * world.h - the world of the simulation of secondary zones: the primaries,
 * their zones and answers; our zones, and the promises for each.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xfr/machine.h"
#include "xfr/state.h"

#define SEC INT64_C(1000)
#define HOUR (3600 * SEC)
#define DAY (24 * HOUR)

#define HOSTS 60u
#define GROUPS 50u
#define GROUP_HOSTS 4u

/* The character of a primary; any may be down at times. */
enum trait {
	HONEST,
	AHEAD,    /* tells serials that it does not have */
	BACK,     /* has an older version than we (one with ours is right) */
	NONSENSE, /* answers what cannot be read */
	REFUSES,
};

struct host {
	enum trait trait;
	bool is_up;
	bool has_ixfr, has_expire;
	int64_t changed_at;    /* up or down since */
	int64_t latency_msec;
	int64_t lag_msec;      /* until it has a new version */
	uint32_t loss_percent; /* over UDP; over TCP much less */
};

struct group {
	struct xfr_config config;
	uint8_t flags[GROUP_HOSTS];
	uint8_t hosts[GROUP_HOSTS];
	uint32_t id; /* the machine's */
};

struct zone_model {
	uint32_t group;
	uint32_t handle;     /* XFR_NONE: removed for now */
	int64_t came_at;     /* when it was added or changed last */
	struct xfr_soa soa;  /* timers of the zone, and the truth's serial */
	uint32_t before;     /* the truth's serial before the last change */
	int64_t changed_at;
	bool has_data;
	uint32_t serial;     /* served */
	int64_t expire_at;   /* as it must be */
	bool is_told;        /* the loader knows expire_at */
	bool has_expired;    /* XFR_EXPIRED was seen for expire_at */
	uint32_t asked;      /* requests under way */
	bool is_fresh;       /* added without data, with a primary that works,
				and not served yet */
	bool is_checking;
	int64_t ended_at;    /* the last check; -1: none since the start */
	bool ended_locally;  /* for a fault of our own */
	uint32_t notifies;   /* received since the check before */
	uint32_t requests;   /* of this check */
	int64_t urgent_at;   /* a NOTIFY waits since; -1 */
	uint32_t vain;       /* checks for NOTIFYs that found nothing */
	int64_t vain_from;
	uint32_t told;       /* NOTIFYs sent for this serial */
};

/* A request under way. */
struct asked {
	bool is_used;
	struct xfr_action action;
	struct xfr_reply reply;
};

/* When something happens; the kinds are sim.c's. */
struct event {
	int64_t at;
	uint32_t kind;
	uint32_t id;
};

struct world {
	uint64_t seed, chance;
	int64_t now;
	int64_t offset_sec; /* the date, beside the machine's clock */
	int64_t started_at;
	struct xfr_machine *machine;
	struct xfr_limits limits;
	struct host hosts[HOSTS];
	struct group groups[GROUPS];
	struct zone_model *zones;
	uint32_t zone_count;
	uint32_t *by_handle; /* which zone has it */
	struct asked *asked; /* in no order */
	size_t asked_count, asked_room;
	struct event *events; /* a heap */
	size_t event_count, event_room;
	uint64_t probes, transfers, notifies, changes, floods, restarts;
	uint64_t expired, cancelled;
	int64_t worst_wait_msec, worst_behind_msec, worst_fresh_msec;
	uint32_t most_probes, most_transfers; /* under way */
	uint32_t most_asked; /* of one zone */
};

/* Prints what went wrong, with the seed, and exits. */
__attribute__((noreturn, format(printf, 3, 4))) void world_fail(
	const struct world *w, const struct zone_model *z, const char *format,
	...);

/* A number below `below`, by chance. */
uint32_t world_chance(struct world *w, uint32_t below);

/* Makes the hosts, groups and zones. */
void world_make(struct world *w);

void world_add_event(struct world *w, int64_t delay, uint32_t kind,
	uint32_t id);
bool world_take_event(struct world *w, struct event *event);

/* Notes a request; returns its number. */
uint32_t world_keep_asked(struct world *w, const struct xfr_action *action);

/* No more may be under way than the limits say. */
void world_check_counts(struct world *w);

/* Makes a primary's answer to a request, and its delay. */
void world_answer(struct world *w, const struct xfr_action *action,
	struct xfr_reply *reply, int64_t *delay);

/* The time by which a zone has to have the truth; XFR_NEVER: it has no primary
 * that works. *since: since when it could have it. */
int64_t world_deadline(const struct world *w, const struct zone_model *z,
	int64_t *since);

/* True if a primary of the zone works, and has done so for an hour. */
bool world_has_primary(const struct world *w, const struct zone_model *z);

/* How long a zone lives after an answer; reply: NULL, or that. */
int64_t world_lifetime(const struct world *w, const struct zone_model *z,
	const struct xfr_reply *reply);

/* The least time between two checks of a zone that no NOTIFY asks for. */
int64_t world_least_pause(const struct world *w, const struct zone_model *z);

#endif
