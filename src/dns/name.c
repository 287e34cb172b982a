/* name.c - domain names in memory: length, order, case. */
#include <string.h>

#include "base/assert.h"
#include "dns/name.h"
#include "dns/swar.h"

#define R4(n) (n), (n) + 1, (n) + 2, (n) + 3
#define R8(n) R4(n), R4((n) + 4)
#define R26(n) R8(n), R8((n) + 8), R8((n) + 16), (n) + 24, (n) + 25
#define R32(n) R8(n), R8((n) + 8), R8((n) + 16), R8((n) + 24)

const uint8_t name_lower_table[256] = {
	R32(0), R32(32), '@', R26('a'), R4(91), 95, R32(96), R32(128),
	R32(160), R32(192), R32(224)
};

size_t
name_len(const uint8_t *name)
{
	const uint8_t *at = name;

	while (*at != 0) {
		ASSERT_HOT(*at <= LABEL_MAX_LEN);
		at += 1 + *at;
	}
	ASSERT_HOT(at - name < (ptrdiff_t)NAME_MAX_LEN);
	return (size_t)(at - name) + 1;
}

unsigned
name_count_labels(const uint8_t *name)
{
	unsigned count = 0;

	for (; *name != 0; name += 1 + *name)
		count++;
	return count;
}

/* Length octets are below 'A', so they need no care. */
void
name_lower(uint8_t *name)
{
	size_t i, len = name_len(name);

	for (i = 0; i + 8 <= len; i += 8)
		swar_store(name + i, swar_lower(swar_load(name + i)));
	for (; i < len; i++)
		name[i] = name_lower_table[name[i]];
}

static bool
octets_equal_lower(const uint8_t *a, const uint8_t *b, size_t len)
{
	size_t i;

	if (len < 8)
		return swar_lower(swar_load_part(a, len))
			== swar_lower(swar_load_part(b, len));
	for (i = 0; i + 8 < len; i += 8)
		if (swar_lower(swar_load(a + i))
			!= swar_lower(swar_load(b + i)))
			return false;
	return swar_lower(swar_load(a + len - 8))
		== swar_lower(swar_load(b + len - 8));
}

bool
name_equal(const uint8_t *a, const uint8_t *b)
{
	size_t len = name_len(a);

	return name_len(b) == len && octets_equal_lower(a, b, len);
}

/* Lists the offset of each label, the root label last; returns their count. */
static unsigned
list_labels(const uint8_t *name, uint8_t offsets[NAME_MAX_LABELS + 1])
{
	unsigned count = 0;
	uint8_t at = 0;

	for (;;) {
		ASSERT_HOT(count <= NAME_MAX_LABELS);
		offsets[count++] = at;
		if (name[at] == 0)
			return count;
		at = (uint8_t)(at + 1 + name[at]);
	}
}

static int
compare_labels(const uint8_t *a, const uint8_t *b)
{
	unsigned i, len = *a < *b ? *a : *b;

	for (i = 1; i <= len; i++) {
		int order = (int)name_lower_table[a[i]]
			- (int)name_lower_table[b[i]];

		if (order != 0)
			return order;
	}
	return (int)*a - (int)*b;
}

int
name_compare(const uint8_t *a, const uint8_t *b)
{
	uint8_t a_at[NAME_MAX_LABELS + 1], b_at[NAME_MAX_LABELS + 1];
	unsigned a_count = list_labels(a, a_at);
	unsigned b_count = list_labels(b, b_at);
	unsigned i, common = a_count < b_count ? a_count : b_count;

	/* The root label, i = 1, is equal in both. */
	for (i = 2; i <= common; i++) {
		int order = compare_labels(a + a_at[a_count - i],
			b + b_at[b_count - i]);

		if (order != 0)
			return order;
	}
	return (int)a_count - (int)b_count;
}

bool
name_is_within(const uint8_t *name, const uint8_t *parent)
{
	size_t len = name_len(name), parent_len = name_len(parent);

	while (len > parent_len) {
		len -= 1u + *name;
		name += 1 + *name;
	}
	return len == parent_len && octets_equal_lower(name, parent, len);
}

const uint8_t *
name_skip_labels(const uint8_t *name, unsigned count)
{
	while (count-- > 0 && *name != 0)
		name += 1 + *name;
	return name;
}
