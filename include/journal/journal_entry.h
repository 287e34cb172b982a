/*
 * journal_entry.h - the description of a journal's entry, without its text.
 */
#ifndef JOURNAL_JOURNAL_ENTRY_H
#define JOURNAL_JOURNAL_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "dns/name.h"

/* The kind of a transfer's text. The values are octets on disk. */
enum journal_kind {
	JOURNAL_WHOLE = 3, /* a whole zone */
	JOURNAL_DIFFS = 4, /* differences, one or more versions in order */
};

#define JOURNAL_SOURCE_MAX 1279u /* octets, without a NUL */

struct journal_entry {
	uint64_t id;       /* from 1; later ones are larger */
	uint64_t text_len; /* octets, at least 1 */
	int64_t time_sec;  /* of the epoch: received at */
	uint64_t offset;   /* of its record in the segment */
	uint32_t segment;  /* number */
	uint32_t from;     /* serial; JOURNAL_WHOLE: with is_back, of the
			    * version that it replaced, else 0 */
	uint32_t to;       /* serial */
	uint32_t head_len; /* octets of the record before a text in it */
	enum journal_kind kind;
	bool in_file;      /* the text is in a file of its own */
	bool is_doubtful;  /* to be judged before it is served, and not known
			    * to have been: a start leaves it out */
	bool is_update;    /* clients have sent it: no primary has it */
	bool is_taken;     /* an operator takes it, whatever its digest */
	bool is_back;      /* a whole zone that is not newer than `from`: it was
			    * forced (RFC 1982 has no way back) */
};

#endif
