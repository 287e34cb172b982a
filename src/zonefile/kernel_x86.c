/*
 * kernel_x86.c - the choice among the vector instructions of x86-64.
 */
#include "zonefile/kernel.h"

#include <stddef.h>

static const struct kernel kernels[] = {
	{ "avx512", scan_run_avx512, scan_count_avx512 },
	{ "avx2", scan_run_avx2, scan_count_avx2 },
	{ "sse4.2", scan_run_sse42, scan_count_generic },
	{ "generic", scan_run_generic, scan_count_generic },
};

static bool
is_usable(unsigned i)
{
	switch (i) {
	case 0:
		return __builtin_cpu_supports("avx512bw")
			&& __builtin_cpu_supports("avx512vl")
			&& __builtin_cpu_supports("avx512vbmi2")
			&& __builtin_cpu_supports("avx2")
			&& __builtin_cpu_supports("bmi")
			&& __builtin_cpu_supports("bmi2");
	case 1:
		return __builtin_cpu_supports("avx2")
			&& __builtin_cpu_supports("bmi")
			&& __builtin_cpu_supports("bmi2")
			&& __builtin_cpu_supports("popcnt");
	case 2:
		return __builtin_cpu_supports("sse4.2")
			&& __builtin_cpu_supports("popcnt");
	default:
		return true;
	}
}

const struct kernel *
kernel_at(unsigned n)
{
	unsigned i;

	for (i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		if (is_usable(i) && n-- == 0)
			return &kernels[i];
	}
	return NULL;
}

const struct kernel *
kernel_best(void)
{
	return kernel_at(0);
}
