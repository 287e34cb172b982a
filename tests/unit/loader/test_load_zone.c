/* test_load_zone.c - a zone of the loader: what of its served version a thread
 * may look at and when, and what is built of it for another limit of NSEC3
 * iterations. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/octets.h"
#include "dns/name.h"
#include "dns/rrtype.h"
#include "lib/journal_fixture.h"
#include "loader/load_crashes.h"
#include "loader/load_journal.h"
#include "loader/load_list.h"
#include "loader/load_read.h"
#include "loader/load_retire.h"
#include "loader/load_set.h"
#include "loader/load_transfer.h"
#include "loader/load_update.h"
#include "loader/load_zone.h"
#include "store/writer.h"
#include "xfr/changes.h"
#include "zone/nsec3.h"
#include "zone/walk.h"
#include "zonedb/sources_edit.h"
#include "zonedb/table_edit.h"

/* RFC 5155 Appendix A: the hash of "example." with the salt and 12 more
 * iterations. */
#define ITERATIONS 12
static const char head[] =
	"$TTL 60\n@ SOA ns x 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n"
	"@ NSEC3PARAM 1 0 12 aabbccdd\n@ NSEC3PARAM 1 0 5 aa\n"
	"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom NSEC3 1 0 12 aabbccdd"
	" 0p9mhaveqvm6t7vbl5lop2u3t2rp3tom NS SOA NSEC3PARAM\n"
	"d NS ns.d\nns.d A 192.0.2.2\n*.w TXT x\n";

static struct fixture {
	char directory[32], file[64];
	struct store *store;
	struct store_writer *writer;
	const struct store_view *view;
	struct conf *conf;
	struct load_set set;
	struct load_zone *zone;
	struct load_context context;
	pthread_mutex_t busy_lock;
	struct load_retire retire;
	struct load_progress progress;
	struct load_settle settle;
} f;

/* ---- the seam ------------------------------------------------------------ */

static unsigned looks;

bool __real_build_keeps_nsec3_limit(const struct store_view *view,
	const struct zone *zone, uint32_t iterations_max);
bool __wrap_build_keeps_nsec3_limit(const struct store_view *view,
	const struct zone *zone, uint32_t iterations_max);

/* A change may retire the version while nobody holds the lock. */
bool
__wrap_build_keeps_nsec3_limit(const struct store_view *view,
	const struct zone *zone, uint32_t iterations_max)
{
	looks++;
	assert_int_equal(pthread_mutex_trylock(&f.busy_lock), EBUSY);
	return __real_build_keeps_nsec3_limit(view, zone, iterations_max);
}

/* ---- the fixture --------------------------------------------------------- */

/* Another file, with so many records more. */
static void
write_file(unsigned more)
{
	char temp[80];
	FILE *out;

	snprintf(temp, sizeof(temp), "%s.new", f.file);
	out = fopen(temp, "w");
	assert_non_null(out);
	fputs(head, out);
	for (unsigned i = 0; i < more; i++)
		fprintf(out, "h%u A 192.0.2.%u\n", i, i % 250);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(rename(temp, f.file), 0);
}

static struct load_result
read_zone(bool large)
{
	struct load_result result;

	load_read_zone(&f.context, f.zone, store_writer_heap(f.writer), large,
		&result);
	return result;
}

/* Drops a result as the loader does, but keeps what is published. */
static void
let_go(struct load_result *result)
{
	f.zone->busy = false;
	f.zone->whole = false;
	f.zone->reading = false;
	free(result->reasons);
	diff_destroy(result->diff);
	zonefile_result_fini(&result->files);
}

static void
publish(store_ref zone)
{
	assert_int_not_equal(zone, STORE_NONE);
	table_set_zone(f.writer, f.zone->entry, zone);
	while (store_reclaim(f.writer) > 0)
		;
}

static void
load(void)
{
	struct load_result result = read_zone(false);

	assert_int_equal(result.outcome, LOAD_BUILT);
	publish(result.built);
	sources_set(f.writer, f.zone->entry, result.files.sources,
		result.files.source_count, 0);
	load_crashes_survive(&f.context, f.zone);
	let_go(&result);
}

static const struct zone *
served(void)
{
	return load_zone_published(f.view, f.zone);
}

static bool
is_costly(const struct zone *zone)
{
	const struct nsec3_chain *chain = store_get(f.view, zone->chain);

	return (chain->flags & NSEC3_CHAIN_COSTLY) != 0;
}

static int
open_fixture(void **state)
{
	const struct store_options options = {
		.reservation = (size_t)1 << 30,
		.reader_max = 1,
	};
	struct load_list_result listed;
	char text[256];

	memset(&f, 0, sizeof(f));
	strcpy(f.directory, "/tmp/nsd-test-XXXXXX");
	assert_non_null(mkdtemp(f.directory));
	snprintf(f.file, sizeof(f.file), "%s/example.zone", f.directory);
	snprintf(text, sizeof(text), "zone: name: example zonefile: \"%s\"\n",
		f.file);
	assert_int_equal(store_create(&options, &f.store), NSD_OK);
	assert_int_equal(store_writer_open(f.store, &f.writer), NSD_OK);
	f.view = store_writer_view(f.writer);
	assert_int_equal(conf_load_text("test", text, strlen(text), false,
				 NULL, &f.conf),
		NSD_OK);
	assert_int_equal(load_set_init(&f.set, f.conf->zone_count), NSD_OK);
	assert_int_equal(load_list_publish(f.writer, f.conf,
				 f.set.zones, &listed),
		NSD_OK);
	f.zone = &f.set.zones[0];
	pthread_mutex_init(&f.busy_lock, NULL);
	f.context = (struct load_context){
		.writer = f.writer,
		.threads_max = 2,
		.nsec3_iterations_max = ITERATIONS,
		.progress = &f.progress,
		.busy_lock = &f.busy_lock,
		.retire = &f.retire,
	};
	looks = 0;
	return 0;
}

static int
close_fixture(void **state)
{
	load_settle_fini(&f.settle);
	store_writer_close(f.writer);
	store_destroy(f.store);
	conf_destroy(f.conf);
	(void)unlink(f.file);
	return rmdir(f.directory);
}

/* "new TXT x" is added by a message. */
static enum nsd_err
change(void)
{
	static const uint8_t data[] =
		"\0\7example\0" /* a change */
		"\1\3new\7example\0" "\0\20" "\0\0\0\74" "\0\2" "\1x";
	uint8_t copy[sizeof(data)];
	const struct load_change change = {
		.data = copy,
		.len = sizeof(data) - 1,
	};
	struct ipc_updated result;

	memcpy(copy, data, sizeof(data));
	load_update_apply(&f.context, f.set.zones, f.set.count, &f.settle,
		&change, &result);
	return result.err;
}

/* ---- printing ------------------------------------------------------------ */

struct print {
	uint8_t *octets;
	size_t len, room;
};

static enum nsd_err
print_rr(void *ctx, const struct zone_rr *rr)
{
	struct print *p = ctx;
	size_t owner_len = name_len(rr->owner);

	assert_true(p->len + owner_len + 8 + rr->rdlen <= p->room);
	memcpy(p->octets + p->len, rr->owner, owner_len);
	p->len += owner_len;
	octets_put_u16(p->octets + p->len, rr->type);
	octets_put_u32(p->octets + p->len + 2, rr->ttl_sec);
	octets_put_u16(p->octets + p->len + 6, rr->rdlen);
	p->len += 8;
	if (rr->rdlen > 0)
		memcpy(p->octets + p->len, rr->rdata, rr->rdlen);
	p->len += rr->rdlen;
	return NSD_OK;
}

static struct print
print_served(void)
{
	struct print p = {.room = 1u << 20};

	p.octets = malloc(p.room);
	assert_non_null(p.octets);
	assert_int_equal(zone_walk(f.view, served(), f.zone->conf->wire,
				 print_rr, &p),
		NSD_OK);
	return p;
}

static void
check_printed(const struct print *before)
{
	struct print after = print_served();

	assert_int_equal(after.len, before->len);
	assert_memory_equal(after.octets, before->octets, after.len);
	free(after.octets);
}

/* ---- the tests ----------------------------------------------------------- */

static void
limit_of_a_served_zone_is_looked_at_under_the_lock(void **state)
{
	struct load_result result;

	write_file(0);
	load();
	looks = 0;
	result = read_zone(false);
	assert_int_equal(result.outcome, LOAD_UNCHANGED);
	assert_true(looks > 0);
	assert_false(f.zone->busy);
	/* A read that makes a new version looks at the zone too. */
	f.context.nsec3_iterations_max = ITERATIONS - 1;
	looks = 0;
	result = read_zone(false);
	assert_int_equal(result.outcome, LOAD_KEPT);
	assert_true(looks > 0);
	let_go(&result);
}

/* A change that comes meanwhile would be lost. */
static void
zone_that_is_built_as_a_whole_is_busy(void **state)
{
	struct load_result result;

	write_file(1000);
	load();
	write_file(1001);
	f.zone->whole = true;
	result = read_zone(false);
	assert_int_equal(result.outcome, LOAD_BUILT);
	assert_int_equal(change(), NSD_E_AGAIN);
	publish(result.built);
	let_go(&result);
	assert_int_equal(change(), NSD_OK);
}

static void
zone_that_is_compared_is_busy(void **state)
{
	struct load_result result;

	write_file(1000);
	load();
	write_file(1001);
	result = read_zone(false);
	assert_int_equal(result.outcome, LOAD_COMPARED);
	assert_int_equal(change(), NSD_E_AGAIN);
	let_go(&result);
	assert_int_equal(change(), NSD_OK);
}

/* Small ones at once, large ones in parts. */
static void
zone_is_hashed_anew_from_its_own_records(void **state)
{
	const bool large = *(const bool *)*state;
	struct load_result result;
	struct print before;

	write_file(100);
	load();
	assert_false(is_costly(served()));
	assert_int_equal(change(), NSD_OK);
	before = print_served();
	for (unsigned i = 0; i < 4; i++) {
		bool costly = i % 2 == 0;

		f.context.nsec3_iterations_max = ITERATIONS - (uint32_t)costly;
		result = read_zone(large);
		assert_int_equal(result.outcome, LOAD_KEPT);
		/* The zone may not change while it is hashed anew. */
		assert_int_equal(change(), NSD_E_AGAIN);
		publish(result.rehashed);
		let_go(&result);
		assert_int_equal(is_costly(served()), costly);
		check_printed(&before);
		assert_int_equal(read_zone(large).outcome, LOAD_UNCHANGED);
		assert_int_equal(change(), NSD_OK);
	}
	free(before.octets);
}

static void
file_that_is_gone_or_broken_does_not_keep_it_from_that(void **state)
{
	const bool broken = *(const bool *)*state;
	struct load_result result;
	FILE *out;

	write_file(0);
	load();
	if (broken) {
		out = fopen(f.file, "a");
		assert_non_null(out);
		fputs("x A 300.0.0.1\n", out);
		assert_int_equal(fclose(out), 0);
	} else {
		assert_int_equal(unlink(f.file), 0);
	}
	f.context.nsec3_iterations_max = ITERATIONS - 1;
	result = read_zone(false);
	assert_int_equal(result.outcome, LOAD_FAILED);
	publish(result.rehashed);
	let_go(&result);
	assert_true(is_costly(served()));
}

/* A rehash of the old version would undo the change of the file. */
static void
file_that_has_changed_comes_before_that(void **state)
{
	struct load_result result;

	write_file(1000);
	load();
	write_file(1001);
	f.context.nsec3_iterations_max = ITERATIONS - 1;
	result = read_zone(false);
	assert_int_equal(result.outcome, LOAD_BUILT);
	assert_int_equal(result.rehashed, STORE_NONE);
	publish(result.built);
	let_go(&result);
	assert_true(is_costly(served()));
}

/* ---- repeated transfers -------------------------------------------------- */

/* A whole zone of one record. */
static bool
is_past(uint32_t serial)
{
	uint8_t octets[64] = {XFR_WHOLE}, rdata[22] = {0};
	const struct changes_rr soa = {
		.action = XFR_ADD,
		.type = TYPE_SOA,
		.rdlen = sizeof(rdata),
		.owner = f.zone->conf->wire,
		.owner_len = (uint8_t)name_len(f.zone->conf->wire),
		.rdata = rdata,
	};
	struct load_text text = {.fd = memfd_create("text", MFD_CLOEXEC)};
	bool past;

	octets_put_u32(rdata + 2, serial);
	text.len = changes_write_head(octets, XFR_WHOLE, soa.owner,
		soa.owner_len);
	text.len += changes_write(octets + text.len, &soa);
	assert_int_equal(pwrite(text.fd, octets, text.len, 0), text.len);
	past = load_update_is_past(&f.context, &text);
	text.len -= 1;
	assert_false(load_update_is_past(&f.context, &text));
	close(text.fd);
	return past;
}

static void
whole_zone_that_comes_again_takes_nothing_back(void **state)
{
	assert_false(is_past(0));
	write_file(0);
	load();
	assert_int_equal(served()->serial, 1);
	assert_true(is_past(0));
	assert_true(is_past(UINT32_MAX));
	assert_false(is_past(1));
	assert_false(is_past(2));
	assert_false(is_past(1u << 31));
}

/* ---- transfers ----------------------------------------------------------- */

#define NAMES 12000u /* several parts of a build */
#define TXT_LEN 200u

static size_t
write_record(uint8_t *out, uint16_t type, const char *label,
	const uint8_t *rdata, uint16_t rdlen)
{
	const uint8_t *apex = f.zone->conf->wire;
	size_t len = strlen(label), apex_len = name_len(apex);
	uint8_t owner[NAME_MAX_LEN] = {(uint8_t)len};

	memcpy(owner + 1, label, len);
	memcpy(owner + (len > 0 ? 1 + len : 0), apex, apex_len);
	return changes_write(out, &(struct changes_rr){
		.action = XFR_ADD, .type = type, .ttl_sec = 60,
		.owner = owner, .owner_len = (uint8_t)name_len(owner),
		.rdata = rdata, .rdlen = rdlen});
}

/* Primaries mostly send names in order. One that does not is read once more,
 * beside a version that is served, too. */
static void
transfer_in_no_order_is_built_sorted(void **state)
{
	static const uint8_t soa[22] = {0, 0, 0, 0, 0, 2}, ns[3] = "\1x";
	static uint8_t octets[NAMES * 256];
	struct load_text whole = {.fd = -1, .data = octets};
	const struct load_task task = {store_writer_heap(f.writer), true,
		&whole};
	struct load_result result = {.zone = f.zone};
	char label[16];

	write_file(1000);
	load();
	f.zone->whole = true; /* is not compared */
	whole.len = changes_write_head(octets, XFR_WHOLE, f.zone->conf->wire,
		name_len(f.zone->conf->wire));
	whole.len += write_record(octets + whole.len, TYPE_SOA, "", soa,
		sizeof(soa));
	for (unsigned i = NAMES; i-- > 0;) {
		const uint8_t rdata[TXT_LEN] = {TXT_LEN - 1,
			(uint8_t)(i >> 8), (uint8_t)i};

		snprintf(label, sizeof(label), "n%06u", i);
		whole.len += write_record(octets + whole.len, TYPE_TXT, label,
			rdata, sizeof(rdata));
	}
	whole.len += write_record(octets + whole.len, TYPE_NS, "", ns,
		sizeof(ns));
	load_transfer_read(&f.context, f.zone, &task, &result);
	assert_int_equal(result.outcome, LOAD_BUILT);
	publish(result.built);
	let_go(&result);
	assert_int_equal(served()->serial, 2);
	assert_int_equal(served()->rr_count, NAMES + 2);
}

/* ---- the journal --------------------------------------------------------- */

/* A file that several threads read. */
static void
write_large_file(void)
{
	FILE *out;

	write_file(1001);
	out = fopen(f.file, "a");
	assert_non_null(out);
	for (unsigned i = 0; i < 1u << 17; i++)
		fprintf(out, "; %062u\n", i);
	assert_int_equal(fclose(out), 0);
}

/* Writes a journal with a whole zone of serial 2, which is none. */
static void
write_broken_entry(const char *path)
{
	const struct journal_end end = {
		.kind = JOURNAL_WHOLE,
		.to = 2,
		.source = "127.0.0.1",
	};
	struct journal *journal = journal_fixture_open(path, 0, NULL);
	struct journal_transfer *transfer = journal_begin(journal,
		f.zone->conf->wire);
	struct journal_done done;

	assert_non_null(transfer);
	assert_int_equal(journal_put(transfer, "x", 1), NSD_OK);
	assert_true(journal_end(transfer, &end) != 0);
	journal_fixture_wait(journal, &done);
	assert_int_equal(done.err, NSD_OK);
	journal_accept(journal, done.apex, done.id);
	journal_close(journal);
}

/* A change that comes before the file is read finds the zone as it is. */
static void
zone_that_the_journal_cannot_build_is_not_busy(void **state)
{
	char path[JOURNAL_FIXTURE_PATH];
	struct load_journal *journal;
	struct load_result result;

	write_file(1000);
	load();
	write_large_file();
	journal_fixture_folder(path);
	write_broken_entry(path);
	journal = load_journal_open(path);
	assert_non_null(journal);
	f.context.journal = journal;
	result = read_zone(false);
	f.context.journal = NULL;
	load_journal_close(journal);
	journal_fixture_remove(path);
	assert_int_equal(result.outcome, LOAD_LARGE);
	assert_false(f.zone->busy);
	assert_int_equal(change(), NSD_OK);
}

int
main(void)
{
	static bool yes = true, no = false;
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
#define TEST_OF(name, which, value) \
	{#name ", " which, name, open_fixture, close_fixture, value}
	const struct CMUnitTest tests[] = {
		TEST(limit_of_a_served_zone_is_looked_at_under_the_lock),
		TEST(zone_that_is_built_as_a_whole_is_busy),
		TEST(zone_that_is_compared_is_busy),
		TEST_OF(zone_is_hashed_anew_from_its_own_records, "small",
			&no),
		TEST_OF(zone_is_hashed_anew_from_its_own_records, "large",
			&yes),
		TEST_OF(file_that_is_gone_or_broken_does_not_keep_it_from_that,
			"gone", &no),
		TEST_OF(file_that_is_gone_or_broken_does_not_keep_it_from_that,
			"broken", &yes),
		TEST(file_that_has_changed_comes_before_that),
		TEST(transfer_in_no_order_is_built_sorted),
		TEST(whole_zone_that_comes_again_takes_nothing_back),
		TEST(zone_that_the_journal_cannot_build_is_not_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
