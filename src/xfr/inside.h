/*
 * inside.h - types and functions that the files of the machine share: a zone, a
 * config, a request.
 *
 * From the bottom up: timers.c (heap); table.c (zones, configs and requests by
 * number); queue.c (zones that wait for a turn); refresh.c (how long to wait,
 * when a zone expires); notifies.c (NOTIFY out); choose.c (which primary is
 * asked for what); check.c (the steps of a check); answer.c (follows up an
 * answer); machine.c (events in, actions out); status.c (statistics and
 * states). The other files of this folder know nothing of the machine. Why it
 * is made so: doc/decisions/0071.
 */
#ifndef XFR_INSIDE_H
#define XFR_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "xfr/machine.h"
#include "xfr/timers.h"

/* ---- a zone ------------------------------------------------------------- */

enum zone_flag {
	ZONE_USED = 1,
	ZONE_HAS_DATA = 2,
	ZONE_EXPIRED = 4,
	ZONE_FAILED = 8,    /* the last check found no primary that answers */
	ZONE_CHECKING = 16, /* a request of this check was made */
	ZONE_URGENT = 32,   /* of this check, or of the next one by timer */
	ZONE_FORCED = 64,   /* this check is an AXFR whatever the serial */
	ZONE_FRESH = 128,   /* in this check a primary had our serial */
	ZONE_IXFR_FAILED = 256,  /* in this check, at this primary */
	ZONE_NOTIFIED = 512,     /* this check is for a NOTIFY */
	ZONE_PROMISED = 1024,    /* ... which told zone.promised */
	ZONE_AGAIN = 2048,       /* another check is to follow this one */
	ZONE_AGAIN_SERIAL = 4096,  /* ... because of zone.again_serial */
	ZONE_AGAIN_FORCED = 8192,
	ZONE_TELL = 16384,       /* the loader is to be told of its expiry */
};

enum queue_id {
	QUEUE_PROBE,           /* by timer */
	QUEUE_TRANSFER,
	QUEUE_URGENT_PROBE,    /* by NOTIFY or by the operator */
	QUEUE_URGENT_TRANSFER,
	QUEUE_COUNT,
	QUEUE_NONE = QUEUE_COUNT,
};

#define INDEX_NONE UINT8_MAX /* no primary */

struct xfr_zone {
	int64_t check_at;    /* XFR_NEVER while a check waits or is under way */
	int64_t expire_at;
	int64_t acquired_at;
	int64_t served_at;
	int64_t error_at;
	int64_t vain_until;  /* no check for a NOTIFY before */
	uint64_t tried;      /* primaries that were asked in this check */
	uint64_t slow;       /* of these, to be asked again with patience */
	uint64_t newer;      /* CHECK_ALL: primaries that have a newer serial,
				or may have one and do not tell it */
	uint64_t blind;      /* of those tried: they have told no SOA */
	uint64_t no_ixfr;    /* primaries whose IXFR failed and AXFR did not */
	uint64_t bad_ixfr;   /* primaries whose last IXFR came to nothing */
	struct xfr_soa soa;
	uint32_t no_ixfr_until_sec; /* until when that counts */
	uint32_t promised;
	uint32_t again_serial;
	uint32_t best_serial; /* CHECK_ALL: the newest serial seen */
	uint32_t error_reason;
	uint32_t user;        /* the user's number of the zone */
	uint32_t config;
	uint32_t request;     /* under way: the first one, or XFR_NONE */
	uint32_t next, previous; /* in its queue; next: of those not used */
	uint32_t tell_next;   /* in the list of those to tell of */
	uint32_t jobs;        /* NOTIFYs to be sent: the first, or XFR_NONE */
	uint16_t flags;
	uint16_t error_rcode;
	uint8_t queue;        /* enum queue_id */
	uint8_t query;        /* enum xfr_query of the request that waits in the
				 queue, or was made last */
	uint8_t primary;      /* of it */
	uint8_t hint;         /* the primary to begin with, or INDEX_NONE */
	uint8_t best;         /* CHECK_ALL: the primary that has it, or
			       * INDEX_NONE */
	uint8_t rounds;       /* checks in a row that failed */
	uint8_t vain;         /* checks for NOTIFY in a row, in vain */
	uint8_t error;        /* enum xfr_outcome; XFR_OUTCOME_COUNT: none */
	uint8_t error_primary;
	uint8_t unheard;      /* targets that were given up */
	bool was_newer : 1;   /* in this check, by this primary's SOA */
	bool has_spoken : 1;  /* in this check this primary has answered */
	bool is_late : 1;     /* ... but not over TCP, though it took the
				 connection */
	bool has_missed : 1;  /* in this check a transfer failed */
	bool retries_slow : 1; /* this check asks those that are slow again */
	bool is_full : 1;     /* z->primary is not avoided for its silence */
	bool needs_tcp : 1;   /* CHECK_ALL: one of the slow has answered, but
				 over TCP it may say more */
	bool is_told : 1;     /* all targets have acknowledged the serial */
	bool is_plain : 1;    /* in this check this primary has said nothing to
				 EDNS, and is asked without */
	bool is_proof : 1;    /* ... and it was in doubt by then */
};

/* With its timer a zone takes less than this, so that a million with all that
 * the process keeps of them stay under 300 octets each. */
_Static_assert(sizeof(struct xfr_zone) <= 176, "a zone is small");

/* ---- configs and requests ----------------------------------------------- */

/*
 * A primary, for all zones of the config. The words:
 *
 *   silent    it has let several requests in a row time out (.timeouts): it is
 *             asked over UDP first, and a wait for it is short
 *   avoided   it is silent, and it is not yet .silent_until: it is asked after
 *             the others
 *   full      one that is not avoided is asked in full, in its turn
 *             (zone.is_full): if it is silent, that puts .silent_until off
 *   others    another one may answer: a request is waited for briefly
 *             (request.has_others)
 *   slow      it let such a request time out in this check (zone.slow)
 *   retried   all others were asked: the slow ones are asked again and are
 *             waited for (zone.retries_slow)
 *   in doubt  it has left a transfer without an answer that was asked for
 *             with EDNS, and has answered without (.is_doubted). If one that is
 *             asked for by then (request.in_doubt) goes the same way, it does
 *             not do EDNS (.no_edns_until_sec)
 */
struct primary {
	int64_t silent_until;
	uint32_t no_edns_until_sec; /* asked without EDNS until then, as it does
				     * not do it */
	uint8_t flags;
	uint8_t timeouts; /* in a row, over TCP */
	bool is_doubted;
};

struct config {
	struct xfr_config given; /* .primaries is NULL */
	struct primary *primaries;
	uint8_t *slowness; /* of each target of NOTIFY: see notifies.c */
	uint32_t holders; /* users: zones, and the one who added it */
	uint32_t next;    /* of those not used */
};

enum request_state {
	REQUEST_FREE,
	REQUEST_SENT,
	REQUEST_RECEIVED, /* a transfer that needs no connection any more */
	REQUEST_CANCELLED, /* waits to be told so; its zone may be gone */
};

/* A request that is under way, or a place for one. */
struct xfr_request {
	uint32_t zone;
	uint32_t generation; /* which request in this place */
	uint32_t next;       /* of those not used, of those cancelled, or of
				those that the zone has under way */
	uint8_t state;       /* enum request_state */
	uint8_t queue;       /* from which it was taken */
	uint8_t primary;     /* primary that is asked */
	uint8_t query;       /* enum xfr_query */
	bool is_notify;      /* cancelled: was a NOTIFY with this ticket */
	bool has_others;     /* another primary can be asked: see
			      * choose_has_others */
	bool is_full;        /* as of the zone, when it was made */
	bool is_late;        /* the same */
	bool has_edns;       /* asked with EDNS */
	bool in_doubt;       /* ... while that was in doubt */
	bool is_trial;       /* asked without EDNS, to see if that was why there
			      * was no answer */
	uint64_t ticket;     /* by which its answer finds it */
};

/* ---- NOTIFY out --------------------------------------------------------- */

enum job_state {
	JOB_FREE,
	JOB_READY,  /* waits for a turn */
	JOB_SENT,
	JOB_PAUSED, /* until its timer */
};

/* Which jobs wait for each other; the first has the first turn. */
enum job_class {
	JOB_OF_CHANGE,
	JOB_OF_ROUND,  /* the zone has not changed */
	JOB_OF_SLOW,   /* the target seldom answers soon: such jobs have a
			* bounded share of the places */
	JOB_CLASS_COUNT,
};

/* A target that is to be told of a zone. */
struct job {
	uint32_t zone;
	uint32_t generation;
	uint32_t of_zone;        /* the next one of the zone */
	uint32_t next, previous; /* of those that are ready, or not used */
	uint32_t sent_msec;      /* when it was sent; the low bits */
	uint16_t target;
	uint8_t tries;
	uint8_t state;
	uint8_t class;           /* enum job_class, while it is ready or sent */
	bool again;              /* the serial has changed since it was sent */
	bool of_round;           /* the zone has not changed */
};

struct job_list {
	uint32_t first, last; /* of those that are ready */
	uint32_t ready;       /* how many */
	uint32_t sent;        /* jobs that have a place */
};

struct jobs {
	struct job *items;
	size_t count, room;
	uint32_t unused;      /* first of those, or XFR_NONE */
	struct job_list classes[JOB_CLASS_COUNT];
	uint32_t sent;        /* in all classes */
	struct timers timers; /* of those that pause */
};

/* ---- the machine -------------------------------------------------------- */

#define ZONES_A_CHUNK 1024u

struct queue {
	uint32_t first, last;
	uint32_t count;
	uint32_t under_way; /* requests that were taken from it */
};

struct xfr_machine {
	struct xfr_limits limits;
	uint64_t random;

	struct xfr_zone **chunks; /* in chunks: growing moves no zone */
	size_t chunk_count, chunk_room;
	uint32_t zone_end;    /* zones below were given out once */
	uint32_t zone_count;
	uint32_t zone_unused; /* first of those, or XFR_NONE */
	struct timers timers; /* of zones */

	struct config *configs;
	size_t config_end, config_room;
	uint32_t config_count;
	uint32_t config_unused;

	struct xfr_request *requests;
	size_t request_end, request_room;
	uint32_t request_unused;
	uint32_t cancelled; /* first of those, or XFR_NONE */

	struct queue queues[QUEUE_COUNT];
	uint32_t tell_first, tell_last;
	uint32_t resend_at; /* next zone whose expiry is told again */
	struct jobs jobs;
	struct {
		uint32_t at;   /* next zone whose targets are told at a start */
		uint32_t end;  /* zones from here on came later */
		uint32_t left; /* zones; 0: there is no round */
	} round;

	int64_t token_usec; /* when the next check by timer may begin */
	int64_t next_at;    /* result of xfr_next_time */
};

/* ---- table.c ------------------------------------------------------------ */

static inline struct xfr_zone *
table_zone(const struct xfr_machine *m, uint32_t id)
{
	return &m->chunks[id / ZONES_A_CHUNK][id % ZONES_A_CHUNK];
}

static inline struct config *
table_config(const struct xfr_machine *m, const struct xfr_zone *z)
{
	return &m->configs[z->config];
}

/* Returns a random number below `below`, which is not 0. */
uint32_t table_random(struct xfr_machine *m, uint32_t below);

enum nsd_err table_add_zone(struct xfr_machine *m, uint32_t *id) MUST_USE;
/* A zone in the list of those to tell of is free once its turn there comes. */
void table_remove_zone(struct xfr_machine *m, uint32_t id);
void table_free_zone(struct xfr_machine *m, uint32_t id);
void table_hold_config(struct xfr_machine *m, uint32_t id);
void table_drop_config(struct xfr_machine *m, uint32_t id);

/* A request with a ticket of its own; XFR_NONE: no memory. */
uint32_t table_add_request(struct xfr_machine *m, uint32_t zone);
void table_remove_request(struct xfr_machine *m, uint32_t id);
/* The request of a ticket that is under way; XFR_NONE: there is none. */
uint32_t table_find_request(const struct xfr_machine *m, uint64_t ticket);

/* Tickets of NOTIFYs have this bit. */
#define TICKET_NOTIFY (UINT64_C(1) << 31)

static inline uint64_t
table_ticket(uint32_t id, uint32_t generation)
{
	return (uint64_t)generation << 32 | id;
}

/* Has a ticket that is under way come back as XFR_CANCEL. Without memory it is
 * forgotten, and its answer finds no request. */
void table_cancel(struct xfr_machine *m, uint32_t zone, uint64_t ticket);

/* ---- queue.c ------------------------------------------------------------ */

void queue_append(struct xfr_machine *m, enum queue_id queue, uint32_t id);
void queue_prepend(struct xfr_machine *m, enum queue_id queue, uint32_t id);
void queue_remove(struct xfr_machine *m, uint32_t id); /* in none is fine */

/* Sets the zone's timer to the earliest event that it waits for. */
void queue_set_timer(struct xfr_machine *m, uint32_t id);

/* Has the loader told of the zone's expiry. */
void queue_tell(struct xfr_machine *m, uint32_t id);
/* Takes the next zone to tell of; XFR_NONE: there is none. */
uint32_t queue_take_tell(struct xfr_machine *m);

/* ---- refresh.c ---------------------------------------------------------- */

/* Milliseconds until the next check after one that went well: the refresh time,
 * or less if the zone expires before. */
int64_t refresh_pause(struct xfr_machine *m, const struct xfr_zone *z,
	int64_t now);
/* The same after z->rounds that failed, at least 1. */
int64_t refresh_retry_pause(struct xfr_machine *m, const struct xfr_zone *z,
	int64_t now);
/* The same if it was our fault (XFR_LOCAL): a disk that was full a moment ago
 * may not be now. */
int64_t refresh_local_pause(struct xfr_machine *m, const struct xfr_zone *z,
	int64_t now);
/* The longest of any pause between two checks of a zone with this SOA. */
int64_t refresh_pause_max(const struct xfr_config *config,
	const struct xfr_soa *soa);
/* Milliseconds that an SOA lets a zone live; reply: NULL, or the primary's,
 * with its EXPIRE option. */
int64_t refresh_lifetime(const struct xfr_config *config,
	const struct xfr_soa *soa, const struct xfr_reply *reply);
/* The zone is fresh: sets when it expires, and has that told. is_new: by a
 * transfer, not by a look at the serial. */
void refresh_zone(struct xfr_machine *m, uint32_t id, int64_t now,
	const struct xfr_reply *reply, bool is_new);

/* ---- notifies.c --------------------------------------------------------- */

/* Begins to tell all targets of a zone; is_first: before others. */
void notifies_begin(struct xfr_machine *m, uint32_t id, bool is_first);
void notifies_drop(struct xfr_machine *m, uint32_t id); /* drops all jobs of a
							 * zone */
/* Gives the next NOTIFY to send. False: none is to be sent, or `most` jobs were
 * put elsewhere first. */
bool notifies_next(struct xfr_machine *m, int64_t now,
	struct xfr_action *action, unsigned most);
/* Begins a round that tells of all zones, from a random one on: if rounds are
 * cut off again and again, other zones are left out each time. */
void notifies_begin_round(struct xfr_machine *m);
/* Begins the round's next zone, and gives its first action; passes over `most`
 * zones. */
bool notifies_go_round(struct xfr_machine *m, int64_t now,
	struct xfr_action *action, unsigned most);
/* True if there is more to do at once. */
bool notifies_is_due(const struct xfr_machine *m);
/* Wakes jobs whose pause is over; false: there may be more. */
bool notifies_wake(struct xfr_machine *m, int64_t now, unsigned most);
bool notifies_on_reply(struct xfr_machine *m, uint64_t ticket, int64_t now,
	const struct xfr_reply *reply);
uint32_t notifies_count(const struct xfr_machine *m, uint32_t id);
/* Of these, those that wait behind others for a target that is slow. */
uint32_t notifies_count_slow(const struct xfr_machine *m, uint32_t id);
void notifies_fini(struct xfr_machine *m);

/* ---- choose.c ----------------------------------------------------------- */

static inline uint64_t
primary_bit(uint32_t primary)
{
	return UINT64_C(1) << primary;
}

/* Returns the bits of all primaries of a config. */
static inline uint64_t
choose_all(const struct config *config)
{
	uint32_t count = config->given.primary_count;

	return count == 64 ? UINT64_MAX : primary_bit(count) - 1;
}

/* True if all primaries are asked for their SOA, and the newest version is
 * transferred. */
bool choose_checks_all(const struct xfr_machine *m, const struct xfr_zone *z);
/* True if a version with this serial is one to get. A zone that has expired has
 * no serial: any other is. */
bool choose_is_wanted(const struct xfr_zone *z, uint32_t serial);
/* True if the primary has let several requests time out and answered none
 * since, and it is not its turn to be tried in full. */
bool choose_is_avoided(const struct primary *p, int64_t now);

/* Takes the next primary that was not asked yet; INDEX_NONE: all were. */
uint8_t choose_next(struct xfr_machine *m, struct xfr_zone *z, int64_t now);
/* After all were asked: lets the slow primaries be taken again. False: none is
 * slow. */
bool choose_again(struct xfr_machine *m, struct xfr_zone *z);
/* Notes the end of a request at its primary, for all zones of the config. */
void choose_note(struct xfr_machine *m, const struct xfr_zone *z,
	const struct xfr_request *request, int64_t now,
	enum xfr_outcome outcome);

/* Chooses how to get a wanted version. serial: its own; NULL: it is not
 * known. */
enum xfr_query choose_transfer(const struct xfr_machine *m,
	const struct xfr_zone *z, uint32_t primary, const uint32_t *serial,
	int64_t now);
/* Returns false if the primary is known not to do EDNS. */
bool choose_edns(const struct xfr_machine *m, const struct xfr_zone *z,
	uint32_t primary, int64_t now);
void choose_note_no_edns(struct xfr_machine *m, const struct xfr_zone *z,
	uint32_t primary, int64_t now);
/* Notes at the primary if a transfer proves or refutes that it does EDNS. */
void choose_note_edns(struct xfr_machine *m, const struct xfr_zone *z,
	const struct xfr_request *request, int64_t now,
	const struct xfr_reply *reply);
/* Chooses the first request to a primary. */
enum xfr_query choose_first(const struct xfr_machine *m,
	const struct xfr_zone *z, uint32_t primary, int64_t now);
/* True if the primary that is asked next is not worth a long wait, as another
 * one may answer at once. */
bool choose_has_others(const struct xfr_machine *m, const struct xfr_zone *z);
/* Called at the turn of a zone, which may have waited long: a primary that was
 * found to be silent meanwhile is not the first to be asked. False: the zone
 * waits in another queue now. */
bool choose_on_turn(struct xfr_machine *m, uint32_t id, int64_t now);
/* Notes that the zone's request is made: a silent primary that was asked in
 * full is avoided again for SILENT_MSEC. */
void choose_on_sent(struct xfr_machine *m, const struct xfr_zone *z,
	int64_t now);
/* Has a primary asked when it is the zone's turn. */
void choose_ask(struct xfr_machine *m, uint32_t id, uint32_t primary,
	enum xfr_query query);

/* ---- check.c ------------------------------------------------------------ */

/* Begins a check of a zone that is idle, as its flags say. */
void check_begin(struct xfr_machine *m, uint32_t id, int64_t now);
/* A request of the zone, which was the first in its queue, is under way. */
void check_on_sent(struct xfr_machine *m, uint32_t id, int64_t now);
/* Goes on to the next primary. */
void check_ask_next(struct xfr_machine *m, uint32_t id, int64_t now);
/* Ends a check. is_changed: a new version was transferred. */
void check_end(struct xfr_machine *m, uint32_t id, int64_t now, bool went_well,
	bool is_changed);
void check_on_notify(struct xfr_machine *m, uint32_t id, int64_t now,
	const uint32_t *serial);
/* Ends a check that is under way or waits, without a result. */
void check_stop(struct xfr_machine *m, uint32_t id);
/* The zone's timer has ended. True: the zone has just expired. */
bool check_on_timer(struct xfr_machine *m, uint32_t id, int64_t now);

static inline bool
check_is_idle(const struct xfr_zone *z)
{
	return z->queue == QUEUE_NONE && z->request == XFR_NONE;
}

/* ---- answer.c ----------------------------------------------------------- */

/* A request has been answered. */
void answer_on_reply(struct xfr_machine *m, uint32_t request, int64_t now,
	const struct xfr_reply *reply);

#endif
