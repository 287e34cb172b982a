/*
 * kernel.h - a kernel: the inner loops for one instruction set. The best one is
 * chosen when the program runs.
 */
#ifndef ZONEFILE_KERNEL_H
#define ZONEFILE_KERNEL_H

#include "zonefile/scan.h"

struct kernel {
	const char *name;
	scan_run_fn *scan_run;
	scan_count_fn *count_newlines;
};

/* The best that this machine can run; never NULL. */
const struct kernel *kernel_best(void);

/* The n-th that this machine can run, best first; NULL behind the last. */
const struct kernel *kernel_at(unsigned n);

#endif
