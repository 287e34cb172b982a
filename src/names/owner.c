/* owner.c - sort keys of names and canonical order (RFC 4034 section 6.1). */
#include <endian.h>
#include <string.h>

#include "dns/name.h"
#include "names/owner.h"

#define KEY_LEN 16u

/* Finds where each label of a name begins; returns how many there are. */
static unsigned
labels_split(const uint8_t *name, size_t len, uint8_t at[NAME_MAX_LABELS + 1])
{
	unsigned n = 0;

	for (size_t p = 0; p < len; p += name[p] + 1u)
		at[n++] = (uint8_t)p;
	return n;
}

static void
owner_make_key(struct owner *owner, const uint8_t *label_at, unsigned labels)
{
	uint8_t key[KEY_LEN] = {0};
	unsigned k = 0;

	for (unsigned i = labels; i-- > 0;) {
		const uint8_t *label = owner->name + label_at[i];
		unsigned len = label[0];

		for (unsigned j = 1; j <= len; j++) {
			if (k == KEY_LEN)
				goto done;
			if (label[j] < 2) {
				key[k] = 1;
				goto done;
			}
			key[k++] = label[j];
		}
		if (i > 0 && k++ >= KEY_LEN - 1)
			goto done;
	}
	owner->flags |= OWNER_KEY_WHOLE;
done:
	memcpy(owner->key, key, KEY_LEN);
	owner->key[0] = be64toh(owner->key[0]);
	owner->key[1] = be64toh(owner->key[1]);
}

bool
owner_measure(struct owner *owner, const uint8_t *name, size_t len,
	const uint8_t *apex, size_t apex_len)
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	unsigned labels = 0;
	size_t below;

	if (len < apex_len)
		return false;
	below = len - apex_len;
	/* Octets that equal the apex are only the apex if a label begins
	 * there. */
	for (size_t p = 0; p != below; p += name[p] + 1u) {
		if (p > below)
			return false;
		label_at[labels++] = (uint8_t)p;
	}
	if (memcmp(name + below, apex, apex_len) != 0)
		return false;
	owner->name = name;
	owner->name_len = (uint8_t)below;
	owner->labels = (uint8_t)labels;
	owner->flags &= (uint16_t)~OWNER_KEY_WHOLE;
	owner_make_key(owner, label_at, labels);
	return true;
}

static int
owner_label_compare(const uint8_t *a, const uint8_t *b)
{
	unsigned n = a[0] < b[0] ? a[0] : b[0];
	int c = memcmp(a + 1, b + 1, n);

	return c != 0 ? c : (int)a[0] - (int)b[0];
}

static int
owner_compare_names(const struct owner *a, const struct owner *b)
{
	uint8_t a_at[NAME_MAX_LABELS + 1], b_at[NAME_MAX_LABELS + 1];
	unsigned na, nb;

	if (a->name_len == b->name_len
		&& memcmp(a->name, b->name, a->name_len) == 0)
		return 0;
	na = labels_split(a->name, a->name_len, a_at);
	nb = labels_split(b->name, b->name_len, b_at);
	while (na > 0 && nb > 0) {
		int c = owner_label_compare(a->name + a_at[--na],
			b->name + b_at[--nb]);

		if (c != 0)
			return c;
	}
	return (int)na - (int)nb;
}

int
owner_compare(const struct owner *a, const struct owner *b)
{
	if (a->key[0] != b->key[0])
		return a->key[0] < b->key[0] ? -1 : 1;
	if (a->key[1] != b->key[1])
		return a->key[1] < b->key[1] ? -1 : 1;
	if ((a->flags & b->flags & OWNER_KEY_WHOLE) != 0)
		return 0;
	return owner_compare_names(a, b);
}

unsigned
owner_count_common(const struct owner *a, const struct owner *b)
{
	uint8_t a_at[NAME_MAX_LABELS + 1], b_at[NAME_MAX_LABELS + 1];
	unsigned na, nb, common = 0;

	/* Quick for the usual case in large zones: both have one label, and
	 * the names differ. */
	if ((a->key[0] ^ b->key[0]) >> 56 != 0)
		return 0;
	if (a->labels == 1 && b->labels == 1)
		return owner_compare(a, b) == 0;
	na = labels_split(a->name, a->name_len, a_at);
	nb = labels_split(b->name, b->name_len, b_at);
	while (common < na && common < nb) {
		const uint8_t *x = a->name + a_at[na - common - 1];
		const uint8_t *y = b->name + b_at[nb - common - 1];

		if (x[0] != y[0] || memcmp(x + 1, y + 1, x[0]) != 0)
			break;
		common++;
	}
	return common;
}

void
owner_get_ancestor(const struct owner *owner, unsigned labels,
	struct owner *ancestor)
{
	uint8_t at[NAME_MAX_LABELS + 1];
	unsigned n = labels_split(owner->name, owner->name_len, at);
	unsigned skip = n - labels;
	unsigned offset = labels == 0 ? owner->name_len : at[skip];

	ancestor->name = owner->name + offset;
	ancestor->name_len = (uint8_t)(owner->name_len - offset);
	ancestor->labels = (uint8_t)labels;
	ancestor->rr_count = 0;
	ancestor->flags = 0;
	for (unsigned i = 0; i < labels; i++)
		at[i] = (uint8_t)(at[skip + i] - offset);
	owner_make_key(ancestor, at, labels);
}

size_t
owner_find(const struct owner *items, size_t count, const struct owner *name)
{
	size_t low = 0;

	while (count > 0) {
		size_t half = count / 2;

		if (owner_compare(&items[low + half], name) < 0) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low;
}

void
owner_copy(const struct owner *from, size_t apex_len, struct owner *to,
	uint8_t *name)
{
	*to = *from;
	to->name = name;
	memcpy(name, from->name, from->name_len + apex_len);
}
