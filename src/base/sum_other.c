/* sum_other.c - the checksum on machines whose instruction for it is not used
 * here, or that have none. */
#include "base/sum.h"

void
sum_add(struct sum *sum, const void *data, size_t len)
{
	sum_add_generic(sum, data, len);
}
