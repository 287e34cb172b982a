/* mutate_octets.c - changes octets that have no form. */
#include "fuzz/mutate_octets.h"

#include "lib/chance.h"

/* libFuzzer defines it; replay.c is linked without. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
	__attribute__((weak));

size_t
mutate_octets(uint64_t *chance, uint8_t *data, size_t size, size_t max)
{
	if (LLVMFuzzerMutate != NULL)
		return LLVMFuzzerMutate(data, size, max);
	if (size < max && chance_below(chance, 4) == 0)
		data[size++] = (uint8_t)chance_next(chance);
	else if (size > 1 && chance_below(chance, 4) == 0)
		size--;
	if (size > 0)
		data[chance_below(chance, (uint32_t)size)] ^=
			(uint8_t)(1u << chance_below(chance, 8));
	return size;
}
