/* test_audit_change.c - an audit of what a change has touched finds what an
 * audit of the whole zone finds: random signed zones, random changes, and
 * random damage. Signatures are made up, so nothing is verified here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audit/audit.h"
#include "dns/name.h"
#include "dns/nsec3.h"
#include "lib/chance.h"
#include "lib/failing.h"
#include "lib/one_fixture.h"
#include "store/writer.h"
#include "zonedb/release.h"

#define NOW 1700000000u
#define KEY "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" \
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="
#define TAG 1038 /* of "257 3 13 KEY" */
#define NAMES 30u
#define LINES 400u
#define LINE_ROOM 300u

static uint64_t chance;

/* ---- the zone as a model ------------------------------------------------- */

enum sort { GONE, DATA, CUT, SECURE, DNAME, SORTS };

static const char *const names[NAMES] = {
	"a", "b", "c", "d", "e", "*",
	"a.a", "b.a", "c.a", "*.a", "a.b", "b.b", "c.b", "a.c", "b.c",
	"a.b.a", "b.b.a", "c.b.a", "a.c.a", "a.a.b", "b.a.b", "x.y.z",
	"x.y", "w.y.z", "a.x.y.z", "q", "r", "s.t.u", "t.u", "v.t.u",
};

struct model {
	enum sort sorts[NAMES];
	bool nsec3;
	bool opt_out;
	unsigned serial;
};

struct lines {
	unsigned count;
	char line[LINES][LINE_ROOM];
};

static struct lines before, after;

static void __attribute__((format(printf, 2, 3)))
add(struct lines *l, const char *format, ...)
{
	va_list args;

	assert_true(l->count < LINES);
	va_start(args, format);
	assert_in_range(vsnprintf(l->line[l->count++], LINE_ROOM, format,
		args), 1, LINE_ROOM - 1);
	va_end(args);
}

static void
add_sig(struct lines *l, const char *owner, const char *type)
{
	const char *counted = strncmp(owner, "*.", 2) == 0 ? owner + 2 : owner;

	add(l, "%s 60 RRSIG %s 13 %u 60 1800000000 1600000000 %d example. AAAA",
		owner, type, name_count_labels(zone_fixture_name(counted)),
		TAG);
}

static void
add_signed(struct lines *l, const char *owner, const char *type,
	const char *rdata)
{
	add(l, "%s 60 %s %s", owner, type, rdata);
	add_sig(l, owner, type);
}

/* True if a name lies below another one of the table that hides it. */
static bool
is_hidden(const struct model *m, unsigned i)
{
	for (unsigned j = 0; j < NAMES; j++) {
		size_t len = strlen(names[j]), own = strlen(names[i]);

		if (m->sorts[j] >= CUT && own > len + 1
			&& names[i][own - len - 1] == '.'
			&& strcmp(names[i] + own - len, names[j]) == 0)
			return true;
	}
	return false;
}

/* A name that should have a record of a chain. */
struct entry {
	char name[80];
	char types[80];
	bool optional;
	char label[NSEC3_LABEL_LEN + 1];
};

struct entries {
	unsigned count;
	struct entry entry[3 * NAMES];
};

static struct entry *
entries_get(struct entries *e, const char *name)
{
	for (unsigned i = 0; i < e->count; i++)
		if (strcmp(e->entry[i].name, name) == 0)
			return &e->entry[i];
	memset(&e->entry[e->count], 0, sizeof(e->entry[0]));
	snprintf(e->entry[e->count].name, sizeof(e->entry[0].name), "%s",
		name);
	e->entry[e->count].optional = true;
	return &e->entry[e->count++];
}

/* Adds the data of a name, and what the chain should have of it. */
static void
add_name(struct lines *l, struct entries *e, const struct model *m,
	unsigned i)
{
	static const char *const types[SORTS] = {"", "A RRSIG", "NS",
		"NS DS RRSIG", "DNAME RRSIG"};
	char name[80];
	struct entry *entry;

	snprintf(name, sizeof(name), "%s.example.", names[i]);
	if (m->sorts[i] == GONE)
		return;
	if (is_hidden(m, i)) {
		add(l, "%s 60 A 192.0.2.%u", name, i);
		return;
	}
	switch (m->sorts[i]) {
	case DATA:
		add_signed(l, name, "A", "192.0.2.7");
		break;
	case CUT:
	case SECURE:
		add(l, "%s 60 NS ns.elsewhere.", name);
		if (m->sorts[i] == SECURE)
			add_signed(l, name, "DS", "1 13 2 000102030405060708"
				"090a0b0c0d0e0f101112131415161718191a1b1c1d1e"
				"1f");
		break;
	default:
		add_signed(l, name, "DNAME", "t.elsewhere.");
	}
	entry = entries_get(e, name);
	snprintf(entry->types, sizeof(entry->types), "%s", types[m->sorts[i]]);
	entry->optional = m->sorts[i] == CUT;
	if (!m->nsec3)
		return;
	for (const char *at = strchr(name, '.') + 1;
		strcmp(at, "example.") != 0; at = strchr(at, '.') + 1) {
		bool was = entries_get(e, at)->types[0] != '\0';

		if (!was && m->sorts[i] != CUT)
			entries_get(e, at)->optional = false;
	}
}

static int
entry_compare(const void *a, const void *b)
{
	return name_compare(
		zone_fixture_name(((const struct entry *)a)->name),
		zone_fixture_name(((const struct entry *)b)->name));
}

static int
entry_compare_labels(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->label,
		((const struct entry *)b)->label);
}

static void
add_nsec(struct lines *l, struct entries *e)
{
	char rdata[LINE_ROOM];

	qsort(e->entry, e->count, sizeof(e->entry[0]), entry_compare);
	for (unsigned i = 0; i < e->count; i++) {
		const struct entry *entry = &e->entry[i];

		snprintf(rdata, sizeof(rdata), "%s %s%s NSEC",
			e->entry[(i + 1) % e->count].name, entry->types,
			strstr(entry->types, "RRSIG") != NULL ? "" : " RRSIG");
		add_signed(l, entry->name, "NSEC", rdata);
	}
}

static void
add_nsec3(struct lines *l, struct entries *e, bool opt_out)
{
	const struct nsec3_params params = {NULL, 0, 0};
	unsigned count = 0;

	for (unsigned i = 0; i < e->count; i++) {
		struct entry *entry = &e->entry[i];
		struct nsec3_job job, *list = &job;

		if (opt_out && entry->optional)
			continue;
		job.name = zone_fixture_name(entry->name);
		nsec3_hash_batch(&params, &list, 1);
		nsec3_print_label(job.hash, (uint8_t *)entry->label);
		if (count != i)
			e->entry[count] = *entry;
		count++;
	}
	qsort(e->entry, count, sizeof(e->entry[0]), entry_compare_labels);
	for (unsigned i = 0; i < count; i++) {
		char owner[80], rdata[LINE_ROOM];

		snprintf(owner, sizeof(owner), "%s.example.",
			e->entry[i].label);
		snprintf(rdata, sizeof(rdata), "1 %d 0 - %s %s", opt_out,
			e->entry[(i + 1) % count].label, e->entry[i].types);
		add_signed(l, owner, "NSEC3", rdata);
	}
}

/* Writes the zone as it should be. */
static void
write_zone(struct lines *l, const struct model *m)
{
	static struct entries e;
	struct entry *apex;
	char soa[80];

	l->count = 0;
	e.count = 0;
	snprintf(soa, sizeof(soa), "ns.elsewhere. h. %u 2 3 4 60", m->serial);
	add_signed(l, "example.", "SOA", soa);
	add_signed(l, "example.", "NS", "ns.elsewhere.");
	add_signed(l, "example.", "DNSKEY", "257 3 13 " KEY);
	if (m->nsec3)
		add_signed(l, "example.", "NSEC3PARAM", "1 0 0 -");
	apex = entries_get(&e, "example.");
	apex->optional = false;
	snprintf(apex->types, sizeof(apex->types), "NS SOA RRSIG DNSKEY%s",
		m->nsec3 ? " NSEC3PARAM" : "");
	for (unsigned i = 0; i < NAMES; i++)
		add_name(l, &e, m, i);
	if (m->nsec3)
		add_nsec3(l, &e, m->opt_out);
	else
		add_nsec(l, &e);
}

/* ---- damage -------------------------------------------------------------- */

static void
drop_line(struct lines *l, unsigned i)
{
	l->count--;
	if (i != l->count)
		memcpy(l->line[i], l->line[l->count], LINE_ROOM);
}

/* A line by chance, but for the SOA, DNSKEY and NSEC3PARAM. */
static unsigned
some_line(const struct lines *l)
{
	return 8 + chance_below(&chance, l->count - 8);
}

static bool
has_line(const struct lines *l, const char *line)
{
	for (unsigned i = 0; i < l->count; i++)
		if (strcmp(l->line[i], line) == 0)
			return true;
	return false;
}

/* Length of the owner and type of a line, with the covered type of an RRSIG. */
static size_t
head_len(const char *line)
{
	const char *type = strstr(line, " 60 ") + 4;
	const char *end = strchr(type, ' ');

	if (strncmp(type, "RRSIG ", 6) == 0)
		end = strchr(end + 1, ' ');
	return (size_t)(end - line) + 1;
}

/* Forgets a part of the change: a line stays as it was. */
static void
forget(struct lines *l)
{
	unsigned from = chance_below(&chance, before.count);

	for (unsigned i = 0; i < before.count; i++) {
		const char *line = before.line[(from + i) % before.count];
		size_t head = head_len(line);

		if (has_line(l, line) || strstr(line, " SOA ") != NULL)
			continue;
		for (unsigned j = l->count; j-- > 8;)
			if (strncmp(l->line[j], line, head) == 0)
				drop_line(l, j);
		add(l, "%s", line);
		return;
	}
}

/* Forgets to add a line. */
static void
forget_new(struct lines *l)
{
	for (unsigned n = 0; n < 200; n++) {
		unsigned i = some_line(l);

		if (!has_line(&before, l->line[i])) {
			drop_line(l, i);
			return;
		}
	}
}

static void
damage(struct lines *l)
{
	unsigned i = some_line(l), j = some_line(l);
	char owner[80] = "", *at;

	switch (chance_below(&chance, 11)) {
	case 0:
	case 1:
		forget(l);
		break;
	case 2:
	case 7:
		forget_new(l);
		break;
	case 8:
	case 9:
		drop_line(l, i);
		break;
	case 3: /* all of an owner */
		sscanf(l->line[i], "%79s", owner);
		strcat(owner, " ");
		if (strcmp(owner, "example. ") == 0)
			break;
		for (j = l->count; j-- > 8;)
			if (strncmp(l->line[j], owner, strlen(owner)) == 0)
				drop_line(l, j);
		break;
	case 4: /* another type in a bitmap */
		if (strstr(l->line[i], " NSEC") != NULL
			&& strstr(l->line[i], " RRSIG NSEC") == NULL)
			strcat(l->line[i], " TXT");
		break;
	case 5: /* a name without anything */
		add(l, "n%u.example. 60 TXT x", chance_below(&chance, 1000));
		break;
	case 6: /* the flags of an NSEC3 */
		at = strstr(l->line[i], " NSEC3 1 ");
		if (at != NULL)
			at[9] = at[9] == '0' ? '1' : '0';
		break;
	default: /* two links of a chain change places */
		sscanf(l->line[j], "%79s", owner);
		if (strstr(l->line[i], "RRSIG NSEC ") != NULL
			|| strncmp(l->line[i], "example. ", 9) == 0
			|| strncmp(l->line[j], "example. ", 9) == 0)
			break;
		at = strchr(l->line[i], ' ');
		memmove(l->line[i] + strlen(owner), at, strlen(at) + 1);
		memcpy(l->line[i], owner, strlen(owner));
	}
}

/* ---- audits -------------------------------------------------------------- */

static store_ref
build(const struct lines *l)
{
	static char text[LINES * LINE_ROOM];
	store_ref zone;
	size_t at = 0;

	for (unsigned i = 0; i < l->count; i++)
		at += (size_t)sprintf(text + at, "%s\n", l->line[i]);
	f.secondary = true;
	assert_int_equal(zone_fixture_build(&f, "example.", text, &zone),
		NSD_OK);
	return zone;
}

static int
line_compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Finds the owners of the lines that only one of two has. */
static size_t
find_owners(const struct lines *a, const struct lines *b,
	uint8_t owners[][NAME_MAX_LEN])
{
	size_t count = 0;

	for (unsigned i = 0; i < a->count; i++) {
		char owner[80];

		if (bsearch(a->line[i], b->line, b->count, LINE_ROOM,
			line_compare) != NULL)
			continue;
		assert_int_equal(sscanf(a->line[i], "%79s", owner), 1);
		memcpy(owners[count], zone_fixture_name(owner),
			name_len(zone_fixture_name(owner)));
		name_lower(owners[count++]);
	}
	return count;
}

static const char *const kind_names[] = {
#define NAME(kind, breaks, several) #kind,
	AUDIT_KINDS(NAME)
#undef NAME
};

static bool
kind_breaks(unsigned kind)
{
	static const bool table[] = {
#define BREAKS(kind, breaks, several) breaks,
		AUDIT_KINDS(BREAKS)
#undef BREAKS
	};

	return table[kind];
}

static bool
report_breaks(const struct audit_report *report)
{
	for (unsigned i = 0; i < AUDIT_KIND_COUNT; i++)
		if (report->count[i] > 0 && kind_breaks(i))
			return true;
	return false;
}

static void
print_report(const char *what, const struct audit_report *report)
{
	print_message("%s:", what);
	for (unsigned i = 0; i < AUDIT_KIND_COUNT; i++)
		if (report->count[i] > 0)
			print_message(" %s %u", kind_names[i],
				(unsigned)report->count[i]);
	print_message("\n");
}

static const uint8_t apex_name[] = "\007example";
static uint8_t owners[2 * LINES][NAME_MAX_LEN];
static const uint8_t *list[2 * LINES];

static size_t
list_owners(void)
{
	size_t count;

	qsort(before.line, before.count, LINE_ROOM, line_compare);
	qsort(after.line, after.count, LINE_ROOM, line_compare);
	count = find_owners(&before, &after, owners);
	count += find_owners(&after, &before, owners + count);
	for (size_t i = 0; i < count; i++)
		list[i] = owners[i];
	return count;
}

static void
fail_differs(uint64_t seed, const struct audit_report *whole,
	const struct audit_report *part)
{
	print_report("whole", whole);
	print_report("part", part);
	for (unsigned i = 0; i < before.count; i++)
		if (bsearch(before.line[i], after.line, after.count, LINE_ROOM,
			line_compare) == NULL)
			print_message("- %s\n", before.line[i]);
	for (unsigned i = 0; i < after.count; i++)
		print_message("%c %s\n", bsearch(after.line[i], before.line,
			before.count, LINE_ROOM, line_compare) == NULL
			? '+' : ' ', after.line[i]);
	fail_msg("seed %#llx", (unsigned long long)seed);
}

/* Compares both audits of a change. Returns false if only the whole zone can
 * tell. */
static bool
compare_audits(uint64_t seed)
{
	const struct audit_options options = {
		.apex = apex_name,
		.now_sec = NOW,
		.strict = true,
		.threads = 1,
	};
	size_t count = list_owners();
	store_ref served = build(&before), zone = build(&after);
	struct audit_change change = {store_get(f.view, served),
		store_get(f.view, zone), list, count};
	struct audit_report whole, part;
	enum nsd_err err;

	assert_int_equal(audit_zone(f.view, change.served, &options, &f.sink,
		&whole), NSD_OK);
	if (report_breaks(&whole))
		fail_differs(seed, &whole, &whole);
	assert_int_equal(audit_zone(f.view, change.zone, &options, &f.sink,
		&whole), NSD_OK);
	err = audit_change(f.view, &change, &options, &f.sink, &part);
	if (err != NSD_E_LIMIT) {
		assert_int_equal(err, NSD_OK);
		if (report_breaks(&whole) != report_breaks(&part))
			fail_differs(seed, &whole, &part);
	}
	release_zone(store_writer_heap(f.writer), served);
	release_zone(store_writer_heap(f.writer), zone);
	return err == NSD_OK;
}

static void
change_by_chance(struct model *m)
{
	m->sorts[chance_below(&chance, NAMES)] =
		(enum sort)chance_below(&chance, SORTS);
}

/* One round: a zone, a change of it, and damage to that or none. Returns as
 * compare_audits. */
static bool
round_by_chance(uint64_t seed, bool nsec3, bool opt_out, bool has_damage)
{
	struct model m = {.nsec3 = nsec3, .opt_out = opt_out, .serial = 1};

	chance = seed;
	for (unsigned i = 0; i < NAMES; i++)
		m.sorts[i] = chance_below(&chance, 3) > 0 ? GONE
			: (enum sort)chance_below(&chance, SORTS);
	write_zone(&before, &m);
	m.serial = 2;
	for (unsigned i = chance_below(&chance, 4); i > 0; i--)
		change_by_chance(&m);
	write_zone(&after, &m);
	for (unsigned i = has_damage ? 1 + chance_below(&chance, 3) : 0; i > 0;
		i--)
		damage(&after);
	return compare_audits(seed);
}

static void
run_rounds(bool nsec3, bool opt_out)
{
	uint64_t seed = chance_setting("NSD_SEED", 0x32);
	unsigned rounds = (unsigned)chance_setting("NSD_ROUNDS", 1500);
	unsigned told = 0;

	print_message("seed %#llx\n", (unsigned long long)seed);
	for (unsigned i = 0; i < rounds; i++)
		told += round_by_chance(seed + i, nsec3, opt_out, i % 4 != 0);
	print_message("%u of %u by what was touched\n", told, rounds);
	/* Flags that differ take the whole zone, and so may little else. */
	assert_true(told >= rounds * 3 / 4);
}

static void
nsec_is_found_as_in_the_whole_zone(void **state)
{
	run_rounds(false, false);
}

static void
nsec3_is_found_as_in_the_whole_zone(void **state)
{
	run_rounds(true, false);
}

static void
opt_out_is_found_as_in_the_whole_zone(void **state)
{
	run_rounds(true, true);
}

static void
memory_may_run_out_anywhere(void **state)
{
	const struct audit_options options = {
		.apex = apex_name,
		.now_sec = NOW,
		.strict = true,
		.threads = 1,
	};
	struct model m = {.nsec3 = true, .serial = 1};
	struct audit_change change;
	struct audit_report report;
	unsigned failed = 0, done = 0;
	store_ref served, zone;

	m.sorts[15] = DATA;
	write_zone(&before, &m);
	m.serial = 2;
	m.sorts[0] = CUT;
	write_zone(&after, &m);
	change.owners = list;
	change.count = list_owners();
	served = build(&before);
	zone = build(&after);
	change.served = store_get(f.view, served);
	change.zone = store_get(f.view, zone);
	for (int at = 0; at < 100; at++) {
		enum nsd_err err = FAILING_FROM(at, audit_change(f.view,
			&change, &options, &f.sink, &report));

		assert_true(err == NSD_OK || err == NSD_E_MEMORY);
		failed += err != NSD_OK;
		done += err == NSD_OK;
	}
	assert_true(failed >= 5);
	assert_true(done >= 5);
	release_zone(store_writer_heap(f.writer), served);
	release_zone(store_writer_heap(f.writer), zone);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, \
	close_fixture)
		TEST(nsec_is_found_as_in_the_whole_zone),
		TEST(nsec3_is_found_as_in_the_whole_zone),
		TEST(opt_out_is_found_as_in_the_whole_zone),
		TEST(memory_may_run_out_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
