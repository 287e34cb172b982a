/*
 * machine.h - keeps secondary zones fresh: decides when to ask which primary,
 * when a zone expires, and whom to notify (RFC 1034 section 4.3.5, RFC 1995,
 * RFC 1996, RFC 5936, RFC 7314).
 *
 * The machine opens no socket, reads no clock and calls no function of its
 * user. The user reports events, and asks for actions:
 *
 *	while (xfr_next(machine, now, &action))
 *		do it, or begin it; tell its result later
 *	wait for an event, or until xfr_next_time(machine)
 *
 * Times are milliseconds of a clock that only goes forward (base/clock.h) and
 * are not negative, unless "_sec" says seconds. `now` never goes back from one
 * call to the next. Dates are converted by xfr/state.h.
 *
 * A zone has a handle, and refers to a config, which zones of a pattern share.
 * Primaries and targets of NOTIFY are indices into the lists of the config; the
 * user has the addresses and keys.
 *
 * A check is one or more requests until the zone is known to be fresh or all
 * primaries were tried. A zone has one request under way at a time; with
 * XFR_CONFIG_CHECK_ALL up to 8 probes. A check begins with a probe (SOA), or at
 * once with a transfer if the zone has no data or a NOTIFY of the primary has a
 * newer serial. Each request has a ticket; the user answers it once by
 * xfr_on_reply. The user bounds the time of a request. Requests that other
 * primaries make needless come back as XFR_CANCEL.
 *
 * Cost: an event takes O(log zones); a zone costs nothing between its timers.
 */
#ifndef XFR_MACHINE_H
#define XFR_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define XFR_NONE UINT32_MAX      /* no zone, no config, no index */
#define XFR_NEVER INT64_MAX      /* a time that does not come */
#define XFR_PRIMARIES_MAX 64u    /* primaries of a config */
#define XFR_TARGETS_MAX 1024u    /* targets of NOTIFY of a config */
#define XFR_NO_TICKET UINT64_C(0) /* of no request */

struct xfr_machine;

/* ---- set-up ------------------------------------------------------------- */

/* Limits of the requests under way and of their rate; none is 0. */
struct xfr_limits {
	uint32_t probes;    /* SOA requests, at least 4 */
	uint32_t transfers; /* at least 4 */
	uint32_t notifies;  /* NOTIFYs sent and not answered, at least 1 */
	/* begun because a timer ended; zones without data do not count */
	uint32_t checks_per_sec;
};

/* The limits that a server has by default. */
extern const struct xfr_limits xfr_limits_usual;

/* Properties of a primary by nsd.conf. */
enum xfr_primary_flag {
	XFR_PRIMARY_AXFR = 1, /* knows no IXFR */
	XFR_PRIMARY_UDP = 2,  /* IXFR goes over UDP first */
};

/* xfr_config.flags */
enum xfr_config_flag {
	XFR_CONFIG_AXFR_FALLBACK = 1, /* allow-axfr-fallback */
	XFR_CONFIG_CHECK_ALL = 2,     /* multi-primary-check */
	XFR_CONFIG_EXPIRE_RULE = 4,   /* min-expire-time: refresh+retry+1 */
};

struct xfr_config {
	const uint8_t *primaries; /* enum xfr_primary_flag of each; borrowed */
	/* up to XFR_PRIMARIES_MAX; 0: the zone is never checked and never
	 * expires */
	uint32_t primary_count;
	uint32_t target_count;    /* of NOTIFY; up to XFR_TARGETS_MAX */
	uint32_t notify_tries;    /* notify-retry; 0 is as 1 */
	uint32_t flags;
	uint32_t refresh_min_sec, refresh_max_sec;
	uint32_t retry_min_sec, retry_max_sec;
	uint32_t expire_min_sec;
};

/* The numbers of an SOA that the machine uses. */
struct xfr_soa {
	uint32_t serial;
	uint32_t refresh_sec, retry_sec, expire_sec;
};

/* The state that a zone has when it is added. Times may lie before the
 * machine's begin. See xfr/state.h for what xfrd.state gives. */
struct xfr_start {
	bool has_data;       /* the zone is served, or would be if not
			      * expired */
	struct xfr_soa soa;  /* of the data */
	int64_t acquired_at; /* when it was last known to be fresh */
	int64_t check_at;    /* next check; in the past: soon. A time later than
			      * the SOA's timers allow is brought forward */
	int64_t expire_at;   /* XFR_NEVER: from acquired_at and the SOA */
	int64_t lifetime_msec; /* with expire_at: xfr_status.lifetime_msec under
				* its former config; 0: the same */
	uint32_t failed_rounds; /* checks in a row that failed */
	bool is_told;        /* all targets of NOTIFY have acknowledged the
			      * serial of soa */
};

/*
 * Makes a machine. *machine: gives; xfr_machine_destroy. limits: copied. seed:
 * of the jitter; no secret depends on it. returns NSD_OK, NSD_E_MEMORY.
 */
enum nsd_err xfr_machine_create(const struct xfr_limits *limits, uint64_t seed,
	int64_t now, struct xfr_machine **machine) MUST_USE;
void xfr_machine_destroy(struct xfr_machine *machine); /* NULL is fine */

/*
 * Adds a config, copied. *id stays valid until it is released and no zone
 * refers to it.
 * returns NSD_OK; NSD_E_LIMIT: too many primaries or targets; NSD_E_MEMORY.
 */
enum nsd_err xfr_add_config(struct xfr_machine *machine,
	const struct xfr_config *config, uint32_t *id) MUST_USE;
void xfr_release_config(struct xfr_machine *machine, uint32_t id);

/*
 * Adds a zone. start: NULL if it has no data. *zone: its handle; handles are
 * small numbers, and that of a removed zone is used again. Its expiry is
 * reported by xfr_next_expiry.
 * returns NSD_OK, NSD_E_MEMORY.
 */
enum nsd_err xfr_add_zone(struct xfr_machine *machine, uint32_t config,
	const struct xfr_start *start, int64_t now, uint32_t *zone) MUST_USE;

/* Set and get a number that the user gives a zone; 0 at first. */
void xfr_set_user(struct xfr_machine *machine, uint32_t zone, uint32_t user);
uint32_t xfr_get_user(const struct xfr_machine *machine, uint32_t zone);
uint32_t xfr_get_config(const struct xfr_machine *machine, uint32_t zone);
/* True if the zone's config has primaries. */
bool xfr_is_secondary(const struct xfr_machine *machine, uint32_t zone);

/* Removes a zone. Requests under way for it come back as XFR_CANCEL, and may be
 * answered or not. A zone that gets another config is removed and added. */
void xfr_remove_zone(struct xfr_machine *machine, uint32_t zone);

/* ---- actions ------------------------------------------------------------ */

enum xfr_act {
	XFR_PROBE,      /* ask for the SOA */
	XFR_TRANSFER,   /* have the zone transferred, kept and published */
	XFR_CANCEL,     /* drop the request of this ticket; no answer is due */
	XFR_EXPIRED,    /* for the log: the zone has expired */
	XFR_NOTIFY,     /* send NOTIFY; a ticket, as with requests */
};

/* A query to a primary: for what, and over what. */
enum xfr_query {
	XFR_QUERY_SOA_UDP,
	XFR_QUERY_SOA_TCP,
	XFR_QUERY_IXFR_UDP,
	XFR_QUERY_IXFR_TCP,
	XFR_QUERY_AXFR,
};

struct xfr_action {
	enum xfr_act act;
	uint32_t zone;
	uint64_t ticket;    /* PROBE, TRANSFER, NOTIFY, CANCEL */
	uint32_t primary;   /* PROBE, TRANSFER: index of the primary */
	enum xfr_query query; /* PROBE, TRANSFER */
	bool has_serial;    /* TRANSFER: the zone has data */
	bool forced;        /* TRANSFER: take any serial */
	bool has_others;    /* TRANSFER: another primary could be asked */
	bool has_failed;    /* PROBE, TRANSFER: the check before has failed, or
			     * a transfer of this one */
	bool no_edns;       /* PROBE, TRANSFER: the primary does not do EDNS */
	uint32_t serial;    /* TRANSFER, NOTIFY, EXPIRED: of the zone's data */
	uint32_t target;    /* NOTIFY: index */
	uint32_t wait_msec; /* PROBE, TRANSFER, NOTIFY: how long to wait for an
				answer; 0: as long as xfrd does over TCP */
	uint32_t first_msec; /* TRANSFER: how long to wait for its first
				message, as another primary may answer at once;
				0: as long as for any */
};

/*
 * Gives the next action, urgent ones first. False: there is none now. A call
 * looks at a bounded number of timers. Without memory for a request it returns
 * false; a later call tries again.
 */
bool xfr_next(struct xfr_machine *machine, int64_t now,
	struct xfr_action *action);

/*
 * Gives the next zone whose expiry is to be sent to the loader, and the expiry;
 * XFR_NEVER: it has none. Call it after xfr_next, also if that returned false,
 * as often as the loader takes another one. False: there is none now.
 */
bool xfr_next_expiry(struct xfr_machine *machine, uint32_t *zone, int64_t *at);
/* Has the expiry of a zone given again, after others: the loader has not taken
 * it. */
void xfr_resend_expiry(struct xfr_machine *machine, uint32_t zone);
/* Has xfr_next give each expiry again, some zones a call: for a new loader. */
void xfr_resend_expiries(struct xfr_machine *machine);

/* The time to call xfr_next after it returned false, even without an event; a
 * time that has passed: at once. XFR_NEVER: only after an event. */
int64_t xfr_next_time(const struct xfr_machine *machine);

/* ---- events ------------------------------------------------------------- */

/* The outcomes of a request. */
#define XFR_OUTCOME_LIST(X)                                               \
	X(XFR_SOA, "the primary told its SOA") /* PROBE */                \
	X(XFR_UNCHANGED, "nothing newer") /* TRANSFER */                  \
	X(XFR_DONE, "transferred") /* TRANSFER: published */              \
	X(XFR_ACKNOWLEDGED, "acknowledged") /* NOTIFY */                  \
	X(XFR_USE_TCP, "too long for UDP") /* request over UDP */         \
	X(XFR_TIMEOUT, "timeout")                                         \
	X(XFR_UNREACHABLE, "no connection") /* refused, reset, closed */  \
	X(XFR_RCODE, "it answers with an error") /* not NOERROR */          \
	X(XFR_NONSENSE, "malformed answer") /* or a wrong one */          \
	X(XFR_BAD_TSIG, "TSIG is wrong")                                  \
	X(XFR_TOO_LARGE, "more than size-limit-xfr")                      \
	X(XFR_BEHIND, "its serial is older")                    \
	X(XFR_NO_FIT, "the differences do not fit") /* TRANSFER */        \
	X(XFR_BAD_DIGEST, "the ZONEMD digest is wrong") /* TRANSFER */    \
	X(XFR_BAD_SIGNED, "the signatures are not right") /* TRANSFER */  \
	X(XFR_REFUSED, "the version is refused") /* TRANSFER; another transfer \
						  * of it would be, too */ \
	X(XFR_LOCAL, "could not be kept or published") /* our fault */

#define XFR_OUTCOME_ENUM(name, text) name,
enum xfr_outcome { XFR_OUTCOME_LIST(XFR_OUTCOME_ENUM) XFR_OUTCOME_COUNT };
#undef XFR_OUTCOME_ENUM

struct xfr_reply {
	enum xfr_outcome outcome;
	uint16_t rcode;      /* XFR_RCODE */
	uint32_t reason;     /* the user's number for details of a failure; 0:
			      * none */
	struct xfr_soa soa;  /* XFR_SOA, XFR_UNCHANGED (if has_soa), XFR_DONE */
	bool has_soa;        /* XFR_UNCHANGED: the primary sent its SOA */
	bool has_expire;     /* the EXPIRE option was there (RFC 7314) */
	uint32_t expire_sec; /* the value of EXPIRE */
	bool is_open;        /* TIMEOUT, UNREACHABLE over TCP: the primary had
				taken the connection */
	bool has_begun;      /* a failed transfer: it had begun with a newer
			      * SOA */
	bool lacks_edns;     /* RCODE: shows that the primary does not do EDNS
			      * (RFC 6891 section 7) */
};

/*
 * Takes the answer to a request or to a NOTIFY. False: no request has this
 * ticket (its zone is gone, it was cancelled or answered before), and the
 * answer is dropped. For XFR_DONE the new version is served by now.
 */
bool xfr_on_reply(struct xfr_machine *machine, uint64_t ticket, int64_t now,
	const struct xfr_reply *reply);

/* Says that all octets of a transfer are here and kept: it needs no connection
 * any more, and does not count as under way. Its answer is still due. */
void xfr_on_received(struct xfr_machine *machine, uint64_t ticket);

/*
 * Asks, for a transfer under way, before the rest is read: true if this serial
 * is wanted. If not, the caller ends it and answers XFR_UNCHANGED (the serial
 * is ours) or XFR_BEHIND.
 */
bool xfr_wants(const struct xfr_machine *machine, uint64_t ticket,
	uint32_t serial) MUST_USE;

/*
 * Takes a NOTIFY that is allowed (RFC 1996). primary: the index of its sender,
 * XFR_NONE if it is no primary. The sender is asked first. Any number of
 * NOTIFYs cost one waiting check at most; a serial that the zone has costs
 * none.
 */
void xfr_on_notify(struct xfr_machine *machine, uint32_t zone, int64_t now,
	uint32_t primary, bool has_serial, uint32_t serial);

/* Begins a check now, for the operator, that is to bring a version that was
 * refused: of the primary, if it is not XFR_NONE, or else of others. A version
 * that is not newer than the zone's is transferred whole, as if forced. */
void xfr_on_accept(struct xfr_machine *machine, uint32_t zone, int64_t now,
	uint32_t primary, uint32_t serial);

/* Begins a check now, for the operator; forced: AXFR, with any serial. */
void xfr_on_command(struct xfr_machine *machine, uint32_t zone, int64_t now,
	bool forced);

/* The zone is served with this SOA, for another reason than a transfer (its
 * file was read). A new serial notifies the targets. */
void xfr_on_served(struct xfr_machine *machine, uint32_t zone, int64_t now,
	const struct xfr_soa *soa);

/* Notifies all targets of the zone's serial (nsd-control notify). is_first:
 * before all others that wait. */
void xfr_send_notifies(struct xfr_machine *machine, uint32_t zone,
	bool is_first);

/* Notifies the targets of all zones with data that have not acknowledged their
 * serials, at a start: NOTIFYs may have been lost (RFC 1996 section 4.1). One
 * zone after the other, as places of NOTIFYs become free; half of them are left
 * to zones that change. */
void xfr_notify_all(struct xfr_machine *machine);

/* ---- states ------------------------------------------------------------- */

enum xfr_state {
	XFR_STATE_OK,
	XFR_STATE_REFRESHING, /* a check is under way or has failed */
	XFR_STATE_EXPIRED,    /* or there is no data */
};

struct xfr_status {
	enum xfr_state state;
	bool is_checking;        /* a check is under way, waits for a turn, or
				    is to follow at once */
	bool has_data;
	struct xfr_soa soa;      /* served, if has_data */
	int64_t acquired_at;     /* when it was last known to be fresh */
	int64_t served_at;       /* when its serial came to be served */
	int64_t check_at;        /* XFR_NEVER: waits for a turn, or under way */
	int64_t expire_at;
	int64_t lifetime_msec;   /* from acquired_at to expire_at, if no EXPIRE
				    option has shortened it */
	bool is_notified;        /* a NOTIFY has announced a serial that was not
				  * transferred yet */
	uint32_t notified_serial;
	uint32_t primary;        /* of the request under way; XFR_NONE: none */
	enum xfr_query query;    /* of the request under way */
	uint32_t turn_primary;   /* of the check that waits for its turn, once
				  * it has begun; XFR_NONE: none */
	uint32_t next_primary;   /* the first primary of the next check */
	uint32_t failed_rounds;  /* checks in a row in which all failed */
	uint32_t notifying;      /* targets of NOTIFY that have not answered */
	uint32_t notifying_slow; /* targets of `notifying` that wait behind
				  * others, as they seldom answer soon */
	bool is_told;            /* every target has acknowledged the serial */
	uint32_t unheard;        /* targets that have not acknowledged the
				    last serial, and were given up; 255:
				    or more */
	bool has_error;          /* since the zone was added */
	enum xfr_outcome error;  /* the last one */
	uint16_t error_rcode;
	uint32_t error_reason;   /* as of struct xfr_reply */
	uint32_t error_primary;
	int64_t error_at;
};

void xfr_get_status(const struct xfr_machine *machine, uint32_t zone,
	int64_t now, struct xfr_status *status);

/* Lists the targets of NOTIFY, by index, that have not acknowledged yet;
 * returns how many it lists. */
uint32_t xfr_list_notifying(const struct xfr_machine *machine, uint32_t zone,
	uint16_t *targets, uint32_t max);

/* The text of an outcome; never NULL. */
const char *xfr_outcome_text(enum xfr_outcome outcome);

struct xfr_counts {
	uint32_t zones, configs;
	uint32_t probes, transfers, notifies; /* under way */
	uint32_t urgent, waiting; /* zones whose check waits for a turn */
	size_t octets;            /* of memory that the machine has taken */
};

void xfr_get_counts(const struct xfr_machine *machine,
	struct xfr_counts *counts);

#endif
