/* test_counts.c - shared memory where the roles count: who may write what. */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "process/counts.h"

#define WORKERS 3
#define GROUPS 1000

static struct counts *
make(void)
{
	struct counts *counts;

	assert_int_equal(counts_create(&(struct counts_options){
		WORKERS, GROUPS, 64, 0}, &counts),
		NSD_OK);
	return counts;
}

/* A child's access to a word of the memory. */
enum deed { READ, WRITE, UNLOCK };

struct attempt {
	enum ipc_role role;
	enum deed deed;
	uint64_t *at;
};

static _Noreturn void
child_run(struct counts *counts, const struct attempt *a)
{
	struct rlimit no_core = {0, 0};
	uintptr_t page = (uintptr_t)a->at & ~(uintptr_t)4095;

	setrlimit(RLIMIT_CORE, &no_core);
	/* Sanitizers would have their say. */
	signal(SIGSEGV, SIG_DFL);
	counts_leave(counts, a->role, 1);
	switch (a->deed) {
	case READ:
		_exit(*(volatile uint64_t *)a->at == 7 ? 0 : 1);
	case WRITE:
		*(volatile uint64_t *)a->at = 8;
		_exit(0);
	case UNLOCK:
		_exit(mprotect((void *)page, 4096, PROT_READ | PROT_WRITE)
			== 0 ? 0 : 1);
	}
	_exit(2);
}

/* True if a process of the role can do it. */
static bool
succeeds(struct counts *counts, const struct attempt *a)
{
	pid_t pid = fork();
	int status;

	assert_int_not_equal(pid, -1);
	if (pid == 0)
		child_run(counts, a);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static uint64_t *
word_of_worker(const struct counts *counts, unsigned worker)
{
	struct counters_block block;

	counts_get_block(counts, worker, &block);
	block.rows->queries = 7;
	return &block.rows->queries;
}

static void
a_worker_has_its_own_block_and_nothing_else(void **state)
{
	struct counts *counts = make();
	struct counters_block base;
	uint64_t *own = word_of_worker(counts, 1);
	uint64_t *others[] = {
		word_of_worker(counts, 0),
		word_of_worker(counts, 2),
		counts_get_rssac(counts, 0)->requests[0],
		counts_get_rssac(counts, 2)->requests[0],
		(uint64_t *)counts_get_reset(counts),
		(uint64_t *)counts_get_store(counts),
		NULL,
	};

	counts_get_base(counts, &base);
	others[6] = &base.rows->queries;
	assert_true(succeeds(counts,
		&(struct attempt){ROLE_WORKER, READ, own}));
	assert_true(succeeds(counts,
		&(struct attempt){ROLE_WORKER, WRITE, own}));
	assert_int_equal(*own, 8);
	assert_true(succeeds(counts, &(struct attempt){ROLE_WORKER, WRITE,
		counts_get_rssac(counts, 1)->requests[0]}));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		uint64_t before = *others[i];

		for (enum deed deed = READ; deed <= UNLOCK; deed++)
			assert_false(succeeds(counts, &(struct attempt){
				ROLE_WORKER, deed, others[i]}));
		assert_int_equal(*others[i], before);
	}
	counts_destroy(counts);
}

/* Where the role itself finds the word. */
static bool
role_succeeds(struct counts *counts, enum ipc_role role, enum deed deed,
	uint64_t *(*find)(struct counts *counts))
{
	pid_t pid = fork();
	int status;

	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		struct attempt a = {role, deed, NULL};

		signal(SIGSEGV, SIG_DFL);
		counts_leave(counts, role, 0);
		a.at = find(counts);
		switch (deed) {
		case READ:
			_exit(*(volatile uint64_t *)a.at <= 8 ? 0 : 1);
		case WRITE:
			*(volatile uint64_t *)a.at = 8;
			_exit(0);
		case UNLOCK:
			_exit(mprotect((void *)((uintptr_t)a.at
				& ~(uintptr_t)4095), 4096,
				PROT_READ | PROT_WRITE) == 0 ? 0 : 1);
		}
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static uint64_t *
find_block(struct counts *counts)
{
	struct counters_block block;

	counts_get_block(counts, 2, &block);
	return &block.rows->queries;
}

static uint64_t *
find_base(struct counts *counts)
{
	struct counters_block block;

	counts_get_base(counts, &block);
	return &block.rows->queries;
}

static uint64_t *
find_store(struct counts *counts)
{
	return &counts_get_store(counts)->live;
}

static void
xfrd_reads_what_others_write(void **state)
{
	struct counts *counts = make();

	word_of_worker(counts, 2);
	assert_true(role_succeeds(counts, ROLE_XFRD, READ, find_block));
	assert_false(role_succeeds(counts, ROLE_XFRD, WRITE, find_block));
	assert_false(role_succeeds(counts, ROLE_XFRD, UNLOCK, find_block));
	assert_true(role_succeeds(counts, ROLE_XFRD, WRITE, find_base));
	assert_int_equal(*find_base(counts), 8);
	assert_true(role_succeeds(counts, ROLE_XFRD, READ, find_store));
	assert_false(role_succeeds(counts, ROLE_XFRD, UNLOCK, find_store));
	assert_true(role_succeeds(counts, ROLE_LOADER, WRITE, find_store));
	assert_int_equal(*find_store(counts), 8);
	assert_false(role_succeeds(counts, ROLE_LOADER, READ, find_block));
	assert_false(role_succeeds(counts, ROLE_LOADER, READ, find_base));
	counts_destroy(counts);
}

static void
without_room_for_groups_there_are_fewer(void **state)
{
	struct rlimit limit, less;
	struct counters_block block;
	struct counts *counts;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	less = limit;
	less.rlim_cur = 8 << 20;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
	assert_int_equal(counts_create(&(struct counts_options){
		WORKERS, COUNTS_GROUPS_MAX, 1, 0},
		&counts), NSD_OK);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_true(counts_grow_limits(counts, 1));
	assert_false(counts_grow_limits(counts, 2));
	assert_true(counts_grow(counts, COUNTS_GROUPS_MAX));
	counts_get_block(counts, 0, &block);
	assert_in_range(block.room, 1, 8192);
	assert_non_null(counters_block_open(&block, block.room));
	assert_null(counters_block_open(&block, block.room + 1));
	counts_destroy(counts);
}

static uint64_t *
find_cookies(struct counts *counts)
{
	return &counts_get_cookies(counts)->version;
}

static uint64_t *
find_limits(struct counts *counts)
{
	struct rrl limits;

	counts_get_limits(counts, 64, &limits);
	return limits.lines;
}

static void
workers_share_limits_and_read_secrets_of_cookies(void **state)
{
	static const enum ipc_role others[] = {ROLE_LOADER, ROLE_XFRD,
		ROLE_WRITER, ROLE_VERIFIER, ROLE_COLLECTOR};
	struct counts *counts = make();

	assert_true(role_succeeds(counts, ROLE_WORKER, WRITE, find_limits));
	assert_int_equal(*find_limits(counts), 8);
	assert_true(role_succeeds(counts, ROLE_WORKER, READ, find_cookies));
	assert_false(role_succeeds(counts, ROLE_WORKER, WRITE, find_cookies));
	assert_false(role_succeeds(counts, ROLE_WORKER, UNLOCK, find_cookies));
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		for (enum deed deed = READ; deed <= UNLOCK; deed++) {
			assert_false(role_succeeds(counts, others[i], deed,
				find_cookies));
			assert_false(role_succeeds(counts, others[i], deed,
				find_limits));
		}
	counts_destroy(counts);
}

static void
table_of_limits_has_as_many_lines_as_it_is_to_have(void **state)
{
	static const uint32_t rows[][2] = {
		{0, 1}, {1, 1}, {8, 1}, {9, 2}, {64, 8}, {1 << 24, 1 << 21},
		{(1 << 24) + 1, 1 << 21}, {UINT32_MAX, 1 << 21},
	};
	struct counts *counts = make();
	struct rrl limits;

	assert_false(counts_grow_limits(counts, (1 << 24) + 1));
	assert_true(counts_grow_limits(counts, 1 << 24));
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		counts_get_limits(counts, rows[i][0], &limits);
		assert_int_equal(limits.line_count, rows[i][1]);
		/* The last bucket is there. */
		limits.lines[8 * (size_t)limits.line_count - 1] = i;
	}
	counts_destroy(counts);
	assert_int_equal(counts_create(&(struct counts_options){1, GROUPS,
		(1 << 24) + 8, 0}, &counts), NSD_OK);
	assert_true(counts_grow_limits(counts, (1 << 24) + 8));
	assert_false(counts_grow_limits(counts, (1 << 24) + 9));
	counts_destroy(counts);
}

/* How much a process of the role can write in its block, from the first octet
 * on, until it dies. */
static size_t
reach(struct counts *counts, enum ipc_role role)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), octets = 0;
	struct counters_block block;
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		struct rlimit no_core = {0, 0};

		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGBUS, SIG_DFL);
		counts_leave(counts, role, 0);
		close(ends[0]);
		if (role == ROLE_XFRD)
			counts_get_base(counts, &block);
		else
			counts_get_block(counts, 0, &block);
		for (size_t at = 0;; at += page) {
			*((volatile uint8_t *)block.used + at) = 1;
			(void)!write(ends[1], "", 1);
		}
	}
	close(ends[1]);
	for (char octet; read(ends[0], &octet, 1) == 1;)
		octets += page;
	close(ends[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return octets;
}

/* A process that was taken over writes wherever it can. */
static void
process_takes_no_more_memory_than_is_configured(void **state)
{
	static const enum ipc_role roles[] = {ROLE_WORKER, ROLE_XFRD};
	struct counters_block block;
	struct counts *counts;

	assert_int_equal(counts_create(&(struct counts_options){WORKERS,
		COUNTS_GROUPS_MAX, 64, 0}, &counts), NSD_OK);
	for (unsigned i = 0; i < 2; i++)
		assert_in_range(reach(counts, roles[i]), 4 << 20, 5 << 20);
	counts_get_block(counts, 0, &block);
	assert_null(counters_block_find(&block, 1));
	assert_true(counts_grow(counts, 10000));
	for (unsigned i = 0; i < 2; i++)
		assert_in_range(reach(counts, roles[i]), 24 << 20, 40 << 20);
	counts_destroy(counts);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			workers_share_limits_and_read_secrets_of_cookies),
		cmocka_unit_test(
			table_of_limits_has_as_many_lines_as_it_is_to_have),
		cmocka_unit_test(a_worker_has_its_own_block_and_nothing_else),
		cmocka_unit_test(xfrd_reads_what_others_write),
		cmocka_unit_test(
			process_takes_no_more_memory_than_is_configured),
		cmocka_unit_test(without_room_for_groups_there_are_fewer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
