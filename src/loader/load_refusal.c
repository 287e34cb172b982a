/* load_refusal.c - why a version of a zone is not served. */
#include "config.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "loader/load_refusal.h"

void
load_refusal_set(struct load_refusal *refusal, enum ipc_check check,
	uint32_t serial, const char *format, ...)
{
	va_list args;

	refusal->check = check;
	refusal->serial = serial;
	va_start(args, format);
	(void)vsnprintf(refusal->why, sizeof(refusal->why), format, args);
	va_end(args);
}

void
load_refusal_tell(const struct load_refusal *refusal,
	struct ipc_updated *result)
{
	size_t len = strlen(refusal->why);

	assert(len <= IPC_WHY_MAX);
	result->refused = refusal->check;
	result->refused_serial = refusal->serial;
	memcpy(result->why, refusal->why, len + (len < IPC_WHY_MAX));
}
