/* load_stream.c - builds a zone while its file is read. */
#include "config.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/platform.h"
#include "build/stream.h"
#include "load/load_stream.h"
#include "zonefile/order.h"

/* About how many octets of a file, and of a transfer, make a record. A build
 * has as many threads as its records are worth. */
#define RECORD_OCTETS 80u
#define TEXT_RECORD_OCTETS 50u

/* Octets of the file in all pieces that threads parse or have parsed. */
#define PIECES_MAX ((size_t)8 << 20)
#define PIECE_MIN ((size_t)256 << 10)
#define PIECE_MAX ((size_t)1 << 20)

struct load_streaming {
	struct rrbatch_pool *pool;
	struct zone_stream *stream; /* NULL: given up */
	bool is_file;
};

/* If the stream gives up, a file is still read to its end: what is wrong with
 * it is told once. */
static enum nsd_err
load_stream_on_batch(void *ctx, struct rrbatch *batch)
{
	struct load_streaming *s = ctx;
	enum nsd_err err;

	if (s->stream == NULL) {
		rrbatch_destroy(batch);
		return NSD_OK;
	}
	err = stream_take(s->stream, batch);
	if (err == NSD_OK)
		return NSD_OK;
	stream_abandon(s->stream);
	s->stream = NULL;
	return err == NSD_E_LIMIT && s->is_file ? NSD_OK : err;
}

/* Large pieces cost less, but each thread has two. */
static size_t
load_stream_piece_size(unsigned threads)
{
	size_t size = PIECES_MAX / (2 * (size_t)threads + 1);

	if (size > PIECE_MAX)
		return PIECE_MAX;
	return size > PIECE_MIN ? size : PIECE_MIN;
}

static enum nsd_err
load_stream_parse(const struct load_reading *r, struct load_streaming *s)
{
	struct zonefile_options options = r->options;
	enum nsd_err err;

	options.take_batch = load_stream_on_batch;
	options.batch_ctx = s;
	options.pool = s->pool;
	options.piece_size = load_stream_piece_size(options.threads);
	err = load_reading_parse(r, &options, r->sink, &r->result->files);
	/* Else these would keep what the parser has freed, while the rest of
	 * the zone is made. */
	rrbatch_pool_trim(s->pool);
	platform_heap_trim();
	return err;
}

static enum nsd_err
load_stream_finish(const struct load_reading *r, struct load_streaming *s)
{
	const struct zonefile_result *files = &r->result->files;
	const char **names = zonefile_list_names(files);
	struct zone_stream *stream = s->stream;
	enum nsd_err err;

	if (names == NULL)
		return NSD_E_MEMORY;
	s->stream = NULL;
	err = stream_finish(stream, names, files->source_count, r->sink,
		&r->result->built);
	free(names);
	return err;
}

/* False: the file is in no order, or not there. Primaries mostly send names in
 * order; if not, that is seen early, and the build is given up. */
static bool
load_stream_expect(const struct load_reading *r, uint64_t *records)
{
	struct stat st;

	if (r->text != NULL) {
		*records = r->text->len / TEXT_RECORD_OCTETS;
		return true;
	}
	if (stat(r->path, &st) == -1 || !order_is_likely(r->path))
		return false;
	*records = (uint64_t)st.st_size / RECORD_OCTETS;
	return true;
}

enum nsd_err
load_stream_read(const struct load_reading *r, enum load_end *end)
{
	struct load_streaming s = {.is_file = r->text == NULL};
	struct zone_build_input input;
	struct zonefile_result none = {0};
	const char *name;
	uint64_t records;
	enum nsd_err err;

	*end = LOAD_END_NOT_STREAMED;
	if (!load_stream_expect(r, &records))
		return NSD_OK;
	s.pool = rrbatch_pool_create();
	if (s.pool == NULL)
		return NSD_E_MEMORY;
	load_zone_fill_input(r->context, r->zone, &none, &name, &input);
	err = stream_begin(&input, records, 0, r->context->writer, r->heap,
		&s.stream);
	if (err == NSD_OK)
		err = load_stream_parse(r, &s);
	if (err == NSD_OK && s.stream != NULL) {
		err = load_stream_finish(r, &s);
		if (err == NSD_OK) {
			*end = LOAD_END_DONE;
			r->result->outcome = LOAD_BUILT;
		}
	}
	stream_abandon(s.stream);
	rrbatch_pool_destroy(s.pool);
	return err == NSD_E_LIMIT ? NSD_OK : err;
}
