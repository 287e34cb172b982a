/*
 * verify.h - payloads between the loader and the verifier, which runs the
 * programs that judge new versions of zones (`verify:` of nsd.conf).
 */
#ifndef IPC_VERIFY_H
#define IPC_VERIFY_H

#include <stdint.h>

#include "ipc/request.h"

/* A candidate of a zone (zone/zone.h) that is to be judged. The payload ends
 * where the apex ends. */
enum ipc_verify_flag {
	IPC_VERIFY_FEED = 1, /* the program reads the zone on its standard
			      * input */
};
struct ipc_verify {
	struct ipc_request request;
	uint64_t command; /* conf_command_sum (conf/command.h) of the program
			   * and its arguments: one of the configuration */
	uint32_t serial;  /* of the candidate */
	uint32_t timeout_sec; /* 0: none */
	uint32_t flags;   /* enum ipc_verify_flag, or-ed */
	uint8_t apex[255]; /* wire name in lower case */
};

struct ipc_verify_stop {
	uint64_t ticket; /* of the ipc_verify; it is still answered */
};

/* The result of an ipc_verify. */
enum ipc_verdict {
	VERDICT_ACCEPTED, /* the program has ended with status 0 */
	VERDICT_REFUSED,  /* the program has ended otherwise: status */
	VERDICT_TIMED_OUT, /* the program was killed: timeout_sec are over */
	VERDICT_NOT_RUN,  /* the program could not be started: error */
	VERDICT_GONE,     /* the zone has no candidate with this serial */
	VERDICT_AGAIN,    /* there is no verdict, as the configuration is
			   * another one, this process ends, or VERIFY_STOP
			   * came: ask again, if it is still wanted */
	VERDICT_COUNT,
};
struct ipc_verified {
	uint64_t ticket;
	uint32_t verdict; /* enum ipc_verdict */
	uint32_t status;  /* of waitpid */
	uint32_t error;   /* errno */
	uint32_t unused;  /* 0 */
};

#endif
