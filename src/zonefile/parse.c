/*
 * parse.c - the layer's entry: options, the list of files, and $INCLUDE.
 */
#include "zonefile/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "zonefile/kernel.h"

#define SOURCES_MAX 4096u
#define TTL_FALLBACK 3600u
/* Octets that may come of files that were read before, each of them for one
 * of a least size: a few small files that include each other many times would
 * be read for ever. */
#define REPEATED_MAX (UINT64_C(1) << 30)
#define REPEATED_LEAST 16384u
/* Octets of text for each record that $GENERATE may make. */
#define GENERATE_LINE 256u

const struct parse_tuning parse_tuning_default = {
	.chunk_size = 1 << 20,
	.head_size = 64 << 10,
	.parallel_size = 1 << 20,
	.generate_max = 1 << 24, /* an IPv4 /8 */
	.kernel = NULL,
};

/* ---- the list of files ------------------------------------------------ */

static bool
same_source(const struct zonefile_source *s, const char *path,
	const struct stat *st)
{
	return strcmp(s->path, path) == 0
		&& s->inode == (uint64_t)st->st_ino
		&& s->size == (uint64_t)st->st_size
		&& s->mtime.tv_sec == st->st_mtim.tv_sec
		&& s->mtime.tv_nsec == st->st_mtim.tv_nsec
		&& s->ctime.tv_sec == st->st_ctim.tv_sec
		&& s->ctime.tv_nsec == st->st_ctim.tv_nsec
		&& s->device == (uint64_t)st->st_dev;
}

/*
 * The place of a file in the list, which lasts as long as the result. st is
 * all zeros for a file that is not there, so that its coming is a change.
 * NSD_E_LIMIT: too many files.
 */
static enum nsd_err
add_source(struct parse *p, const char *path, const struct stat *st,
	size_t *index)
{
	struct zonefile_result *result = p->result;
	struct zonefile_source *s;
	size_t i, n = result->source_count;

	for (i = 0; i < n; i++) {
		if (same_source(&result->sources[i], path, st)) {
			*index = i;
			return NSD_OK;
		}
	}
	if (n == SOURCES_MAX)
		return NSD_E_LIMIT;
	if ((n & (n - 1)) == 0) {
		s = realloc(result->sources, (n == 0 ? 1 : 2 * n)
			* sizeof(*s));
		if (s == NULL)
			return NSD_E_MEMORY;
		result->sources = s;
	}
	s = &result->sources[n];
	s->path = strdup(path);
	if (s->path == NULL)
		return NSD_E_MEMORY;
	s->mtime = st->st_mtim;
	s->ctime = st->st_ctim;
	s->size = (uint64_t)st->st_size;
	s->inode = (uint64_t)st->st_ino;
	s->device = (uint64_t)st->st_dev;
	result->source_count++;
	*index = n;
	return NSD_OK;
}

/* ---- one file --------------------------------------------------------- */

static void
file_init(struct parse_file *f, struct parse *p)
{
	memset(f, 0, sizeof(*f));
	f->parse = p;
	f->next_line = 1;
	f->in.fd = -1;
	reader_init(&f->reader);
	if (p->tuning->kernel != NULL)
		f->reader.kernel = p->tuning->kernel;
	f->reader.is_secondary = p->options->secondary;
	f->reader.generate_max = p->tuning->generate_max;
	f->reader.generate_left = p->tuning->generate_max;
	f->reader.generate_octets = (uint64_t)p->tuning->generate_max
		* GENERATE_LINE;
	f->reader.wants_owner = p->options->wants_owner;
	f->reader.wants_ctx = p->options->wants_ctx;
	f->reader.ttl_fallback = p->options->default_ttl_sec != 0
		? p->options->default_ttl_sec : TTL_FALLBACK;
}

static void
file_fini(struct parse_file *f)
{
	input_close(&f->in);
	reader_fini(&f->reader);
	free(f->carry);
	free(f->tail);
}

/* Reads the opened input from its start to its end. */
static enum reader_stop
file_run(struct parse_file *f)
{
	unsigned threads = f->parse->options->threads;
	enum reader_stop stop;
	enum nsd_err err;

	f->reader.file_name = f->name;
	f->reader.file = f->index;
	if (threads > 1 && f->in.size >= f->parse->tuning->parallel_size)
		stop = parse_pieces_parallel(f, threads);
	else
		stop = parse_pieces(f);
	if (stop == READER_FAILED)
		return stop;
	err = input_check_unchanged(&f->in);
	return err == NSD_OK ? stop : parse_fail(f->parse, err);
}

/* ---- $INCLUDE --------------------------------------------------------- */

/* The path of an included file: relative to the one that names it. Free it. */
static char *
include_path(const char *includer, const char *path)
{
	const char *slash = strrchr(includer, '/');
	size_t dir_len = slash != NULL && path[0] != '/'
		? (size_t)(slash - includer) + 1 : 0;
	size_t len = strlen(path) + 1;
	char *out = malloc(dir_len + len);

	if (out == NULL)
		return NULL;
	memcpy(out, includer, dir_len);
	memcpy(out + dir_len, path, len);
	return out;
}

static bool
is_open_already(const struct parse_file *f, const struct stat *st)
{
	for (; f != NULL; f = f->parent) {
		if (f->in.path != NULL && f->in.before.st_ino == st->st_ino
				&& f->in.before.st_dev == st->st_dev)
			return true;
	}
	return false;
}

static enum reader_stop
include_open_failed(struct parse_file *f, struct reader *r, const char *path,
	enum nsd_err err)
{
	const struct stat absent = { 0 };
	int saved = errno;
	size_t index;

	if (err != NSD_E_SYSTEM)
		return parse_fail(f->parse, err);
	err = add_source(f->parse, path, &absent, &index);
	if (err == NSD_E_MEMORY)
		return parse_fail(f->parse, err);
	reader_error(r, r->tokens[1].text, "Cannot open include file %s: %s",
		path, fs_open_error_text(saved));
	return READER_END;
}

/* RFC 1035 section 5.1: an included file is as if it stood there; only the
 * origin comes back behind it, and with it the owner. */
static void
take_ttls(struct reader *r, const struct reader_state *from)
{
	struct reader_state *to = &r->state;

	to->has_ttl_default = from->has_ttl_default;
	to->ttl_default = from->ttl_default;
	to->has_ttl_last = from->has_ttl_last;
	to->ttl_last = from->ttl_last;
	to->has_ttl_minimum = from->has_ttl_minimum;
	to->ttl_minimum = from->ttl_minimum;
	r->set |= PART_TTL_DEFAULT | PART_TTL_LAST | PART_TTL_MINIMUM;
}

/* The place of an included file in the list. NSD_E_LIMIT: too many, or the
 * same ones too often. */
static enum nsd_err
add_included(struct parse *p, const char *path, const struct stat *st,
	size_t *index)
{
	size_t known = p->result->source_count;
	enum nsd_err err = add_source(p, path, st, index);

	if (err != NSD_OK || p->result->source_count > known)
		return err;
	p->repeated += (uint64_t)st->st_size + REPEATED_LEAST;
	return p->repeated > REPEATED_MAX ? NSD_E_LIMIT : NSD_OK;
}

/* Parses the file at path as child of f, with the state of r. */
static enum reader_stop
include_file(struct parse_file *f, struct reader *r,
	const struct reader_include *include, const char *path)
{
	struct parse_file child;
	enum reader_stop stop = READER_END;
	enum nsd_err err;
	size_t index;

	file_init(&child, f->parse);
	err = input_open(&child.in, path, true);
	if (err != NSD_OK) {
		stop = include_open_failed(f, r, path, err);
		goto out;
	}
	if (is_open_already(f, &child.in.before)) {
		reader_error(r, r->tokens[1].text,
			"$INCLUDE loop: file %s includes itself", path);
		goto out;
	}
	err = add_included(f->parse, path, &child.in.before, &index);
	if (err == NSD_E_LIMIT) {
		reader_error(r, r->tokens[1].text,
			"too many files in one zone");
		/* What comes behind is no better, but takes its time. */
		stop = READER_ERRORS;
		r->errors_left = 0;
		goto out;
	}
	if (err != NSD_OK) {
		stop = parse_fail(f->parse, err);
		goto out;
	}
	child.parent = f;
	child.depth = f->depth + 1;
	child.index = (uint16_t)index;
	child.name = f->parse->result->sources[index].path;
	child.state = r->state;
	if (include->origin != NULL) {
		memcpy(child.state.origin, include->origin,
			include->origin_len);
		child.state.origin_len = include->origin_len;
	}
	child.reader.generate_left = r->generate_left;
	child.reader.generate_octets = r->generate_octets;
	f->parse->errors_left = r->errors_left;
	stop = file_run(&child);
	r->errors_left = f->parse->errors_left;
	r->generate_left = child.reader.generate_left;
	r->generate_octets = child.reader.generate_octets;
	take_ttls(r, &child.state);
	/* An open quote in the included file ends with that file. */
	if (stop == READER_FATAL)
		stop = READER_END;
out:
	file_fini(&child);
	return stop;
}

enum reader_stop
parse_include(void *ctx, struct reader *r, const struct reader_include *include)
{
	struct parse_file *f = ctx;
	enum reader_stop stop;
	char *path;

	if (f->in.path == NULL) {
		reader_error(r, r->tokens[0].text,
			"$INCLUDE is not allowed here");
		return READER_END;
	}
	if (f->depth >= f->parse->depth_max) {
		reader_error(r, r->tokens[0].text,
			"$INCLUDE nested deeper than %u files",
			f->parse->depth_max);
		return READER_END;
	}
	path = include_path(f->in.path, include->path);
	if (path == NULL)
		return parse_fail(f->parse, NSD_E_MEMORY);
	stop = include_file(f, r, include, path);
	free(path);
	return stop;
}

/* ---- the entry -------------------------------------------------------- */

static void
parse_init(struct parse *p, const struct zonefile_options *options,
	const struct parse_tuning *tuning, struct diag_sink *sink,
	struct zonefile_result *result)
{
	memset(p, 0, sizeof(*p));
	memset(result, 0, sizeof(*result));
	p->options = options;
	p->tuning = tuning;
	p->piece_size = options->piece_size != 0 ? options->piece_size
						 : tuning->chunk_size;
	p->sink = sink;
	p->result = result;
	p->batch_end = &result->batches;
	p->errors_left = options->errors_max != 0 ? options->errors_max : 50;
	p->depth_max = options->include_depth_max != 0
		? options->include_depth_max : 10;
}

static enum nsd_err
parse_finish(struct parse *p, const char *name, uint32_t errors_max,
	enum reader_stop stop)
{
	if (stop == READER_FAILED) {
		if (p->err == NSD_E_SYSTEM)
			diag_emit(p->sink, DIAG_ERROR, NULL, 0, 0,
				"cannot read '%s': %s", name,
				strerror(p->system_errno));
		else if (p->err == NSD_E_MEMORY)
			diag_emit(p->sink, DIAG_ERROR, name, 0, 0,
				"out of memory");
		errno = p->system_errno;
		return p->err;
	}
	return p->errors_left < errors_max ? NSD_E_SYNTAX : NSD_OK;
}

static enum nsd_err
run_main_file(struct parse *p, struct parse_file *f, const char *name)
{
	uint32_t errors_max = p->errors_left;
	enum reader_stop stop;
	enum nsd_err err;
	size_t index;

	err = add_source(p, name, &f->in.before, &index);
	if (err != NSD_OK) {
		stop = parse_fail(p, err);
	} else {
		f->name = p->result->sources[index].path;
		f->index = (uint16_t)index;
		f->state.origin_len = (uint8_t)name_len(p->options->apex);
		memcpy(f->state.origin, p->options->apex, f->state.origin_len);
		stop = file_run(f);
	}
	return parse_finish(p, name, errors_max, stop);
}

enum nsd_err
parse_path(const char *path, const struct zonefile_options *options,
	const struct parse_tuning *tuning, struct diag_sink *sink,
	struct zonefile_result *result)
{
	const struct stat absent = { 0 };
	struct parse_file f;
	struct parse p;
	enum nsd_err err;
	size_t index;

	parse_init(&p, options, tuning, sink, result);
	file_init(&f, &p);
	err = input_open(&f.in, path, options->only_files);
	if (err == NSD_OK) {
		err = run_main_file(&p, &f, path);
	} else {
		int saved = errno;

		diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
			"cannot open '%s': %s", path, err == NSD_E_MEMORY
			? "out of memory" : fs_open_error_text(saved));
		if (add_source(&p, path, &absent, &index) != NSD_OK)
			err = NSD_E_MEMORY;
		errno = saved;
	}
	file_fini(&f);
	return err;
}

enum nsd_err
parse_text(const char *name, const char *text, size_t len,
	const struct zonefile_options *options,
	const struct parse_tuning *tuning, struct diag_sink *sink,
	struct zonefile_result *result)
{
	struct parse_file f;
	struct parse p;
	enum nsd_err err;

	parse_init(&p, options, tuning, sink, result);
	file_init(&f, &p);
	input_open_text(&f.in, text, len);
	err = run_main_file(&p, &f, name);
	file_fini(&f);
	return err;
}

enum nsd_err
zonefile_parse(const char *path, const struct zonefile_options *options,
	struct diag_sink *sink, struct zonefile_result *result)
{
	return parse_path(path, options, &parse_tuning_default, sink, result);
}

enum nsd_err
zonefile_parse_text(const char *name, const char *text, size_t len,
	const struct zonefile_options *options, struct diag_sink *sink,
	struct zonefile_result *result)
{
	return parse_text(name, text, len, options, &parse_tuning_default,
		sink, result);
}

void
zonefile_result_fini(struct zonefile_result *result)
{
	size_t i;

	rrbatch_destroy_all(result->batches);
	for (i = 0; i < result->source_count; i++)
		free(result->sources[i].path);
	free(result->sources);
	memset(result, 0, sizeof(*result));
}
