/*
 * requests.h - requests of xfrd to another process, until they are answered: to
 * main, the loader, or the writer, of which there is none most of the time.
 *
 * The table of messages (ipc/message.h) says which message answers a request,
 * and by its credits how many of a kind the other side takes before it has
 * answered: further requests wait here.
 *
 * A request that was not answered when the loader died is sent to the next one,
 * in the order of old, with a mark that it comes again (struct ipc_request).
 * The dead loader may have carried out its last request without answering;
 * carrying it out again changes nothing. There is one such at most: a loader
 * takes no request while an answer of its own waits.
 *
 * A request may have killed the loader. Requests that it had in hand are sent
 * one at a time, alone. A request that REQUEST_DEATHS_MAX loaders have died
 * with is given up; a READ after the first. Every death counts: no loader is
 * ended without its own fault.
 *
 * A request that takes as long as a program of the operator's is late: the
 * other side says so, and gives its credit back. It then counts among the
 * requests no more, and others go on; it is answered, and sent to the next
 * loader, as any other.
 *
 * Main does not die before xfrd does.
 */
#ifndef PROCESS_REQUESTS_H
#define PROCESS_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "process/link.h"

#define REQUESTS_MAX 256 /* without an answer */
#define REQUESTS_SPARE 16
#define REQUEST_DEATHS_MAX 3u

struct request;

/* Ends a request. answer: lent; NULL: it is given up. */
typedef void request_on_end(void *ctx, const struct ipc_message *answer);

/* Zeroed: no requests, and no link to send them. */
struct requests {
	bool any_order;        /* set by the owner: requests of different kinds
				* do not wait for each other; false: all are
				* sent in one order */
	struct request *first; /* in the order in which they came */
	struct request **tail; /* the end of the list, for the next one; NULL:
				* at first */
	struct request *unsent; /* the first unsent one; in one order, those
				 * behind it are unsent, too */
	unsigned count;        /* without those that are late */
	struct request *late;  /* the latest first */
	uint64_t ticket;       /* of the latest */
	struct link *link;     /* to the other side; NULL: there is none now */
};

/*
 * Sends a request, or has it wait for the other side or for credit. Borrows the
 * message: the copy is wiped at the end, as it may have a secret. Its payload
 * begins with struct ipc_request, which is set here; at most one descriptor.
 * on_end is called once, unless this process ends; it may add further requests.
 * returns NSD_OK; NSD_E_AGAIN: REQUESTS_MAX are not answered yet; NSD_E_MEMORY;
 * NSD_E_SYSTEM: there is no descriptor. After a failure nothing has happened.
 */
enum nsd_err requests_add(struct requests *requests,
	const struct link_message *message, request_on_end *on_end, void *ctx)
	MUST_USE;

/* True: REQUESTS_MAX are not answered yet. */
static inline bool
requests_are_full(const struct requests *requests)
{
	return requests->count >= REQUESTS_MAX;
}

/* True: only REQUESTS_SPARE are left. Work that may come without an end, of
 * which each answer has more asked for, leaves them to others. */
static inline bool
requests_are_many(const struct requests *requests)
{
	return requests->count >= REQUESTS_MAX - REQUESTS_SPARE;
}

/* Sends requests that wait: the other side is there, or takes more. The link is
 * kept until requests_stop. */
void requests_go_on(struct requests *requests, struct link *link);
/* Notes that the other side has died, and its last answers are taken. */
void requests_stop(struct requests *requests);
/* Takes the word of the other side that the request with a ticket is late.
 * Returns its ctx if on_end is what ends it, else NULL. */
void *requests_take_delay(struct requests *requests, uint64_t ticket,
	request_on_end *on_end);
/* Takes an answer of the other side. An answer to no request is refused, and
 * the log says so. */
void requests_take_answer(struct requests *requests,
	const struct ipc_message *m);

#endif
