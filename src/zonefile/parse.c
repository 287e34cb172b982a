/*
 * parse.c - reads a zone file to its end, with the files that it includes.
 */
#include "zonefile/parse.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "zonefile/kernel.h"

#define TTL_FALLBACK 3600u
/* Octets that may be read of files that were read before. Each file counts as
 * REPEATED_LEAST at least. A few small files that include each other many times
 * would be read for ever without this limit. */
#define REPEATED_MAX (UINT64_C(1) << 30)
#define REPEATED_LEAST 16384u
/* Octets of text for each record that $GENERATE may make, on average. */
#define GENERATE_LINE 256u

const struct parse_tuning parse_tuning_default = {
	.chunk_size = 1 << 20,
	.head_size = 64 << 10,
	.parallel_size = 1 << 20,
	.generate_max = 1 << 24, /* an IPv4 /8 */
	.kernel = NULL,
};

/* ---- one file --------------------------------------------------------- */

static void
on_diag(void *ctx, const struct diag *d)
{
	const struct parse_file *f = ctx;

	parse_tell(f->parse, d);
}

static void
file_init(struct parse_file *f, struct parse *p)
{
	memset(f, 0, sizeof(*f));
	f->parse = p;
	f->next_line = 1;
	f->in.fd = -1;
	f->hooks = (struct reader_hooks){ f, on_diag, false };
	reader_init(&f->reader);
	f->reader.hooks = &f->hooks;
	if (p->tuning->kernel != NULL)
		f->reader.kernel = p->tuning->kernel;
	f->reader.is_secondary = p->options->secondary;
	f->reader.generate_max = p->tuning->generate_max;
	f->reader.generate_left = p->tuning->generate_max;
	f->reader.generate_octets = (uint64_t)p->tuning->generate_max
		* GENERATE_LINE;
	f->reader.pool = p->options->pool;
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
	free(f->joined);
}

/* ---- $INCLUDE --------------------------------------------------------- */

/* A file that is included is read as the first one is: files nest. */
static enum reader_stop file_run(struct parse_file *f);

/* The paths of an included file. */
struct include_places {
	const char *first; /* as it is named: from the working directory */
	char *second;      /* beside the file that names it; NULL: the same
			    * place, or not tried */
};

/* The path beside the file that names it. The caller frees it. NULL: no
 * memory. */
static char *
include_path_beside(const char *includer, size_t dir_len, const char *path)
{
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

/* Notes that there is no file at a path: if it appears, that is a change. */
static enum nsd_err
include_note_absent(struct parse *p, const char *path)
{
	const struct stat absent = { 0 };
	size_t index;
	enum nsd_err err = sources_add(p, path, &absent, &index);

	return err == NSD_E_MEMORY ? err : NSD_OK;
}

static enum reader_stop
include_open_failed(struct parse_file *f, const struct include_places *at,
	enum nsd_err err)
{
	const char *path = at->second != NULL ? at->second : at->first;
	struct reader *r = &f->reader;
	int saved = errno;

	if (err != NSD_E_SYSTEM)
		return parse_fail(f->parse, err);
	err = include_note_absent(f->parse, path);
	if (err != NSD_OK)
		return parse_fail(f->parse, err);
	if (at->second != NULL && saved == ENOENT)
		reader_error(r, r->tokens[1].text, "Cannot open include file "
			"'%s': %s, and there is no %s", at->first,
			fs_open_error_text(saved), at->second);
	else
		reader_error(r, r->tokens[1].text,
			"Cannot open include file '%s': %s", path,
			fs_open_error_text(saved));
	return READER_END;
}

/* An included file is as if it stood there (RFC 1035 section 5.1). Behind it
 * only the origin is again what it was before, and with it the owner. */
static void
take_ttls(struct reader *r, const struct reader_state *from)
{
	struct reader_state *to = &r->state;

	to->has_ttl_default = from->has_ttl_default;
	to->ttl_default = from->ttl_default;
	to->has_ttl_last = from->has_ttl_last;
	to->ttl_last = from->ttl_last;
	r->set |= PART_TTL_DEFAULT | PART_TTL_LAST;
}

/* Adds an included file to the list. NSD_E_LIMIT: too many files, or the same
 * ones too often; NSD_E_MEMORY. */
static enum nsd_err
add_included(struct parse *p, const char *path, const struct stat *st,
	size_t *index)
{
	size_t known = p->result->source_count;
	enum nsd_err err = sources_add(p, path, st, index);

	if (err != NSD_OK || p->result->source_count > known)
		return err;
	p->repeated += (uint64_t)st->st_size + REPEATED_LEAST;
	return p->repeated > REPEATED_MAX ? NSD_E_LIMIT : NSD_OK;
}

/* True if an opened file may not be included: this was told, and *stop says how
 * the file that includes it goes on. Else gives the child its place in the
 * list. */
static bool
include_is_refused(struct parse_file *f, struct parse_file *child,
	const char *path, enum reader_stop *stop)
{
	struct reader *r = &f->reader;
	size_t index;
	enum nsd_err err;

	*stop = READER_END;
	if (is_open_already(f, &child->in.before)) {
		reader_error(r, r->tokens[1].text,
			"$INCLUDE loop: file %s includes itself", path);
		return true;
	}
	err = add_included(f->parse, path, &child->in.before, &index);
	if (err == NSD_E_LIMIT) {
		reader_error(r, r->tokens[1].text,
			"too many files in one zone");
		/* Ends the parse: what follows would take long and end in
		 * the same way. */
		f->parse->errors_left = 0;
		*stop = READER_ERRORS;
		return true;
	}
	if (err != NSD_OK) {
		*stop = parse_fail(f->parse, err);
		return true;
	}
	child->index = (uint16_t)index;
	child->name = f->parse->result->sources[index].path;
	return false;
}

/* Reads an included file with the state of the one that includes it. */
static enum reader_stop
include_run(struct parse_file *f, struct parse_file *child)
{
	const struct reader_include *include = &f->reader.include;
	struct reader *r = &f->reader;
	enum reader_stop stop;

	child->parent = f;
	child->depth = f->depth + 1;
	child->state = r->state;
	if (include->origin_len > 0) {
		memcpy(child->state.origin, include->origin,
			include->origin_len);
		child->state.origin_len = include->origin_len;
	}
	child->reader.generate_left = r->generate_left;
	child->reader.generate_octets = r->generate_octets;
	f->parse->errors_left = r->errors_left;
	stop = file_run(child);
	r->errors_left = f->parse->errors_left;
	r->generate_left = child->reader.generate_left;
	r->generate_octets = child->reader.generate_octets;
	take_ttls(r, &child->state);
	/* An open quote in the included file ends with that file. */
	return stop == READER_FATAL ? READER_END : stop;
}

/* Opens the file at the first place; if nothing is there, at the second. */
static enum nsd_err
include_open(struct parse_file *f, struct input *in, struct include_places *at)
{
	const char *includer = f->in.path;
	const char *slash = strrchr(includer, '/');
	enum nsd_err err = input_open(in, at->first, true);

	if (err != NSD_E_SYSTEM || (errno != ENOENT && errno != ENOTDIR)
			|| at->first[0] == '/' || slash == NULL)
		return err;
	if (include_note_absent(f->parse, at->first) != NSD_OK)
		return NSD_E_MEMORY;
	at->second = include_path_beside(includer,
		(size_t)(slash - includer) + 1, at->first);
	if (at->second == NULL)
		return NSD_E_MEMORY;
	return input_open(in, at->second, true);
}

static enum reader_stop
include_file(struct parse_file *f)
{
	struct include_places at = { f->reader.include.path, NULL };
	struct parse_file child;
	enum reader_stop stop;
	enum nsd_err err;

	file_init(&child, f->parse);
	err = include_open(f, &child.in, &at);
	if (err != NSD_OK)
		stop = include_open_failed(f, &at, err);
	else if (!include_is_refused(f, &child, child.in.path, &stop))
		stop = include_run(f, &child);
	file_fini(&child);
	free(at.second);
	return stop;
}

/* Follows the $INCLUDE that the file's reader stopped at. READER_END: the file
 * goes on behind it. */
static enum reader_stop
include_follow(struct parse_file *f)
{
	struct reader *r = &f->reader;

	assert(r->include.path != NULL);
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
	return include_file(f);
}

/* ---- all pieces of a file ---------------------------------------------- */

/* Finishes a piece: follows each $INCLUDE in it. */
static enum reader_stop
file_finish_piece(struct parse_file *f, enum reader_stop stop)
{
	while (stop == READER_INCLUDE) {
		stop = include_follow(f);
		free(f->reader.include.path);
		f->reader.include.path = NULL;
		if (stop == READER_END)
			stop = piece_resume(f);
	}
	return stop;
}

static void
tell_progress(const struct parse_file *f, const struct piece *pc)
{
	const struct zonefile_options *o = f->parse->options;

	if (o->on_progress != NULL)
		o->on_progress(o->progress_ctx, pc->end, f->in.size);
}

static enum reader_stop
file_run_alone(struct parse_file *f)
{
	struct piece pc = { 0 };
	enum reader_stop stop = READER_END;
	enum nsd_err err;

	while (stop == READER_END && !pc.is_last) {
		err = piece_read(f, &pc, f->parse->piece_size);
		if (err != NSD_OK) {
			stop = parse_fail(f->parse, err);
			break;
		}
		stop = file_finish_piece(f, piece_parse(f, &pc));
		tell_progress(f, &pc);
	}
	piece_fini(&pc);
	return stop;
}

/* Reads the front of the file in the calling thread. Directives stand there, so
 * the state behind it is the one to assume. */
static enum reader_stop
file_run_head(struct parse_file *f, bool *is_last)
{
	struct piece head = { 0 };
	enum reader_stop stop;
	enum nsd_err err;

	err = piece_read(f, &head, f->parse->tuning->head_size);
	if (err == NSD_OK) {
		*is_last = head.is_last;
		stop = file_finish_piece(f, piece_parse(f, &head));
	} else {
		stop = parse_fail(f->parse, err);
	}
	piece_fini(&head);
	return stop;
}

static enum reader_stop
file_run_parallel(struct parse_file *f, unsigned threads)
{
	struct parallel *pl;
	enum reader_stop stop;
	struct piece *pc;
	bool is_last = false;
	enum nsd_err err;

	stop = file_run_head(f, &is_last);
	if (stop != READER_END || is_last)
		return stop;
	pl = parallel_open(f, threads);
	if (pl == NULL)
		return parse_fail(f->parse, NSD_E_MEMORY);
	while (stop == READER_END && (pc = parallel_next(pl)) != NULL) {
		stop = file_finish_piece(f, piece_commit(f, pc));
		tell_progress(f, pc);
		parallel_done(pl);
	}
	if (stop == READER_END) {
		err = parallel_check(pl);
		if (err != NSD_OK)
			stop = parse_fail(f->parse, err);
	}
	parallel_close(pl);
	return stop;
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
		stop = file_run_parallel(f, threads);
	else
		stop = file_run_alone(f);
	if (stop == READER_FAILED)
		return stop;
	err = input_check_unchanged(&f->in);
	return err == NSD_OK ? stop : parse_fail(f->parse, err);
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
	p->errors_max = options->errors_max != 0 ? options->errors_max : 50;
	p->errors_left = p->errors_max;
	p->depth_max = options->include_depth_max != 0
		? options->include_depth_max : 10;
}

static void
tell_warnings_more(struct parse *p, const char *name)
{
	if (p->warnings_more == 0 || p->sink == NULL)
		return;
	diag_emit(p->sink, DIAG_WARNING, name, 0, 0,
		"%u more warnings are not shown", p->warnings_more);
	p->sink->warnings += p->warnings_more - 1;
}

static enum nsd_err
parse_finish(struct parse *p, const char *name, enum reader_stop stop)
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
	tell_warnings_more(p, name);
	p->result->is_cut = stop != READER_END;
	if (p->result->is_cut)
		diag_emit(p->sink, DIAG_WARNING, name, 0, 0,
			"the rest is not read");
	return p->errors_left < p->errors_max ? NSD_E_SYNTAX : NSD_OK;
}

static enum nsd_err
run_main_file(struct parse *p, struct parse_file *f, const char *name)
{
	enum reader_stop stop;
	enum nsd_err err;
	size_t index;

	err = sources_add(p, name, &f->in.before, &index);
	if (err != NSD_OK) {
		stop = parse_fail(p, err);
	} else {
		f->name = p->result->sources[index].path;
		f->index = (uint16_t)index;
		f->state.origin_len = (uint8_t)name_len(p->options->apex);
		memcpy(f->state.origin, p->options->apex, f->state.origin_len);
		stop = file_run(f);
	}
	return parse_finish(p, name, stop);
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
	err = options->is_seen ? input_open_seen(&f.in, path)
		: input_open(&f.in, path, options->only_files);
	if (err == NSD_OK) {
		err = run_main_file(&p, &f, path);
	} else {
		int saved = errno;

		diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
			"cannot open '%s': %s", path, err == NSD_E_MEMORY
			? "out of memory" : fs_open_error_text(saved));
		if (sources_add(&p, path, &absent, &index) != NSD_OK)
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
	rrbatch_destroy_all(result->batches);
	sources_fini(result);
	memset(result, 0, sizeof(*result));
}
