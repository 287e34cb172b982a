/* histogram.h - counts of times, each within 1/64 of what it was. */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>
#include <stdio.h>

/* A cell for each number below 128, then 64 cells for each power of two, up to
 * 2^41 ns (37 minutes); longer times are in the last one. */
#define HISTOGRAM_CELLS (128 + 34 * 64)

struct histogram {
	uint64_t count;
	uint64_t sum_ns;
	uint64_t max_ns;
	uint64_t cells[HISTOGRAM_CELLS];
};

/* Begins with a histogram that is all zero octets. */
void histogram_add(struct histogram *h, uint64_t ns);

/* The time that a share (0 to 1) of all is not above: the upper end of its
 * cell, the longest time at most; 0 if there is none. */
uint64_t histogram_quantile_ns(const struct histogram *h, double share);

/* Prints an object of JSON: count, and mean, p50, p90, p99, p999, max in
 * microseconds. */
void histogram_print(const struct histogram *h, FILE *f);

#endif
