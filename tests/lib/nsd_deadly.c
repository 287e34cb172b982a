/*
 * nsd_deadly.c - nsd whose workers die of messages that say so: of a query for
 * a name whose first label is
 *
 *   die-segv   by reading what is not there
 *   die-abrt   by abort
 *   die-sys    by a system call that nobody of them may make
 *
 * And of one for "deaf" they live on, have a heartbeat and answer, and do
 * nothing any more that main tells them by OBEY.
 *
 * All else is nsd: the linker puts the functions below in front of nsd's
 * (Makefile.am).
 */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/exchange.h"
#include "main/start.h"
#include "process/role.h"
#include "query/query.h"

#define HEADER 12

size_t __real_query_answer_batch(struct query_ctx *ctx,
	const struct store_view *view, struct exchange *exchanges,
	size_t count);
size_t __wrap_query_answer_batch(struct query_ctx *ctx,
	const struct store_view *view, struct exchange *exchanges,
	size_t count);

void __real_role_on_obey(struct role *role, const struct ipc_message *m);
void __wrap_role_on_obey(struct role *role, const struct ipc_message *m);

static bool is_deaf;

static bool
asks_for(const struct exchange *x, const char *label)
{
	size_t len = strlen(label);

	return x->request_len > HEADER + 1 + len
		&& x->request[HEADER] == len
		&& strncasecmp((const char *)x->request + HEADER + 1, label,
			len) == 0;
}

static void
die_if_told(const struct exchange *x)
{
	/* Not NULL, which a sanitizer looks for. */
	const volatile uint8_t *volatile nowhere = (const uint8_t *)16;

	if (asks_for(x, "die-segv"))
		(void)*nowhere;
	if (asks_for(x, "die-abrt"))
		abort();
	if (asks_for(x, "deaf"))
		is_deaf = true;
	if (asks_for(x, "die-sys")) {
		(void)syscall(SYS_execve, NULL, NULL, NULL);
		raise(SIGSYS); /* in case no sandbox ended it */
	}
}

size_t
__wrap_query_answer_batch(struct query_ctx *ctx,
	const struct store_view *view, struct exchange *exchanges,
	size_t count)
{
	for (size_t i = 0; i < count; i++)
		die_if_told(&exchanges[i]);
	return __real_query_answer_batch(ctx, view, exchanges, count);
}

void
__wrap_role_on_obey(struct role *role, const struct ipc_message *m)
{
	if (!is_deaf)
		__real_role_on_obey(role, m);
}

int
main(int argc, char **argv)
{
	return start_server(argc, argv, NULL);
}
