/* load_retire.c - retires versions of zones that are no longer served. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "dns/name.h"
#include "loader/load_loop.h"
#include "loader/load_retire.h"
#include "loader/load_turn.h"
#include "store/writer.h"
#include "zone/zone.h"
#include "zonedb/retire.h"

/* A version with fewer records is retired at once. */
#define RECORDS_MIN 500u
/* Objects that are retired between two looks at the clock. */
#define STEP_OBJECTS 200u
/* Between two looks of a thread that waits. */
#define WAIT_USEC 2000u

/* A version that is being retired. */
struct load_retiring {
	struct load_retiring *next;
	struct retiring *work;
	uint32_t *mark; /* of its zone, and of few others */
};

static const uint32_t *
retire_find_mark(const struct load_retire *retire, const uint8_t *apex)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < name_len(apex); i++)
		hash = (hash ^ apex[i]) * 16777619u;
	return &retire->marks[(hash ^ hash >> 16) % LOAD_RETIRE_MARKS];
}

static struct load_retiring *
retiring_create(struct load_retire *retire, const uint8_t *apex, store_ref ref)
{
	struct load_retiring *one = malloc(sizeof(*one));

	if (one == NULL)
		return NULL;
	*one = (struct load_retiring){
		.work = retire_begin(ref),
		.mark = (uint32_t *)(uintptr_t)retire_find_mark(retire, apex),
	};
	if (one->work != NULL)
		return one;
	free(one);
	return NULL;
}

void
load_retire_add(struct load_retire *retire, struct store_writer *writer,
	const uint8_t *apex, store_ref ref)
{
	struct load_retiring *one = NULL;
	const struct zone *zone;

	if (ref == STORE_NONE)
		return;
	zone = store_get(store_writer_view(writer), ref);
	if (zone->rr_count >= RECORDS_MIN)
		one = retiring_create(retire, apex, ref);
	if (one == NULL) {
		retire_zone(writer, ref);
		return;
	}
	__atomic_fetch_add(one->mark, 1, __ATOMIC_RELAXED);
	if (retire->first == NULL)
		retire->first = one;
	else
		retire->last->next = one;
	retire->last = one;
	if (retire->on_work != NULL)
		retire->on_work(retire->ctx);
}

bool
load_retire_has(const struct load_retire *retire, const uint8_t *apex)
{
	return __atomic_load_n(retire_find_mark(retire, apex),
		       __ATOMIC_ACQUIRE) != 0;
}

bool
load_retire_step(struct load_retire *retire, struct store_writer *writer)
{
	struct load_turn turn = load_turn_begin();
	struct load_retiring *one;

	if (retire->first == NULL)
		return false;
	/* Reclaim first, so that the turn is equally long whatever there is to
	 * free. */
	(void)store_reclaim(writer);
	do {
		one = retire->first;
		if (retire_step(writer, one->work, STEP_OBJECTS))
			continue;
		retire->first = one->next;
		assert(__atomic_load_n(one->mark, __ATOMIC_RELAXED) > 0);
		__atomic_fetch_sub(one->mark, 1, __ATOMIC_RELEASE);
		free(one);
	} while (retire->first != NULL && !load_turn_is_over(&turn));
	return retire->first != NULL;
}

void
load_retire_await(const struct load_context *context, const uint8_t *apex)
{
	while (load_retire_has(context->retire, apex)) {
		if (load_loop_is_own(context->loop))
			(void)load_retire_step(context->retire,
				context->writer);
		else
			usleep(WAIT_USEC);
	}
}
