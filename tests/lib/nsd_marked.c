/*
 * nsd_marked.c - nsd whose workers and xfrd die of a message that has a mark in
 * it, once they have it in hand:
 *
 *   marked-segv   by SIGSEGV
 *   marked-abort  by SIGABRT
 *   marked-hang   never, but they do nothing else any more
 *
 * The linker puts the functions below in front of two of nsd's (Makefile.am).
 */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/exchange.h"
#include "main/start.h"
#include "process/child_page.h"
#include "query/query.h"

size_t __real_query_answer_batch(struct query_ctx *ctx,
	const struct store_view *view, struct exchange *exchanges,
	size_t count);
size_t __wrap_query_answer_batch(struct query_ctx *ctx,
	const struct store_view *view, struct exchange *exchanges,
	size_t count);
void __real_child_page_take(struct child_page *page, enum child_page_kind kind,
	const struct sockaddr_storage *peer, const void *octets, size_t len);
void __wrap_child_page_take(struct child_page *page, enum child_page_kind kind,
	const struct sockaddr_storage *peer, const void *octets, size_t len);

static bool
has(const void *octets, size_t len, const char *mark)
{
	return memmem(octets, len, mark, strlen(mark)) != NULL;
}

static void
obey(const void *octets, size_t len)
{
	static volatile int turns;

	if (has(octets, len, "marked-segv"))
		raise(SIGSEGV);
	if (has(octets, len, "marked-abort"))
		abort();
	while (has(octets, len, "marked-hang"))
		turns++;
}

size_t
__wrap_query_answer_batch(struct query_ctx *ctx, const struct store_view *view,
	struct exchange *exchanges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		obey(exchanges[i].request, exchanges[i].request_len);
	return __real_query_answer_batch(ctx, view, exchanges, count);
}

void
__wrap_child_page_take(struct child_page *page, enum child_page_kind kind,
	const struct sockaddr_storage *peer, const void *octets, size_t len)
{
	__real_child_page_take(page, kind, peer, octets, len);
	obey(octets, len);
}

int
main(int argc, char **argv)
{
	return start_server(argc, argv, NULL);
}
