/*
 * kernel_generic.c - the inner loops for machines that have only one choice.
 */
#include "zonefile/kernel.h"

#include <stddef.h>

static const struct kernel generic = { "generic", scan_run_generic,
	scan_count_generic };

const struct kernel *
kernel_best(void)
{
	return &generic;
}

const struct kernel *
kernel_at(unsigned n)
{
	return n == 0 ? &generic : NULL;
}
