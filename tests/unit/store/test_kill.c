/* test_kill.c - the writer is killed: at random instants, and at every
 * instruction that changes the store. Its successor finds a store that is
 * whole, with the version published last, and goes on.
 *
 * STORE_KILL_MSEC sets how long the random part runs, STORE_KILL_SEED its
 * seed, STORE_KILL_STEPS how many instructions are stepped through. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/chance.h"
#include "lib/store_check.h"
#include "lib/store_snapshot.h"
#include "store/writer.h"

#define PARTS 12
#define PART_MAX 6000u
#define LARGE 70000u /* more than a span */

/* The root object. */
struct version {
	uint64_t number;
	uint64_t rng; /* of the writer that goes on */
	struct part {
		store_ref ref;
		uint32_t len;
	} parts[PARTS];
};

static uint64_t
now_msec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Octets that wait for readers: far less than the store has room for. */
#define WAITING_MAX (8u << 20)

/* Fewer kills or versions show nothing. A machine that is busy has this much
 * more time for them. */
#define KILLS_LEAST 10
#define SLOW_MSEC 120000

static struct store *
store_make(bool poison)
{
	struct store_options options = { .reader_max = 2, .poison = poison,
		.reservation = (size_t)64 << 20 };
	struct store *store;

	assert_int_equal(store_create(&options, &store), NSD_OK);
	return store;
}

/* ---- versions */

static uint32_t
part_len(uint64_t *rng)
{
	switch (chance_next(rng) % 16) {
	case 0:
		return 1 + (uint32_t)(chance_next(rng) % PART_MAX);
	case 1:
		return LARGE;
	default:
		return 1 + (uint32_t)(chance_next(rng) % 200);
	}
}

/* First and last octets only: it is stepped through. */
static void
part_fill(uint8_t *p, struct part part)
{
	p[0] = (uint8_t)part.ref;
	p[part.len - 1] = (uint8_t)part.ref;
}

static bool
part_is_whole(const struct store_view *view, struct part part)
{
	const uint8_t *p = store_get(view, part.ref);

	return p[0] == (uint8_t)part.ref
		&& p[part.len - 1] == (uint8_t)part.ref;
}

static const struct version *
version_get(const struct store_view *view)
{
	store_ref ref = store_root(view, STORE_ROOT_ZONES);

	return ref == STORE_NONE ? NULL : store_get(view, ref);
}

static bool
version_is_whole(const struct store_view *view, uint64_t least)
{
	const struct version *v = version_get(view);

	if (v == NULL)
		return least == 0;
	for (unsigned i = 0; i < PARTS; i++)
		if (!part_is_whole(view, v->parts[i]))
			return false;
	return v->number >= least;
}

static void
version_mark(struct store_writer *writer, struct store_sweep *sweep)
{
	const struct store_view *view = store_writer_view(writer);
	const struct version *v = version_get(view);

	if (v == NULL)
		return;
	(void)store_sweep_mark(sweep, store_root(view, STORE_ROOT_ZONES),
		sizeof(*v));
	for (unsigned i = 0; i < PARTS; i++)
		(void)store_sweep_mark(sweep, v->parts[i].ref,
			v->parts[i].len);
}

static bool
part_make(struct store_heap *heap, uint64_t *rng, struct part *part)
{
	uint8_t *p;

	part->len = part_len(rng);
	p = store_alloc(heap, part->len, &part->ref);
	if (p == NULL)
		return false;
	part_fill(p, *part);
	return true;
}

/* Publishes a version; the newest half of its parts comes from a heap of its
 * own, as in a parallel build. */
static bool
publish(struct store_writer *writer)
{
	const struct store_view *view = store_writer_view(writer);
	store_ref ref, old_ref = store_root(view, STORE_ROOT_ZONES);
	const struct version *old = version_get(view);
	struct store_heap *heap;
	struct version *v = store_alloc(store_writer_heap(writer), sizeof(*v),
		&ref);
	uint64_t keep;

	if (v == NULL || store_heap_create(writer, &heap) != NSD_OK)
		return false;
	*v = (struct version){ .number = 1, .rng = 7 };
	if (old != NULL) {
		*v = *old;
		v->number++;
	}
	keep = old != NULL ? chance_next(&v->rng) : 0;
	for (unsigned i = 0; i < PARTS; i++)
		if ((keep >> i & 1) == 0
			&& !part_make(i % 2 != 0 ? heap
						 : store_writer_heap(writer),
				&v->rng, &v->parts[i]))
			return false;
	store_heap_destroy(heap);
	store_publish(writer, STORE_ROOT_ZONES, ref);
	for (unsigned i = 0; i < PARTS && old != NULL; i++)
		if ((keep >> i & 1) == 0)
			store_retire(writer, old->parts[i].ref,
				old->parts[i].len);
	if (old != NULL)
		store_retire(writer, old_ref, sizeof(*old));
	(void)store_reclaim(writer);
	if (v->number % 8 == 0)
		store_trim(writer);
	return true;
}

/* A writer takes over; all must be in order then. Leaves it in order. */
static void
take_over(struct store *store, uint64_t least, bool go_on)
{
	struct store_writer *writer;
	const char *wrong;

	assert_int_equal(store_writer_open(store, &writer), NSD_OK);
	assert_true(version_is_whole(store_writer_view(writer), least));
	wrong = store_check_take_over(writer, version_mark);
	if (wrong == NULL)
		wrong = store_check(writer, version_mark);
	if (wrong == NULL && go_on) {
		(void)store_reclaim(writer);
		for (int i = 0; i < 3 && wrong == NULL; i++) {
			assert_true(publish(writer));
			wrong = store_check(writer, version_mark);
		}
		assert_true(version_is_whole(store_writer_view(writer),
			least));
	}
	if (wrong != NULL)
		fail_msg("%s", wrong);
	store_writer_close(writer);
}

/* ---- at random */

/* A child that does not outlive a test that fails. */
static pid_t
child_fork(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		_exit(1);
	return pid;
}

/* A reader all the while: what it sees is whole, and never goes back. */
static pid_t
reader_fork(struct store *store)
{
	struct store_reader *reader;
	const struct store_view *view;
	uint64_t newest = 0;
	pid_t pid = child_fork();

	if (pid != 0)
		return pid;
	if (store_reader_open(store, 0, "reader", &reader) != NSD_OK)
		_exit(2);
	view = store_reader_view(reader);
	for (;;) {
		store_reader_online(reader);
		for (int i = 0; i < 50; i++) {
			if (!version_is_whole(view, newest))
				_exit(3);
			store_reader_quiescent(reader);
		}
		if (version_get(view) != NULL)
			newest = version_get(view)->number;
		store_reader_offline(reader);
	}
}

static pid_t
writer_fork(struct store *store)
{
	struct store_writer *writer;
	pid_t pid = child_fork();

	if (pid != 0)
		return pid;
	alarm(60);
	if (store_writer_open(store, &writer) != NSD_OK)
		_exit(2);
	if (store_check_take_over(writer, version_mark) != NULL)
		_exit(3);
	/* A reader that does not get the processor holds all of it back. */
	do
		while (store_reclaim(writer) > WAITING_MAX)
			sched_yield();
	while (publish(writer));
	_exit(4);
}

static void
kill_and_wait(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* A child that found a fault would have exited by itself. */
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void
killed_writer_leaves_a_whole_store(void **state)
{
	uint64_t rng = chance_setting("STORE_KILL_SEED", 88172645463325252u);
	uint64_t end = now_msec() + chance_setting("STORE_KILL_MSEC", 2000);
	uint64_t seed = rng, least = 0;
	struct store *store = store_make(true);
	pid_t reader = reader_fork(store);
	unsigned kills = 0;

	while (now_msec() < end
		|| ((kills <= KILLS_LEAST || least <= KILLS_LEAST)
			&& now_msec() < end + SLOW_MSEC)) {
		pid_t pid = writer_fork(store);
		struct timespec delay = { 0,
			(long)(chance_next(&rng) % 3000000) };

		(void)nanosleep(&delay, NULL);
		kill_and_wait(pid);
		kills++;
		/* Mostly the next one finds what two have left. */
		if (chance_next(&rng) % 4 == 0) {
			struct store_writer *writer;

			take_over(store, least, chance_next(&rng) % 2 == 0);
			assert_int_equal(store_writer_open(store, &writer),
				NSD_OK);
			if (version_get(store_writer_view(writer)) != NULL)
				least = version_get(store_writer_view(writer))
						->number;
			store_writer_close(writer);
		}
	}
	kill_and_wait(reader);
	store_reader_clear(store, 0);
	take_over(store, least, true);
	print_message("seed %llu: %u writers killed at random, %llu versions "
		      "published\n",
		(unsigned long long)seed, kills, (unsigned long long)least);
	assert_true(kills > KILLS_LEAST && least > KILLS_LEAST);
	store_destroy(store);
}

/* ---- at every instruction */

static pid_t
traced_fork(struct store *store, unsigned publishes)
{
	struct store_writer *writer;
	pid_t pid = child_fork();
	int status;

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(1);
		if (store_writer_open(store, &writer) != NSD_OK)
			_exit(2);
		if (store_check_take_over(writer, version_mark) != NULL)
			_exit(3);
		raise(SIGSTOP);
		while (publishes-- > 0)
			if (!publish(writer))
				_exit(4);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

static void
writer_killed_at_any_instruction_is_succeeded(void **state)
{
	uint64_t steps_max = chance_setting("STORE_KILL_STEPS", 60000);
	/* Poisoning is an instruction for each octet. */
	struct store *store = store_make(false), *second = store_make(false);
	struct store_snapshot *s = store_snapshot_create(store);
	const struct store_view *view = store_snapshot_view(s);
	unsigned long steps = 0, states = 0;
	uint64_t least = 0;
	int status = 0;
	pid_t pid;

	take_over(store, 0, true); /* as it is after a while */
	pid = traced_fork(store, 100000);
	for (; steps < steps_max; steps++) {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL),
			0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSTOPPED(status));
		if (!store_snapshot_update(s))
			continue;
		store_snapshot_restore(s, second);
		take_over(second, least, true);
		states++;
		if (version_get(view) != NULL)
			least = version_get(view)->number;
	}
	kill_and_wait(pid);
	take_over(store, least, true);
	print_message("%lu instructions, %lu states of the store, %llu "
		      "versions\n",
		steps, states, (unsigned long long)least);
	assert_true(states > 100 && least >= 3);
	store_snapshot_destroy(s);
	store_destroy(second);
	store_destroy(store);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_writer_leaves_a_whole_store),
		cmocka_unit_test(writer_killed_at_any_instruction_is_succeeded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
