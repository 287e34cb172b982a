/*
 * reader.h - master-file text to records: the state that lines depend on, and
 * the parse of one piece of text. Private to the layer.
 *
 * A piece may be parsed before it is known what stands before it. The reader
 * then starts with an assumed state, and notes which parts of it mattered.
 *
 * From below to above: reader_diag, record, directive and generate, reader.
 */
#ifndef ZONEFILE_READER_H
#define ZONEFILE_READER_H

#include <string.h>

#include "base/diag.h"
#include "base/err.h"
#include "dns/name.h"
#include "dns/rrbatch.h"
#include "dns/token.h"
#include "zonefile/scan.h"

/* The state that a record takes from the lines before it. */
struct reader_state {
	uint32_t ttl_default;  /* of $TTL */
	uint32_t ttl_last;     /* last one stated */
	bool has_ttl_default;
	bool has_ttl_last;
	bool owner_is_bad;     /* the last owner had an error */
	uint8_t owner_len;     /* 0: none yet */
	uint8_t origin_len;
	uint8_t origin[NAME_MAX_LEN];
	uint8_t owner[NAME_MAX_LEN]; /* lower-cased */
};

/* Parts of the state. */
enum reader_part {
	PART_ORIGIN = 1,
	PART_OWNER = 2,
	PART_TTL_DEFAULT = 4,
	PART_TTL_LAST = 8,
};

/* A record that is longer than this is taken for an unbalanced quote or
 * parenthesis. The longest real one, 64 KiB of \DDD, is a quarter MiB. */
#define READER_RECORD_MAX (16u << 20)

/* The limit of octets that are scanned anew: in a file of open parentheses each
 * of them would have READER_RECORD_MAX scanned. */
#define READER_RESTART_MAX (64u << 20)

enum reader_stop {
	READER_END,      /* all text read */
	READER_OPEN,     /* the text ends inside a record: see rest */
	READER_INCLUDE,  /* an $INCLUDE: see include. If the state is assumed,
			  * an $INCLUDE or a $GENERATE: parse the piece again
			  * with the true state */
	READER_ERRORS,   /* too many errors */
	READER_FATAL,    /* no sense in going on with this file; was said */
	READER_FAILED,   /* see err */
};

/* The $INCLUDE that a reader stopped at. */
struct reader_include {
	char *path;         /* unescaped; freed by the function that follows
			     * it */
	uint8_t origin_len; /* 0: not given */
	uint8_t origin[NAME_MAX_LEN];
};

struct reader_hooks {
	void *ctx;
	/* A finding. */
	void (*on_diag)(void *ctx, const struct diag *d);
	bool is_assumed; /* the state that the reader starts with */
};

/* A type as it stood in the text, and what each record asks about it. */
struct reader_type {
	uint64_t text; /* up to 8 octets, zeros behind; 0: none */
	uint16_t type;
	bool is_meta;
	bool has_names; /* names in RDATA may take the origin */
};
#define READER_TYPES 16 /* a power of 2 */

struct reader {
	/* Set by the caller */
	struct reader_state state;
	const struct reader_hooks *hooks;
	const char *file_name;
	uint16_t file;         /* index for records */
	struct rrbatch_pool *pool; /* of batches; or NULL */
	uint32_t ttl_fallback; /* for a file that states none */
	bool is_secondary;     /* keep values that break rules */
	uint32_t generate_max; /* records of all $GENERATE */
	uint32_t generate_left;   /* records that may still be made */
	uint64_t generate_octets; /* octets of text that may still be made */
	uint32_t errors_left;  /* READER_ERRORS at 0 */
	uint64_t restart_left; /* octets that may be scanned anew behind
				* faults; reader_init: READER_RESTART_MAX */
	const struct kernel *kernel;

	/* Results */
	struct rrbatch *first, *last;
	uint64_t rr_count;
	unsigned used;         /* enum reader_part taken from outside */
	unsigned set;          /* enum reader_part set in here */
	size_t rest;           /* offset in scan.text of the unfinished
				* record */
	enum nsd_err err;

	/* The text */
	struct scan scan;      /* of the text, or of what is left of it behind
				* a record at fault */
	bool is_last;          /* the file ends with this text */
	size_t word;           /* next word of the scan */
	size_t index_size;     /* room in starts and ends */
	size_t capacity_hint;  /* of the first batch */

	/* The record */
	struct token *tokens;
	size_t token_count;
	size_t token_size;
	const char *record;    /* first octet of its first line */
	uint32_t line;         /* of record */
	uint32_t line_fixed;   /* not 0: all findings and records are there */
	const char *record_end; /* behind the end of its last line */
	uint32_t record_lines;
	const char *open_paren;
	const char *bad_at;    /* a fault in its words; NULL: none */
	const char *bad_text;
	unsigned depth;

	/* The last owner and TTL as they stood, for runs of the same. */
	const char *owner_text;
	uint32_t owner_text_len;
	bool owner_is_appended; /* the last record in the batch has it */
	uint64_t ttl_text;      /* up to 8 octets, zeros behind; 0: none */
	uint32_t ttl_text_sec;
	struct reader_type types[READER_TYPES];

	struct reader_include include;
};

/* ---- findings (reader_diag.c) */

/* Tells of an error or warning at a place in the text; NULL: at the line of
 * the record. */
void reader_diag(struct reader *r, enum diag_severity severity,
	const char *at, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
#define reader_error(r, at, ...) \
	reader_diag((r), DIAG_ERROR, (at), __VA_ARGS__)

/* Tells of a word: "FORMAT: 'WORD'", or if there is something to expect
 * "FORMAT: 'WORD': expected EXPECTED". A long word is cut. */
void reader_diag_word(struct reader *r, enum diag_severity severity,
	const struct token *t, const char *expected, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
#define reader_error_word(r, t, expected, ...) \
	reader_diag_word((r), DIAG_ERROR, (t), (expected), __VA_ARGS__)

/* ---- words of a line (record.c) */

/* A name, completed with the origin, in lower case. Tells of errors as
 * "Invalid FIELD in OF: 'WORD': expected ...". */
bool record_parse_name(struct reader *r, const struct token *t,
	const char *field, const char *of, uint8_t name[NAME_MAX_LEN],
	uint8_t *name_size);

/* A TTL by RFC 2181 section 8: warns and gives 0 where the top bit is set.
 * Tells of errors as "Invalid ttl in OF: 'WORD': expected ...". */
bool record_parse_ttl(struct reader *r, const struct token *t, const char *of,
	uint32_t *ttl_sec);

/* ---- lines (record.c, directive.c), whose tokens are complete
 * READER_END: done, or at fault, which was told. READER_FAILED: see err.
 */

/* has_owner: the first token is the owner. */
enum reader_stop record_parse(struct reader *r, bool has_owner);

/* Leaves out lines without an owner until there is a good one again. */
void record_set_bad_owner(struct reader *r);

/* Parses a directive other than $GENERATE. READER_INCLUDE: it is $INCLUDE. */
enum reader_stop directive_parse(struct reader *r);

/* True if the line is the directive of this name, in any case. */
bool directive_is(const struct reader *r, const char *name);

/* ---- text (reader.c) */

/* True if a line begins with an owner or a directive, or if a word goes on with
 * this octet. There is an octet. */
static inline bool
reader_begins_record(const char *line)
{
	return strchr(" \t\r\n;()\"", *line) == NULL;
}

/* The caller sets state, hooks, file and limits afterwards. */
void reader_init(struct reader *r);
/* Frees what is not a result. */
void reader_fini(struct reader *r);

/*
 * Parses text, whose first line is number `line`. Borrows text until it
 * returns, or, with READER_INCLUDE, until reader_resume returns.
 * SCAN_PADDING octets are readable behind the text.
 */
enum reader_stop reader_run(struct reader *r, const char *text, size_t len,
	uint32_t line, bool is_last);

/* Goes on behind the $INCLUDE that the reader stopped at. */
enum reader_stop reader_resume(struct reader *r);

#endif
