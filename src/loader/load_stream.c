/* load_stream.c - builds a zone while its file is read. */
#include "config.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/platform.h"
#include "compile/stream.h"
#include "loader/load_stream.h"
#include "zonefile/order.h"

/* About how many octets of a file, and of a transfer, make a record. A build
 * has as many threads as its records are worth. */
#define RECORD_OCTETS 80u
#define TEXT_RECORD_OCTETS 50u

/* Octets of the file in all pieces that threads parse or have parsed. */
#define PIECES_MAX ((size_t)2 << 20)
#define PIECE_MIN ((size_t)128 << 10)
#define PIECE_MAX ((size_t)1 << 20)

struct load_streaming {
	struct load_age *age;
	struct rrbatch_pool *pool;
	struct zone_stream *stream; /* NULL: the stream has ended */
	enum nsd_err built;         /* outcome of the stream */
};

/* If the stream gives up, the file is still read to its end, so that its
 * findings are told once. */
static enum nsd_err
load_stream_on_batch(void *ctx, struct rrbatch *batch)
{
	struct load_streaming *s = ctx;
	enum nsd_err err = load_reading_check_age(s->age, batch);

	if (err != NSD_OK || s->stream == NULL) {
		rrbatch_destroy(batch);
		return err;
	}
	err = stream_take(s->stream, batch);
	if (err != NSD_E_LIMIT && err != NSD_E_AGAIN)
		return err;
	stream_abandon(s->stream);
	s->stream = NULL;
	s->built = err;
	return NSD_OK;
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
	err = load_reading_parse_anew(r, &options);
	/* Frees the memory of the parser, which would else be kept while the
	 * rest of the zone is made. */
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

	if (names == NULL)
		return NSD_E_MEMORY;
	s->stream = NULL;
	s->built = stream_finish(stream, names, files->source_count, r->sink,
		&r->result->built);
	free(names);
	return NSD_OK;
}

/* About how many records there are. */
static uint64_t
load_stream_expect(const struct load_reading *r)
{
	struct stat st;

	if (r->text != NULL)
		return r->text->len / TEXT_RECORD_OCTETS;
	return stat(r->path, &st) == 0 ? (uint64_t)st.st_size / RECORD_OCTETS
				       : 0;
}

/* Reads the file once. *built: the outcome of the stream (stream_finish), if
 * the file could be read. */
static enum nsd_err
load_stream_build(const struct load_reading *r, bool sort, enum nsd_err *built)
{
	const struct zone_stream_options options = {
		.rr_expected = load_stream_expect(r),
		.sort = sort,
	};
	struct load_streaming s = {.age = r->age};
	struct zone_build_input input;
	struct zonefile_result none = {0};
	const char *name;
	enum nsd_err err;

	s.pool = rrbatch_pool_create();
	if (s.pool == NULL)
		return NSD_E_MEMORY;
	load_zone_fill_input(r->context, r->zone, &none, &name, &input);
	err = stream_begin(&input, &options, r->context->writer, r->heap,
		&s.stream);
	if (err == NSD_OK)
		err = load_stream_parse(r, &s);
	if (err == NSD_OK && s.stream != NULL)
		err = load_stream_finish(r, &s);
	stream_abandon(s.stream);
	rrbatch_pool_destroy(s.pool);
	*built = s.built;
	return err;
}

enum nsd_err
load_stream_read(const struct load_reading *r)
{
	/* Primaries mostly send names in order. */
	bool sort = r->text == NULL && !order_is_likely(r->path);
	enum nsd_err built = NSD_OK, err;

	err = load_stream_build(r, sort, &built);
	if (err == NSD_OK && built == NSD_E_AGAIN)
		err = load_stream_build(r, true, &built);
	if (err == NSD_OK)
		err = built;
	if (err == NSD_OK)
		r->result->outcome = LOAD_BUILT;
	return err;
}
