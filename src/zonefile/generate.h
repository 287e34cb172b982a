/*
 * generate.h - the lines that a $GENERATE stands for, some at a time. Private
 * to the layer.
 */
#ifndef ZONEFILE_GENERATE_H
#define ZONEFILE_GENERATE_H

#include "zonefile/reader.h"

/* A piece of the line: text, and the number behind it. */
struct generate_slot {
	const char *text; /* before the number */
	size_t len;
	int64_t offset;
	unsigned width;
	char base;        /* d o x X n N, $: the text "\$"; or 0: no number,
			   * the line ends */
};

struct generate {
	uint64_t next;       /* number of the next line */
	uint64_t stop, step;
	char *line;          /* the tokens put together again */
	size_t len;
	struct generate_slot *slots;
	size_t slot_count;
	size_t numbers_len;  /* all numbers of a line have no more octets */
	char *out;           /* the lines made last */
	size_t out_len, out_size;
};

/*
 * Reads the directive, whose tokens the reader has, and takes its records off
 * the reader's limit. To be ended with generate_end in any case. NSD_E_SYNTAX:
 * it is at fault, which was told; NSD_E_MEMORY.
 */
enum nsd_err generate_begin(struct generate *g, struct reader *r) MUST_USE;

/* True if lines are left to make. */
static inline bool
generate_has_more(const struct generate *g)
{
	return g->next <= g->stop;
}

/*
 * Makes some more lines: out_len octets at out, with SCAN_PADDING zeros behind
 * them. NSD_E_SYNTAX: a line cannot be made, or all that text is too much;
 * that was told. NSD_E_MEMORY.
 */
enum nsd_err generate_next(struct generate *g, struct reader *r) MUST_USE;

void generate_end(struct generate *g);

#endif
