/*
 * kernel_x86.c - the choice among the vector instructions of x86-64.
 */
#include "config.h"

#include "zonefile/kernel.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef USE_HASWELL
static bool
has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi")
		&& __builtin_cpu_supports("bmi2")
		&& __builtin_cpu_supports("popcnt");
}

static bool
has_avx512(void)
{
	return has_avx2() && __builtin_cpu_supports("avx512bw")
		&& __builtin_cpu_supports("avx512vl")
		&& __builtin_cpu_supports("avx512vbmi2");
}
#endif

#ifdef USE_WESTMERE
static bool
has_sse42(void)
{
	return __builtin_cpu_supports("sse4.2")
		&& __builtin_cpu_supports("popcnt");
}
#endif

static bool
has_nothing(void)
{
	return true;
}

static const struct {
	struct kernel kernel;
	bool (*is_usable)(void);
} kernels[] = {
#ifdef USE_HASWELL
	{ { "avx512", scan_run_avx512, scan_count_avx512 }, has_avx512 },
	{ { "avx2", scan_run_avx2, scan_count_avx2 }, has_avx2 },
#endif
#ifdef USE_WESTMERE
	{ { "sse4.2", scan_run_sse42, scan_count_generic }, has_sse42 },
#endif
	{ { "generic", scan_run_generic, scan_count_generic }, has_nothing },
};

const struct kernel *
kernel_at(unsigned n)
{
	unsigned i;

	for (i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		if (kernels[i].is_usable() && n-- == 0)
			return &kernels[i].kernel;
	}
	return NULL;
}

const struct kernel *
kernel_best(void)
{
	return kernel_at(0);
}
