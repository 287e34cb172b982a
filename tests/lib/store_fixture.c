/* store_fixture.c - a store in memory and its writer. */
#include <stdlib.h>

#include "lib/store_fixture.h"
#include "store/writer.h"

void
store_fixture_init(struct store_fixture *f, unsigned reader_max)
{
	const struct store_options options = {.reservation = 1u << 30,
		.reader_max = reader_max, .poison = true};

	if (store_create(&options, &f->store) != NSD_OK
		|| store_writer_open(f->store, &f->writer) != NSD_OK)
		abort();
	f->heap = store_writer_heap(f->writer);
	f->view = store_writer_view(f->writer);
}

void
store_fixture_fini(struct store_fixture *f)
{
	store_writer_close(f->writer);
	store_destroy(f->store);
}

uint64_t
store_fixture_live(const struct store_writer *writer)
{
	struct store_stats stats;

	store_get_stats(writer, &stats);
	return stats.live;
}

uint64_t
store_fixture_reclaimed(struct store_writer *writer)
{
	while (store_reclaim(writer) > 0)
		;
	return store_fixture_live(writer);
}
