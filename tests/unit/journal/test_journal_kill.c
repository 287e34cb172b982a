/*
 * test_journal_kill.c - the writer is killed at random instants: the next one,
 * and a reader meanwhile, find all that it had reported, and nothing in part.
 *
 * JOURNAL_KILL_MSEC sets how long it runs, JOURNAL_KILL_SEED its seed.
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
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "lib/chance.h"
#include "lib/journal_fixture.h"

#define ZONES 8u
#define SEGMENT (64u << 10)

/* The reports that writers got, in memory that outlives them. */
struct said {
	_Atomic uint32_t durable[ZONES]; /* serial */
	_Atomic uint64_t count;
};

static uint64_t
len_at_random(uint64_t *rng)
{
	switch (chance_below(rng, 60)) {
	case 0:
		return 1200000;
	case 1:
		return 200000;
	default:
		return 1 + chance_below(rng, 3000);
	}
}

/* Sends something for each zone, then hears what became of it, for ever. */
static void
write_for_ever(const char *folder, struct said *said, uint64_t seed)
{
	struct journal *journal = journal_fixture_open(folder, SEGMENT, NULL);
	uint64_t rng = seed, octets;
	struct journal_entry newest;
	struct journal_done done;

	for (;;) {
		unsigned sent = 0;

		for (unsigned z = 0; z < ZONES; z++) {
			uint32_t from = 0, to = 1;

			if (journal_find_newest(journal,
				journal_fixture_apex(z), &newest, &octets)) {
				to = newest.to + 1;
				from = chance_below(&rng, 8) == 0 ? 0
								  : newest.to;
			}
			if (journal_fixture_send(journal, z, from, to,
				len_at_random(&rng)) != 0)
				sent++;
		}
		for (; sent > 0; sent--) {
			journal_fixture_wait(journal, &done);
			if (done.err != NSD_OK)
				_exit(3);
			said->durable[done.apex[2] - '0'] = done.entry.to;
			said->count++;
			if (done.entry.kind == JOURNAL_WHOLE)
				journal_accept(journal, done.apex, done.id);
		}
	}
}

static pid_t
writer_fork(const char *folder, struct said *said, uint64_t seed)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid != 0)
		return pid;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		_exit(1);
	alarm(120);
	write_for_ever(folder, said, seed);
	_exit(2);
}

/* A zone's entries lead from nothing to the reported serial, or further. */
static void
check(int dirfd, const uint32_t *least, bool texts)
{
	struct journal_index *index;

	assert_int_equal(journal_index_open(dirfd, NULL, &index), NSD_OK);
	for (unsigned z = 0; z < ZONES; z++) {
		const struct journal_query query = {
			.apex = journal_fixture_apex(z)};
		struct journal_chain chain;
		uint32_t serial;

		if (least[z] == 0)
			continue;
		assert_int_equal(journal_find(index, &query, &chain), NSD_OK);
		assert_true(chain.count > 0);
		serial = chain.entries[chain.count - 1].to;
		if (serial < least[z])
			fail_msg("zone %u has %u, but had %u", z,
				(unsigned)serial, (unsigned)least[z]);
		for (size_t i = 0; i < chain.count && texts; i++)
			assert_true(journal_fixture_check(dirfd,
				&chain.entries[i], z));
		journal_chain_fini(&chain);
	}
	journal_index_close(index);
}

static void
remember(const struct said *said, uint32_t *least)
{
	for (unsigned z = 0; z < ZONES; z++)
		least[z] = said->durable[z];
}

static void
killed_writer_has_kept_what_it_reported(void **state)
{
	uint64_t rng = chance_setting("JOURNAL_KILL_SEED", 20261122);
	int64_t end = clock_now_msec()
		+ (int64_t)chance_setting("JOURNAL_KILL_MSEC", 1500);
	char folder[JOURNAL_FIXTURE_PATH];
	struct said *said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint32_t least[ZONES];
	unsigned kills = 0;
	int dirfd, status;

	assert_true(said != MAP_FAILED);
	journal_fixture_folder(folder);
	dirfd = open(folder, O_RDONLY | O_DIRECTORY);
	while (clock_now_msec() < end || said->count < 100) {
		pid_t pid = writer_fork(folder, said, chance_next(&rng));
		struct timespec delay = {
			0, (long)chance_below(&rng, 30000000)};

		(void)nanosleep(&delay, NULL);
		/* A reader beside the writer. */
		remember(said, least);
		check(dirfd, least, false);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status)
			&& WTERMSIG(status) == SIGKILL);
		kills++;
		remember(said, least);
		check(dirfd, least, true);
	}
	journal_close(journal_fixture_open(folder, SEGMENT, NULL));
	check(dirfd, least, true);
	print_message("%u writers killed, %llu entries reported\n", kills,
		(unsigned long long)said->count);
	close(dirfd);
	munmap(said, sizeof(*said));
	journal_fixture_remove(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_writer_has_kept_what_it_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
