/* test_owner.c - sort keys agree with canonical order, and sorting and merging
 * keep it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/name.h"
#include "lib/chance.h"
#include "names/owner.h"

#define COUNT 3000u
#define MANY 400000u

static const uint8_t apex[] = "\2ex";
static uint8_t names[COUNT][NAME_MAX_LEN];
static uint64_t random_state = 1;

static uint32_t
rnd(uint32_t below)
{
	return chance_below(&random_state, below);
}

/* Makes a name of few different octets. Keys do not tell some of these
 * apart. */
static void
make_name(uint8_t *name)
{
	static const uint8_t octets[] = {0, 1, 2, 'a', 'b', '*', 0xff};
	size_t len = 0;

	for (unsigned n = rnd(5); n > 0; n--) {
		name[len] = (uint8_t)(1 + rnd(rnd(4) == 0 ? 20 : 3));
		for (unsigned i = 1; i <= name[len]; i++)
			name[len + i] = octets[rnd(sizeof(octets))];
		len += name[len] + 1u;
	}
	memcpy(name + len, apex, sizeof(apex));
}

static void
measure(struct owner *owner, const uint8_t *name)
{
	owner->flags = 0;
	assert_true(owner_measure(owner, name, name_len(name), apex,
		sizeof(apex)));
}

static int
sign(int v)
{
	return (v > 0) - (v < 0);
}

/* RFC 4034 section 6.1 */
static void
order_is_canonical(void **state)
{
	static struct owner owners[COUNT];

	for (unsigned i = 0; i < COUNT; i++) {
		make_name(names[i]);
		measure(&owners[i], names[i]);
	}
	for (unsigned i = 0; i < COUNT; i++)
		for (unsigned n = 0; n < 300; n++) {
			unsigned j = rnd(COUNT);

			assert_int_equal(sign(owner_compare(&owners[i],
				&owners[j])), sign(name_compare(names[i],
				names[j])));
		}
}

static void
names_outside_are_told(void **state)
{
	struct owner o = {0};

	assert_false(owner_measure(&o, (const uint8_t *)"\3com", 5, apex,
		sizeof(apex)));
	assert_false(owner_measure(&o, (const uint8_t *)"\0", 1, apex,
		sizeof(apex)));
	assert_false(owner_measure(&o, (const uint8_t *)"\4a\2ex", 6, apex,
		sizeof(apex)));
	assert_true(owner_measure(&o, (const uint8_t *)"\1a\2ex", 6, apex,
		sizeof(apex)));
	assert_int_equal(o.labels, 1);
	assert_int_equal(o.name_len, 2);
}

static void
ancestors_and_common_labels(void **state)
{
	struct owner a, b, p, q;

	measure(&a, (const uint8_t *)"\1x\1y\1z\2ex");
	measure(&b, (const uint8_t *)"\2xx\1y\1z\2ex");
	assert_int_equal(owner_count_common(&a, &b), 2);
	for (unsigned l = 0; l < 3; l++) {
		owner_get_ancestor(&a, l, &p);
		owner_get_ancestor(&b, l, &q);
		assert_int_equal(p.labels, l);
		assert_int_equal(owner_compare(&p, &q), 0);
		assert_int_equal(owner_count_common(&p, &a), l);
		assert_true(owner_compare(&p, &a) < 0);
	}
}

static void
check_sorted(const struct owner *o, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		int c = owner_compare(&o[i - 1], &o[i]);

		assert_true(c < 0 || (c == 0
			&& o[i - 1].rr_count < o[i].rr_count));
	}
}

static void
sorting_is_stable_for_any_input(void **state)
{
	static struct owner owners[COUNT], tmp[COUNT];

	for (unsigned round = 0; round < 60; round++) {
		size_t count = rnd(COUNT);

		for (unsigned i = 0; i < count; i++) {
			make_name(names[i]);
			measure(&owners[i], names[i]);
		}
		/* Already in order, in a few parts, or not at all. */
		if (round % 3 > 0)
			owner_sort(owners, tmp, count);
		if (round % 3 == 1)
			for (size_t i = 0; i < count / 50; i++)
				owners[rnd((uint32_t)count)] =
					owners[rnd((uint32_t)count)];
		for (unsigned i = 0; i < count; i++)
			owners[i].rr_count = i;
		owner_sort(owners, tmp, count);
		check_sorted(owners, count);
	}
}

/* Many have the same name or key. */
static void
sorting_many_in_no_order_is_stable(void **state)
{
	struct owner *owners = malloc(MANY * sizeof(*owners));
	struct owner *tmp = malloc(MANY * sizeof(*tmp));
	uint64_t sum = 0;

	assert_non_null(owners);
	assert_non_null(tmp);
	for (unsigned i = 0; i < COUNT; i++)
		make_name(names[i]);
	for (unsigned round = 0; round < 3; round++) {
		/* In the last round, the start is in order and the rest is
		 * not. */
		for (unsigned i = 0; i < MANY; i++) {
			measure(&owners[i], names[rnd(COUNT)]);
			sum += owners[i].name_len;
		}
		if (round == 2)
			owner_sort(owners, tmp, MANY / 4);
		for (unsigned i = 0; i < MANY; i++)
			owners[i].rr_count = i;
		owner_sort(owners, tmp, MANY);
		check_sorted(owners, MANY);
		for (unsigned i = 0; i < MANY; i++)
			sum -= owners[i].name_len;
		assert_int_equal(sum, 0);
	}
	free(owners);
	free(tmp);
}

static void
parts_of_a_merge_fit_together(void **state)
{
	static struct owner all[COUNT], tmp[COUNT], out[COUNT];

	for (unsigned round = 0; round < 100; round++) {
		size_t n = 1 + rnd(COUNT - 1), a = rnd((uint32_t)n + 1);
		size_t cut = rnd((uint32_t)n + 1), i;

		for (i = 0; i < n; i++) {
			make_name(names[i]);
			measure(&all[i], names[i]);
			all[i].rr_count = (uint32_t)i;
		}
		owner_sort(all, tmp, a);
		owner_sort(all + a, tmp, n - a);
		for (i = 0; i < n; i++)
			all[i].rr_count = (uint32_t)i;
		i = owner_merge_split(all, a, all + a, n - a, cut);
		owner_merge(all, i, all + a, cut - i, out);
		owner_merge(all + i, a - i, all + a + (cut - i),
			n - a - (cut - i), out + cut);
		check_sorted(out, n);
		for (i = 0; i < 50; i++) {
			struct owner name;
			uint8_t wire[NAME_MAX_LEN];
			size_t at;

			make_name(wire);
			measure(&name, wire);
			at = owner_find(out, n, &name);
			assert_true(at == n
				|| owner_compare(&out[at], &name) >= 0);
			assert_true(at == 0
				|| owner_compare(&out[at - 1], &name) < 0);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_canonical),
		cmocka_unit_test(names_outside_are_told),
		cmocka_unit_test(ancestors_and_common_labels),
		cmocka_unit_test(sorting_is_stable_for_any_input),
		cmocka_unit_test(sorting_many_in_no_order_is_stable),
		cmocka_unit_test(parts_of_a_merge_fit_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
