/*
 * nsd_holding.c - nsd_update whose workers keep old versions of zones in the
 * store, as somebody would have them do who has taken them over. They answer
 * and take messages as ever. A query for a name whose first label is
 *
 *   keep-seen   has them never say again that they are past what they see now
 *   keep-pin    has them write a pin into their slot, of all that there is from
 *               now on
 *
 * With HOLDING_OCTETS and HOLDING_MSEC in the environment a reader may keep so
 * much, for so long, however much is served.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#include "base/exchange.h"
#include "process/holder_bounds.h"
#include "query/query.h"
#include "store/layout.h"

#define HEADER 12

size_t __real_query_answer_batch(struct query_ctx *ctx,
	const struct store_view *view, struct exchange *exchanges,
	size_t count);
size_t __wrap_query_answer_batch(struct query_ctx *ctx,
	const struct store_view *view, struct exchange *exchanges,
	size_t count);
void __real_store_reader_online(struct store_reader *reader);
void __wrap_store_reader_online(struct store_reader *reader);
void __real_store_reader_offline(struct store_reader *reader);
void __wrap_store_reader_offline(struct store_reader *reader);
void *__real_mmap(void *address, size_t len, int protection, int flags, int fd,
	off_t offset);
void *__wrap_mmap(void *address, size_t len, int protection, int flags, int fd,
	off_t offset);
void __real_holder_get_bounds(uint64_t served, struct holder_bounds *bounds);
void __wrap_holder_get_bounds(uint64_t served, struct holder_bounds *bounds);

static bool stays_online;
static struct store_slot *slot; /* of this process */

static bool
asks_for(const struct exchange *x, const char *label)
{
	size_t len = strlen(label);

	return x->request_len > HEADER + 1 + len
		&& x->request[HEADER] == len
		&& strncasecmp((const char *)x->request + HEADER + 1, label,
			len) == 0;
}

/* A page of a file that is shared and written is the slot. */
void *
__wrap_mmap(void *address, size_t len, int protection, int flags, int fd,
	off_t offset)
{
	void *mapped = __real_mmap(address, len, protection, flags, fd, offset);

	if (mapped != MAP_FAILED && len == STORE_PAGE && fd != -1
		&& flags == MAP_SHARED
		&& protection == (PROT_READ | PROT_WRITE))
		slot = mapped;
	return mapped;
}

/* In the last place: the worker's own pins come before it. */
static void
keep_pin(void)
{
	slot->pins[SLOT_PINS - 2] = (struct store_slot_pin){
		.low = slot->seen,
		.high = UINT64_MAX,
	};
	slot->pin_max = SLOT_PINS - 1;
}

size_t
__wrap_query_answer_batch(struct query_ctx *ctx,
	const struct store_view *view, struct exchange *exchanges,
	size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (asks_for(&exchanges[i], "keep-seen"))
			stays_online = true;
		if (asks_for(&exchanges[i], "keep-pin"))
			keep_pin();
	}
	return __real_query_answer_batch(ctx, view, exchanges, count);
}

void
__wrap_store_reader_online(struct store_reader *reader)
{
	if (!stays_online)
		__real_store_reader_online(reader);
}

void
__wrap_store_reader_offline(struct store_reader *reader)
{
	if (!stays_online)
		__real_store_reader_offline(reader);
}

void
__wrap_holder_get_bounds(uint64_t served, struct holder_bounds *bounds)
{
	const char *octets = getenv("HOLDING_OCTETS");
	const char *msec = getenv("HOLDING_MSEC");

	__real_holder_get_bounds(served, bounds);
	if (octets != NULL)
		bounds->octets = strtoull(octets, NULL, 10);
	if (msec != NULL)
		bounds->age_msec = strtoll(msec, NULL, 10);
}
