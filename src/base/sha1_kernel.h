/*
 * sha1_kernel.h - SHA-1 for one instruction set each, chosen at run time.
 */
#ifndef BASE_SHA1_KERNEL_H
#define BASE_SHA1_KERNEL_H

#include <stdbool.h>

#include "base/sha1.h"

/* As sha1_hash, for at most the kernel's number of lanes. */
typedef void sha1_hash_fn(struct sha1_message *messages, size_t count,
	const struct sha1_suffix *suffix, unsigned repeat);

struct sha1_kernel {
	const char *name;
	unsigned lanes;
	sha1_hash_fn *hash;
};

/* The n-th that this machine can run, widest first; NULL behind the last. */
const struct sha1_kernel *sha1_kernel_at(unsigned n);

/* The best kernel for a number of messages; never NULL. */
const struct sha1_kernel *sha1_kernel_for(size_t count, bool repeats);

sha1_hash_fn sha1_hash_avx512x2, sha1_hash_avx512;
sha1_hash_fn sha1_hash_avx2;
sha1_hash_fn sha1_hash_shani2, sha1_hash_shani1;
sha1_hash_fn sha1_hash_generic;

/* Stands before a loop that is to be unrolled whole, so that the compiler
 * chooses what each round does and in which registers. */
#ifdef __clang__
#define SHA1_UNROLL _Pragma("unroll")
#else
#define SHA1_UNROLL _Pragma("GCC unroll 80")
#endif

/* The state before the first block. */
#define SHA1_H0 0x67452301u
#define SHA1_H1 0xefcdab89u
#define SHA1_H2 0x98badcfeu
#define SHA1_H3 0x10325476u
#define SHA1_H4 0xc3d2e1f0u

#endif
