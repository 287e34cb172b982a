/*
 * sha1_kernel_generic.c - the one kernel of processors other than x86-64.
 */
#include "base/sha1_kernel.h"

#include <stddef.h>

static const struct sha1_kernel generic = { "generic", 1, sha1_hash_generic };

const struct sha1_kernel *
sha1_kernel_at(unsigned n)
{
	return n == 0 ? &generic : NULL;
}

const struct sha1_kernel *
sha1_kernel_for(size_t count, bool repeats)
{
	return &generic;
}
