/*
 * scan.h - first pass over master-file text: finds the begin and end of each
 * word.
 *
 * Blocks of 64 octets are classified with the widest instructions there are.
 * The result is two arrays of offsets: the i-th word is from starts[i] to
 * ends[i].
 * Words are:
 *   - a newline, a carriage return, "(" , ")" or NUL, one octet, outside quotes
 *     (a NUL also in comments: it is an error wherever it stands);
 *   - a quoted string, with its quotes, whatever it is straight behind;
 *   - any other run of octets without blanks.
 * Blanks (space, tab) and comments leave no trace. A carriage return before a
 * newline or at the end of the text is a blank, too. Others end a line, but no
 * comment. An escaped octet has no meaning of its own. A newline ends the line
 * also behind a backslash, so that one bad line does not eat the next.
 */
#ifndef ZONEFILE_SCAN_H
#define ZONEFILE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCAN_BLOCK 64u
/* Octets that may be read (and are ignored) behind the text, and entries that
 * may be written behind the last one of starts and ends. */
#define SCAN_PADDING 64u

struct scan {
	const uint8_t *text;  /* borrowed; SCAN_PADDING readable behind len */
	size_t len;           /* below 4 GiB */
	size_t at;            /* next octet: a multiple of 64, or len */
	uint32_t *starts;     /* borrowed: room for what a call can add */
	uint32_t *ends;
	size_t start_count;
	size_t end_count;     /* start_count, or one less: an open word */
	uint64_t carry_word;  /* 0 or 1: the last octet belongs to a word */
	uint64_t carry_end;   /* the last octet ends a one-octet or a quoted
			       * word */
	uint64_t carry_escape;/* the last octet was an escaping backslash */
	bool in_quote;
	bool in_comment;
	bool saw_escape;      /* a backslash since the caller cleared this */
	bool saw_nul;         /* a NUL, likewise */
	bool saw_quoted_newline;
};

/* The octets of one block by class, one bit each, escapes not considered. */
struct scan_masks {
	uint64_t blank;    /* space, tab */
	uint64_t newline;
	uint64_t special;  /* any of the following */
	uint64_t quote;
	uint64_t semicolon;
	uint64_t paren;
	uint64_t carriage; /* carriage return */
	uint64_t backslash;
	uint64_t nul;
};

/* Prepares a scan of text; starts and ends are set by the caller after. */
void scan_init(struct scan *s, const uint8_t *text, size_t len);

/* The words of a block, one bit for each octet. */
struct scan_words {
	uint64_t word;     /* octets of words that are runs of octets */
	uint64_t single;   /* words of one octet */
	uint64_t open;     /* quotes that begin a quoted word */
	uint64_t close;    /* quotes that end one */
};

/*
 * Makes words of the masks of the block at `at`, for a block that has specials
 * or starts inside a quote or comment. Appends no words yet.
 */
void scan_resolve(struct scan *s, size_t at, const struct scan_masks *m,
	struct scan_words *w);

/* Ends the word that is still open at the end of the text. */
void scan_finish(struct scan *s);

/* Classifies up to `until` (a multiple of 64, or len) and appends words. */
typedef void scan_run_fn(struct scan *s, size_t until);

/* Newlines in text, in quotes or not. */
typedef uint32_t scan_count_fn(const char *text, size_t len);

scan_run_fn scan_run_generic, scan_run_sse42, scan_run_avx2, scan_run_avx512;
scan_count_fn scan_count_generic, scan_count_avx2, scan_count_avx512;

#endif
