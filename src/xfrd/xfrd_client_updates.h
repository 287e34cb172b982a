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

/* A request. */
struct client_update {
	struct cds_list_head node; /* of update_zone.waiting or .taken */
	uint64_t channel;          /* to the worker */
	uint64_t ticket;           /* the worker's */
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

/* ---- xfrd_client_update_answer.c ----------------------------------------- */

/* Answers a request with its outcome, and frees it. end->why is the text for
 * the client; empty: none. A worker that is gone gets no answer. */
void xfrd_client_update_answer(struct xfrd *xfrd, struct client_update *update,
	const struct client_update_end *end);

/* Passes the message of a primary back as the answer to a request, and frees
 * the request. len: IPC_CLIENT_UPDATED_MAX at most. */
void xfrd_client_update_pass_back(struct xfrd *xfrd,
	struct client_update *update, const uint8_t *message, size_t len);

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
