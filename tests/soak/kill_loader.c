/* kill_loader.c - the process that changes zones is killed, again and again;
 * after each time all zones are what some serial of theirs says, and the next
 * process goes on.
 *
 * usage: kill_loader [--seconds N] [--zones N] [--seed N] [--steps N]
 *
 * Readers walk all zones meanwhile, and pin a version now and then. After that
 * the changes of a few zones are stepped through, N instructions, a thousand in
 * a row at random places: where the store has changed, a successor takes over a
 * copy of it, every other time. */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/store_check.h"
#include "lib/store_snapshot.h"
#include "soak/zones.h"
#include "store/writer.h"
#include "zonedb/mark.h"

#define READERS 2u

struct run {
	unsigned seconds, zones;
	uint64_t seed, rng;
	struct store *store;
	struct zones_check *check;
	pid_t readers[READERS];
	unsigned kills, take_overs, reader_kills;
	uint64_t epochs;
	unsigned long steps;
};

#define STEP_ZONES 3u
#define STEP_WINDOW 1000u /* instructions in a row */
#define STEP_ONE_OF 2u /* of the states of the store are taken over */

static _Noreturn void
fail(const char *what)
{
	printf("FAILED: %s\n", what);
	fflush(stdout);
	exit(1);
}

static pid_t
child_fork(void)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		_exit(1);
	return pid;
}

/* Kills a child. A child that found a fault would have ended by itself: a
 * failure. */
static void
kill_and_wait(pid_t pid, const char *who)
{
	int status;

	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status)
		|| WTERMSIG(status) != SIGKILL)
		fail(who);
}

/* ---- readers */

static void
read_once(struct store_reader *reader, struct zones_check *check,
	unsigned zones)
{
	const char *wrong;

	store_reader_online(reader);
	wrong = zones_check_all(check, store_reader_view(reader), zones,
		false);
	store_reader_offline(reader);
	if (wrong != NULL)
		fail(wrong);
}

/* A zone's version, kept beyond many others. */
static void
read_pinned(struct store_reader *reader, struct zones_check *check,
	unsigned zones, unsigned z)
{
	struct store_pin pin;
	const char *wrong;
	struct zones_pinned pinned;

	store_reader_online(reader);
	if (store_reader_pin(reader, &pin) != NSD_OK)
		fail("store_reader_pin");
	pinned = zones_pin(store_reader_view(reader), z);
	store_reader_offline(reader);
	read_once(reader, check, zones);
	wrong = zones_check_pinned(check, store_reader_view(reader), pinned);
	store_reader_unpin(reader, &pin);
	if (wrong != NULL)
		fail(wrong);
}

static _Noreturn void
reader_main(struct run *run, unsigned slot)
{
	struct zones_check *check = zones_check_create();
	struct store_reader *reader;
	uint64_t rng = run->seed + slot + 1;

	if (store_reader_open(run->store, slot, "reader", &reader) != NSD_OK)
		_exit(1);
	for (;;) {
		unsigned z = (unsigned)(chance_next(&rng) % run->zones);
		struct timespec rest = { 0, 2000000 };

		(void)nanosleep(&rest, NULL); /* leave some to the writers */

		if (chance_next(&rng) % 4 == 0)
			read_pinned(reader, check, run->zones, z);
		else
			read_once(reader, check, run->zones);
	}
}

static void
reader_start(struct run *run, unsigned slot)
{
	run->readers[slot] = child_fork();
	if (run->readers[slot] == 0)
		reader_main(run, slot);
}

/* ---- the writer */

static _Noreturn void
writer_main(struct run *run, uint64_t rng)
{
	struct store_writer *writer;

	if (store_writer_open(run->store, &writer) != NSD_OK)
		_exit(2);
	if (store_check_take_over(writer, mark_roots) != NULL)
		_exit(3);
	while (zones_change(writer, run->zones, &rng))
		if (chance_next(&rng) % 256 == 0)
			store_trim(writer);
	_exit(4);
}

/* A writer that looks at everything. */
static void
take_over(struct run *run, struct store *store)
{
	struct store_writer *writer;
	struct store_stats stats;
	const char *wrong;

	if (store_writer_open(store, &writer) != NSD_OK)
		fail("store_writer_open");
	wrong = store_check_take_over(writer, mark_roots);
	if (wrong == NULL)
		wrong = store_check(writer, zones_mark);
	if (wrong == NULL)
		wrong = zones_check_all(run->check, store_writer_view(writer),
			run->zones, true);
	for (int i = 0; i < 20 && wrong == NULL; i++)
		if (!zones_change(writer, run->zones, &run->rng))
			wrong = "no memory";
	if (wrong == NULL)
		wrong = store_check(writer, zones_mark);
	if (wrong != NULL)
		fail(wrong);
	store_get_stats(writer, &stats);
	run->epochs = stats.epoch;
	run->take_overs++;
	store_writer_close(writer);
}

static void
round_run(struct run *run)
{
	uint64_t rng = chance_next(&run->rng) | 1;
	struct timespec delay = { 0,
		(long)(chance_next(&run->rng) % 6000000) };
	pid_t pid = child_fork();

	if (pid == 0)
		writer_main(run, rng);
	(void)nanosleep(&delay, NULL);
	kill_and_wait(pid, "a writer ended by itself");
	run->kills++;
	if (chance_next(&run->rng) % 8 == 0) {
		unsigned slot = chance_below(&run->rng, READERS);

		kill_and_wait(run->readers[slot], "a reader found a fault");
		store_reader_clear(run->store, slot);
		reader_start(run, slot);
		run->reader_kills++;
	}
	/* The others find what several have left. */
	if (chance_next(&run->rng) % 4 != 0)
		take_over(run, run->store);
}

/* ---- step by step */

static pid_t
traced_fork(struct run *run)
{
	uint64_t rng = run->seed + 99;
	struct store_writer *writer;
	pid_t pid = child_fork();
	int status;

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0
			|| store_writer_open(run->store, &writer) != NSD_OK
			|| store_check_take_over(writer, mark_roots) != NULL)
			_exit(2);
		raise(SIGSTOP);
		while (zones_change(writer, run->zones, &rng))
			;
		_exit(4);
	}
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		fail("cannot trace a process");
	return pid;
}

/* Lets it run for a while, and stops it wherever it is then. */
static void
run_on(struct run *run, pid_t pid)
{
	struct timespec delay = { 0,
		(long)(chance_next(&run->rng) % 400000) };
	int status;

	if (ptrace(PTRACE_CONT, pid, NULL, NULL) != 0)
		fail("PTRACE_CONT");
	(void)nanosleep(&delay, NULL);
	if (kill(pid, SIGSTOP) != 0 || waitpid(pid, &status, 0) != pid
		|| !WIFSTOPPED(status))
		fail("a writer ended by itself");
}

static void
step_through(struct run *run, const struct store_options *options)
{
	struct store_snapshot *s;
	struct store *second;
	unsigned long states = 0, checked = 0;
	pid_t pid;

	if (store_create(options, &run->store) != NSD_OK
		|| store_create(options, &second) != NSD_OK)
		fail("store_create");
	run->zones = STEP_ZONES;
	for (int i = 0; i < 3; i++)
		take_over(run, run->store);
	s = store_snapshot_create(run->store);
	pid = traced_fork(run);
	for (unsigned long i = 0; i < run->steps; i++) {
		int status;

		if (i % STEP_WINDOW == 0)
			run_on(run, pid);
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0
			|| waitpid(pid, &status, 0) != pid
			|| !WIFSTOPPED(status))
			fail("a writer ended by itself");
		if (!store_snapshot_update(s))
			continue;
		states++;
		if (chance_next(&run->rng) % STEP_ONE_OF != 0)
			continue;
		store_snapshot_restore(s, second);
		take_over(run, second);
		checked++;
	}
	kill_and_wait(pid, "a writer ended by itself");
	printf("%lu instructions, %lu states of the store, %lu of them taken "
	       "over\n",
		run->steps, states, checked);
	store_snapshot_destroy(s);
	store_destroy(second);
	store_destroy(run->store);
}

static void
options_parse(struct run *run, int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 't' },
		{ "zones", required_argument, NULL, 'z' },
		{ "seed", required_argument, NULL, 's' },
		{ "steps", required_argument, NULL, 'n' },
		{ NULL, 0, NULL, 0 },
	};
	int o;

	*run = (struct run){ .seconds = 2, .zones = 12, .steps = 30000,
		.seed = 88172645463325252u };
	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (o) {
		case 't':
			run->seconds = (unsigned)strtoul(optarg, NULL, 0);
			break;
		case 'z':
			run->zones = (unsigned)strtoul(optarg, NULL, 0);
			break;
		case 's':
			run->seed = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			run->steps = strtoul(optarg, NULL, 0);
			break;
		default:
			exit(2);
		}
	run->rng = run->seed != 0 ? run->seed : 1;
}

int
main(int argc, char **argv)
{
	struct store_options options = { .reader_max = READERS,
		.reservation = (size_t)64 << 20, .poison = true };
	struct run run;
	time_t end;

	options_parse(&run, argc, argv);
	if (store_create(&options, &run.store) != NSD_OK)
		fail("store_create");
	run.check = zones_check_create();
	for (unsigned i = 0; i < READERS; i++)
		reader_start(&run, i);
	for (end = time(NULL) + run.seconds; time(NULL) < end;)
		round_run(&run);
	for (unsigned i = 0; i < READERS; i++) {
		kill_and_wait(run.readers[i], "a reader found a fault");
		store_reader_clear(run.store, i);
	}
	take_over(&run, run.store);
	printf("%u writers and %u readers killed in %u s, seed %" PRIu64
	       ": %u checks of the whole store, epoch %" PRIu64 "\n",
		run.kills, run.reader_kills, run.seconds, run.seed,
		run.take_overs, run.epochs);
	store_destroy(run.store);
	/* Poisoning is an instruction for each octet. */
	options.poison = false;
	if (run.steps > 0)
		step_through(&run, &options);
	zones_check_destroy(run.check);
	return 0;
}
