/* acl_index.c - makes the index of a list of addresses, and looks into it. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "settings/acl_index.h"

/* A range of addresses; numbers are of this machine. */
struct acl_row {
	uint64_t kind;     /* ACL_KIND_* */
	uint64_t first[2]; /* address, the most significant octets first */
	uint64_t last[2];
};

/* ---- addresses as two words ---------------------------------------------- */

static void
words_read(const uint8_t *octets, uint64_t words[2])
{
	memcpy(words, octets, 2 * sizeof(words[0]));
	words[0] = be64toh(words[0]);
	words[1] = be64toh(words[1]);
}

static int
words_compare(const uint64_t a[2], const uint64_t b[2])
{
	if (a[0] != b[0])
		return a[0] < b[0] ? -1 : 1;
	return a[1] < b[1] ? -1 : a[1] > b[1];
}

/* True if there is no address between the end of one row and the beginning of
 * the next. */
static bool
row_reaches(const struct acl_row *row, const struct acl_row *next)
{
	uint64_t behind[2] = {row->last[0], row->last[1] + 1};

	if (words_compare(next->first, row->last) <= 0)
		return true;
	behind[0] += behind[1] == 0;
	return words_compare(next->first, behind) == 0;
}

/* ---- elements ------------------------------------------------------------ */

/* True if all ones of a mask stand before its zeros. */
static bool
mask_is_prefix(const uint8_t *octets)
{
	uint64_t mask[2], zeros[2];

	words_read(octets, mask);
	zeros[0] = ~mask[0];
	zeros[1] = ~mask[1];
	if (zeros[0] != 0)
		return mask[1] == 0 && (zeros[0] & (zeros[0] + 1)) == 0;
	return (zeros[1] & (zeros[1] + 1)) == 0;
}

bool
acl_index_covers(const struct acl_element *e)
{
	return e->identity == STORE_NONE
		&& (e->kind != ACL_MASK || mask_is_prefix(e->other));
}

struct acl_element *
acl_index_copy(const struct acl_element *from, uint32_t count,
	struct acl_element *to)
{
	for (int covered = 0; covered < 2; covered++)
		for (uint32_t i = 0; i < count; i++)
			if (acl_index_covers(&from[i]) == (covered != 0))
				*to++ = from[i];
	return to;
}

/* True if an element matches no client, whatever its address: its key is
 * missing. */
static bool
element_is_void(const struct acl_element *e)
{
	return !e->blocked && e->needs_key && e->key == STORE_NONE;
}

/* Makes the row of an element. False: no address is in it. */
static bool
row_make(const struct acl_element *e, struct acl_row *row)
{
	uint64_t other[2];

	row->kind = ACL_KIND_PORT(e->port)
		| (e->family == 6 ? ACL_KIND_IP6 : 0);
	if (!e->blocked)
		row->kind |= ACL_KIND_ALLOWS
			| ACL_KIND_KEY(e->needs_key ? e->key : STORE_NONE);
	words_read(e->address, row->first);
	words_read(e->other, other);
	for (unsigned i = 0; i < 2; i++) {
		switch (e->kind) {
		case ACL_MASK:
			row->first[i] &= other[i];
			row->last[i] = row->first[i] | ~other[i];
			break;
		case ACL_RANGE:
			row->last[i] = other[i];
			break;
		default:
			row->last[i] = row->first[i];
			break;
		}
	}
	/* Behind an IPv4 address there is nothing to tell rows apart. */
	if (e->family != 6) {
		row->last[0] |= UINT32_MAX;
		row->last[1] = UINT64_MAX;
	}
	return words_compare(row->first, row->last) <= 0;
}

static int
row_compare(const void *a, const void *b)
{
	const struct acl_row *x = a, *y = b;
	int order;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	order = words_compare(x->first, y->first);
	return order != 0 ? order : words_compare(x->last, y->last);
}

/* ---- rows ---------------------------------------------------------------- */

/* Joins rows that touch. Returns how many are left. */
static uint32_t
rows_join(struct acl_row *rows, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 1; i < count; i++) {
		struct acl_row *row = &rows[kept];

		if (rows[i].kind != row->kind || !row_reaches(row, &rows[i]))
			rows[++kept] = rows[i];
		else if (words_compare(row->last, rows[i].last) < 0)
			memcpy(row->last, rows[i].last, sizeof(row->last));
	}
	return count > 0 ? kept + 1 : 0;
}

/* Makes rows of the elements that are covered, in order. Returns how many there
 * are. */
static uint32_t
rows_fill(const struct acl_element *elements, uint32_t count,
	struct acl_row *rows, struct acl_index *index)
{
	uint32_t made = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct acl_element *e = &elements[i];

		index->walk_count += !acl_index_covers(e);
		if (!acl_index_covers(e) || element_is_void(e)
			|| !row_make(e, &rows[made]))
			continue;
		index->has_blocked |= e->blocked;
		index->has_ports |= e->port != 0;
		made++;
	}
	qsort(rows, made, sizeof(rows[0]), row_compare);
	return rows_join(rows, made);
}

/* ---- trees of bounds ----------------------------------------------------- */

/*
 * A tree is its levels, the top one first. Level 0 has all bounds, and each one
 * above it the last bound of each node of the one below, but of one that is not
 * full. So as many bounds of a level as are before an address, so many nodes of
 * the one below are passed by. What is left of the last node of a level, which
 * may be all of it, is filled with what is before no address. The top level is
 * one node.
 *
 * The bounds of a node are compared without a jump, since nobody can guess how
 * that ends. doc/decisions/0108 has figures.
 */

/* A bound of IPv4, less 2^31: processors compare several at once. */
typedef int32_t bound4;
struct bound6 {
	uint64_t word[2];
};

/* Bounds in a node, as powers of two. */
#define NODE4_BITS 4u
#define NODE6_BITS 3u

__extension__ typedef unsigned __int128 acl_words;

static inline acl_words
words_join(const uint64_t words[2])
{
	return (acl_words)words[0] << 64 | words[1];
}

static inline bound4
bound4_of(uint64_t word)
{
	return (bound4)((uint32_t)(word >> 32) - 0x80000000u);
}

static inline unsigned
node_bits(bool ip6)
{
	return ip6 ? NODE6_BITS : NODE4_BITS;
}

static inline size_t
node_size(bool ip6)
{
	return ip6 ? sizeof(struct bound6) << NODE6_BITS
		   : sizeof(bound4) << NODE4_BITS;
}

/* The number of the top level, times the bits of a node. */
static inline unsigned
top_shift(uint32_t count, bool ip6)
{
	unsigned shift = 0;

	while (count >> shift >> node_bits(ip6) != 0)
		shift += node_bits(ip6);
	return shift;
}

static inline size_t
level_nodes(uint32_t count, unsigned shift, bool ip6)
{
	return (size_t)(count >> shift >> node_bits(ip6)) + 1;
}

static size_t
tree_size(uint32_t count, bool ip6)
{
	unsigned top = top_shift(count, ip6);
	size_t nodes = 0;

	for (unsigned shift = 0; shift <= top; shift += node_bits(ip6))
		nodes += level_nodes(count, shift, ip6);
	return nodes * node_size(ip6);
}

/* A bound of the rows of a part. The first address of all is behind none. */
static acl_words
bound_read(const struct acl_row *rows, uint32_t count, uint32_t i, bool ip6)
{
	const struct acl_row *row = &rows[(i + count % 2) / 2];

	if ((i + count) % 2 != 0)
		return words_join(row->last);
	return words_join(row->first) - (ip6 ? 1 : (acl_words)1 << 96);
}

static void
tree_fill(const struct acl_row *rows, uint32_t count, bool ip6, void *tree)
{
	unsigned shift = top_shift(count, ip6) + node_bits(ip6);
	struct bound6 *out6 = tree;
	bound4 *out4 = tree;

	while (shift > 0) {
		size_t room;

		shift -= node_bits(ip6);
		room = level_nodes(count, shift, ip6) << node_bits(ip6);
		for (size_t i = 1; i <= room; i++) {
			acl_words bound = i << shift > count ? ~(acl_words)0
				: bound_read(rows, count,
					(uint32_t)(i << shift) - 1, ip6);
			uint64_t high = (uint64_t)(bound >> 64);

			if (ip6)
				*out6++ = (struct bound6){
					{high, (uint64_t)bound}};
			else
				*out4++ = bound4_of(high);
		}
	}
}

/* The bounds of a node that are before an address. */
static inline __attribute__((always_inline)) uint32_t
node_before(const void *node, const uint64_t address[2], bool ip6)
{
	const struct bound6 *six = node;
	const bound4 *four = node;
	uint32_t before = 0;

	if (ip6) {
#pragma GCC unroll 8
		for (unsigned i = 0; i < 1u << NODE6_BITS; i++)
			before += words_join(six[i].word)
				< words_join(address);
	} else {
#pragma GCC unroll 4
		for (unsigned i = 0; i < 1u << NODE4_BITS; i++)
			before += four[i] < bound4_of(address[0]);
	}
	return before;
}

/* The bounds of a part that are before an address. */
static inline __attribute__((always_inline)) uint32_t
tree_before(const uint8_t *level, uint32_t count, const uint64_t address[2],
	bool ip6)
{
	unsigned shift = top_shift(count, ip6);
	uint32_t before = node_before(level, address, ip6);

	for (; shift > 0; shift -= node_bits(ip6)) {
		level += level_nodes(count, shift, ip6) * node_size(ip6);
		before = (before << node_bits(ip6)) + node_before(
			level + before * node_size(ip6), address, ip6);
	}
	return before;
}

/* ---- the index ----------------------------------------------------------- */

static void
part_make(const struct acl_row *rows, uint32_t row_count,
	struct acl_index *index, struct acl_part *part)
{
	bool ip6 = rows[0].kind & ACL_KIND_IP6;

	part->kind = rows[0].kind;
	part->count = 2 * row_count - (words_join(rows[0].first) == 0);
	part->at = index->len;
	tree_fill(rows, part->count, ip6, (uint8_t *)index + part->at);
	index->len += (uint32_t)tree_size(part->count, ip6);
}

enum nsd_err
acl_index_make(const struct acl_element *elements, uint32_t count,
	struct acl_index *index)
{
	struct acl_row *rows = malloc((count + 1u) * sizeof(*rows));
	struct acl_part *part = index->parts;
	uint32_t left;

	if (rows == NULL)
		return NSD_E_MEMORY;
	left = rows_fill(elements, count, rows, index);
	for (uint32_t i = 0; i < left; i++)
		index->part_count += i == 0 || rows[i].kind != rows[i - 1].kind;
	index->len = (uint32_t)((sizeof(*index)
		+ index->part_count * sizeof(*part) + ACL_INDEX_ALIGN - 1)
		& ~(size_t)(ACL_INDEX_ALIGN - 1));
	for (uint32_t i = 0, end = 0; i < left; i = end) {
		while (end < left && rows[end].kind == rows[i].kind)
			end++;
		part_make(&rows[i], end - i, index, part++);
	}
	free(rows);
	return NSD_OK;
}

bool
acl_index_has(const struct acl_index *index, uint64_t kind,
	const uint64_t address[2])
{
	const struct acl_part *part = index->parts;
	const uint8_t *tree;
	uint32_t before;

	/* The last part of no later kind, or the first of all. */
	for (uint32_t n = index->part_count; n > 1; n -= n / 2)
		part += part[n / 2].kind <= kind ? n / 2 : 0;
	if (index->part_count == 0 || part->kind != kind)
		return false;
	tree = (const uint8_t *)index + part->at;
	before = kind & ACL_KIND_IP6
		? tree_before(tree, part->count, address, true)
		: tree_before(tree, part->count, address, false);
	return (part->count - before) % 2 != 0;
}
