/*
 * xfrd_client_updates.h - UPDATEs of clients in xfrd: for the files that make
 * them up (xfrd_client_update.h).
 */
#ifndef XFRD_XFRD_CLIENT_UPDATES_H
#define XFRD_XFRD_CLIENT_UPDATES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "dns/edns.h"
#include "dns/message.h"
#include "xfrd/xfrd_client_update.h"
#include "xfrd/xfrd_options.h"

/* Octets of a text about a request, with its NUL. */
#define CLIENT_UPDATE_WHY_MAX 1500u

/* An outcome, as it is answered. */
struct client_update_end {
	enum rcode rcode;
	uint16_t ede;      /* enum ede_code */
	char why[CLIENT_UPDATE_WHY_MAX];
};

struct client_update_repeat;

/* A request. */
struct client_update {
	struct cds_list_head node; /* of update_zone.waiting or .taken */
	struct cds_list_head id_node; /* of updates.under_way */
	struct client_update_repeat *repeats;
	uint64_t channel;          /* to the worker */
	uint64_t ticket;           /* the worker's */
	int64_t came_msec;         /* of clock_now_msec */
	struct sockaddr_storage from;
	uint8_t apex[NAME_MAX_LEN]; /* of its zone section, in lower case */
	/* Wire name of the key that has signed it; empty: none. Set when it is
	 * checked. */
	uint8_t key[NAME_MAX_LEN];
	/* Of one that is taken: */
	struct client_update_end end;
	uint32_t serial;           /* of its version, with rcode NOERROR */
	uint32_t added, removed;   /* records */
	bool changed;
	size_t len;
	uint8_t message[];
};

/* A zone whose clients have sent updates. */
struct update_zone {
	uint8_t apex[NAME_MAX_LEN];    /* must be first: it is looked for */
	struct cds_list_head all_node; /* of updates.all */
	struct cds_list_head due_node; /* of updates.due, or of none */
	struct xfrd *xfrd;
	struct cds_list_head waiting;  /* in the order in which they came */
	struct cds_list_head taken;    /* of the batch under way */
	uint32_t count;                /* of both */
	uint32_t taken_count;          /* of taken */
	uint32_t suspects;             /* the first of waiting, whose batch was
					* refused: one of them is the cause */
	uint32_t batch_max;            /* requests of a batch of suspects */
	uint32_t holds;                /* no batch is begun as long as there
					* are some */
	uint64_t saved;                /* number of the last xfrd_save that
					* has had the file written */
	bool is_busy;                  /* a batch is made durable and
					* published */
	bool is_looked;                /* updates were looked for that the last
					* xfrd has left without publishing */
	uint32_t last_serial;          /* of the last update */
	int64_t last_sec;              /* of the epoch; 0: there was none */
	char *last_source;             /* with last_sec */
};

/* ---- xfrd_client_update_zone.c ------------------------------------------- */

/* Finds a zone. NULL: its clients have sent nothing. */
struct update_zone *xfrd_client_update_zone_find(const struct xfrd *xfrd,
	const uint8_t *apex);
/* Finds a zone, or makes it. NULL: no memory. */
struct update_zone *xfrd_client_update_zone_get(struct xfrd *xfrd,
	const uint8_t *apex);
/* Frees a zone without requests and batches. */
void xfrd_client_update_zone_free(struct update_zone *z);
/* Has the next batch of a zone made soon, if there are requests, none is under
 * way, and nobody holds the zone. */
void xfrd_client_update_zone_soon(struct update_zone *z);
/* The same; a zone that is not here any more, and has no requests, goes. */
void xfrd_client_update_zone_go_on(struct update_zone *z);

/* ---- xfrd_client_update_answer.c ----------------------------------------- */

/* Answers a request with its outcome, and frees it. end->why is the text for
 * the client; empty: none. A worker that is gone gets no answer. */
void xfrd_client_update_answer(struct xfrd *xfrd, struct client_update *update,
	const struct client_update_end *end);

/* Passes the message of a primary back as the answer to a request, and frees
 * the request. len: IPC_CLIENT_UPDATED_MAX at most. */
void xfrd_client_update_pass_back(struct xfrd *xfrd,
	struct client_update *update, const uint8_t *message, size_t len);

/* ---- xfrd_client_update_repeat.c ----------------------------------------- */

void xfrd_client_update_repeats_init(struct xfrd *xfrd);
/* Adds a request to those that are under way. */
void xfrd_client_update_repeats_add(struct xfrd *xfrd,
	struct client_update *update);
/* Finds the request under way that a message repeats: octet by octet, from the
 * same address and port. message: MESSAGE_HEADER_LEN octets at least. NULL: it
 * repeats none. */
struct client_update *xfrd_client_update_repeats_find(struct xfrd *xfrd,
	const struct sockaddr_storage *from, const uint8_t *message,
	size_t len);
/* Notes a repeat, which is to be answered. NSD_E_MEMORY. */
enum nsd_err xfrd_client_update_repeats_note(struct client_update *update,
	uint64_t channel, uint64_t ticket) MUST_USE;
/* Takes a repeat that was noted. False: none is left. */
bool xfrd_client_update_repeats_take(struct client_update *update,
	uint64_t *channel, uint64_t *ticket) MUST_USE;

/* ---- xfrd_client_update_log.c -------------------------------------------- */

/* Prints the client, and the key if it has signed: "ADDRESS key NAME". */
void xfrd_client_update_print_source(const struct client_update *update,
	char *out, size_t size);
/* Log lines, of which there are some in a second at most. */
void xfrd_client_update_log_done(struct xfrd *xfrd,
	const struct client_update *update);
void xfrd_client_update_log_forwarded(struct xfrd *xfrd,
	const struct client_update *update,
	const struct sockaddr_storage *primary, enum rcode rcode);
void xfrd_client_update_log_refused(struct xfrd *xfrd,
	const struct client_update *update,
	const struct client_update_end *end);

/* ---- xfrd_client_update_check.c ------------------------------------------ */

/* Reads header and zone section of a message. False: it is no UPDATE of one
 * zone, which workers pass on. */
bool xfrd_client_update_read_zone(const uint8_t *message, size_t len,
	uint8_t apex[NAME_MAX_LEN]) MUST_USE;
/* Checks that the zone of a request takes it, by the options at hand, and that
 * it is signed as it says. False: *end has the reason. */
bool xfrd_client_update_check(struct xfrd *xfrd,
	const struct xfrd_options *options, struct client_update *update,
	struct client_update_end *end) MUST_USE;

/* The same of a zone whose requests are passed on to its primaries. */
bool xfrd_client_update_check_forward(struct xfrd *xfrd,
	const struct xfrd_options *options, struct client_update *update,
	struct client_update_end *end) MUST_USE;

/* ---- xfrd_client_update_batch.c ------------------------------------------ */

/* Takes a request. */
void xfrd_client_update_queue(struct xfrd *xfrd, struct client_update *update);

#endif
