/* test_load_text.c - the contents of a transfer read as a zone file of the
 * same records; octets that are cut or wrong are refused. */
#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "dns/name.h"
#include "dns/rrtype.h"
#include "lib/journal_fixture.h"
#include "loader/load_text.h"
#include "xfr/changes.h"

#define APEX ((const uint8_t *)"\7example")
#define BEFORE 12345u /* octets of something else in the file */
#define OCTETS_MAX (4u << 20)

static uint8_t *octets;
static size_t octets_len;

static void
put_rr(const struct rrbatch_rr *rr, const struct rrbatch_rr *named)
{
	const struct changes_rr change = {
		.action = XFR_ADD,
		.ttl_sec = rr->ttl_sec,
		.type = rr->type,
		.rdlen = rr->rdlen,
		.owner = named->data,
		.owner_len = named->owner_len,
		.rdata = rrbatch_rr_rdata(rr),
	};

	assert_true(octets_len + CHANGES_RECORD_MAX < OCTETS_MAX);
	octets_len += changes_write(octets + octets_len, &change);
}

/* The records of a list of batches, one after another, names spelled out. */
static void
put_all(const struct rrbatch *batch)
{
	octets_len = changes_write_head(octets, XFR_WHOLE, APEX, 9);
	for (; batch != NULL; batch = batch->next) {
		const struct rrbatch_rr *rr = rrbatch_first(batch);
		const struct rrbatch_rr *named = rr;

		for (size_t i = 0; i < batch->count; i++) {
			if (rr->owner_len > 0)
				named = rr;
			put_rr(rr, named);
			rr = rrbatch_next(rr);
		}
	}
}

static int
make_file(void)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	assert_int_not_equal(fd, -1);
	assert_int_equal(pwrite(fd, octets, octets_len, BEFORE), octets_len);
	return fd;
}

/* Makes hosts, some with a record larger than all others together: the first
 * one's is nearly all of a small text. */
static void
make_octets(unsigned hosts)
{
	struct zonefile_options options = {.apex = APEX};
	struct zonefile_result result;
	char *text = malloc(OCTETS_MAX);
	size_t len;

	assert_non_null(text);
	len = (size_t)sprintf(text, "$TTL 60\n@ SOA ns x 1 2 3 4 5\n@ NS ns\n"
		"ns A 192.0.2.1\n");
	for (unsigned i = 0; i < hosts; i++) {
		len += (size_t)sprintf(text + len,
			"h%u A 192.0.2.%u\n\tTXT x\n", i, i % 250);
		if (i % 500 == 0) {
			int rdlen = i == 0 ? 16200 : 30000;

			len += (size_t)sprintf(text + len,
				"\tTYPE999 \\# %d %0*d\n", rdlen, 2 * rdlen,
				0);
		}
	}
	assert_int_equal(zonefile_parse_text("test", text, len, &options, NULL,
				 &result),
		NSD_OK);
	put_all(result.batches);
	zonefile_result_fini(&result);
	free(text);
}

static enum nsd_err
parse(size_t len, struct zonefile_options *options,
	struct zonefile_result *result)
{
	const struct load_text text = {.fd = make_file(),
		.offset = BEFORE, .len = len};
	enum nsd_err err;

	options->apex = APEX;
	err = load_text_parse(&text, options, result);
	close(text.fd);
	return err;
}

static void
text_is_read_as_it_was_written(void **state)
{
	static const unsigned hosts[] = {0, 1, 10, 3000};

	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
		struct zonefile_options options = {.threads = 1};
		struct zonefile_result result;
		uint8_t *before;
		size_t len;

		make_octets(hosts[i]);
		len = octets_len;
		before = malloc(len);
		assert_non_null(before);
		memcpy(before, octets, len);
		assert_int_equal(parse(len, &options, &result), NSD_OK);
		assert_int_equal(result.rr_count,
			3 + hosts[i] * 2 + (hosts[i] + 499) / 500);
		assert_int_equal(result.source_count, 1);
		put_all(result.batches);
		assert_int_equal(octets_len, len);
		assert_memory_equal(octets, before, len);
		zonefile_result_fini(&result);
		free(before);
	}
}

/* ---- batches ------------------------------------------------------------- */

static uint64_t counted;

static enum nsd_err
on_batch(void *ctx, const struct rrbatch *batch)
{
	assert_true(batch->count > 0);
	assert_true(rrbatch_first(batch)->owner_len > 0);
	counted += batch->count;
	return *(enum nsd_err *)ctx;
}

static enum nsd_err
take_batch(void *ctx, struct rrbatch *batch)
{
	enum nsd_err err = on_batch(ctx, batch);

	rrbatch_destroy(batch);
	return err;
}

static void
batches_are_handed_on(void **state)
{
	struct zonefile_options options = {.on_batch = on_batch};
	struct zonefile_result result;
	enum nsd_err answer = NSD_OK;

	options.batch_ctx = &answer;
	make_octets(3000);
	for (unsigned i = 0; i < 2; i++) {
		counted = 0;
		assert_int_equal(parse(octets_len, &options, &result), NSD_OK);
		assert_int_equal(counted, 3 + 6000 + 6);
		assert_null(result.batches);
		zonefile_result_fini(&result);
		options.on_batch = NULL;
		options.take_batch = take_batch;
	}
	/* An error of the callback ends the reading. */
	answer = NSD_E_LIMIT;
	counted = 0;
	assert_int_equal(parse(octets_len, &options, &result), NSD_E_LIMIT);
	assert_in_range(counted, 1, 5999);
	zonefile_result_fini(&result);
}

/* ---- refused texts ------------------------------------------------------- */

static void
text_that_is_cut_is_refused(void **state)
{
	struct zonefile_options options = {.threads = 1};
	struct zonefile_result result;
	unsigned whole = 0;

	make_octets(2);
	octets_len = 250; /* without the large record */
	for (size_t len = 0; len <= octets_len; len++) {
		enum nsd_err err = parse(len, &options, &result);

		assert_true(err == NSD_OK || err == NSD_E_WIRE);
		whole += err == NSD_OK;
		zonefile_result_fini(&result);
	}
	/* A text may end behind any record. */
	assert_in_range(whole, 2, 5);
	/* There are fewer octets than was said. */
	assert_int_equal(parse(octets_len + 1, &options, &result),
		NSD_E_SYSTEM);
	zonefile_result_fini(&result);
}

static void
text_of_another_zone_is_refused(void **state)
{
	struct zonefile_options options = {.threads = 1};
	struct zonefile_result result;

	make_octets(1);
	octets[0] = XFR_DIFFS;
	assert_int_equal(parse(octets_len, &options, &result), NSD_E_WIRE);
	zonefile_result_fini(&result);
	octets[0] = XFR_WHOLE;
	octets[2] = 'x';
	assert_int_equal(parse(octets_len, &options, &result), NSD_E_WIRE);
	zonefile_result_fini(&result);
}

static void
offset_beyond_all_is_refused(void **state)
{
	struct zonefile_options options = {.apex = APEX};
	const uint64_t offsets[] = {UINT64_MAX, INT64_MAX, 1u << 30};
	struct zonefile_result result;
	uint8_t octet;

	make_octets(1);
	for (size_t i = 0; i < 3; i++) {
		const struct load_text text = {.fd = make_file(),
			.offset = offsets[i], .len = 100};

		assert_int_equal(load_text_parse(&text, &options, &result),
			NSD_E_SYSTEM);
		assert_int_equal(load_text_copy(&text, &octet, 1),
			NSD_E_SYSTEM);
		zonefile_result_fini(&result);
		close(text.fd);
	}
}

/* ---- texts of a journal -------------------------------------------------- */

/* Keeps the octets in a journal. Returns their place there. */
static struct load_text
keep_octets(struct journal *journal)
{
	const struct journal_end end = {.kind = JOURNAL_WHOLE, .to = 1,
		.source = "a test"};
	struct journal_transfer *transfer = journal_begin(journal, APEX);
	struct load_text text = {.len = octets_len, .has_sums = true};
	struct journal_done done;

	assert_non_null(transfer);
	assert_int_equal(journal_put(transfer, octets, octets_len), NSD_OK);
	assert_true(journal_end(transfer, &end) != 0);
	journal_fixture_wait(journal, &done);
	assert_int_equal(done.err, NSD_OK);
	assert_int_equal(journal_open_text(journal, APEX, done.id, &text.fd,
		&text.offset), NSD_OK);
	return text;
}

/* Damages the octet at a place behind the begin of a text, or heals it. */
static void
flip_octet(const struct load_text *text, uint64_t at)
{
	off_t place = (off_t)(text->offset + at);
	char path[32];
	uint8_t octet;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", text->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_not_equal(fd, -1);
	assert_int_equal(pread(fd, &octet, 1, place), 1);
	octet ^= 1;
	assert_int_equal(pwrite(fd, &octet, 1, place), 1);
	close(fd);
}

static enum nsd_err
parse_kept(const struct load_text *text, uint64_t *records)
{
	struct zonefile_options options = {.apex = APEX, .threads = 1};
	struct zonefile_result result;
	enum nsd_err err = load_text_parse(text, &options, &result);

	*records = result.rr_count;
	zonefile_result_fini(&result);
	return err;
}

/* In the first block, the last one, and the sums of the first one. */
static void
text_of_a_journal_is_checked_as_it_is_read(void **state)
{
	static const unsigned hosts[] = {10, 20000}; /* the latter: in a file */
	char folder[JOURNAL_FIXTURE_PATH];
	uint64_t records;

	journal_fixture_folder(folder);
	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
		struct journal *journal = journal_fixture_open(folder, 0, NULL);
		struct load_text text;

		make_octets(hosts[i]);
		text = keep_octets(journal);
		assert_int_equal(parse_kept(&text, &records), NSD_OK);
		assert_int_equal(records,
			3 + hosts[i] * 2 + (hosts[i] + 499) / 500);
		for (unsigned k = 0; k < 3; k++) {
			uint64_t at = k == 0 ? 20 : k == 1 ? octets_len - 1
				: (octets_len + 31) / 32 * 32;

			flip_octet(&text, at);
			assert_int_equal(parse_kept(&text, &records),
				NSD_E_WIRE);
			flip_octet(&text, at);
		}
		assert_int_equal(parse_kept(&text, &records), NSD_OK);
		close(text.fd);
		journal_close(journal);
	}
	journal_fixture_remove(folder);
}

static int
setup(void **state)
{
	octets = malloc(OCTETS_MAX);
	return octets == NULL;
}

static int
teardown(void **state)
{
	free(octets);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_read_as_it_was_written),
		cmocka_unit_test(batches_are_handed_on),
		cmocka_unit_test(text_that_is_cut_is_refused),
		cmocka_unit_test(text_of_another_zone_is_refused),
		cmocka_unit_test(offset_beyond_all_is_refused),
		cmocka_unit_test(text_of_a_journal_is_checked_as_it_is_read),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
