/*
 * test_power.c - the power fails after any operation, and any operation fails:
 * what was reported as durable is there, nothing is there in part, and what was
 * said to be dead before something else became durable stays dead.
 *
 * JOURNAL_POWER_SEEDS sets how many states of the disk are looked at after each
 * operation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "lib/chance.h"
#include "lib/journal_fixture.h"
#include "lib/power.h"

#define KIB 1024u
#define SEGMENT (8u * KIB)
#define ENTRY_MAX 600
#define NEVER SIZE_MAX

/* An entry, and the number of operations after which it was sent, reported and
 * declared dead. */
struct known {
	unsigned zone;
	uint32_t from;
	size_t sent;
	size_t durable;
	size_t dead;
	size_t surely_dead; /* a later entry is durable */
	size_t surely_gone; /* the same, if it had failed */
	bool failed;
};

static struct known known[ENTRY_MAX]; /* by id */
static uint64_t last_id;
static size_t faults; /* operations that fail */
static struct journal *journal;

/* ---- the work */

static void
note_dead(unsigned zone, uint64_t first, uint64_t last, size_t now)
{
	for (uint64_t id = first; id <= last; id++)
		if (known[id].zone == zone && known[id].dead == NEVER)
			known[id].dead = now;
}

static void
note_durable(uint64_t id)
{
	size_t now = power_count();

	for (uint64_t i = 1; i <= last_id; i++)
		if (known[i].dead <= known[id].sent
			&& known[i].surely_dead == NEVER)
			known[i].surely_dead = now;
	for (uint64_t i = 1; i < id; i++)
		if (known[i].failed && known[i].surely_gone == NEVER)
			known[i].surely_gone = now;
	known[id].durable = now;
}

static uint64_t
send(unsigned zone, uint32_t from, uint32_t to, uint64_t len)
{
	size_t now = power_count();
	uint64_t id = journal_fixture_send(journal, zone, from, to, len);

	if (id == 0)
		return 0;
	assert_true(id < ENTRY_MAX);
	last_id = id;
	known[id] = (struct known){.zone = zone, .from = from, .sent = now,
		.durable = NEVER, .dead = NEVER, .surely_dead = NEVER,
		.surely_gone = NEVER};
	return id;
}

static void
hear(void)
{
	struct journal_done done;

	for (uint64_t id = 1; id <= last_id; id++) {
		if (known[id].durable != NEVER || known[id].failed)
			continue;
		journal_fixture_wait(journal, &done);
		if (done.err == NSD_OK)
			note_durable(done.id);
		else
			known[done.id].failed = true;
		id = 0; /* reports need not come in order */
	}
}

static void
commit(unsigned zone, uint32_t from, uint32_t to, uint64_t len)
{
	uint64_t id = send(zone, from, to, len);

	hear();
	if (from == 0 && id != 0 && !known[id].failed) {
		note_dead(zone, 1, id - 1, power_count());
		journal_accept(journal, journal_fixture_apex(zone), id);
	}
}

static void
forget(unsigned zone, uint32_t serial, uint64_t id)
{
	size_t now = power_count();

	if (journal_forget(journal, journal_fixture_apex(zone), serial))
		note_dead(zone, 1, id, now);
}

static void
refuse(unsigned zone, uint64_t id)
{
	note_dead(zone, id, last_id, power_count());
	journal_refuse(journal, journal_fixture_apex(zone), id);
}

static void
drop(unsigned zone)
{
	note_dead(zone, 1, last_id, power_count());
	journal_drop(journal, journal_fixture_apex(zone));
}

/* Every kind of work that a server gives to a journal. */
static void
work(void)
{
	commit(1, 0, 1, 300);
	commit(2, 0, 1, 70 * KIB);
	commit(1, 1, 2, 100);
	for (uint32_t i = 0; i < 5; i++)
		(void)send(10 + i, i + 1, i + 2, 400);
	hear();
	commit(3, 0, 1, 1025 * KIB);
	commit(1, 2, 3, 100);
	commit(3, 0, 2, 1030 * KIB);
	for (uint32_t i = 1; i < 12; i++) {
		commit(4, i, i + 1, 1500);
		forget(4, i + 1, last_id);
	}
	commit(1, 0, 9, 300);
	refuse(1, last_id);
	commit(1, 3, 4, 200);
	drop(3);
	/* Live entries of old segments are copied: 1, 2, 10 to 14. */
	for (uint32_t i = 1; i < 25; i++) {
		commit(5, i, i + 1, 7000);
		forget(5, i + 1, last_id);
	}
	for (unsigned zone = 1; zone < 15; zone++)
		drop(zone);
	/* The old segments go; then the oldest one holds others back. */
	for (uint32_t i = 0; i < 25; i++)
		commit(7, i, i + 1, 50);
	drop(7);
	commit(8, 0, 1, 3000);
	for (uint32_t i = 1; i < 14; i++) {
		commit(9, i, i + 1, 1500);
		forget(9, i + 1, last_id);
	}
	drop(8);
	for (uint32_t i = 0; i < 6; i++)
		commit(6, i, i + 1, 50);
}

static void
work_in(const char *folder)
{
	const struct journal_options options = {.path = folder,
		.segment_size = SEGMENT};

	memset(known, 0, sizeof(known));
	last_id = 0;
	if (journal_open(&options, NULL, &journal) != NSD_OK)
		return;
	work();
	journal_close(journal);
}

/* ---- contents after a power cut */

static bool
index_has(const struct journal_index *index, int dirfd, uint64_t id)
{
	const struct known *k = &known[id];
	const struct journal_query query = {
		.apex = journal_fixture_apex(k->zone),
		.has_serial = k->from != 0, .serial = k->from,
		.before = id + 1};
	struct journal_chain chain;
	bool has;

	if (journal_find(index, &query, &chain) != NSD_OK)
		return false;
	has = chain.count > 0 && chain.entries[chain.count - 1].id == id;
	if (has && !journal_fixture_check(dirfd,
		&chain.entries[chain.count - 1], k->zone))
		fail_msg("entry %u is there in part", (unsigned)id);
	journal_chain_fini(&chain);
	return has;
}

/* Compares what a folder holds with what must be there after so many
 * operations. */
static void
check_folder(const char *folder, size_t n, uint64_t seed)
{
	int dirfd = open(folder, O_RDONLY | O_DIRECTORY);
	struct journal_index *index;
	uint64_t found = 0, entries;

	assert_int_equal(journal_index_open(dirfd, NULL, &index), NSD_OK);
	for (uint64_t id = 1; id <= last_id; id++) {
		const struct known *k = &known[id];
		bool has = index_has(index, dirfd, id);

		found += has;
		if (!has && k->durable <= n && k->dead > n)
			fail_msg("after %zu, seed %llu: entry %u is lost", n,
				(unsigned long long)seed, (unsigned)id);
		/* With failed writes the log may lack the note that an entry is
		 * dead. */
		if (has && ((k->surely_dead <= n && faults == 0)
			|| (k->surely_gone <= n && faults <= 1)
			|| k->sent > n))
			fail_msg("after %zu, seed %llu: entry %u came back", n,
				(unsigned long long)seed, (unsigned)id);
	}
	entries = journal_index_count(index);
	if (found != entries)
		fail_msg("after %zu: %llu entries, but %llu are known", n,
			(unsigned long long)entries,
			(unsigned long long)found);
	journal_index_close(index);
	close(dirfd);
}

/* Checks the folder, again after a writer has repaired it, and again after it
 * has gone on. */
static void
check_restored(size_t n, uint64_t seed)
{
	char folder[JOURNAL_FIXTURE_PATH];
	struct journal *second;

	journal_fixture_folder(folder);
	power_restore(n, seed, folder);
	second = journal_fixture_open(folder, SEGMENT, NULL);
	check_folder(folder, n, seed);
	if (seed > POWER_ALL && seed % 4 == 0)
		assert_true(journal_fixture_commit(second, 900, 0, 1, 9000)
			!= 0);
	journal_drop(second, journal_fixture_apex(900));
	journal_close(second);
	second = journal_fixture_open(folder, SEGMENT, NULL);
	journal_close(second);
	journal_fixture_remove(folder);
}

/* ---- tests */

static void
power_cut_loses_nothing_reported(void **state)
{
	uint64_t seeds = chance_setting("JOURNAL_POWER_SEEDS", 2);
	char folder[JOURNAL_FIXTURE_PATH];
	size_t n;

	journal_fixture_folder(folder);
	power_begin(folder);
	work_in(folder);
	for (n = 0; n <= power_count(); n++)
		for (uint64_t seed = 0; seed < 2 + seeds; seed++)
			check_restored(n, seed < 2 ? seed : seed + 97 * n);
	print_message("%zu operations, %llu entries\n", n - 1,
		(unsigned long long)last_id);
	assert_true(n > 200);
	power_end();
	journal_fixture_remove(folder);
}

/* An operation fails: once, a few times, or from then on. Only the transfers
 * that are reported as failed are lost; then the power fails, too. */
static bool
work_with_fault(enum power_fault fault, size_t at, size_t how_many)
{
	char folder[JOURNAL_FIXTURE_PATH];
	bool failed;
	size_t n;

	journal_fixture_folder(folder);
	faults = how_many;
	power_begin(folder);
	power_fail(fault, at, how_many);
	work_in(folder);
	failed = power_has_failed();
	power_fail(fault, 0, 0);
	journal = journal_fixture_open(folder, SEGMENT, NULL);
	n = power_count();
	check_folder(folder, n, 0);
	journal_close(journal);
	check_restored(n, POWER_NOTHING);
	check_restored(n, at + 2);
	power_end();
	journal_fixture_remove(folder);
	return failed;
}

static void
failing_operation_fails_its_transfer_alone(void **state)
{
	size_t at;

	for (at = 0; work_with_fault(POWER_IO_ERROR, at, 1); at++)
		continue;
	assert_true(at > 150);
}

static void
transfers_fail_while_operations_do(void **state)
{
	static const size_t lengths[] = {1, 4, 1000000};
	static const enum power_fault kinds[] = {POWER_NO_SPACE,
		POWER_IO_ERROR, POWER_SHORT};

	for (unsigned f = 0; f < 3; f++)
		for (unsigned i = 0; i < 3; i++) {
			size_t at = 0;

			while (work_with_fault(kinds[f], at, lengths[i]))
				at += 2 + at / 10 + 10 * i;
			assert_true(at > 150);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(power_cut_loses_nothing_reported),
		cmocka_unit_test(failing_operation_fails_its_transfer_alone),
		cmocka_unit_test(transfers_fail_while_operations_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
