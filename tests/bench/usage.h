/* usage.h - CPU time and memory of processes, by /proc. */
#ifndef BENCH_USAGE_H
#define BENCH_USAGE_H

#include <stddef.h>
#include <stdint.h>

struct usage {
	double user_sec;    /* in ticks of the kernel, 10 ms mostly */
	double system_sec;  /* the rest; the sum of both is exact */
	uint64_t pss_kib;   /* memory; shared pages are counted in parts */
	unsigned processes; /* of those asked for, those that are there */
};

/* Reads "PID,PID,..."; ends the program if that is something else. */
size_t usage_parse_pids(const char *text, int *pids, size_t max);

/* The sum of all; a process that has ended adds nothing. */
struct usage usage_read(const int *pids, size_t count);

#endif
