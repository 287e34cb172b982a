/*
 * verifier_lines.h - the output of a program, as lines of the log
 * (doc/surface.md 1.4).
 */
#ifndef VERIFIER_VERIFIER_LINES_H
#define VERIFIER_VERIFIER_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The octets of a line that stand in one line of the log, as by NSD. */
#define VERIFIER_LINE_MAX 472u
/* The lines of a stream that are given; a program may print without an end. */
#define VERIFIER_LINES_MAX 1000u

/* One stream of output. Zeroed: nothing was printed yet. */
struct verifier_lines {
	size_t len;
	bool is_cut; /* the beginning of the line was given, or left out */
	unsigned given;    /* lines, parts of long ones as well */
	uint64_t left_out; /* lines of which not all was given */
	char text[VERIFIER_LINE_MAX + 1];
};

/* Takes a line for the log: with dots where it was cut, and without octets of
 * 128 and above; borrowed. */
typedef void verifier_on_line(void *ctx, const char *line);

/*
 * Takes octets of the stream, and gives each line that is whole or too long,
 * VERIFIER_LINES_MAX at most. An octet 0 becomes a question mark, since a text
 * of the log ends there.
 */
void verifier_lines_add(struct verifier_lines *lines, const char *octets,
	size_t len, verifier_on_line *on_line, void *ctx);
/* The stream has ended: gives the last line, if no newline ends it. */
void verifier_lines_end(struct verifier_lines *lines,
	verifier_on_line *on_line, void *ctx);

#endif
