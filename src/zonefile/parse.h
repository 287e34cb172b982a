/*
 * parse.h - a parse in progress: its files, what they gave so far, and the
 * pieces they are cut into. Private to the layer.
 *
 * From below to above: input, sources, reader (reader.h), piece, parallel,
 * parse.
 */
#ifndef ZONEFILE_PARSE_H
#define ZONEFILE_PARSE_H

#include <errno.h>

#include "zonefile/input.h"
#include "zonefile/reader.h"
#include "zonefile/zonefile.h"

/* Sizes that tests change, to reach rare paths with small inputs. */
struct parse_tuning {
	size_t chunk_size;      /* octets of a piece */
	size_t head_size;       /* of the first one, when threads follow */
	size_t parallel_size;   /* files from this size on use threads */
	uint32_t generate_max;  /* records of all $GENERATE of a zone */
	const struct kernel *kernel; /* NULL: the best */
};

extern const struct parse_tuning parse_tuning_default;

struct parse {
	const struct zonefile_options *options;
	const struct parse_tuning *tuning;
	size_t piece_size;
	struct diag_sink *sink;
	struct zonefile_result *result;
	size_t source_room;          /* of result.sources, items */
	struct rrbatch **batch_end;  /* where the next batch is linked */
	uint32_t errors_max;
	uint32_t errors_left;
	uint32_t warnings;           /* told */
	uint32_t warnings_more;      /* not told, as there were too many */
	unsigned depth_max;
	uint64_t repeated;           /* octets of files included again */
	enum nsd_err err;            /* set when a stop is READER_FAILED */
	int system_errno;
};

/* One file being read; they nest by $INCLUDE. */
struct parse_file {
	struct parse *parse;
	struct parse_file *parent;
	unsigned depth;
	const char *name;
	uint16_t index;            /* in result.sources */
	struct input in;
	struct reader_state state; /* behind the last piece */
	uint32_t next_line;
	char *carry;               /* read, but behind the last cut */
	size_t carry_len, carry_size;
	char *tail;                /* of the unfinished record */
	size_t tail_len;
	uint32_t tail_line;
	char *joined;              /* a tail and a piece, being parsed */
	struct reader_hooks hooks; /* of the next field */
	struct reader reader;      /* of the calling thread */
};

/* A finding of a piece that was parsed with an assumed state. */
struct piece_diag {
	struct piece_diag *next;
	enum diag_severity severity;
	uint32_t line, column;
	char text[];
};

struct piece {
	char *text;
	size_t len, size;
	uint64_t end;  /* offset in the input behind the piece */
	uint32_t line;
	bool is_last;
	/* The result of the parse with an assumed state. */
	struct reader_state assumed, state;
	enum reader_stop stop;
	enum nsd_err err;
	unsigned used, set;
	size_t rest;
	uint32_t rest_line;
	struct rrbatch *first;
	uint64_t rr_count;
	uint32_t errors;
	uint32_t warnings;      /* the first of them are among diags */
	struct piece_diag *diags, **diag_end;
};

#define PARSE_WARNINGS_MAX 1000u /* reported at most, as of a build */

/* Sets p->err, and errno as it is now. Returns READER_FAILED. */
static inline enum reader_stop
parse_fail(struct parse *p, enum nsd_err err)
{
	p->err = err;
	p->system_errno = errno;
	return READER_FAILED;
}

/* Tells of a finding, unless it is one of too many warnings. */
static inline void
parse_tell(struct parse *p, const struct diag *d)
{
	if (d->severity == DIAG_WARNING) {
		if (p->warnings == PARSE_WARNINGS_MAX) {
			p->warnings_more++;
			return;
		}
		p->warnings++;
	}
	diag_emit(p->sink, d->severity, d->file, d->line, d->column, "%s",
		d->text);
}

/* ---- the list of files (sources.c) */

/*
 * The place of a file in the list, which lasts as long as the result. st is
 * all zeros for a file that is not there, so that its coming is a change.
 * NSD_E_LIMIT: too many files; NSD_E_MEMORY.
 */
enum nsd_err sources_add(struct parse *p, const char *path,
	const struct stat *st, size_t *index) MUST_USE;
void sources_fini(struct zonefile_result *result);

/* ---- pieces (piece.c) */

/*
 * Cuts the next piece of about chunk octets off the file. NSD_E_MEMORY; as
 * input_read NSD_E_AGAIN and NSD_E_SYSTEM.
 */
enum nsd_err piece_read(struct parse_file *f, struct piece *pc, size_t chunk)
	MUST_USE;
void piece_fini(struct piece *pc);

/* Parses with an assumed state. r is the thread's own. */
void piece_parse_assumed(struct parse_file *f, struct reader *r,
	struct piece *pc);

/*
 * The following are for the calling thread, for each piece in order, and take
 * what the piece gives into the parse. With READER_INCLUDE the piece is not
 * done: the caller follows the $INCLUDE in f->reader and calls piece_resume.
 */

/* Parses with the true state. */
enum reader_stop piece_parse(struct parse_file *f, struct piece *pc);
/* Takes a piece as it was parsed if what was assumed was right, else parses it
 * again. */
enum reader_stop piece_commit(struct parse_file *f, struct piece *pc);
/* Goes on behind an $INCLUDE. */
enum reader_stop piece_resume(struct parse_file *f);

/* ---- several threads (parallel.c) */

struct parallel;

/* Starts to read the rest of the file with at most `threads` threads, the
 * caller's included; fewer if the system gives no more. NULL: no memory. */
struct parallel *parallel_open(struct parse_file *f, unsigned threads);
/*
 * The next piece in order, parsed with an assumed state. The calling thread
 * reads and parses pieces as the others do until this one is there. Lent until
 * parallel_done. NULL: there is no more.
 */
struct piece *parallel_next(struct parallel *pl);
/* The piece has been committed: f->state is what to assume from now on. */
void parallel_done(struct parallel *pl);
/* Returns behind the last piece why no more could be read, with errno; NSD_OK:
 * the file is at its end. */
enum nsd_err parallel_check(const struct parallel *pl) MUST_USE;
/* Ends the threads; also before the last piece. */
void parallel_close(struct parallel *pl);

/* ---- the top (parse.c): zonefile_parse and zonefile_parse_text with tuning;
 * they return the same errors. */

enum nsd_err parse_path(const char *path,
	const struct zonefile_options *options,
	const struct parse_tuning *tuning, struct diag_sink *sink,
	struct zonefile_result *result) MUST_USE;
enum nsd_err parse_text(const char *name, const char *text, size_t len,
	const struct zonefile_options *options,
	const struct parse_tuning *tuning, struct diag_sink *sink,
	struct zonefile_result *result) MUST_USE;

#endif
