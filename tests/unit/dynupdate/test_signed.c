/*
 * test_signed.c - updates of signed zones: an update that leads from one signed
 * zone to another is taken; without any one of its records of DNSSEC it is
 * refused. Signatures are not verified, so these are made up.
 *
 * NSD_SEED and NSD_ROUNDS of the environment choose other zones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "batch.h"
#include "dns/nsec3.h"
#include "lib/chance.h"

/* DNSKEY RDATA of 01 01 03 0d 01 02 03: RFC 4034 appendix B. */
#define KEY "257 3 13 AQID"
#define KEY_TAG "2064"
#define LINES_MAX 200u
#define LINE_MAX 300u

/* A zone: the lines of its records. */
struct lines {
	size_t count;
	char line[LINES_MAX][LINE_MAX];
};

/* The names that a zone may have, in canonical order; the apex is first. */
static const char *const pool[] = {"@", "a", "b", "cut", "ns.cut", "x.cut",
	"d", "c.e.d", "*.w", "z"};
#define POOL (sizeof(pool) / sizeof(*pool))
#define CUT 3u
#define IS_BELOW_CUT(i) ((i) == 4 || (i) == 5)

/* Types of each name: NULL: it is not there. */
struct state {
	bool is_there[POOL];
	bool has_txt[POOL];
	unsigned address[POOL];
	bool is_cut, has_ds;
	unsigned serial;
	bool nsec3;
	bool lacks_ents; /* records of empty non-terminals */
};

static uint64_t chance;

/* ---- lines --------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void
add_line(struct lines *lines, const char *format, ...)
{
	va_list args;

	assert_true(lines->count < LINES_MAX);
	va_start(args, format);
	assert_true(vsnprintf(lines->line[lines->count++], LINE_MAX, format,
		args) < (int)LINE_MAX);
	va_end(args);
}

/* Adds an RRset of one record with its signature, which is another one if the
 * record is. */
static void
add_signed(struct lines *lines, const char *owner, const char *type,
	const char *rdata)
{
	unsigned hash = 5381, labels = strcmp(owner, "@") == 0 ? 1 : 2;

	for (const char *at = owner; *at != '\0'; at++)
		labels += *at == '.';
	labels -= *owner == '*';
	for (const char *at = rdata; *at != '\0'; at++)
		hash = hash * 33 + (unsigned char)*at;
	add_line(lines, "%s 300 %s %s", owner, type, rdata);
	add_line(lines, "%s 300 RRSIG %s 13 %u 300 20300101000000 "
		"20200101000000 " KEY_TAG " example. %06uAA", owner, type,
		labels, hash % 1000000);
}

/* ---- zones --------------------------------------------------------------- */

static bool
is_hidden(const struct state *s, size_t i)
{
	return s->is_cut && IS_BELOW_CUT(i);
}

/* Prints the types of a name as its NSEC or NSEC3 record has them. */
static void
print_types(const struct state *s, size_t i, char out[100])
{
	const char *end = s->nsec3 ? "" : " NSEC";

	if (i == 0)
		sprintf(out, "NS SOA TXT RRSIG DNSKEY%s%s", end,
			s->nsec3 ? " NSEC3PARAM" : "");
	else if (i == CUT && s->is_cut)
		sprintf(out, "NS%s%s%s", s->has_ds ? " DS" : "",
			s->has_ds || !s->nsec3 ? " RRSIG" : "", end);
	else
		sprintf(out, "A%s RRSIG%s", s->has_txt[i] ? " TXT" : "", end);
}

static void
add_data(struct lines *lines, const struct state *s, size_t i)
{
	char text[100];

	sprintf(text, "192.0.2.%u", s->address[i]);
	if (i == 0) {
		sprintf(text, "ns. host. %u 2 3 4 5", s->serial);
		add_signed(lines, "@", "SOA", text);
		add_signed(lines, "@", "NS", "ns.");
		add_signed(lines, "@", "DNSKEY", KEY);
		add_signed(lines, "@", "TXT", "text");
		if (s->nsec3)
			add_signed(lines, "@", "NSEC3PARAM", "1 0 2 AB");
	} else if (i == CUT && s->is_cut) {
		add_line(lines, "cut 300 NS ns.cut.example.");
		if (s->has_ds)
			add_signed(lines, "cut", "DS", "1 13 2 0000000000000000"
				"000000000000000000000000000000000000000000000000");
	} else if (is_hidden(s, i)) {
		add_line(lines, "%s 300 A %s", pool[i], text);
	} else {
		add_signed(lines, pool[i], "A", text);
		if (s->has_txt[i])
			add_signed(lines, pool[i], "TXT", text);
	}
}

static void
add_nsec(struct lines *lines, const struct state *s)
{
	char types[100], rdata[200];

	for (size_t i = 0; i < POOL; i++) {
		size_t next = i + 1;

		if (!s->is_there[i] || is_hidden(s, i))
			continue;
		while (next < POOL && (!s->is_there[next]
				|| is_hidden(s, next)))
			next++;
		print_types(s, i, types);
		if (next == POOL)
			sprintf(rdata, "example. %s", types);
		else
			sprintf(rdata, "%s.example. %s", pool[next], types);
		add_signed(lines, pool[i], "NSEC", rdata);
	}
}

struct hashed {
	uint8_t hash[NSEC3_HASH_LEN];
	char types[100];
};

static int
hashed_compare(const void *a, const void *b)
{
	return memcmp(a, b, NSEC3_HASH_LEN);
}

static void
hashed_add(struct hashed *all, size_t *count, const char *name,
	const char *types)
{
	static const uint8_t salt[] = {0xab};
	const struct nsec3_params params = {.salt = salt, .salt_len = 1,
		.iterations = 2};
	char whole[100];
	struct nsec3_job job = {.name = NULL}, *jobs = &job;

	snprintf(whole, sizeof(whole), "%s.example.", name);
	job.name = zone_fixture_name(strcmp(name, "@") == 0 ? "example."
							    : whole);
	nsec3_hash_batch(&params, &jobs, 1);
	memcpy(all[*count].hash, job.hash, NSEC3_HASH_LEN);
	strcpy(all[(*count)++].types, types);
}

static void
add_nsec3(struct lines *lines, const struct state *s)
{
	struct hashed all[POOL + 3];
	size_t count = 0;
	char types[100];

	for (size_t i = 0; i < POOL; i++)
		if (s->is_there[i] && !is_hidden(s, i)) {
			print_types(s, i, types);
			hashed_add(all, &count, pool[i], types);
		}
	/* Empty non-terminals. */
	if (s->is_there[7] && !s->lacks_ents)
		hashed_add(all, &count, "e.d", "");
	if (s->is_there[7] && !s->is_there[6] && !s->lacks_ents)
		hashed_add(all, &count, "d", "");
	if (s->is_there[8] && !s->lacks_ents)
		hashed_add(all, &count, "w", "");
	qsort(all, count, sizeof(*all), hashed_compare);
	for (size_t i = 0; i < count; i++) {
		char rdata[200], owner[NSEC3_LABEL_LEN + 1] = "";
		char next[NSEC3_LABEL_LEN + 1] = "";

		nsec3_print_label(all[i].hash, (uint8_t *)owner);
		nsec3_print_label(all[(i + 1) % count].hash, (uint8_t *)next);
		snprintf(rdata, sizeof(rdata), "1 0 2 AB %s %s", next,
			all[i].types);
		add_signed(lines, owner, "NSEC3", rdata);
	}
}

static void
make_zone(struct lines *lines, const struct state *s)
{
	lines->count = 0;
	for (size_t i = 0; i < POOL; i++)
		if (s->is_there[i])
			add_data(lines, s, i);
	if (s->nsec3)
		add_nsec3(lines, s);
	else
		add_nsec(lines, s);
}

static void
make_state(struct state *s)
{
	for (size_t i = 1; i < POOL; i++) {
		s->is_there[i] = chance_below(&chance, 2) == 0;
		s->has_txt[i] = chance_below(&chance, 2) == 0;
		s->address[i] = chance_below(&chance, 3);
	}
	s->is_there[0] = true;
	/* No empty non-terminal that comes with names below a cut alone. */
	s->is_there[CUT] = true;
	s->is_cut = chance_below(&chance, 2) == 0;
	s->has_ds = chance_below(&chance, 2) == 0;
}

/* ---- updates ------------------------------------------------------------- */

static bool
has_line(const struct lines *lines, const char *line)
{
	for (size_t i = 0; i < lines->count; i++)
		if (strcmp(lines->line[i], line) == 0)
			return true;
	return false;
}

/* The lines of the update that leads from one zone to another. */
static void
make_update(struct lines *update, const struct lines *from,
	const struct lines *to)
{
	update->count = 0;
	for (size_t i = 0; i < from->count; i++)
		if (!has_line(to, from->line[i])
			&& strstr(from->line[i], " SOA ns.") == NULL)
			add_line(update, "u none %s", from->line[i]);
	for (size_t i = 0; i < to->count; i++)
		if (!has_line(from, to->line[i]))
			add_line(update, "u in %s", to->line[i]);
}

static struct batch_message m;

static void
ask_without(const struct lines *update, size_t without)
{
	batch_message_init(&m);
	for (size_t i = 0; i < update->count; i++)
		if (i != without)
			batch_message_add(&m, update->line[i]);
	assert_int_equal(batch_apply(&m), NSD_OK);
}

static void
load_zone(const struct lines *lines)
{
	static char text[LINES_MAX * LINE_MAX];

	*text = '\0';
	for (size_t i = 0; i < lines->count; i++) {
		strcat(text, lines->line[i]);
		strcat(text, "\n");
	}
	batch_load(text);
}

/* True if the zone would not be right without the line. Other lines, as one
 * address less, are the client's own matter. */
static bool
is_needed(const char *line)
{
	return strstr(line, " RRSIG ") != NULL || strstr(line, " NSEC ") != NULL
		|| strstr(line, " NSEC3 ") != NULL
		|| strstr(line, " SOA ") != NULL;
}

/* RFC 3007 section 4.3 and RFC 4035 section 2 */
static void
updates_lead_to_signed_zones(void **state)
{
	static struct lines from, to, update;
	uint64_t seed = chance_setting("NSD_SEED", 1);
	uint64_t rounds = chance_setting("NSD_ROUNDS", 60);
	struct state s;

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		printf("NSD_SEED=%llu\n", (unsigned long long)(seed + round));
		chance = seed + round;
		memset(&s, 0, sizeof(s));
		s.nsec3 = chance_below(&chance, 2) == 0;
		s.serial = 1;
		make_state(&s);
		make_zone(&from, &s);
		load_zone(&from);
		for (unsigned n = 0; n < 4; n++) {
			make_state(&s);
			s.serial++;
			make_zone(&to, &s);
			make_update(&update, &from, &to);
			for (size_t i = 0; i < update.count; i++) {
				if (!is_needed(update.line[i])
					|| chance_below(&chance, 3) > 0)
					continue;
				ask_without(&update, i);
				if (batch_result.rcode != RCODE_REFUSED)
					fail_msg("taken without: %s",
						update.line[i]);
			}
			ask_without(&update, SIZE_MAX);
			if (batch_result.rcode != RCODE_NOERROR)
				fail_msg("%s", batch_result.why);
			from = to;
			if (chance_below(&chance, 2) == 0)
				batch_take();
		}
		batch_take();
	}
}

/* Without records of DNSSEC: what a client is told, and that it may with
 * no_check */
static void
refusals_name_the_rrset(void **state)
{
	static struct lines from;
	struct state s = {.is_there = {[0] = true, [1] = true},
		.address = {[1] = 1}, .serial = 1};

	(void)state;
	make_zone(&from, &s);
	load_zone(&from);
	assert_string_equal(batch_ask("u in a 300 a 192.0.2.1"),
		"NOERROR same");
	assert_string_equal(batch_ask("u in b 300 a 192.0.2.1"), "REFUSED");
	assert_string_equal(batch_result.why, "example. SOA: the zone is "
		"signed, so the update needs a newer one");
	assert_string_equal(batch_ask("u in b 300 a 192.0.2.1\n"
		"u in @ 300 SOA ns. host. 2 2 3 4 5\n"), "REFUSED");
	assert_string_equal(batch_result.why,
		"example. SOA: a signature of its former records remains");
	assert_string_equal(batch_ask("u any @ rrsig"), "REFUSED");
	assert_string_equal(batch_ask("u any @ dnskey\n"
		"u in @ 300 SOA ns. host. 2 2 3 4 5\n"), "REFUSED");
	assert_string_equal(batch_result.why, "example. DNSKEY: the zone is "
		"signed, so one must stay");
	batch_take();
	batch_options.no_check = true;
	assert_string_equal(batch_ask("u in b 300 a 192.0.2.1"), "NOERROR");
	assert_string_equal(batch_ask("u any @ dnskey"), "NOERROR");
	batch_take();
}

/* A key alone would have all later updates refused. */
static void
unsigned_zone_is_not_signed_by_an_update(void **state)
{
	static struct lines from;

	(void)state;
	from.count = 0;
	add_line(&from, "@ 300 SOA ns. host. 1 2 3 4 5");
	add_line(&from, "@ 300 NS ns.");
	load_zone(&from);
	assert_string_equal(batch_ask("u in @ 300 DNSKEY " KEY), "REFUSED");
	assert_string_equal(batch_result.why, "example. DNSKEY: the zone is "
		"not signed, and no update signs it");
	assert_string_equal(batch_ask("u in @ 300 RRSIG SOA 13 1 300 "
		"20300101000000 20200101000000 1 example. AAAA"), "REFUSED");
	assert_string_equal(batch_ask("u in b 300 a 192.0.2.1"), "NOERROR");
	batch_take();
	batch_options.no_check = true;
	assert_string_equal(batch_ask("u in @ 300 DNSKEY " KEY), "NOERROR");
	batch_take();
}

/* RFC 5155 section 7.1: a chain that leads past an empty non-terminal */
static void
empty_non_terminals_are_hashed(void **state)
{
	static struct lines from, to, update;
	struct state s = {.is_there = {[0] = true, [1] = true}, .serial = 1,
		.nsec3 = true};

	(void)state;
	make_zone(&from, &s);
	load_zone(&from);
	s.serial = 2;
	s.is_there[7] = true;
	s.lacks_ents = true;
	make_zone(&to, &s);
	make_update(&update, &from, &to);
	ask_without(&update, SIZE_MAX);
	assert_int_equal(batch_result.rcode, RCODE_REFUSED);
	assert_string_equal(batch_result.why, "e.d.example. NSEC3: the update "
		"has no NSEC3 record that fits");
	s.lacks_ents = false;
	make_zone(&to, &s);
	make_update(&update, &from, &to);
	ask_without(&update, SIZE_MAX);
	assert_int_equal(batch_result.rcode, RCODE_NOERROR);
	batch_take();
}

/* RFC 4034 section 3.1: key tag and algorithm of a key of the zone */
static void
signatures_are_of_keys_of_the_zone(void **state)
{
	static struct lines from, to, update;
	struct state s = {.is_there = {[0] = true, [1] = true}, .serial = 1};

	(void)state;
	make_zone(&from, &s);
	load_zone(&from);
	s.serial = 2;
	s.address[1] = 2;
	make_zone(&to, &s);
	make_update(&update, &from, &to);
	for (unsigned i = 0; i < 2; i++) {
		struct lines other = update;

		for (size_t j = 0; j < other.count; j++) {
			char *line = other.line[j];
			char *at = strstr(line, i == 0 ? " 2064 " : " 13 2 ");

			if (strncmp(line, "u in a 300 RRSIG A ", 19) == 0)
				at[i == 0 ? 4 : 2] = '5';
		}
		ask_without(&other, SIZE_MAX);
		assert_int_equal(batch_result.rcode, RCODE_REFUSED);
		assert_string_equal(batch_result.why,
			"a.example. A: it is not signed by a key of the zone");
	}
	ask_without(&update, SIZE_MAX);
	assert_int_equal(batch_result.rcode, RCODE_NOERROR);
	batch_take();
}

/* An NSEC record that leads back, or nowhere */
static void
chains_lead_on(void **state)
{
	static struct lines from, to, update;
	static const char *const ends[] = {"NSEC a.example. A",
		"NSEC 0.example. A",
		"NSEC z.example. A"};
	struct state s = {.is_there = {[0] = true, [1] = true, [2] = true},
		.serial = 1};

	(void)state;
	make_zone(&from, &s);
	load_zone(&from);
	s.serial = 2;
	s.has_txt[2] = true;
	make_zone(&to, &s);
	make_update(&update, &from, &to);
	for (unsigned i = 0; i < 3; i++) {
		struct lines other = update;

		for (size_t j = 0; j < other.count; j++) {
			char *line = other.line[j];
			char rest[LINE_MAX];
			char *at = strstr(line, "NSEC example. A");

			if (at == NULL || strncmp(line, "u in", 4) != 0)
				continue;
			strcpy(rest, at + strlen("NSEC example. A"));
			sprintf(at, "%s%s", ends[i], rest);
		}
		ask_without(&other, SIZE_MAX);
		assert_int_equal(batch_result.rcode, RCODE_REFUSED);
		assert_non_null(strstr(batch_result.why,
			".example. NSEC: the chain would break there"));
	}
	ask_without(&update, SIZE_MAX);
	assert_int_equal(batch_result.rcode, RCODE_NOERROR);
	batch_take();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals_name_the_rrset),
		cmocka_unit_test(unsigned_zone_is_not_signed_by_an_update),
		cmocka_unit_test(empty_non_terminals_are_hashed),
		cmocka_unit_test(signatures_are_of_keys_of_the_zone),
		cmocka_unit_test(chains_lead_on),
		cmocka_unit_test(updates_lead_to_signed_zones),
	};

	return cmocka_run_group_tests(tests, batch_setup, batch_teardown);
}
