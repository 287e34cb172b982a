/*
 * parse.h - a parse in progress: its files, what they gave so far, and the
 * pieces they are cut into. Private to the layer.
 */
#ifndef ZONEFILE_PARSE_H
#define ZONEFILE_PARSE_H

#include "zonefile/input.h"
#include "zonefile/reader.h"
#include "zonefile/zonefile.h"

/* What tests turn to reach the rare paths with small inputs. */
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
	struct rrbatch **batch_end;  /* where the next batch is linked */
	uint32_t errors_left;
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
	uint16_t index;
	struct input in;
	struct reader_state state; /* behind the last piece */
	uint32_t next_line;
	char *carry;               /* read, but behind the last cut */
	size_t carry_len, carry_size;
	char *tail;                /* of the unfinished record */
	size_t tail_len;
	uint32_t tail_line;
	struct reader reader;      /* of the calling thread */
};

struct piece_diag {
	struct piece_diag *next;
	enum diag_severity severity;
	uint32_t line, column;
	char text[];
};

struct piece {
	char *text;
	size_t len, size;
	uint32_t line;
	bool is_last;
	/* What the parse with an assumed state gave. */
	struct reader_state assumed, state;
	enum reader_stop stop;
	enum nsd_err err;
	unsigned used, set;
	size_t rest;
	uint32_t rest_line;
	struct rrbatch *first;
	uint64_t rr_count;
	uint32_t errors;
	struct piece_diag *diags, **diag_end;
};

/* Cuts the next piece of about chunk octets off the file. */
enum nsd_err piece_read(struct parse_file *f, struct piece *pc, size_t chunk)
	MUST_USE;
void piece_fini(struct piece *pc);

/* Parses with an assumed state. r is the thread's own. */
void piece_parse_assumed(struct parse_file *f, struct reader *r,
	struct piece *pc);
/* Parses with the true state, in the calling thread; takes the results into
 * the parse. */
enum reader_stop piece_parse(struct parse_file *f, const char *text,
	size_t len, uint32_t line, bool is_last);
/* Takes the next piece in order into the parse: as it was parsed if what was
 * assumed was right, else after parsing it again. */
enum reader_stop piece_commit(struct parse_file *f, struct piece *pc);

/* Reads all pieces of an opened file. */
enum reader_stop parse_pieces(struct parse_file *f);
enum reader_stop parse_pieces_parallel(struct parse_file *f, unsigned threads);

/* Sets p->err; returns READER_FAILED. */
enum reader_stop parse_fail(struct parse *p, enum nsd_err err);

/* zonefile_parse and zonefile_parse_text with tuning. */
enum nsd_err parse_path(const char *path,
	const struct zonefile_options *options,
	const struct parse_tuning *tuning, struct diag_sink *sink,
	struct zonefile_result *result) MUST_USE;
enum nsd_err parse_text(const char *name, const char *text, size_t len,
	const struct zonefile_options *options,
	const struct parse_tuning *tuning, struct diag_sink *sink,
	struct zonefile_result *result) MUST_USE;

/* Follows an $INCLUDE (struct reader_hooks). */
enum reader_stop parse_include(void *ctx, struct reader *r,
	const struct reader_include *include);

#endif
