/*
 * owner_sort.c - sorts owners, stably.
 *
 * Runs that are in order are merged. That is quick for input in order or made
 * of a few ordered parts, as most zone files are. Input that turns out to have
 * no order is first spread by the octets of the keys.
 */
#include <string.h>

#include "names/owner.h"

#define RUN_MIN 16u /* shorter runs are made this long by insertion */
/* Input has no order if more items than this were in short runs, and these are
 * more than half of the items so far. */
#define UNORDERED_MIN 1024u
#define SPREAD_MIN 128u /* fewer are not worth a table of 256 places */

/* Finds the ordered run at the start, and sorts it up to RUN_MIN items if it is
 * shorter; returns its length. */
static size_t
owner_make_run(struct owner *items, size_t count, size_t *unordered)
{
	size_t n = 1, want = count < RUN_MIN ? count : RUN_MIN;

	while (n < count && owner_compare(&items[n - 1], &items[n]) <= 0)
		n++;
	if (n < want)
		*unordered += want;
	for (; n < want; n++) {
		struct owner moved = items[n];
		size_t at = n;

		while (at > 0 && owner_compare(&items[at - 1], &moved) > 0) {
			items[at] = items[at - 1];
			at--;
		}
		items[at] = moved;
	}
	return n;
}

void
owner_merge(const struct owner *a, size_t a_count, const struct owner *b,
	size_t b_count, struct owner *out)
{
	const struct owner *a_end = a + a_count, *b_end = b + b_count;

	if (a_count > 0 && b_count > 0 && owner_compare(a_end - 1, b) <= 0) {
		memcpy(out, a, a_count * sizeof(*a));
		memcpy(out + a_count, b, b_count * sizeof(*b));
		return;
	}
	while (a < a_end && b < b_end) {
		if (owner_compare(a, b) <= 0)
			*out++ = *a++;
		else
			*out++ = *b++;
	}
	memcpy(out, a, (size_t)(a_end - a) * sizeof(*a));
	out += a_end - a;
	memmove(out, b, (size_t)(b_end - b) * sizeof(*b));
}

/*
 * Runs wait on a stack. Each is more than twice as long as the one above it. So
 * there are at most 64, and each item moves O(log runs) times.
 * returns false if it gave up since there is no order to use. Then all items
 * are there, and equal ones are still in order.
 */
static bool
owner_sort_runs(struct owner *items, struct owner *tmp, size_t count,
	bool give_up)
{
	size_t start[72], len[72];
	unsigned depth = 0;
	size_t at = 0, unordered = 0;

	while (at < count || depth > 1) {
		if (at < count) {
			start[depth] = at;
			len[depth] = owner_make_run(items + at, count - at,
				&unordered);
			at += len[depth];
			depth++;
		}
		if (give_up && unordered > UNORDERED_MIN
			&& unordered > at / 2)
			return false;
		while (depth > 1 && (at == count
			|| len[depth - 2] <= 2 * len[depth - 1])) {
			size_t s = start[depth - 2];
			size_t n = len[depth - 2] + len[depth - 1];

			if (owner_compare(&items[start[depth - 1] - 1],
				    &items[start[depth - 1]]) > 0) {
				/* The merge writes forwards from the left
				 * part's place, so only that part has to get
				 * out of the way. */
				memcpy(tmp, items + s,
					len[depth - 2] * sizeof(*items));
				owner_merge(tmp, len[depth - 2],
					items + start[depth - 1],
					len[depth - 1], items + s);
			}
			depth--;
			len[depth - 1] = n;
		}
	}
	return true;
}

static inline unsigned
owner_key_octet(const struct owner *owner, unsigned i)
{
	return owner->key[i / 8] >> (56 - 8 * (i % 8)) & 0xff;
}

/* Finds the place of the first item for each value of octet i of the key.
 * returns false if all items have the same value; then place is undefined. */
static bool
owner_count_octets(const struct owner *items, size_t count, unsigned i,
	size_t place[257])
{
	size_t sum = 0;

	memset(place, 0, 257 * sizeof(*place));
	for (size_t n = 0; n < count; n++)
		place[owner_key_octet(&items[n], i)]++;
	if (place[owner_key_octet(&items[0], i)] == count)
		return false;
	for (unsigned v = 0; v <= 256; v++) {
		size_t here = place[v];

		place[v] = sum;
		sum += here;
	}
	return true;
}

/*
 * Sorts items whose keys are equal in the octets before i. other has room for
 * as many. The sorted items are in `items` if home, else in `other`.
 */
static void
owner_spread(struct owner *items, struct owner *other, size_t count,
	unsigned i, bool home)
{
	size_t place[257], begin = 0;

	while (count > SPREAD_MIN && i < sizeof(items->key)
		&& !owner_count_octets(items, count, i, place))
		i++;
	if (count <= SPREAD_MIN || i == sizeof(items->key)) {
		owner_sort_runs(items, other, count, false);
		if (!home)
			memcpy(other, items, count * sizeof(*items));
		return;
	}
	for (size_t n = 0; n < count; n++)
		other[place[owner_key_octet(&items[n], i)]++] = items[n];
	/* Now place[v] is where the items of value v end. */
	for (unsigned v = 0; v < 256 && begin < count; v++) {
		if (place[v] > begin)
			owner_spread(other + begin, items + begin,
				place[v] - begin, i + 1, !home);
		begin = place[v];
	}
}

void
owner_sort(struct owner *items, struct owner *tmp, size_t count)
{
	if (!owner_sort_runs(items, tmp, count, true))
		owner_spread(items, tmp, count, 0, true);
}

size_t
owner_merge_split(const struct owner *a, size_t a_count,
	const struct owner *b, size_t b_count, size_t count)
{
	size_t low = count > b_count ? count - b_count : 0;
	size_t high = count < a_count ? count : a_count;

	/* Find the smallest i with b[count - i - 1] < a[i]. */
	while (low < high) {
		size_t i = low + (high - low) / 2;

		if (owner_compare(&b[count - i - 1], &a[i]) < 0)
			high = i;
		else
			low = i + 1;
	}
	return low;
}
