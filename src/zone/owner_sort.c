/* owner_sort.c - merge sort of owners: stable, and quick where the input is
 * in order or made of a few ordered parts, as zone files are. */
#include <string.h>

#include "zone/owner.h"

#define RUN_MIN 16u /* shorter runs are made this long by insertion */

/* Length of the ordered run at the start, brought to RUN_MIN. */
static size_t
owner_make_run(struct owner *items, size_t count)
{
	size_t n = 1, want = count < RUN_MIN ? count : RUN_MIN;

	while (n < count && owner_compare(&items[n - 1], &items[n]) <= 0)
		n++;
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
 * Runs wait on a stack, each more than twice as long as the one above it, so
 * that there are at most 64 and each item moves O(log runs) times.
 */
void
owner_sort(struct owner *items, struct owner *tmp, size_t count)
{
	size_t start[72], len[72];
	unsigned depth = 0;
	size_t at = 0;

	while (at < count || depth > 1) {
		if (at < count) {
			start[depth] = at;
			len[depth] = owner_make_run(items + at, count - at);
			at += len[depth];
			depth++;
		}
		while (depth > 1 && (at == count
			|| len[depth - 2] <= 2 * len[depth - 1])) {
			size_t s = start[depth - 2];
			size_t n = len[depth - 2] + len[depth - 1];

			if (owner_compare(&items[start[depth - 1] - 1],
				    &items[start[depth - 1]]) > 0) {
				/* Only the left part has to get out of the
				 * way; merging forwards into its place. */
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
}

size_t
owner_merge_split(const struct owner *a, size_t a_count,
	const struct owner *b, size_t b_count, size_t count)
{
	size_t low = count > b_count ? count - b_count : 0;
	size_t high = count < a_count ? count : a_count;

	/* The smallest i with b[count - i - 1] < a[i]. */
	while (low < high) {
		size_t i = low + (high - low) / 2;

		if (owner_compare(&b[count - i - 1], &a[i]) < 0)
			high = i;
		else
			low = i + 1;
	}
	return low;
}
