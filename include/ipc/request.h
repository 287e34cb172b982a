/*
 * request.h - the head of each request between processes.
 */
#ifndef IPC_REQUEST_H
#define IPC_REQUEST_H

#include <stdint.h>

/* The head of each request: a ticket, which its answer bears. */
struct ipc_request {
	uint64_t ticket; /* the sender's, comes back */
	uint32_t again;  /* not 0: a receiver that has died had it before, and
			  * may have carried it out */
};

#endif
