/*
 * load_refusal.h - why a version of a zone was judged and is not served.
 */
#ifndef LOADER_LOAD_REFUSAL_H
#define LOADER_LOAD_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/message.h"

/* A refusal; none, if it is zeroed. */
struct load_refusal {
	uint32_t check;  /* enum ipc_check that was not passed; 0: none */
	uint32_t serial; /* of the version */
	char why[IPC_WHY_MAX + 1]; /* with the first name at fault; cut */
};

/* Notes a refusal. */
void load_refusal_set(struct load_refusal *refusal, enum ipc_check check,
	uint32_t serial, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Copies one into the result of an UPDATE. */
void load_refusal_tell(const struct load_refusal *refusal,
	struct ipc_updated *result);

/* True for the errors of a version that is whole, and was refused. */
static inline bool
load_refusal_is(enum nsd_err err)
{
	return err == NSD_E_CHANGE || err == NSD_E_DIGEST
		|| err == NSD_E_SIGNED || err == NSD_E_REFUSED;
}

#endif
