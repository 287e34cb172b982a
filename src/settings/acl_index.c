/* acl_index.c - makes the index of a list of addresses, and looks into it. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "settings/acl_index.h"

/* So many rows are looked at without a choice among them: measured in
 * doc/decisions/0118. */
#define ROWS_AT_ONCE 16u

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

/* Does nobody match it, whatever the address? */
static bool
element_is_void(const struct acl_element *e)
{
	return !e->blocked && e->needs_key && e->key == STORE_NONE;
}

/* False: no address is in it. */
static bool
row_make(const struct acl_element *e, struct acl_row *row)
{
	uint64_t other[2];

	row->kind = ACL_ROW_PORT(e->port)
		| (e->family == 6 ? ACL_ROW_IP6 : 0);
	if (!e->blocked)
		row->kind |= ACL_ROW_ALLOWS
			| ACL_ROW_KEY(e->needs_key ? e->key : STORE_NONE);
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

/* ---- the index ----------------------------------------------------------- */

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

void
acl_index_make(const struct acl_element *elements, uint32_t count,
	struct acl_index *index)
{
	struct acl_row *rows = index->rows;
	uint32_t made = 0, left;

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
	left = rows_join(rows, made);
	memset(&rows[left], 0, (count - left) * sizeof(rows[0]));
	index->row_count = left;
}

__extension__ typedef unsigned __int128 acl_words;

static inline acl_words
words_join(uint64_t high, uint64_t low)
{
	return (acl_words)high << 64 | low;
}

/* 0 if a row begins behind an address of a kind, else 1; without a jump, since
 * nobody can guess which it is. Of an IPv4 address the first word says all. */
static inline __attribute__((always_inline)) uint32_t
row_is_before(const struct acl_row *row, uint64_t kind,
	const uint64_t address[2], bool ip6)
{
	if (!ip6)
		return words_join(row->kind, row->first[0])
			<= words_join(kind, address[0]);
	return (row->kind < kind) | ((row->kind == kind)
		& (words_join(row->first[0], row->first[1])
			<= words_join(address[0], address[1])));
}

/* The last row that does not begin behind the address, or the first of all.
 * Several rows are looked at together, as none of these waits for another. */
static inline __attribute__((always_inline)) const struct acl_row *
rows_find(const struct acl_index *index, uint64_t kind,
	const uint64_t address[2], bool ip6)
{
	const struct acl_row *row = index->rows;
	uint32_t count = index->row_count, before = 0;

	while (count > ROWS_AT_ONCE) {
		uint32_t part = count / 4;

		row += part * (row_is_before(&row[part], kind, address, ip6)
			+ row_is_before(&row[2 * part], kind, address, ip6)
			+ row_is_before(&row[3 * part], kind, address, ip6));
		count -= 3 * part;
	}
	for (uint32_t i = 1; i < count; i++)
		before += row_is_before(&row[i], kind, address, ip6);
	row += before;
	return row;
}

const struct acl_row *
acl_index_find(const struct acl_index *index, uint64_t kind,
	const uint64_t address[2])
{
	const struct acl_row *row = kind & ACL_ROW_IP6
		? rows_find(index, kind, address, true)
		: rows_find(index, kind, address, false);

	return index->row_count > 0 && row->kind == kind
			&& words_compare(row->first, address) <= 0
			&& words_compare(address, row->last) <= 0
		? row : NULL;
}
