/*
 * control.h - the control channel in xfrd: a handler for each verb of
 * ctl/verbs.h.
 *
 *   control.c         start and end; hands commands on
 *   control_ask.c     requests to main for commands
 *   control_find.c    finds the zone that a command names
 *   control_freeze.c  freeze, thaw
 *   control_server.c  verbs about the server: stop and the like
 *   control_progress.c  progress: how far other commands are
 *   control_broadcast.c   orders to all processes: log_reopen, verbosity
 *   control_reload.c  reload
 *   control_write.c   write
 *   control_wait.c    transfer, force_transfer, notify: waits for the machine
 *   control_status.c  zonestatus, listzones
 *   control_json.c    the same of these two in JSON
 *   control_updates.c  zonestatus of zones that clients update
 *   control_catalogs.c  catalogs
 *   control_dump.c    dumpzone
 *   control_trouble.c  status: trouble of the server
 *   control_keys.c    print_tsig
 *   control_key_edit.c  update_tsig, add_tsig, assoc_tsig, del_tsig
 *   control_cookies.c  add_cookie_secret and the like
 *   control_statistics.c  stats, stats_noreset, stats_more
 *   control_zones.c   addzone and the like
 *   control_reconfig.c  reconfig
 *
 * A verb is added by a row in ctl/verbs.h, a line in CONTROL_HANDLERS and its
 * function: doc/how-to/add-a-control-verb.md.
 */
#ifndef XFRD_CONTROL_H
#define XFRD_CONTROL_H

#include <stdint.h>

#include "base/list.h"
#include "ctl/call.h"
#include "ctl/json.h"
#include "dns/name.h"
#include "process/link.h"

struct role;
struct xfrd_options;
struct xfrd_zone;
struct control_dump;
struct ctl_channel;
struct ctl_tls;
struct event;
struct xfrd;

#define CONTROL_DUMPS_MAX 4u

/* The control channel of xfrd. Zeroed: there is none. */
struct control {
	struct ctl_channel *channel; /* NULL: none */
	struct ctl_tls *tls;
	struct event *end_event;     /* answers are sent before the end */
	unsigned end_waits;
	struct cds_list_head waits;  /* struct control_wait */
	/* Dumps that are under way; NULL: a free place. */
	struct control_dump *dumps[CONTROL_DUMPS_MAX];
	struct event *wait_event;
};

/* Every verb of the server with its handler: void handler(struct xfrd *,
 * struct ctl_call *). */
#define CONTROL_HANDLERS(X)                                                  \
	X(STOP, control_on_stop)                                             \
	X(RELOAD, control_on_reload)                                         \
	X(WRITE, control_on_write)                                           \
	X(FREEZE, control_on_freeze)                                         \
	X(THAW, control_on_thaw)                                             \
	X(LOG_REOPEN, control_on_log_reopen)                                 \
	X(DNSTAP_ON, control_on_dnstap_on)                                   \
	X(DNSTAP_OFF, control_on_dnstap_off)                                 \
	X(STATUS, control_on_status)                                         \
	X(NOTIFY, control_on_notify)                                         \
	X(TRANSFER, control_on_transfer)                                     \
	X(FORCE_TRANSFER, control_on_transfer)                               \
	X(ACCEPT, control_on_accept)                                         \
	X(ZONESTATUS, control_on_zonestatus)                                 \
	X(LISTZONES, control_on_listzones)                                   \
	X(CATALOGS, control_on_catalogs)                                     \
	X(DUMPZONE, control_on_dumpzone)                                     \
	X(PROGRESS, control_on_progress)                                     \
	X(SERVERPID, control_on_serverpid)                                   \
	X(VERBOSITY, control_on_verbosity)                                   \
	X(RECONFIG, control_on_reconfig)                                     \
	X(REPATTERN, control_on_reconfig)                                    \
	X(ADDZONE, control_on_addzone)                                       \
	X(DELZONE, control_on_delzone)                                       \
	X(CHANGEZONE, control_on_changezone)                                 \
	X(ADDZONES, control_on_addzones)                                     \
	X(DELZONES, control_on_delzones)                                     \
	X(PRINT_TSIG, control_on_print_tsig)                                 \
	X(UPDATE_TSIG, control_on_update_tsig)                               \
	X(ADD_TSIG, control_on_add_tsig)                                     \
	X(ASSOC_TSIG, control_on_assoc_tsig)                                 \
	X(DEL_TSIG, control_on_del_tsig)                                     \
	X(ADD_COOKIE_SECRET, control_on_add_cookie_secret)                   \
	X(ACTIVATE_COOKIE_SECRET, control_on_activate_cookie_secret)         \
	X(DROP_COOKIE_SECRET, control_on_drop_cookie_secret)                 \
	X(PRINT_COOKIE_SECRETS, control_on_print_cookie_secrets)             \
	X(STATS, control_on_stats)                                           \
	X(STATS_NORESET, control_on_stats_noreset)                           \
	X(STATS_MORE, control_on_stats_more)

#define CONTROL_DECLARE(name, handler)                                       \
	void handler(struct xfrd *xfrd, struct ctl_call *call);
CONTROL_HANDLERS(CONTROL_DECLARE)

/* ---- control.c ----------------------------------------------------------- */

/* Takes commands, if nsd.conf wants it; before xfrd is confined. Faults are
 * logged, and leave xfrd without the channel. */
void control_init(struct xfrd *xfrd);
/* Listens to the server's sockets of the control channel, which have changed,
 * and to no others. Connections stay. */
void control_follow(struct xfrd *xfrd);
/* The message TLS_TEXTS: shows other certificates to clients that connect; or
 * only tries them, and answers. */
void control_on_tls_texts(struct role *role, const struct ipc_message *m);
/* Closes the channel, as xfrd is told to end: new clients wait for the next
 * xfrd, and on present connections only stop is taken. */
void control_close(struct xfrd *xfrd);
/* Xfrd ends: answers what waits, and ends it once that is sent, or a
 * second later. */
void control_finish(struct xfrd *xfrd);

/* ---- control_ask.c ------------------------------------------------------- */

/* Takes main's answer to a command. */
typedef void control_on_answer(struct xfrd *xfrd, struct ctl_call *call,
	const struct ipc_message *answer);
/* Asks main for what a command wants (role_ask). on_answer ends the call; if
 * main cannot be asked, that is the answer, and it is ended here. False: so it
 * was. */
bool control_ask_main(struct xfrd *xfrd, struct ctl_call *call,
	const struct link_message *message, control_on_answer *on_answer);
/* Ends the call of a command that cannot be asked for. err: of role_ask. */
void control_refuse(struct ctl_call *call, enum nsd_err err);

/* ---- control_find.c ------------------------------------------------------ */

/* Finds a zone by its name. NULL: there is none; that is the answer, and the
 * call is ended. */
struct xfrd_zone *control_find_zone(struct xfrd *xfrd,
	struct ctl_call *call, const char *name);
/* Finds the apex of the zone that the first argument names; *apex: NULL without
 * an argument, which means all zones. False: as with NULL above. */
bool control_find_apex(struct xfrd *xfrd, struct ctl_call *call,
	const uint8_t **apex) MUST_USE;

/* Finds the ID of a member of a catalog that is consumed, or else produced:
 * LABEL.zones.CATALOG. out: room for it. NULL: it is none. Lent until the zone
 * has another one. */
const char *control_find_member_id(const struct xfrd *xfrd,
	const struct xfrd_zone *zone, const struct xfrd_options *options,
	char out[NAME_TEXT_MAX]);

/* ---- control_dump.c ------------------------------------------------------ */

/* Breaks off dumps whose version was pinned up to an epoch of the store. */
void control_let_go(struct xfrd *xfrd, uint64_t epoch);

/* ---- control_json.c ------------------------------------------------------ */

/* Prints a zone as an object, which is left open, with its name and pattern. */
void control_json_zone(struct xfrd *xfrd, struct ctl_json *json,
	struct xfrd_zone *zone, const struct xfrd_options *options);
void control_json_name(struct xfrd *xfrd, struct ctl_json *json,
	struct xfrd_zone *zone, const struct xfrd_options *options);

/* ---- control_updates.c --------------------------------------------------- */

/* Print what there is of UPDATEs of clients of a zone; nothing, if it takes
 * none. */
void control_print_updates(struct xfrd *xfrd, struct ctl_call *call,
	const struct xfrd_zone *zone, const struct xfrd_options *options);
void control_json_updates(struct xfrd *xfrd, struct ctl_json *json,
	const struct xfrd_zone *zone, const struct xfrd_options *options);

/* ---- control_refused.c --------------------------------------------------- */

/* Print the version of a zone that was refused last; nothing, if there is
 * none. */
void control_print_refused(const struct xfrd *xfrd, struct ctl_call *call,
	const struct xfrd_zone *zone);
void control_json_refused(const struct xfrd *xfrd, struct ctl_json *json,
	const struct xfrd_zone *zone);

/* ---- control_reload.c ---------------------------------------------------- */

/* Ends a call with the loader's answer to READ; ctx: the call. */
void control_on_read(void *ctx, const struct ipc_message *answer);

/* ---- control_progress.c -------------------------------------------------- */

/* An on_progress of a command that waits for the loader's pass; xfrd is the
 * ctx of its hooks. */
void control_progress_of_loader(struct ctl_call *call,
	struct ctl_progress *progress);

#endif
