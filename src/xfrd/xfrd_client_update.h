/*
 * xfrd_client_update.h - UPDATEs of clients (RFC 2136), which change zones that
 * are served here. A worker has checked the signature, and that the client may
 * do so; but it may have been taken over, so both are checked again.
 *
 *   xfrd_client_update.c         takes requests from workers
 *   xfrd_client_update_check.c   whether a request is allowed
 *   xfrd_client_update_zone.c    zones, and who holds them
 *   xfrd_client_update_batch.c   makes a version of the requests of a zone
 *   xfrd_client_update_answer.c  answers workers
 *   xfrd_client_update_repeat.c  repeats of a request that is under way
 *   xfrd_client_update_log.c     log lines
 *   xfrd_forward.c               passes requests on to primaries
 *
 * Requests of a zone are carried out in the order in which they came. Those
 * that come while a version is made durable and published wait, and go together
 * as the next batch: one entry of the journal, with a version for each request
 * that changes something. Each is answered when the batch is served.
 */
#ifndef XFRD_XFRD_CLIENT_UPDATE_H
#define XFRD_XFRD_CLIENT_UPDATE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/list.h"
#include "dns/name.h"
#include "journal/journal_entry.h"
#include "xfrd/xfrd_forward.h"

struct event;
struct ipc_message;
struct save_work;
struct xfrd;
struct xfrd_update_key;
struct xfrd_zone;

/* Lines of the log about updates: see xfrd_client_update_log.c. */
struct xfrd_updates_said {
	int64_t sec;       /* of the monotonic clock */
	uint32_t lines;    /* in that second */
	uint64_t left_out;
};

/* Keys that were used last, ready to make MACs. */
#define XFRD_UPDATE_KEYS 64u
/* Lists of requests that are under way, by the ID of the message. */
#define XFRD_UPDATE_LISTS 256u

struct xfrd_client_updates {
	void *zones;              /* struct update_zone, of xfrd_apexes.h */
	struct cds_list_head all; /* the same */
	uint32_t holds;           /* of all zones */
	uint64_t saves;           /* begun by xfrd_save */
	struct save_work *saver;  /* of all zones, whose turn it is; or NULL */
	struct cds_list_head due; /* of these, those that have requests, and no
				   * batch under way */
	struct event *event;      /* the next batch */
	uint32_t busy;            /* zones with a batch under way */
	uint64_t seed;            /* of hash tables of a batch */
	uint64_t octets;          /* of all requests that are here */
	struct xfrd_updates_said said;
	struct xfrd_update_key *keys[XFRD_UPDATE_KEYS];
	struct xfrd_forwards forwards;
	struct cds_list_head under_way[XFRD_UPDATE_LISTS];
};

/* Text that stands between the address and the key's name in a source. */
#define XFRD_UPDATED_KEY " key "

/* The last update of a zone. */
struct xfrd_updated {
	uint32_t serial;
	int64_t at_sec;      /* of the epoch */
	char source[JOURNAL_SOURCE_MAX + 1]; /* the client, and its key */
};

/* NSD_E_MEMORY. */
enum nsd_err xfrd_client_update_init(struct xfrd *xfrd) MUST_USE;

/* Drops keys that were used: some may have other secrets by now. */
void xfrd_client_update_drop_keys(struct xfrd *xfrd);

/* Takes a CLIENT_UPDATE, and answers it, now or later. */
void xfrd_client_update_take(struct xfrd *xfrd, const struct ipc_message *m);

/* Looks at a zone: the last xfrd may have died before an update that is durable
 * was published. */
void xfrd_client_update_look(struct xfrd *xfrd, const struct xfrd_zone *zone);

/* Gets the last update of a zone that is, or was, served. False: there was
 * none, or none is known any more. Reads the journal, perhaps. */
bool xfrd_client_update_find_last(struct xfrd *xfrd, const uint8_t *apex,
	struct xfrd_updated *last) MUST_USE;

/* Forgets a zone, which goes. Its requests are answered. */
void xfrd_client_update_forget(struct xfrd *xfrd, const uint8_t *apex);

/* True if versions of a zone, or of any zone (NULL), are being made durable and
 * published. */
bool xfrd_client_update_is_busy(const struct xfrd *xfrd, const uint8_t *apex);

/* Has requests of a zone, or of all zones (NULL), wait, until as many releases
 * have come. A batch under way comes to its end: see _is_busy. NSD_E_MEMORY. */
enum nsd_err xfrd_client_update_hold(struct xfrd *xfrd, const uint8_t *apex)
	MUST_USE;
void xfrd_client_update_release(struct xfrd *xfrd, const uint8_t *apex);

/* Counts requests of a zone that are here. */
uint32_t xfrd_client_update_count(const struct xfrd *xfrd,
	const uint8_t *apex);

#endif
