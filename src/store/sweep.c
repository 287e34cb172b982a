/* sweep.c - finds and retires what a writer that died has left behind. */
#include "config.h"

#include <stdlib.h>

#include "base/assert.h"
#include "store/heap.h"
#include "store/sweep.h"

enum nsd_err
store_sweep_begin(struct store_writer *writer, struct store_sweep **sweep)
{
	uint32_t spans = writer->header->span_count;
	struct store_sweep *s = calloc(1,
		sizeof(*s) + (size_t)spans * SPAN_BITMAP);

	assert(heap_is_alone(writer));
	if (s == NULL)
		return NSD_E_MEMORY;
	/* The rest of a heap's hole counts as used; give it back. */
	heap_flush(&writer->heap);
	s->writer = writer;
	s->first = span_first_granule(writer, 0);
	s->count = spans * SPAN_GRANULES;
	*sweep = s;
	return NSD_OK;
}

bool
store_sweep_check(struct store_sweep *sweep, store_ref ref, size_t len)
{
	size_t room = (size_t)sweep->count * STORE_GRANULE;
	size_t at = (size_t)(ref - sweep->first) * STORE_GRANULE;

	if (ref >= sweep->first && at < room && len <= room - at
		&& heap_has(sweep->writer, ref))
		return true;
	sweep->damaged = true;
	return false;
}

bool
store_sweep_mark(struct store_sweep *sweep, store_ref ref, size_t len)
{
	const uint64_t *used = span_bitmap(sweep->writer, 0);
	uint32_t count = store_granules(len);
	uint32_t at = ref - sweep->first;

	if (ref < sweep->first || at >= sweep->count
		|| count > sweep->count - at) {
		sweep->damaged = true;
		return false;
	}
	if ((sweep->marks[at / 64] >> (at % 64) & 1) != 0)
		return false;
	writer_heartbeat(sweep->writer);
	for (uint32_t i = at; i < at + count; i++) {
		uint64_t bit = UINT64_C(1) << (i % 64);

		if ((used[i / 64] & bit) == 0
			|| (sweep->marks[i / 64] & bit) != 0)
			sweep->damaged = true;
		sweep->marks[i / 64] |= bit;
	}
	return true;
}

/* Retires the granules of a span that are used and not marked, run by run. */
static uint64_t
sweep_span(struct store_sweep *sweep, uint32_t span)
{
	struct store_writer *w = sweep->writer;
	const uint64_t *used = span_bitmap(w, span);
	const uint64_t *marks = &sweep->marks[(size_t)span * SPAN_WORDS];
	uint32_t run = 0;
	uint64_t octets = 0;

	for (uint32_t i = 0; i <= SPAN_GRANULES; i++) {
		bool lost = i < SPAN_GRANULES
			&& ((used[i / 64] & ~marks[i / 64]) >> (i % 64) & 1)
				!= 0;

		if (lost) {
			run++;
		} else if (run > 0) {
			size_t len = (size_t)run * STORE_GRANULE;

			/* Not freed: readers may still look at what the
			 * dead writer had retired. */
			store_retire(w, span_first_granule(w, span) + i - run,
				len);
			octets += len;
			run = 0;
		}
	}
	return octets;
}

enum nsd_err
store_sweep_end(struct store_sweep *sweep, uint64_t *octets)
{
	enum nsd_err err = NSD_OK;
	uint64_t sum = 0;

	/* The writer allocates nothing between begin and end. */
	assert(sweep->count
		== sweep->writer->header->span_count * SPAN_GRANULES);
	if (sweep->damaged) {
		err = NSD_E_BUG;
	} else {
		for (uint32_t i = 0; i < sweep->count / SPAN_GRANULES; i++)
			sum += sweep_span(sweep, i);
		*octets = sum;
	}
	free(sweep);
	return err;
}
