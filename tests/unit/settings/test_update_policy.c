/* test_update_policy.c - whether a key may change a record: each form of a
 * line, and random policies against a walk of their lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "dns/name.h"
#include "dns/rrtype.h"
#include "lib/chance.h"
#include "lib/failing.h"
#include "settings/update_policy.h"

#define K ((store_ref)8)
#define OTHER ((store_ref)16)

#define ZONE "\7example"

static struct update_policy *
make(const struct update_policy_line *lines, uint32_t count)
{
	uint64_t size = update_policy_size_max(lines, count);
	struct update_policy *policy = calloc(1, size);

	assert_non_null(policy);
	assert_int_equal(update_policy_make(lines, count, policy), NSD_OK);
	assert_true(policy->len <= size);
	return policy;
}

static uint32_t
find(const struct update_policy *policy, store_ref key, const char *owner,
	uint16_t type)
{
	return update_policy_find(policy, key, (const uint8_t *)ZONE,
		(const uint8_t *)owner, type);
}

/* ---- forms --------------------------------------------------------------- */

#define LINE(of, which, wire, ...)                                            \
	{                                                                     \
		.key = of, .kind = UPDATE_POLICY_##which,                     \
		.name = (const uint8_t *)(wire), __VA_ARGS__                  \
	}

static const uint16_t txt[] = {TYPE_TXT}, any[] = {TYPE_ANY},
	addresses[] = {TYPE_AAAA, TYPE_A, TYPE_AAAA};

static void
no_policy_and_no_key_allow_nothing(void **state)
{
	const struct update_policy_line line[] = {LINE(K, ANY, ""),
		LINE(STORE_NONE, ANY, "")};
	struct update_policy *policy = make(line, 2);

	assert_int_equal(find(NULL, K, "\1a" ZONE, TYPE_A), 0);
	assert_int_equal(find(policy, K, "\1a" ZONE, TYPE_A), 1);
	assert_int_equal(find(policy, OTHER, "\1a" ZONE, TYPE_A), 0);
	assert_int_equal(find(policy, STORE_NONE, "\1a" ZONE, TYPE_A), 0);
	/* A line of an unknown key is no entry: nobody holds its key. */
	assert_int_equal(policy->count, 1);
	free(policy);
	policy = make(line + 1, 1);
	assert_int_equal(policy->count, 0);
	assert_int_equal(find(policy, K, "\1a" ZONE, TYPE_A), 0);
	free(policy);
}

static void
name_is_this_name_in_any_case(void **state)
{
	const struct update_policy_line line = LINE(K, NAME, "\1A" ZONE);
	struct update_policy *policy = make(&line, 1);

	assert_int_equal(find(policy, K, "\1a\7EXAMPLE", TYPE_A), 1);
	assert_int_equal(find(policy, K, "\1b" ZONE, TYPE_A), 0);
	assert_int_equal(find(policy, K, ZONE, TYPE_A), 0);
	assert_int_equal(find(policy, K, "\1c\1a" ZONE, TYPE_A), 0);
	free(policy);
}

static void
below_is_not_the_name_itself(void **state)
{
	const struct update_policy_line line[] = {
		LINE(K, BELOW, "\1a" ZONE), LINE(OTHER, BELOW, "")};
	struct update_policy *policy = make(line, 2);

	assert_int_equal(find(policy, K, "\1a" ZONE, TYPE_A), 0);
	assert_int_equal(find(policy, K, "\1b\1a" ZONE, TYPE_A), 1);
	assert_int_equal(find(policy, K, "\1*\1c\1b\1A" ZONE, TYPE_A), 1);
	assert_int_equal(find(policy, K, "\2ba" ZONE, TYPE_A), 0);
	assert_int_equal(find(policy, OTHER, ZONE, TYPE_A), 2);
	free(policy);
}

/* _acme-challenge.*: of the apex, too, and not of labels of the apex. */
static void
labels_are_the_first_of_a_name_of_the_zone(void **state)
{
	const struct update_policy_line line[] = {
		LINE(K, LABELS, "\5_acme", .types = txt, .type_count = 1),
		LINE(K, LABELS, "\1a\7Example"), LINE(K, LABELS, "\7example")};
	struct update_policy *policy = make(line, 3);

	assert_int_equal(find(policy, K, "\5_acme" ZONE, TYPE_TXT), 1);
	assert_int_equal(find(policy, K, "\5_ACME\1x\1y" ZONE, TYPE_TXT), 1);
	assert_int_equal(find(policy, K, "\5_acme\1x" ZONE, TYPE_A), 0);
	assert_int_equal(find(policy, K, "\1x\5_acme" ZONE, TYPE_TXT), 0);
	assert_int_equal(find(policy, K, ZONE, TYPE_A), 0);
	assert_int_equal(find(policy, K, "\1a" ZONE, TYPE_A), 0);
	assert_int_equal(find(policy, K, "\1a" ZONE ZONE, TYPE_A), 2);
	free(policy);
}

/* The types that a line without types leaves out. */
static void
line_without_types_leaves_out_what_holds_the_zone(void **state)
{
	static const uint16_t left_out[] = {TYPE_SOA, TYPE_NS, TYPE_DNSKEY,
		TYPE_DS, TYPE_RRSIG, TYPE_NSEC, TYPE_NSEC3, TYPE_NSEC3PARAM};
	const struct update_policy_line line = LINE(K, ANY, "");
	struct update_policy *policy = make(&line, 1);
	unsigned refused = 0;

	for (uint32_t type = 1; type <= UINT16_MAX; type++)
		refused += find(policy, K, "\1a" ZONE, (uint16_t)type) == 0;
	assert_int_equal(refused, sizeof(left_out) / sizeof(left_out[0]));
	for (unsigned i = 0; i < refused; i++)
		assert_int_equal(find(policy, K, "\1a" ZONE, left_out[i]), 0);
	/* ANY removes each RRset of the name. */
	assert_int_equal(find(policy, K, "\1a" ZONE, TYPE_ANY), 1);
	free(policy);
}

static void
line_with_types_is_about_them_alone(void **state)
{
	const struct update_policy_line line[] = {
		LINE(K, NAME, "\1a" ZONE, .types = addresses, .type_count = 3),
		LINE(K, NAME, "\1b" ZONE, .types = any, .type_count = 1)};
	struct update_policy *policy = make(line, 2);
	uint32_t a = 0, b = 0;

	for (uint32_t type = 1; type <= UINT16_MAX; type++) {
		a += find(policy, K, "\1a" ZONE, (uint16_t)type) == 1;
		b += find(policy, K, "\1b" ZONE, (uint16_t)type) == 2;
	}
	assert_int_equal(a, 2);
	assert_int_equal(find(policy, K, "\1a" ZONE, TYPE_ANY), 0);
	assert_int_equal(b, UINT16_MAX);
	assert_int_equal(find(policy, K, "\1b" ZONE, 0), 0);
	free(policy);
}

/* The first of them has the number; each adds its types. */
static void
lines_of_the_same_name_are_one(void **state)
{
	const struct update_policy_line line[] = {LINE(OTHER, ANY, ""),
		LINE(K, NAME, "\1a" ZONE, .types = txt, .type_count = 1),
		LINE(K, NAME, "\1A" ZONE, .types = addresses, .type_count = 3),
		LINE(K, BELOW, "\1a" ZONE, .types = txt, .type_count = 1)};
	struct update_policy *policy = make(line, 4);

	assert_int_equal(policy->count, 3);
	assert_int_equal(find(policy, K, "\1a" ZONE, TYPE_TXT), 2);
	assert_int_equal(find(policy, K, "\1a" ZONE, TYPE_AAAA), 2);
	assert_int_equal(find(policy, K, "\1a" ZONE, TYPE_MX), 0);
	assert_int_equal(find(policy, OTHER, "\1a" ZONE, TYPE_MX), 1);
	free(policy);
}

static void
memory_that_runs_out_leaves_nothing(void **state)
{
	const struct update_policy_line line = LINE(K, ANY, "");
	struct update_policy *policy = calloc(1,
		update_policy_size_max(&line, 1));

	for (int n = 0; n < 2; n++)
		assert_int_equal(FAILING_ONCE(n, update_policy_make(&line, 1,
			policy)), NSD_E_MEMORY);
	assert_int_equal(update_policy_make(&line, 1, policy), NSD_OK);
	free(policy);
}

/* ---- a model ------------------------------------------------------------- */

static bool
model_line_is_about(const struct update_policy_line *line,
	const uint8_t *apex, const uint8_t *owner)
{
	const uint8_t *label = line->name;

	switch (line->kind) {
	case UPDATE_POLICY_ANY:
		return true;
	case UPDATE_POLICY_NAME:
		return name_equal(line->name, owner);
	case UPDATE_POLICY_BELOW:
		return name_is_within(owner, line->name)
			&& !name_equal(owner, line->name);
	case UPDATE_POLICY_LABELS:
		for (; *label != 0; label += 1 + *label) {
			if (name_equal(owner, apex) || *label != *owner
				|| strncasecmp((const char *)label + 1,
					   (const char *)owner + 1, *label)
					!= 0)
				return false;
			owner += 1 + *owner;
		}
		return true;
	}
	return false;
}

static bool
model_allows(const struct update_policy_line *lines, uint32_t count,
	store_ref key, const uint8_t *apex, const uint8_t *owner,
	uint16_t type)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct update_policy_line *line = &lines[i];

		if (line->key != key || key == STORE_NONE
			|| !model_line_is_about(line, apex, owner))
			continue;
		if (line->type_count == 0 && type != TYPE_NS
			&& type != TYPE_SOA)
			return true;
		for (uint32_t k = 0; k < line->type_count; k++)
			if (line->types[k] == type
				|| line->types[k] == TYPE_ANY)
				return true;
	}
	return false;
}

/* A name of up to most labels of few octets, before a tail. */
static void
random_name(uint64_t *random, unsigned most, const char *tail, uint8_t *out)
{
	static const char *const labels[] = {"\1a", "\1B", "\2ab", "\1*",
		"\7example"};
	char *end = (char *)out;

	for (unsigned n = chance_below(random, most + 1); n > 0; n--)
		end = stpcpy(end, labels[chance_below(random, 5)]);
	strcpy(end, tail);
}

#define MODEL_LINES 60u
#define MODEL_ROUNDS 300u
#define MODEL_LOOKS 500u

static void
random_policies_are_those_of_a_walk(void **state)
{
	static const uint16_t types[] = {TYPE_A, TYPE_TXT, TYPE_NS, TYPE_SOA,
		TYPE_ANY, TYPE_MX};
	static const store_ref keys[] = {STORE_NONE, K, OTHER, 24};
	uint64_t seed = chance_setting("NSD_SEED", 33), random = seed;
	uint8_t names[MODEL_LINES][NAME_MAX_LEN], owner[NAME_MAX_LEN];
	struct update_policy_line lines[MODEL_LINES];
	uint32_t allowed = 0;

	print_message("seed %llu\n", (unsigned long long)seed);
	for (unsigned round = 0; round < MODEL_ROUNDS; round++) {
		uint32_t count = chance_below(&random, MODEL_LINES + 1);
		struct update_policy *policy;

		for (uint32_t i = 0; i < count; i++) {
			enum update_policy_kind kind = chance_below(&random,
				4 + (round % 2 == 0)) % 4;

			if (kind == UPDATE_POLICY_ANY
				&& chance_below(&random, 4) > 0)
				kind = UPDATE_POLICY_NAME;
			random_name(&random, 3, kind == UPDATE_POLICY_NAME
				? ZONE : "", names[i]);
			if (kind == UPDATE_POLICY_ANY)
				names[i][0] = 0;
			else if (kind == UPDATE_POLICY_LABELS
				&& names[i][0] == 0)
				strcpy((char *)names[i], "\1a");
			lines[i] = (struct update_policy_line){
				.key = keys[chance_below(&random, 4)],
				.name = names[i],
				.kind = kind,
				.types = types + chance_below(&random, 4),
				.type_count = chance_below(&random, 3),
			};
		}
		policy = make(lines, count);
		for (unsigned look = 0; look < MODEL_LOOKS; look++) {
			store_ref key = keys[chance_below(&random, 4)];
			uint16_t type = types[chance_below(&random, 6)];
			uint32_t found;

			random_name(&random, 4, ZONE, owner);
			found = update_policy_find(policy, key,
				(const uint8_t *)ZONE, owner, type);
			assert_int_equal(found != 0, model_allows(lines, count,
				key, (const uint8_t *)ZONE, owner, type));
			assert_true(found <= count);
			allowed += found != 0;
		}
		free(policy);
	}
	assert_in_range(allowed, MODEL_ROUNDS * MODEL_LOOKS / 20,
		MODEL_ROUNDS * MODEL_LOOKS * 19 / 20);
}

/* The longest names, of 127 labels: each line is found, beyond none. */
static void
longest_names_are_found(void **state)
{
	uint8_t name[NAME_MAX_LEN + 1];
	struct update_policy_line line[2];
	struct update_policy *policy;

	for (unsigned i = 0; i < 127; i++) {
		name[2 * i] = 1;
		name[2 * i + 1] = 'a';
	}
	name[254] = 0;
	line[0] = (struct update_policy_line)LINE(K, NAME, name);
	line[1] = (struct update_policy_line)LINE(OTHER, BELOW, name + 2);
	policy = make(line, 2);
	assert_int_equal(update_policy_find(policy, K, name + 252, name,
		TYPE_A), 1);
	assert_int_equal(update_policy_find(policy, OTHER, name + 254, name,
		TYPE_A), 2);
	assert_int_equal(update_policy_find(policy, OTHER, name + 254,
		name + 2, TYPE_A), 0);
	free(policy);
	line[0] = (struct update_policy_line)LINE(K, LABELS, name);
	policy = make(line, 1);
	assert_int_equal(update_policy_find(policy, K, name + 254, name,
		TYPE_A), 1);
	assert_int_equal(update_policy_find(policy, K, name + 252, name,
		TYPE_A), 0);
	free(policy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_policy_and_no_key_allow_nothing),
		cmocka_unit_test(name_is_this_name_in_any_case),
		cmocka_unit_test(below_is_not_the_name_itself),
		cmocka_unit_test(labels_are_the_first_of_a_name_of_the_zone),
		cmocka_unit_test(
			line_without_types_leaves_out_what_holds_the_zone),
		cmocka_unit_test(line_with_types_is_about_them_alone),
		cmocka_unit_test(lines_of_the_same_name_are_one),
		cmocka_unit_test(memory_that_runs_out_leaves_nothing),
		cmocka_unit_test(random_policies_are_those_of_a_walk),
		cmocka_unit_test(longest_names_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
