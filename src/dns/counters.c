/* counters.c - sums of counters, their names, and blocks of them. */
#include "dns/counters.h"

#include <stdio.h>

/* All fields of struct counters are uint64_t. */
#define COUNTER_COUNT (sizeof(struct counters) / sizeof(uint64_t))
#define BLOCK_HEAD 64u

void
counters_add(struct counters *sum, const struct counters *more)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)more;

	for (size_t i = 0; i < COUNTER_COUNT; i++)
		to[i] += from[i];
}

void
counters_subtract(struct counters *sum, const struct counters *less)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)less;

	for (size_t i = 0; i < COUNTER_COUNT; i++) {
		uint64_t n = from[i];

		to[i] = to[i] > n ? to[i] - n : 0;
	}
}

bool
counters_print_type(uint16_t type, char out[RRTYPE_TEXT_MAX])
{
	/* The ranges of types that have a name in NSD 4. */
	static const uint8_t named[][2] = {{1, 22}, {24, 26}, {28, 30},
		{33, 33}, {35, 37}, {39, 39}, {41, 53}, {59, 65}, {99, 99},
		{104, 109}};

	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
		if (type >= named[i][0] && type <= named[i][1]) {
			(void)rrtype_print(type, out);
			return true;
		}
	snprintf(out, RRTYPE_TEXT_MAX, "TYPE%u", (unsigned)type);
	return false;
}

size_t
counters_block_size(uint32_t room)
{
	return counters_block_reach(room, room);
}

/* The offset of a block's rows. */
static size_t
block_rows_at(uint32_t room)
{
	size_t row_of = ((size_t)room + 1) * sizeof(uint32_t);

	return BLOCK_HEAD + (row_of + BLOCK_HEAD - 1) / BLOCK_HEAD * BLOCK_HEAD;
}

size_t
counters_block_reach(uint32_t room, uint32_t groups)
{
	return block_rows_at(room)
		+ ((size_t)groups + 1) * sizeof(struct counters);
}

void
counters_block_init(struct counters_block *block, void *memory, uint32_t room)
{
	uint8_t *at = memory;

	block->used = memory;
	block->row_of = (uint32_t *)(void *)(at + BLOCK_HEAD);
	block->rows = (struct counters *)(void *)(at + block_rows_at(room));
	block->room = room;
}

/* A process that is leaving and its successor may both do this for a moment. */
static uint32_t
block_take_row(const struct counters_block *block, uint32_t group)
{
	uint32_t none = 0;
	uint32_t row = __atomic_add_fetch(block->used, 1, __ATOMIC_RELAXED);

	if (row == 0 || row > block->room) {
		__atomic_sub_fetch(block->used, 1, __ATOMIC_RELAXED);
		return 0;
	}
	if (__atomic_compare_exchange_n(&block->row_of[group], &none, row,
		    false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return row;
	return none;
}

struct counters *
counters_block_open(const struct counters_block *block, uint32_t group)
{
	uint32_t row;

	if (group > block->room)
		return NULL;
	row = group == 0 ? 0 : __atomic_load_n(&block->row_of[group],
				  __ATOMIC_RELAXED);
	if (row == 0 && group != 0) {
		row = block_take_row(block, group);
		if (row == 0)
			return NULL;
	}
	return row <= block->room ? &block->rows[row] : NULL;
}

const struct counters *
counters_block_find(const struct counters_block *block, uint32_t group)
{
	uint32_t row;

	if (group > block->room)
		return NULL;
	row = __atomic_load_n(&block->row_of[group], __ATOMIC_ACQUIRE);
	if (group == 0)
		return block->rows;
	return row != 0 && row <= block->room ? &block->rows[row] : NULL;
}
