/* vet_threads.c - shares the work out to threads, each with memory of its
 * own. */
#include <assert.h>
#include <stdlib.h>

#include "base/threads.h"
#include "store/writer.h"
#include "vet/vet_part.h"

struct vet_scratch *
vet_scratch_create(void)
{
	struct vet_scratch *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->parts = malloc((VET_ZONE_PARTS + 1) * sizeof(*s->parts));
	if (s->parts != NULL)
		return s;
	free(s);
	return NULL;
}

void
vet_scratch_destroy(struct vet_scratch *s)
{
	if (s != NULL)
		free(s->parts);
	free(s);
}

/* One piece of work for all threads; each takes the next item of it. */
struct vet_work {
	struct vet *vet;
	size_t next;
	size_t count;
	void (*run)(void *ctx, size_t i, struct vet_scratch *scratch);
	void *ctx;
};

static void
work_run(struct vet_work *work, struct vet_scratch *scratch)
{
	for (;;) {
		size_t i = __atomic_fetch_add(&work->next, 1,
			__ATOMIC_RELAXED);

		if (i >= work->count)
			return;
		store_writer_beat(work->vet->writer);
		work->run(work->ctx, i, scratch);
	}
}

static void
work_thread(void *arg, unsigned number)
{
	struct vet_work *work = arg;
	struct vet_scratch *scratch;

	if (number == 0) {
		work_run(work, work->vet->scratch);
		return;
	}
	scratch = vet_scratch_create();
	/* Without memory, the other threads do it all. */
	if (scratch != NULL)
		work_run(work, scratch);
	vet_scratch_destroy(scratch);
}

void
vet_run(struct vet *vet, size_t count,
	void (*run)(void *ctx, size_t i, struct vet_scratch *scratch),
	void *ctx)
{
	struct vet_work work = {vet, 0, count, run, ctx};
	unsigned threads = vet->threads < THREADS_RUN_MAX ? vet->threads
							  : THREADS_RUN_MAX;

	assert(vet->scratch != NULL);
	if (threads > count)
		threads = (unsigned)count;
	threads_run(threads > 0 ? threads : 1, work_thread, &work);
}
