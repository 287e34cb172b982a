/*
 * sha1_kernel_x86.c - chooses a kernel by what the x86-64 processor can do.
 */
#include "base/sha1_kernel.h"

#include <cpuid.h>
#include <stdatomic.h>

/*
 * From how many messages on a kernel beats those below it in the table.
 *
 * Measured on a processor with SHA instructions (doc/performance.md): these
 * take 31 ns for one message and 34 for two; sixteen lanes take 92, thirty-two
 * 135. If nothing repeats, lanes pay later: messages one after another overlap
 * too, and words have to be sorted into lanes. Without SHA instructions a
 * message costs at least three times as much, so two are worth a vector.
 */
struct sha1_choice {
	struct sha1_kernel kernel;
	unsigned char with_sha;
	unsigned char with_sha_once; /* if nothing repeats */
	unsigned char without;
};

#define NEVER 255u

enum { AVX512X2, AVX512, AVX2, SHANI2, SHANI1, GENERIC, KERNELS };

static const struct sha1_choice choices[KERNELS] = {
	{ { "avx512x2", 32, sha1_hash_avx512x2 }, 19, 19, 19 },
	{ { "avx512", 16, sha1_hash_avx512 }, 5, 8, 2 },
	{ { "avx2", 8, sha1_hash_avx2 }, NEVER, NEVER, 2 },
	{ { "sha2", 2, sha1_hash_shani2 }, 2, 2, NEVER },
	{ { "sha", 1, sha1_hash_shani1 }, 1, 1, NEVER },
	{ { "generic", 1, sha1_hash_generic }, 1, 1, 1 },
};

/* Leaf 7, EBX bit 29. Compilers share no name for it. */
static bool
has_sha(void)
{
	unsigned a, b = 0, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0
		&& (b >> 29 & 1) != 0 && __builtin_cpu_supports("sse4.1");
}

/* A bit for each kernel that can run. */
static unsigned
find_usable(void)
{
	unsigned usable = 1u << GENERIC;

	if (__builtin_cpu_supports("avx512f")
			&& __builtin_cpu_supports("avx512bw")
			&& __builtin_cpu_supports("avx512vl"))
		usable |= 1u << AVX512X2 | 1u << AVX512;
	if (__builtin_cpu_supports("avx2"))
		usable |= 1u << AVX2;
	if (has_sha())
		usable |= 1u << SHANI2 | 1u << SHANI1;
	return usable;
}

/* Asks the processor once: CPUID takes microseconds in a virtual machine. */
static unsigned
get_usable(void)
{
	static _Atomic unsigned known;
	unsigned usable = atomic_load_explicit(&known, memory_order_relaxed);

	if (usable == 0) {
		usable = find_usable();
		atomic_store_explicit(&known, usable, memory_order_relaxed);
	}
	return usable;
}

const struct sha1_kernel *
sha1_kernel_at(unsigned n)
{
	unsigned i;

	for (i = 0; i < KERNELS; i++)
		if ((get_usable() >> i & 1) != 0 && n-- == 0)
			return &choices[i].kernel;
	return NULL;
}

const struct sha1_kernel *
sha1_kernel_for(size_t count, bool repeats)
{
	unsigned usable = get_usable(), i;
	bool sha = (usable >> SHANI1 & 1) != 0;

	for (i = 0; i < GENERIC; i++) {
		const struct sha1_choice *c = &choices[i];
		unsigned from = !sha ? c->without
			: repeats ? c->with_sha : c->with_sha_once;

		if ((usable >> i & 1) != 0 && count >= from)
			break;
	}
	return &choices[i].kernel;
}
