/*
 * xfrd.h - the role that keeps secondary zones fresh, tells others of new
 * versions, and takes control commands.
 *
 *   xfrd.c         start, messages
 *   xfrd_turn.c    carries out the machine's actions when they are due
 *   xfrd_jobs.c    asks primaries, receives transfers, sends NOTIFY
 *   xfrd_notify.c  hears NOTIFY
 *   xfrd_keep.c    has transfers made durable, and published;
 *                  xfrd_keep_bound.c: when the journal has too much of a zone
 *   xfrd_edit.c    the same of versions that are made here: xfrd_edit.h
 *   xfrd_refused.c  versions that the loader has refused, for accept
 *   xfrd_client_update.c  UPDATEs of clients; xfrd_freeze.c: not for a while
 *   xfrd_client_update_*.c  its parts: see xfrd_client_updates.h
 *   xfrd_forward.c  passes UPDATEs of clients on to primaries
 *   xfrd_save.c    has files of zones that take UPDATEs written, before they go
 *   xfrd_shorten.c  has the journal forget
 *   xfrd_produce.c  catalogs that are produced here: xfrd_produce.h
 *   xfrd_resume.c  has transfers of the last xfrd published
 *   xfrd_write.c   has zone files written; xfrd_write_zone.c: which
 *   xfrd_look.c    has the writer look whether zone files are there
 *   xfrd_changesets.c  finds primary zones whose differences are to be
 *                  written
 *   xfrd_written.c  outcomes of writing zone files
 *   xfrd_job.c     a question: with which key, its end; xfrd_whom.c: to whom
 *   xfrd_failure.c  log lines about those that fail; xfrd_said.c: earlier ones
 *   xfrd_reasons.c  why questions have failed
 *   xfrd_received.c  the last transfer of each zone
 *   xfrd_state.c   keeps timers over a restart
 *   xfrd_handover.c    state of a zone that outlives a change of its options
 *   xfrd_configure.c  other options of the server, other sockets
 *   xfrd_change.c  zones that come and go, in batches, in all processes
 *   xfrd_change_*.c  its parts: see xfrd_changes.h
 *   xfrd_member_id.c  IDs of members of catalogs
 *   xfrd_catalog.c  catalogs that are consumed: see xfrd_catalogs.h
 *   xfrd_members.c  member zones of catalogs and folders
 *   xfrd_folder.c  member zones of folders; xfrd_watch.c: their files
 *   xfrd_detach.c  zones that rest or go: their state in xfrd
 *   xfrd_walk.c    finds zones that are published
 *   xfrd_follow.c  follows the settings that a reconfig has published
 *   xfrd_zone.c    zones, and the table of all (xfrd_zone.h)
 *   xfrd_apexes.c  trees of what xfrd has of zones beside that
 *   xfrd_zones.c   joins them to the machine that decides what to do
 *                  (xfr/machine.h), and to their served versions
 *   xfrd_options.c  the configuration of a zone
 *   xfrd_loader.c  requests to the loader
 *   control*.c     commands of the operator: see control.h
 *   xfrd_ask.c     questions to other servers, and connections for them
 *   xfrd_tls.c     credentials for primaries over TLS
 *   xfrd_statistics.c  counters of all processes
 *   xfrd_metrics.c     the same over HTTP
 *   xfrd_trouble.c     trouble, for status and for metrics
 */
#ifndef XFRD_XFRD_H
#define XFRD_XFRD_H

#include "conf/conf.h"
#include "loader/load_text.h"
#include "process/admin_listeners.h"
#include "process/control_listeners.h"
#include "process/requests.h"
#include "process/role.h"
#include "process/zone_message.h"
#include "store/store.h"
#include "xfr/machine.h"
#include "xfr/patience.h"
#include "xfr/reader.h"
#include "xfrd/control.h"
#include "xfrd/xfrd_ask.h"
#include "xfrd/xfrd_client_update.h"
#include "xfrd/xfrd_edit.h"
#include "xfrd/xfrd_folder.h"
#include "xfrd/xfrd_follow.h"
#include "xfrd/xfrd_freeze.h"
#include "xfrd/xfrd_loader.h"
#include "xfrd/xfrd_options.h"
#include "xfrd/xfrd_produce.h"
#include "xfrd/xfrd_reasons.h"
#include "xfrd/xfrd_said.h"
#include "xfrd/xfrd_save.h"
#include "xfrd/xfrd_tls.h"
#include "xfrd/xfrd_trouble.h"
#include "xfrd/xfrd_zone.h"

struct ctl_metrics;
struct event;
struct journal;
struct journal_entry;
struct store_reader;
struct xfrd_statistics;

/* NOTIFYs in the log: see xfrd_notify.c. */
struct xfrd_notified {
	int64_t sec;       /* of the monotonic clock */
	uint32_t lines;    /* in that second */
	uint64_t left_out;
};

/* The zones, and the machine that has those with primaries or targets of
 * NOTIFY. */
struct xfrd_zones {
	struct xfrd_zone_table table;
	struct xfr_machine *machine;
	uint32_t secondary_count; /* zones of the machine with primaries */
	struct event *event;      /* the machine may have something to do */
	struct event *look_event; /* next step of the look at served zones */
	uint32_t looked;          /* number that is looked at next */
	bool looking;
	bool look_again;          /* another look is to follow this one */
	bool told;                /* zones have all been seen once: targets of
				   * NOTIFY are told of them */
	uint32_t incarnation;     /* the latest zone.incarnation */
	void *configs;            /* struct zones_config, of <search.h> */
};

/* The timers of zones in xfrdfile: see xfrd_state.c. */
struct xfrd_state {
	int fd;
	struct event *event;    /* time to write; NULL: the file is not
				 * written */
	int64_t filetime_sec;   /* when it was, or is being, written */
	char *text;             /* to be written */
	size_t len;
	off_t offset;
	uint32_t next;          /* number of the zone that is written next */
	uint32_t incarnation;   /* zones.incarnation when the count was
				 * written */
	bool saving, failed;
};

/* Zones whose files are to be looked for: see xfrd_look.c. */
struct xfrd_look {
	uint8_t apexes[IPC_FIND_FILES_MAX];
	size_t len; /* octets of these */
};

/* Primary zones whose differences are written to files: see
 * xfrd_changesets.c. */
struct xfrd_changesets {
	uint32_t due_count; /* zones whose changesets_due */
	uint32_t next;      /* number that is looked at next */
};

/* Zone files that are being written: see xfrd_write.c. */
struct xfrd_writes {
	struct requests requests;    /* to the writer */
	struct event *step_event;    /* the next zone */
	struct event *period_event;  /* the next round */
	struct event *look_event;    /* the next round that looks for files */
	struct event *end_event;     /* at the end: time is over */
	struct event *then;          /* added when writing has ended; NULL:
				      * none, or it was */
	enum {
		XFRD_WRITES_NONE,
		XFRD_WRITES_ROUND,   /* all zones are being looked at */
		XFRD_WRITES_FILES,   /* the same, for zones that are lost if
				      * their files are not there */
		XFRD_WRITES_ZONE,    /* a zone that was asked for */
	} state;
	bool wanted;                 /* a round, by the clock */
	bool files_wanted;           /* a round that looks for files */
	bool failed_before;          /* the xfrd before this one could not write
				      * all files; no round since then */
	struct xfrd_look look;
	bool busy;                   /* the writer has a zone, or `look`, in
				      * hand: */
	uint8_t apex[NAME_MAX_LEN];
	uint32_t serial;
	uint64_t entry;              /* of the journal, which leads there */
	uint32_t next;               /* of the round: number of a zone */
	uint32_t written, failed;    /* in this round */
	struct xfrd_written last_failed;
	struct cds_list_head pending; /* requests, in the order in which they
				       * came */
	uint32_t pending_count;
	bool ending;                 /* this process ends after the round */
	struct xfrd_changesets changesets;
};

/* Sockets of operators that have come, and are not listened to yet. */
struct xfrd_coming_listeners {
	struct control_listeners control; /* without keys */
	struct admin_listeners metrics;
};

struct xfrd {
	struct role role;
	const struct conf *first; /* role.server->conf of the start, parts of
				   * which role.server lends */
	struct xfrd_coming_listeners coming;
	struct store_reader *reader;
	bool is_behind; /* the store: see struct role_start */
	struct xfrd_reading reading;
	struct requests requests; /* to the loader */
	struct control control;   /* of the operator */
	struct xfrd_asks asks;
	struct xfrd_tls tls;
	struct xfrd_zones zones;
	struct xfrd_state state;
	struct xfrd_writes writes;
	struct xfrd_notified notified;
	bool told_stop;
	struct cds_list_head jobs;
	struct xfrd_reasons reasons;  /* why they have failed */
	/* Of these, in the order in which they ended: */
	unsigned kept;                /* jobs that have ended */
	unsigned judged;              /* of these, is_judged */
	struct cds_list_head held;    /* not kept yet: their zones are to be in
				       * the journal whole */
	struct cds_list_head ended;   /* not durable yet */
	struct cds_list_head waiting; /* durable; the loader takes no more */
	struct cds_list_head judged_waiting; /* the same, of those that are
				       * is_judged: others go before them */
	struct journal *journal;  /* NULL: cannot be used, */
	char journal_why[128];    /* for this reason */
	bool is_lost;             /* the journal's folder was removed */
	struct event *journal_event;
	struct event *again_event; /* jobs that wait for the loader are tried */
	uint64_t loader; /* the channel to the one that was there last */
	struct xfrd_changes *changes; /* of zones; NULL: none can be made, */
	char changes_why[300];        /* for this reason */
	struct xfrd_follow follow;
	struct xfrd_edits edits;
	struct xfrd_client_updates updates;
	struct xfrd_freezer freezer;
	struct xfrd_save_asked save_asked;
	struct xfrd_produce produce;
	struct cds_list_head sources; /* of member zones: xfrd_members.h */
	struct cds_list_head catalogs; /* struct xfrd_catalog */
	struct event *catalogs_event;
	uint64_t catalogs_woken;       /* the last number of one */
	struct xfrd_folders folders;
	struct xfr_room room;
	struct ctl_metrics *metrics; /* NULL: none */
	struct xfrd_statistics *resets; /* the look that is to set statistics
					 * back; or NULL */
	struct xfrd_trouble trouble;    /* counts of it, for metrics */
};

/* ---- xfrd_zones.c -------------------------------------------------------- */

/* The SOA of a zone, and its RDATA. */
struct xfrd_soa {
	struct xfr_soa numbers;
	uint64_t records; /* of the whole zone */
	uint64_t names;   /* of these */
	uint32_t expires_sec; /* as of struct zone_entry */
	bool has_history;     /* the same: there are changesets */
	bool changesets_stale; /* the same: their files may be those of another
			       * version */
	store_ref sources;    /* the same; another one: it was read again */
	bool file_failed;     /* the same: this is not what its file says */
	uint32_t ttl_sec;
	uint16_t len;
	uint8_t rdata[XFR_SOA_RDATA_MAX];
};

/* Makes the machine, without zones. NSD_E_MEMORY. */
enum nsd_err xfrd_zones_init(struct xfrd *xfrd) MUST_USE;
/* Gets the machine's config for a zone, of the options that are published;
 * XFR_NONE: it is neither kept fresh nor told of. NSD_E_NOT_FOUND: nothing is
 * published. NSD_E_MEMORY. */
enum nsd_err xfrd_zones_get_config(struct xfrd *xfrd,
	const struct xfrd_zone *zone, uint32_t *config) MUST_USE;
/* Adds a zone to the machine: it has a handle from now on. NSD_E_MEMORY. */
enum nsd_err xfrd_zones_begin(struct xfrd *xfrd, struct xfrd_zone *zone,
	uint32_t config, const struct xfr_start *start) MUST_USE;
/* Removes a zone that has a handle from the machine, and drops all state that
 * needs the handle. */
void xfrd_zones_end(struct xfrd *xfrd, struct xfrd_zone *zone);
/* Gets the zone that the machine has under a handle. */
struct xfrd_zone *xfrd_zones_get(const struct xfrd *xfrd, uint32_t handle);
/* Gets the SOA of a zone that is served. False: it is not loaded. */
bool xfrd_zones_get_soa(struct xfrd *xfrd, const struct xfrd_zone *zone,
	struct xfrd_soa *soa);
/* Has the machine looked at soon, as it has heard something. */
void xfrd_zones_go_on(struct xfrd *xfrd);
/* Tells the machine which version of a zone is served, as it may be a new
 * one. */
void xfrd_zones_hear(struct xfrd *xfrd, struct xfrd_zone *zone);

/* ---- xfrd_job.c ---------------------------------------------------------- */

/* The answer of the other server, if there was one. */
struct xfrd_heard {
	enum xfr_fault fault;   /* NONE: no answer, or no fault in it */
	uint16_t rcode;         /* as in struct xfr_answer, like the next two */
	uint16_t ede;
	uint64_t tsig_time_sec;
	bool was_open;          /* the connection was there, and has ended */
};

/* Another server, as the options of the zone had it when the job began. */
struct xfrd_whom {
	const char *spec;          /* address, as written */
	const char *key_name;      /* NULL: questions are not signed */
	const char *tls_auth_name; /* NULL: none */
	uint8_t address[16];       /* network order; IPv4 is in the first 4 */
	uint16_t port;             /* 0: the default one */
	uint8_t family;            /* 4 or 6 */
};

/* A question to another server that the machine wants asked, until the machine
 * knows its outcome. */
struct xfrd_job {
	struct cds_list_head node; /* of xfrd.jobs */
	struct xfrd *xfrd;
	uint64_t ticket;           /* XFR_NO_TICKET: the machine does not wait
				    * for it */
	struct xfrd_zone *zone;    /* NULL: the zone goes, or gets other
				    * options, and the loader has the job's
				    * transfer */
	/* Copies, as long as the job: */
	const uint8_t *apex;       /* of the zone, in lower case */
	const char *name;          /* the same as text, as written */
	struct xfrd_whom whom;
	uint32_t ours_count;       /* our addresses for it; 0: any */
	uint64_t size_limit;       /* size-limit-xfr */
	struct xfr_action action;
	struct xfrd_ask *ask;      /* NULL: none (any more) */
	struct event *event;       /* time-out, or the next look at a
				    * transfer */
	struct xfr_ask request;
	struct xfrd_heard heard;
	bool uses_tcp;
	struct xfr_pool_past past; /* as of struct xfrd_ask_how */
	int64_t asked_msec;        /* begin of its time-out */
	struct xfrd_soa soa;       /* of the served version */
	bool has_key;              /* the server's key is known, by this
				    * name: */
	struct tsig_key key;       /* mac NULL: not signed */
	struct tsig_chain chain;
	/* Of a transfer: */
	int64_t began_usec;
	int64_t ended_usec;        /* when the transfer was complete */
	bool is_wanted;            /* the machine has agreed to its serial */
	int sink_error;            /* errno, if the journal did not take it */
	bool is_diffs;             /* the transfer brings differences */
	uint64_t put;              /* octets for the journal, so far */
	struct xfr_patience patience;
	struct xfr_reader reader;
	struct journal_transfer *text;
	uint64_t entry;            /* in the journal; 0: not yet */
	bool is_judged;            /* the loader has said that it waits for a
				    * program that judges */
	bool was_served;           /* a version of the entry's serial was
				    * served when that was put there */
	/* Of xfrd.held, xfrd.ended, xfrd.waiting or, before it is sent,
	 * asks.waiting; or of none. */
	struct cds_list_head keep_node;
	struct load_text at;       /* being published; fd -1: not yet */
	struct acl_element ours[]; /* these addresses; behind them apex, name,
				    * and the texts of whom */
};

/* Creates a job for an action of the machine, without beginning it. NULL:
 * without memory, or there is no such server any more. */
struct xfrd_job *xfrd_job_create(struct xfrd *xfrd,
	const struct xfr_action *action) MUST_USE;

/* Makes an address. family: 4 or 6; octets: as of struct acl_element. */
void xfrd_whom_make_address(uint8_t family, const uint8_t *octets,
	uint16_t port, struct sockaddr_storage *address);
/* Returns the port of a server. port: as nsd.conf has it; 0: the default one,
 * of DNS or of DNS over TLS. */
uint16_t xfrd_whom_get_port(uint16_t port, bool tls) MUST_USE;
/* The server of a job, for xfrd_ask_open. Our address is the nth one of its
 * family in outgoing-interface, from 0; the system's choice if there is none at
 * all. False: there are fewer. */
bool xfrd_job_get_server(const struct xfrd_job *job, bool tcp, unsigned nth,
	struct xfrd_ask_server *server) MUST_USE;
/* Opens the key of a job's server, with a MAC for this job alone; none if it
 * has none. NSD_E_DENIED: there is no such key. NSD_E_MEMORY. */
enum nsd_err xfrd_job_open_key(struct xfrd_job *job) MUST_USE;
/* Prints address and port of a job's server, which it returns; there is room
 * for NET_ADDRESS_TEXT_MAX. */
const char *xfrd_job_print_server(const struct xfrd_job *job, char *text);
/* Ends a job: tells the machine its outcome, logs a failure, and frees it. why:
 * NULL, or more than the outcome says. */
void xfrd_job_end(struct xfrd_job *job, const struct xfr_reply *reply,
	const char *why);
/* Frees a job; the machine is not told. */
void xfrd_job_free(struct xfrd_job *job);
/* True if an entry of the journal belongs to a job, and so is not published
 * yet. Cost: all jobs. */
bool xfrd_job_has_entry(const struct xfrd *xfrd, uint64_t entry);
/* Cancels a job: the machine does not wait for it any more. */
void xfrd_job_cancel(struct xfrd *xfrd, uint64_t ticket);
/* Ends the jobs of a zone, except one that the loader has in hand. No job
 * refers to the zone from now on. */
void xfrd_job_detach_zone(struct xfrd *xfrd, struct xfrd_zone *zone);

/* ---- xfrd_jobs.c --------------------------------------------------------- */

enum nsd_err xfrd_jobs_init(struct xfrd *xfrd);
/* Begins an action of the machine: PROBE, TRANSFER or NOTIFY. Jobs that find no
 * connection wait for one, in the order in which they came. */
void xfrd_jobs_begin(struct xfrd *xfrd, const struct xfr_action *action);

/* ---- xfrd_received.c ----------------------------------------------------- */

/* Notes and logs a transfer that has been published. received: as
 * xfrd_write_print_received prints it. */
void xfrd_received_note(const struct xfrd_job *job, const char *received);
/* Returns the kind of a transfer: "AXFR", "IXFR", or "AXFR for IXFR". */
const char *xfrd_received_kind(const struct xfrd_received *last);

/* ---- xfrd_failure.c ------------------------------------------------------ */

/* Prints the protection of questions to a server: " with key K", " with
 * tls-auth T", both or nothing (NULL). Returns the text, which is cut to
 * size. */
#define XFRD_WITH_MAX 1400
const char *xfrd_print_with(const char *key, const char *tls, char *text,
	size_t size);
/* Prints why the last question for a zone that failed did so, as in the log.
 * Returns the text, which is cut to size. */
#define XFRD_ERROR_MAX 400
const char *xfrd_print_error(const struct xfrd *xfrd,
	const struct xfr_status *status, char *text, size_t size);
/* Prints the same, and which primary was asked, and how it was protected. */
#define XFRD_ERROR_FROM_MAX (XFRD_ERROR_MAX + XFRD_WITH_MAX + 100)
const char *xfrd_print_error_from(struct xfrd *xfrd,
	const struct xfrd_zone *zone, const struct xfr_status *status,
	char *text, size_t size);
/* Returns the number that tells why a job has failed, beside its outcome
 * (struct xfr_reply): with XFR_RCODE the extended error, which is the server's
 * choice, as the RCODE is; else that of a text, of which there are few. why: as
 * for xfrd_job_end. */
uint32_t xfrd_failure_get_reason(const struct xfrd_job *job,
	enum xfr_outcome outcome, const char *why);
/* Prints the same as xfrd_print_error about any failure, by its reply. */
const char *xfrd_failure_print(const struct xfrd *xfrd,
	enum xfr_outcome outcome, uint16_t rcode, uint32_t reason, char *text,
	size_t size);
/* Prints the fault in job->heard; perhaps to text, which is cut to size. */
const char *xfrd_failure_print_fault(const struct xfrd_job *job, char *text,
	size_t size);
/* Logs that a job has failed, or that its server is well again, if the log does
 * not have it. The machine has had the reply, with its reason; why: as for
 * xfrd_job_end. */
void xfrd_failure_tell(struct xfrd_job *job, const struct xfr_reply *reply,
	const char *why, int64_t now);

/* ---- xfrd_keep.c --------------------------------------------------------- */

/* Opens the journal. Without it no zone is transferred, which is logged. */
void xfrd_keep_init(struct xfrd *xfrd);
void xfrd_keep_fini(struct xfrd *xfrd);
/* True if the folder of the journal has been removed: no transfer can be kept.
 * The zone files are written then, and xfrd ends, so that the next one makes
 * the folder again. */
bool xfrd_keep_is_lost(struct xfrd *xfrd);
/* Looks at a zone whose versions do not come from xfrd: the journal drops its
 * entries if they do not lead to the served version any more. Until then they
 * may be all there is of it. */
void xfrd_keep_look(struct xfrd *xfrd, struct xfrd_zone *zone);
/* At the start, drops entries of zones that have left the configuration since
 * the last one; updates of clients are written to files in the journal's folder
 * before. */
void xfrd_keep_drop_others(struct xfrd *xfrd, const char *folder);
/* True if no other transfer is to be begun now. */
bool xfrd_keep_is_full(const struct xfrd *xfrd);
/* Reads no more from primaries for a while, if the disk does not keep up. */
void xfrd_keep_slow_down(struct xfrd *xfrd);
/* Has a complete transfer made durable, then published. It may end at once. */
void xfrd_keep_begin(struct xfrd_job *job);
/* Takes the loader's word that the request with a ticket waits for a program
 * that judges. If it is a transfer, its zone is marked. */
void xfrd_keep_take_delay(struct xfrd *xfrd, uint64_t ticket);

/* ---- xfrd_keep_bound.c --------------------------------------------------- */

/* Has the zone of a complete transfer written to the journal whole, if that has
 * too many differences of it. True: the job waits for that, or has ended.
 * False: it may be put into the journal. */
bool xfrd_keep_hold(struct xfrd_job *job, xfrd_edit_on_renewed *on_renewed)
	MUST_USE;
/* Takes the job of a zone that has waited, to be put into the journal; why: as
 * for xfrd_edit_on_renewed. NULL: there is none, or it has ended. */
struct xfrd_job *xfrd_keep_take_held(struct xfrd *xfrd, const uint8_t *apex,
	const char *why);

/* ---- xfrd_resume.c ------------------------------------------------------- */

/* True if an entry of the journal leads on from the served version. soa: NULL
 * if none is served. */
bool xfrd_resume_leads_on(const struct journal_entry *entry,
	const struct xfrd_soa *soa);
/* Has entries of the journal published that lead on from the served version:
 * the last xfrd may have died before that. The loader checks them as it reads
 * them: however long they are, this takes no time. soa: as above. False: there
 * is no memory for it now, or too many requests are under way. Looks at zones
 * that wait for that go on when the loader has answered such an entry, or after
 * a second. */
bool xfrd_resume(struct xfrd *xfrd, struct xfrd_zone *zone,
	const struct xfrd_soa *soa) MUST_USE;

/* ---- xfrd_shorten.c ------------------------------------------------------ */

/* Looks at the differences that the journal has of a zone, and which were
 * published. If there are many, the zone's file is written. True: they have
 * reached the bound: `least` octets, some for each record of the zone, and as
 * many as a whole zone has that they begin at. *octets: of the zone, in the
 * journal. */
bool xfrd_shorten(struct xfrd *xfrd, struct xfrd_zone *zone, uint64_t least,
	uint64_t *octets) MUST_USE;

/* ---- xfrd_write.c -------------------------------------------------------- */

/* Has zone files written every zonefiles-write seconds, from now on.
 * NSD_E_MEMORY. */
enum nsd_err xfrd_write_init(struct xfrd *xfrd) MUST_USE;

/* The result of a request to write. */
struct xfrd_write_result {
	uint32_t written, failed; /* zones; both 0: none had changed */
	struct xfrd_written last_failed;
};
typedef void xfrd_write_on_end(void *ctx,
	const struct xfrd_write_result *result);

/*
 * Has a zone written, or all (apex NULL), if a transfer has changed it since it
 * was written last, or its file is not there, whatever zonefiles-write says.
 * Borrows apex, in lower case. on_end is called once, never from within this
 * call, unless this process ends; NULL: none.
 * returns NSD_OK; NSD_E_DENIED: there is no journal; NSD_E_LIMIT: too many are
 *     asked for; NSD_E_MEMORY.
 */
enum nsd_err xfrd_write(struct xfrd *xfrd, const uint8_t *apex,
	xfrd_write_on_end *on_end, void *ctx) MUST_USE;

/* Follows changed options of the server. */
void xfrd_write_follow(struct xfrd *xfrd);
/* After a change of options of zones: soon has zones written whose file is not
 * there, and which nothing else has. */
void xfrd_write_look(struct xfrd *xfrd);
/* Prints "received update to serial ... from SOURCE", as zone files and the log
 * have it; cut to size. */
void xfrd_write_print_received(char *out, size_t size,
	const struct journal_entry *entry, const char *source);

/* A writer has connected, or has room again; has ended. */
void xfrd_write_on_writer(struct xfrd *xfrd, struct link *link);
void xfrd_write_on_writer_gone(struct xfrd *xfrd);

/* At the end: has changed zones written, for some seconds at most, and then
 * adds the event `then`, which it keeps. False: none has changed. */
bool xfrd_write_end(struct xfrd *xfrd, struct event *then) MUST_USE;

/* Goes on writing, unless the writer has work in hand. */
void xfrd_write_go_on(struct xfrd *xfrd);

/* ---- xfrd_look.c --------------------------------------------------------- */

/* True if there is no room for another zone. */
bool xfrd_look_is_full(const struct xfrd_look *look);
void xfrd_look_add(struct xfrd_look *look, const uint8_t *apex);
/* Forgets the first zones. */
void xfrd_look_drop(struct xfrd_look *look, uint32_t count);
/* Sends all zones, of which there is one at least, in FIND_FILES. Errors as
 * requests_add. */
enum nsd_err xfrd_look_ask(const struct xfrd_look *look,
	struct requests *requests, request_on_end *on_end, void *ctx)
	MUST_USE;

/* ---- xfrd_written.c ------------------------------------------------------ */

/* Returns why a write has failed. */
const char *xfrd_written_why(const struct xfrd_written *done);
/* Gets the serial in the zone file of a secondary zone. False: there is no
 * file, or the serial is not known. */
bool xfrd_written_find_serial(struct xfrd *xfrd, struct xfrd_zone *zone,
	uint32_t *serial);

/* ---- xfrd_changesets.c --------------------------------------------------- */

/* Looks whether another version of a zone is served. True: its files are
 * due. */
bool xfrd_changesets_look(struct xfrd *xfrd, struct xfrd_zone *zone);
/* The same for all zones, before the end. */
void xfrd_changesets_look_at_all(struct xfrd *xfrd);
/* Forgets a zone, which goes. */
void xfrd_changesets_forget(struct xfrd *xfrd, struct xfrd_zone *zone);
/* Takes the next zone that is due; from now on it is not. *unsure: its files
 * may have been written. NULL: none is, or more are to be looked at:
 * writes.changesets.due_count. */
struct xfrd_zone *xfrd_changesets_take(struct xfrd *xfrd, bool *unsure);

/* ---- xfrd_notify.c ------------------------------------------------------- */

/* The message NOTIFY of a worker; len: octets of its payload. */
void xfrd_notify_take(struct xfrd *xfrd, const struct ipc_notify *notify,
	size_t len);

/* ---- xfrd_state.c -------------------------------------------------------- */

/* Reads xfrdfile, and has it written from time to time. */
void xfrd_state_init(struct xfrd *xfrd);
/* Gets the state that a zone begins with. served: the SOA of the data that
 * there is, or NULL. An expiry that is in the store counts: the death of an
 * xfrd does not put it off. */
void xfrd_state_get_start(struct xfrd *xfrd, const struct xfrd_zone *zone,
	const struct xfrd_soa *served, struct xfr_start *start);
/* Has the file written anew without a zone, which goes, or gets other
 * options. */
void xfrd_state_drop(struct xfrd *xfrd);
/* Has a zone that has not begun yet checked soon when it does, whatever the
 * file said. */
void xfrd_state_make_due(struct xfrd_zone *zone);
/* Has xfrdfile written soon, unless there are many zones, because of a change
 * that should not be lost. */
void xfrd_state_save_soon(struct xfrd *xfrd);
/* Writes the file now, at the end. */
void xfrd_state_save(struct xfrd *xfrd);

/* ---- xfrd_handover.c ----------------------------------------------------- */

/* Gets the state of a zone that is to outlive its options. False: it has no
 * handle, or there is none. */
bool xfrd_handover_get(struct xfrd *xfrd, const struct xfrd_zone *zone,
	int64_t now, struct xfrd_handover *handover);
/* Sets in *start the state from the zone's past. */
void xfrd_handover_get_start(struct xfrd *xfrd,
	const struct xfrd_zone *zone, struct xfr_start *start);
/* True if the options that count for this state are others than the zone began
 * with. */
bool xfrd_handover_is_other(struct xfrd *xfrd, const struct xfrd_zone *zone);
/* Gets the outcome of the last write from the past of a zone, which has a
 * handle now. */
void xfrd_handover_get_written(struct xfrd *xfrd, struct xfrd_zone *zone);

/* ---- xfrd_configure.c ---------------------------------------------------- */

/* The message CONFIGURE. */
void xfrd_on_configure(struct role *role, const struct ipc_message *m);

/* ---- xfrd_turn.c --------------------------------------------------------- */

/* NSD_E_MEMORY. */
enum nsd_err xfrd_turn_init(struct xfrd *xfrd) MUST_USE;
/* The message SERVED: looks at the served zones, a few at a time. */
void xfrd_turn_look(struct xfrd *xfrd);
/* Looks at a zone that has just been added, or has other options. */
void xfrd_turn_add(struct xfrd *xfrd, struct xfrd_zone *zone);
/* Has a zone follow its published options, which may have changed; if its
 * checks have failed, one begins now. False: there is no memory for it now, or
 * too many requests are under way (xfrd_resume). */
bool xfrd_turn_follow(struct xfrd *xfrd, struct xfrd_zone *zone) MUST_USE;
/* A loader has connected, or has room again. */
void xfrd_turn_on_loader(struct xfrd *xfrd, bool is_new);

/* ---- xfrd_walk.c --------------------------------------------------------- */

/* Called with a zone that was just added to the table. Its line of the zone
 * list, if it has one, was not looked for. */
typedef void xfrd_walk_on_new(struct xfrd *xfrd, struct xfrd_zone *zone);
/*
 * Goes on with a walk, which is empty at first: looks at the next entries of
 * the store, `most` at most, and adds the zones that the table lacks. Then
 * walk->is_over says whether there are more.
 * returns NSD_OK; NSD_E_MEMORY: there is none for one of them now; the walk can
 *     be gone on with.
 */
enum nsd_err xfrd_walk(struct xfrd *xfrd, struct xfrd_walk *walk,
	unsigned most, xfrd_walk_on_new *on_new) MUST_USE;

/* ---- xfrd_detach.c ------------------------------------------------------- */

/* Rests a zone that is to get other options, or to go: nothing is done for it
 * until xfrd_turn_add. Its past keeps its state. */
void xfrd_detach_suspend(struct xfrd *xfrd, struct xfrd_zone *zone);
/* Removes a zone, with its entries in the journal, that a reconfig has
 * removed. */
void xfrd_detach_purge(struct xfrd *xfrd, struct xfrd_zone *zone);
/* Removes a zone from this process. */
void xfrd_detach_remove(struct xfrd *xfrd, struct xfrd_zone *zone);

#endif
