/* sum_other.c - the checksum where no instruction for it is known of. */
#include "store/sum.h"

void
sum_add(struct sum *sum, const void *data, size_t len)
{
	sum_add_generic(sum, data, len);
}
