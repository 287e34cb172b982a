/*
 * reader.h - master-file text to records: the state that lines depend on, and
 * the parse of one piece of text.
 *
 * A piece may be parsed before it is known what stands before it: the state is
 * then assumed, and the reader notes which parts of it mattered. Private to
 * the layer.
 */
#ifndef ZONEFILE_READER_H
#define ZONEFILE_READER_H

#include <stdarg.h>

#include "base/diag.h"
#include "base/err.h"
#include "dns/name.h"
#include "dns/rrbatch.h"
#include "dns/token.h"
#include "zonefile/scan.h"

/* What a record takes from the lines before it. */
struct reader_state {
	uint32_t ttl_default;  /* of $TTL */
	uint32_t ttl_last;     /* last one stated */
	uint32_t ttl_minimum;  /* of the SOA */
	bool has_ttl_default;
	bool has_ttl_last;
	bool has_ttl_minimum;
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
	PART_TTL_LAST = 8, /* the SOA's minimum goes with it */
	PART_TTL_MINIMUM = 16,
};

/* A record that is longer than this is taken for an unbalanced quote or
 * parenthesis. The longest real one, 64 KiB of \DDD, is a quarter MiB. */
#define READER_RECORD_MAX (16u << 20)

enum reader_stop {
	READER_END,      /* all text read */
	READER_OPEN,     /* the text ends inside a record: see rest */
	READER_INCLUDE,  /* an $INCLUDE that may not be followed now, or a
			  * $GENERATE, of which there is a limit */
	READER_ERRORS,   /* too many errors */
	READER_FATAL,    /* no sense in going on with this file; was said */
	READER_FAILED,   /* see err */
};

struct reader;

struct reader_include {
	const char *path; /* as in the file, unescaped */
	const uint8_t *origin;
	uint8_t origin_len;
};

struct reader_hooks {
	void *ctx;
	/* A finding. */
	void (*on_diag)(void *ctx, const struct diag *d);
	/* Follows an $INCLUDE: parses it with a copy of the reader's state.
	 * Returns READER_END to go on. NULL: stop there. */
	enum reader_stop (*on_include)(void *ctx, struct reader *r,
		const struct reader_include *include);
};

/* A type as it stood in the text, and what is asked about it for each
 * record. */
struct reader_type {
	uint64_t text; /* up to 8 octets, zeros behind; 0: none */
	uint16_t type;
	bool is_meta;
	bool has_names; /* its RDATA may take the origin */
};
#define READER_TYPES 16 /* a power of 2 */

struct reader {
	/* Set by the caller */
	struct reader_state state;
	const struct reader_hooks *hooks;
	const char *file_name;
	uint16_t file;         /* index for records */
	uint32_t ttl_fallback; /* for a file that states none */
	bool is_secondary;     /* keep values that break rules */
	uint32_t generate_max; /* records of all $GENERATE */
	uint32_t generate_left;   /* of these */
	uint64_t generate_octets; /* of their text that may still be made */
	uint32_t errors_left;  /* READER_ERRORS at 0 */
	/* As in zonefile_options; NULL: all are wanted. */
	bool (*wants_owner)(const void *ctx, const uint8_t *owner, size_t len);
	const void *wants_ctx;
	const struct kernel *kernel;

	/* Results */
	struct rrbatch *first, *last;
	uint64_t rr_count;
	unsigned used;         /* enum reader_part taken from outside */
	unsigned set;          /* enum reader_part set in here */
	size_t rest;           /* offset of the unfinished record */
	enum nsd_err err;

	/* The text */
	struct scan scan;
	bool is_last;          /* the file ends with this text */
	size_t word;           /* next word of the scan */
	size_t index_size;     /* room in starts and ends */
	size_t capacity_hint;  /* of the first batch */

	/* The record */
	struct token *tokens;
	size_t token_count;
	size_t token_size;
	const char *record;    /* first octet of its first line */
	uint32_t line;         /* of that octet */
	uint32_t line_fixed;   /* not 0: all findings and records are there */
	const char *record_end; /* behind its newline */
	uint32_t record_lines;
	const char *open_paren;
	const char *bad_at;    /* a fault in its words; NULL: none */
	const char *bad_text;
	unsigned depth;

	/* The last owner and TTL as they stood, for runs of the same. */
	const char *owner_text;
	uint32_t owner_text_len;
	bool owner_is_appended; /* the last record in the batch has it */
	bool owner_is_judged;   /* it was asked whether it is wanted */
	bool owner_is_wanted;
	uint64_t ttl_text;      /* up to 8 octets, zeros behind; 0: none */
	uint32_t ttl_text_sec;
	struct reader_type types[READER_TYPES];
};

/* state, hooks, file and limits are the caller's to set afterwards. */
void reader_init(struct reader *r);
/* Frees what is not a result. */
void reader_fini(struct reader *r);

/*
 * Parses text, whose first line is number `line`. Borrows text until it
 * returns, SCAN_PADDING octets readable behind it.
 */
enum reader_stop reader_run(struct reader *r, const char *text, size_t len,
	uint32_t line, bool is_last);

/* Parses text in place of the line being parsed ($GENERATE). */
enum reader_stop reader_run_nested(struct reader *r, const char *text,
	size_t len);

/* Tells of an error or warning at a place in the text; NULL: at the line of
 * the record. */
void reader_diag(struct reader *r, enum diag_severity severity,
	const char *at, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
#define reader_error(r, at, ...) \
	reader_diag((r), DIAG_ERROR, (at), __VA_ARGS__)

/* Of record.c and directive.c: the tokens of one line, complete. */
enum reader_stop reader_record(struct reader *r, bool has_owner);
enum reader_stop reader_directive(struct reader *r);
enum reader_stop reader_generate(struct reader *r);

/* Lines without an owner are left out until there is one again. */
void reader_set_bad_owner(struct reader *r);

/* Adds a record to the batches. */
enum nsd_err reader_append(struct reader *r, uint32_t ttl_sec, uint16_t type,
	const uint8_t *rdata, size_t rdlen) MUST_USE;

/* A name, completed with the origin; lower-cased. Tells of errors as
 * "Invalid FIELD in OF". */
bool reader_name(struct reader *r, const struct token *t, const char *field,
	const char *of, uint8_t name[NAME_MAX_LEN], uint8_t *name_size);

/*
 * Reads a TTL or other period: seconds, or numbers with units (1w2d3h4m5s).
 * Returns false if it is none or does not fit 32 bits.
 */
bool period_parse(const char *text, size_t len, uint32_t *seconds);

/* A TTL by RFC 2181 section 8: warns and gives 0 where the top bit is set. */
bool reader_ttl(struct reader *r, const struct token *t, const char *of,
	uint32_t *ttl_sec);

#endif
