/* kill_loader.c - the process that changes zones is killed, again and again;
 * after each time all zones are what some serial of theirs says, and the next
 * process goes on.
 *
 * usage: kill_loader [--seconds N] [--zones N] [--seed N]
 *
 * Readers walk all zones meanwhile, and pin a version now and then. */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/store_check.h"
#include "soak/zones.h"

#define READERS 2u

struct run {
	unsigned seconds, zones;
	uint64_t seed, rng;
	struct store *store;
	struct zones_check *check;
	pid_t readers[READERS];
	unsigned kills, take_overs, reader_kills;
	uint64_t changes, epochs;
};

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

/* One that had found a fault had ended by itself. */
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
	wrong = zones_check_all(check, store_reader_view(reader), zones);
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
		unsigned z = (unsigned)(zones_rng(&rng) % run->zones);
		struct timespec rest = { 0, 2000000 };

		(void)nanosleep(&rest, NULL); /* leave some to the writers */

		if (zones_rng(&rng) % 4 == 0)
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
	if (store_check_take_over(writer, table_mark) != NULL)
		_exit(3);
	while (zones_change(writer, run->zones, &rng))
		if (zones_rng(&rng) % 256 == 0)
			store_trim(writer);
	_exit(4);
}

/* A writer that looks at everything. */
static void
take_over(struct run *run)
{
	struct store_writer *writer;
	struct store_stats stats;
	const char *wrong;

	if (store_writer_open(run->store, &writer) != NSD_OK)
		fail("store_writer_open");
	wrong = store_check_take_over(writer, table_mark);
	if (wrong == NULL)
		wrong = store_check(writer, zones_mark);
	if (wrong == NULL)
		wrong = zones_check_all(run->check, store_writer_view(writer),
			run->zones);
	for (int i = 0; i < 20 && wrong == NULL; i++) {
		if (!zones_change(writer, run->zones, &run->rng))
			wrong = "no memory";
		run->changes++;
	}
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
	uint64_t rng = zones_rng(&run->rng) | 1;
	struct timespec delay = { 0,
		(long)(zones_rng(&run->rng) % 6000000) };
	pid_t pid = child_fork();

	if (pid == 0)
		writer_main(run, rng);
	(void)nanosleep(&delay, NULL);
	kill_and_wait(pid, "a writer ended by itself");
	run->kills++;
	if (zones_rng(&run->rng) % 8 == 0) {
		unsigned slot = (unsigned)(zones_rng(&run->rng) % READERS);

		kill_and_wait(run->readers[slot], "a reader found a fault");
		store_reader_clear(run->store, slot);
		reader_start(run, slot);
		run->reader_kills++;
	}
	/* The others find what several have left. */
	if (zones_rng(&run->rng) % 4 != 0)
		take_over(run);
}

static void
options_parse(struct run *run, int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 't' },
		{ "zones", required_argument, NULL, 'z' },
		{ "seed", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	int o;

	*run = (struct run){ .seconds = 3, .zones = 12,
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
		default:
			exit(2);
		}
	run->rng = run->seed != 0 ? run->seed : 1;
}

int
main(int argc, char **argv)
{
	const struct store_options options = { .reader_max = READERS,
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
	take_over(&run);
	printf("%u writers and %u readers killed in %u s, seed %" PRIu64
	       ": %u checks of the whole store, epoch %" PRIu64 "\n",
		run.kills, run.reader_kills, run.seconds, run.seed,
		run.take_overs, run.epochs);
	zones_check_destroy(run.check);
	store_destroy(run.store);
	return 0;
}
