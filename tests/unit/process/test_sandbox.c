/* test_sandbox.c - the calls that a confined process may make: each attempt is
 * made in a child of its own. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "process/sandbox.h"
#include "process/sandbox_calls.h"
#include "process/sandbox_landlock.h"

static const enum ipc_role roles[] = {ROLE_LOADER, ROLE_WORKER, ROLE_XFRD,
	ROLE_WRITER};

#define ROLES (sizeof(roles) / sizeof(*roles))

/* In a child, confined: returns 0, or what it exits with. */
typedef int attempt(enum ipc_role role, void *arg);

/* Returns what waitpid says of a child that makes the attempt. */
static int
attempt_in(const struct sandbox *sandbox, enum ipc_role role,
	const char *const *folders, attempt *fn, void *arg)
{
	const struct rlimit no_core = {0, 0};
	int status;
	pid_t pid = fork();

	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		(void)setrlimit(RLIMIT_CORE, &no_core);
		(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (sandbox_enter(sandbox, role, folders) != NSD_OK)
			_exit(255);
		_exit(fn(role, arg));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
assert_exits(int status, int code)
{
	if (WIFSIGNALED(status))
		fail_msg("killed by signal %d", WTERMSIG(status));
	assert_int_equal(WEXITSTATUS(status), code);
}

static void
assert_killed(int status, int number)
{
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), number);
}

/* ---- system calls -------------------------------------------------------- */

static const struct sandbox calls_only = {.calls = true};

/* Zeros are never what the call needs to do harm. */
static int
call_by_number(enum ipc_role role, void *arg)
{
	errno = 0;
	(void)syscall(*(const int *)arg, 0, 0, 0, 0, 0, 0);
	return errno;
}

static void
killing_rows_kill_each_role(void **state)
{
	static const int numbers[] = {SYS_execve, SYS_execveat, SYS_clone,
		SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
		SYS_setuid, SYS_setresuid, SYS_setgroups, SYS_unshare,
		SYS_setns, SYS_mount, SYS_chroot, SYS_open_by_handle_at};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		for (size_t r = 0; r < ROLES; r++) {
			int number = numbers[i];

			assert_killed(attempt_in(&calls_only, roles[r], NULL,
					call_by_number, &number),
				SIGSYS);
		}
}

static void
calls_in_no_row_are_not_there(void **state)
{
	static const int numbers[] = {SYS_socket, SYS_listen, SYS_kill,
		SYS_mknodat, SYS_linkat, SYS_symlinkat, SYS_fchmodat,
		SYS_fchownat, SYS_fchmod, SYS_fchown, SYS_truncate,
		SYS_prctl, SYS_memfd_create, SYS_setpriority,
		SYS_sched_setaffinity, SYS_rt_sigqueueinfo, SYS_shmget,
		SYS_keyctl, SYS_fanotify_init, SYS_personality, SYS_capset,
		SYS_seccomp, SYS_splice, SYS_sendfile, SYS_msync, 435, 425};

	/* The last two: clone3, io_uring_setup. */
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		for (size_t r = 0; r < ROLES; r++) {
			int number = numbers[i];

			assert_exits(attempt_in(&calls_only, roles[r], NULL,
					call_by_number, &number),
				ENOSYS);
		}
}

static void
other_servers_and_a_journal_are_for_xfrd(void **state)
{
	static const int numbers[] = {SYS_connect, SYS_bind, SYS_readv,
		SYS_unlinkat, SYS_renameat, SYS_fdatasync};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		int number = numbers[i], status;

		assert_exits(attempt_in(&calls_only, ROLE_WORKER, NULL,
				call_by_number, &number), ENOSYS);
		assert_exits(attempt_in(&calls_only, ROLE_LOADER, NULL,
				call_by_number, &number), ENOSYS);
		status = attempt_in(&calls_only, ROLE_XFRD, NULL,
			call_by_number, &number);
		assert_true(WIFEXITED(status));
		assert_int_not_equal(WEXITSTATUS(status), ENOSYS);
	}
}

/* 0: the file can be opened with these flags. */
static int
open_file(enum ipc_role role, void *arg)
{
	const char *path = "/etc/passwd";

	return open(path, *(const int *)arg) != -1 ? 0 : errno;
}

static void
zone_files_are_made_by_the_writer(void **state)
{
	static const int calls[] = {SYS_unlinkat, SYS_renameat, SYS_fsync,
		SYS_mkdirat};
	static const int others[] = {SYS_connect, SYS_bind, SYS_ftruncate,
		SYS_fallocate, SYS_pread64, SYS_pwrite64, SYS_readv};
	static const int makes = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
	static const int flags[] = {O_RDONLY, O_WRONLY, O_RDWR,
		O_WRONLY | O_CREAT, O_WRONLY | O_TRUNC,
		O_WRONLY | O_CREAT | O_EXCL};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		int number = calls[i];

		assert_int_not_equal(WEXITSTATUS(attempt_in(&calls_only,
			ROLE_WRITER, NULL, call_by_number, &number)), ENOSYS);
		assert_exits(attempt_in(&calls_only, ROLE_WORKER, NULL,
				call_by_number, &number), ENOSYS);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		int number = others[i];

		assert_exits(attempt_in(&calls_only, ROLE_WRITER, NULL,
				call_by_number, &number), ENOSYS);
	}
	/* Existing files are not opened, whatever their permissions. */
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		int flag = flags[i];

		assert_exits(attempt_in(&calls_only, ROLE_WRITER, NULL,
				open_file, &flag), ENOSYS);
	}
	assert_exits(attempt_in(&calls_only, ROLE_WRITER, NULL, open_file,
			(void *)(uintptr_t)&makes), EEXIST);
}

static void
files_are_for_the_loader(void **state)
{
	static const int numbers[] = {SYS_ftruncate, SYS_fallocate, SYS_ioctl};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		int number = numbers[i];

		assert_exits(attempt_in(&calls_only, ROLE_WORKER, NULL,
				call_by_number, &number), ENOSYS);
		assert_exits(attempt_in(&calls_only, ROLE_XFRD, NULL,
				call_by_number, &number), ENOSYS);
	}
}

static void
loader_opens_files_to_read_alone(void **state)
{
	static const int alter[] = {O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC,
		O_RDONLY | O_CREAT, O_RDWR | O_APPEND};
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

	assert_exits(attempt_in(&calls_only, ROLE_LOADER, NULL, open_file,
			&flags), 0);
	assert_exits(attempt_in(&calls_only, ROLE_WORKER, NULL, open_file,
			&flags), ENOSYS);
	for (size_t i = 0; i < sizeof(alter) / sizeof(*alter); i++) {
		flags = alter[i];
		assert_exits(attempt_in(&calls_only, ROLE_LOADER, NULL,
				open_file, &flags), ENOSYS);
	}
}

/* Bits of what cannot be done: 0 if all of it can. */
static int
use_memory(enum ipc_role role, void *arg)
{
	const int rw = PROT_READ | PROT_WRITE;
	void *p = mmap(NULL, 8192, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *much = malloc(10u << 20);
	int failed = 0;

	failed |= p == MAP_FAILED || much == NULL ? 1 : 0;
	failed |= mprotect(p, 4096, PROT_NONE) != 0 ? 2 : 0;
	failed |= mprotect(p, 4096, rw | PROT_EXEC) != 0 ? 4 : 0;
	failed |= mmap(NULL, 4096, PROT_READ | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
			== MAP_FAILED
		? 8 : 0;
	failed |= mmap(NULL, 4096, rw, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
			== MAP_FAILED
		? 16 : 0;
	failed |= mmap(NULL, 4096, rw | PROT_EXEC,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0)
			== MAP_FAILED
		? 32 : 0;
	free(much);
	return failed;
}

static void
memory_is_private_and_is_not_run(void **state)
{
	assert_exits(attempt_in(&calls_only, ROLE_WORKER, NULL, use_memory,
			NULL), 4 | 8 | 16 | 32);
	assert_exits(attempt_in(&calls_only, ROLE_XFRD, NULL, use_memory,
			NULL), 4 | 8 | 16 | 32);
	assert_exits(attempt_in(&calls_only, ROLE_LOADER, NULL, use_memory,
			NULL), 4 | 8 | 32);
}

/* Calls fcntl with an operation; the argument 0 is harmless. */
static int
use_fcntl(enum ipc_role role, void *arg)
{
	return fcntl(0, *(const int *)arg, 0) != -1 || errno != ENOSYS
		? 0 : ENOSYS;
}

/* A process may have the kernel signal others when a descriptor is ready. */
static void
descriptors_signal_nobody(void **state)
{
	static const int refused[] = {F_SETOWN, F_SETSIG, F_SETLEASE,
		F_NOTIFY, F_SETLK, F_SETPIPE_SZ};

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		for (size_t r = 0; r < ROLES; r++) {
			int command = refused[i];

			assert_exits(attempt_in(&calls_only, roles[r], NULL,
					use_fcntl, &command), ENOSYS);
		}
}

static int
end_listening(enum ipc_role role, void *arg)
{
	int fd = *(int *)arg;

	return shutdown(fd, SHUT_RD) == 0 || errno != ENOSYS ? 0 : ENOSYS;
}

/* The sockets are shared with main and with the next worker, so none may be
 * shut down. */
static void
sockets_are_not_shut_for_good(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_exits(attempt_in(&calls_only, ROLE_WORKER, NULL, end_listening,
			&fd), ENOSYS);
	close(fd);
}

/* Returns bits: 1: the role may look at its limits; 2: set them; 4: look at
 * another process's. */
static int
use_limits(enum ipc_role role, void *arg)
{
	struct rlimit limit = {1 << 20, 1 << 20};
	pid_t parent = getppid();
	int may = 0;

	may |= syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0
		? 1 : 0;
	may |= syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, &limit, NULL) == 0
		? 2 : 0;
	may |= syscall(SYS_prlimit64, parent, RLIMIT_FSIZE, NULL, &limit) == 0
		? 4 : 0;
	return may;
}

/* The loader says which one it has met. */
static void
limits_are_looked_at_by_the_loader(void **state)
{
	assert_exits(attempt_in(&calls_only, ROLE_LOADER, NULL, use_limits,
			NULL), 1);
	assert_exits(attempt_in(&calls_only, ROLE_WORKER, NULL, use_limits,
			NULL), 0);
	assert_exits(attempt_in(&calls_only, ROLE_XFRD, NULL, use_limits,
			NULL), 0);
}

static void *
thread_of_ours(void *arg)
{
	*(int *)arg = open("/etc/passwd", O_RDWR) == -1 && errno == ENOSYS;
	return NULL;
}

/* 0: threads can be started, and are confined as well. */
static int
start_thread(enum ipc_role role, void *arg)
{
	pthread_t thread;
	int confined = 0;

	if (pthread_create(&thread, NULL, thread_of_ours, &confined) != 0)
		return 1;
	pthread_join(thread, NULL);
	return confined ? 0 : 2;
}

static void
threads_are_for_the_loader(void **state)
{
	assert_exits(attempt_in(&calls_only, ROLE_LOADER, NULL, start_thread,
			NULL), 0);
	assert_exits(attempt_in(&calls_only, ROLE_WORKER, NULL, start_thread,
			NULL), 1);
}

static int
give_up(enum ipc_role role, void *arg)
{
	abort();
}

static int
signal_another(enum ipc_role role, void *arg)
{
	return syscall(SYS_tgkill, getppid(), getppid(), 0) == -1 ? errno : 0;
}

static void
abort_ends_a_process_and_signals_nobody_else(void **state)
{
	for (size_t r = 0; r < ROLES; r++) {
		assert_killed(attempt_in(&calls_only, roles[r], NULL, give_up,
				NULL), SIGABRT);
		assert_exits(attempt_in(&calls_only, roles[r], NULL,
				signal_another, NULL), ENOSYS);
	}
}

static void
each_row_says_what_for(void **state)
{
	for (const struct sandbox_call *c = sandbox_calls; c->name != NULL;
		c++) {
		assert_int_not_equal(c->roles & ROLE_CHILDREN, 0);
		assert_int_equal(c->roles & ~(unsigned)ROLE_CHILDREN, 0);
		assert_true(strlen(c->reason) > 0);
	}
}

/* ---- files and processes within reach ------------------------------------ */

static char folder[] = "/tmp/test_sandbox-XXXXXX";

/* The operations on files that a role can do, in bits. */
enum { CAN_READ = 1, CAN_WRITE = 2, CAN_MAKE = 4, CAN_REMOVE = 8,
	CAN_TRUNCATE = 16, CAN_LIST = 32 };

static int
use_files(enum ipc_role role, void *arg)
{
	const char *where = arg;
	char name[128], made[128];
	int can = 0;

	snprintf(name, sizeof(name), "%s/file", where);
	snprintf(made, sizeof(made), "%s/made", where);
	can |= open(name, O_RDONLY) != -1 ? CAN_READ : 0;
	can |= open(name, O_WRONLY) != -1 ? CAN_WRITE : 0;
	can |= open(made, O_RDONLY | O_CREAT, 0600) != -1 ? CAN_MAKE : 0;
	can |= truncate(name, 0) == 0 ? CAN_TRUNCATE : 0;
	can |= open(where, O_RDONLY | O_DIRECTORY) != -1 ? CAN_LIST : 0;
	can |= unlink(made) == 0 || (errno == ENOENT && unlink(name) == 0)
		? CAN_REMOVE : 0;
	return can;
}

static void
make_file(const char *where)
{
	char name[128];
	int fd;

	snprintf(name, sizeof(name), "%s/file", where);
	fd = open(name, O_WRONLY | O_CREAT, 0600);
	assert_int_not_equal(fd, -1);
	assert_int_equal(write(fd, "text", 4), 4);
	close(fd);
}

static struct sandbox
landlock_only(void)
{
	struct sandbox sandbox = {.landlock = sandbox_landlock_version()};

	/* Every kernel that this is tested on has it. */
	assert_true(sandbox.landlock > 0);
	return sandbox;
}

static void
files_are_within_reach_of_few(void **state)
{
	struct sandbox sandbox = landlock_only();
	/* Older versions do not know of truncate(2). */
	int truncate = sandbox.landlock < 3 ? CAN_TRUNCATE : 0;
	char inside[64], outside[64];
	const char *const folders[] = {inside, "/nonexistent", NULL};

	assert_non_null(mkdtemp(folder));
	snprintf(inside, sizeof(inside), "%s/inside", folder);
	snprintf(outside, sizeof(outside), "%s/outside", folder);
	assert_int_equal(mkdir(inside, 0700), 0);
	assert_int_equal(mkdir(outside, 0700), 0);
	make_file(inside);
	make_file(outside);
	assert_exits(attempt_in(&sandbox, ROLE_WORKER, NULL, use_files,
			inside), truncate);
	assert_exits(attempt_in(&sandbox, ROLE_LOADER, NULL, use_files,
			inside), CAN_READ | CAN_LIST | truncate);
	assert_exits(attempt_in(&sandbox, ROLE_XFRD, folders, use_files,
			outside), truncate);
	sandbox.lists = true;
	assert_exits(attempt_in(&sandbox, ROLE_XFRD, folders, use_files,
			outside), CAN_LIST | truncate);
	sandbox.lists = false;
	assert_exits(attempt_in(&sandbox, ROLE_XFRD, folders, use_files,
			inside),
		CAN_READ | CAN_WRITE | CAN_MAKE | CAN_REMOVE | CAN_TRUNCATE
			| CAN_LIST);
	make_file(inside);
	assert_exits(attempt_in(&sandbox, ROLE_WRITER, folders, use_files,
			outside), truncate);
	/* Made with a descriptor to read, it would be read. */
	assert_exits(attempt_in(&sandbox, ROLE_WRITER, folders, use_files,
			inside), CAN_WRITE | CAN_REMOVE | CAN_LIST | truncate);
}

static int
signal_parent(enum ipc_role role, void *arg)
{
	return kill(getppid(), 0) == 0 ? 0 : errno;
}

static int
look_into_parent(enum ipc_role role, void *arg)
{
	struct iovec here = {arg, 1}, there = {arg, 1};

	return process_vm_readv(getppid(), &here, 1, &there, 1, 0) == 1 ? 0
									: 1;
}

static void
others_are_out_of_reach(void **state)
{
	struct sandbox sandbox = landlock_only();
	char octet = 'x';

	for (size_t r = 0; r < ROLES; r++) {
		assert_exits(attempt_in(&sandbox, roles[r], NULL,
				look_into_parent, &octet), 1);
		assert_exits(attempt_in(&sandbox, roles[r], NULL,
				signal_parent, NULL),
			sandbox.landlock >= 6 ? EPERM : 0);
	}
}

/* 0: a program may signal its parent. 255: it may not do what it should. */
static int
signal_as_program(enum ipc_role role, void *arg)
{
	struct sandbox sandbox = landlock_only();
	pid_t own;

	sandbox_enter_program(&sandbox);
	own = fork();
	if (own == 0) {
		pause();
		_exit(0);
	}
	if (own == -1 || kill(own, SIGKILL) != 0
		|| waitpid(own, NULL, 0) != own
		|| open("/etc/passwd", O_RDONLY) == -1
		|| socket(AF_INET, SOCK_STREAM, 0) == -1)
		return 255;
	return kill(getppid(), 0) == 0 ? 0 : errno;
}

static void
programs_signal_each_other_alone(void **state)
{
	static const struct sandbox none = {.landlock = 0};

	assert_exits(attempt_in(&none, ROLE_VERIFIER, NULL, signal_as_program,
			NULL),
		sandbox_landlock_version() >= 6 ? EPERM : 0);
}

/* 0: can bind a TCP socket. */
static int
bind_tcp(enum ipc_role role, void *arg)
{
	struct sockaddr_storage any = {.ss_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0 ? 0 : errno;
}

static void
tcp_is_out_of_reach(void **state)
{
	struct sandbox sandbox = landlock_only();
	int refused = sandbox.landlock >= 4 ? EACCES : 0;

	assert_exits(attempt_in(&sandbox, ROLE_WORKER, NULL, bind_tcp, NULL),
		refused);
	assert_exits(attempt_in(&sandbox, ROLE_LOADER, NULL, bind_tcp, NULL),
		refused);
}

static int
teardown(void **state)
{
	static const char *const names[] = {"inside/file", "inside/made",
		"outside/file", "inside", "outside", "."};
	char name[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(name, sizeof(name), "%s/%s", folder, names[i]);
		if (unlink(name) != 0)
			(void)rmdir(i == 5 ? folder : name);
	}
	return 0;
}

/* ---- present filters ----------------------------------------------------- */

static void
what_is_there_is_used_unless_unwanted(void **state)
{
	struct sandbox sandbox;

	sandbox_probe(&sandbox, true);
	assert_true(sandbox.calls);
	assert_int_equal(sandbox.landlock, sandbox_landlock_version());
	sandbox_probe(&sandbox, false);
	assert_false(sandbox.calls);
	assert_int_equal(sandbox.landlock, 0);
	assert_int_equal(sandbox_enter(&sandbox, ROLE_WORKER, NULL), NSD_OK);
	assert_int_equal(prctl(PR_GET_SECCOMP, 0, 0, 0, 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killing_rows_kill_each_role),
		cmocka_unit_test(calls_in_no_row_are_not_there),
		cmocka_unit_test(other_servers_and_a_journal_are_for_xfrd),
		cmocka_unit_test(zone_files_are_made_by_the_writer),
		cmocka_unit_test(files_are_for_the_loader),
		cmocka_unit_test(loader_opens_files_to_read_alone),
		cmocka_unit_test(memory_is_private_and_is_not_run),
		cmocka_unit_test(descriptors_signal_nobody),
		cmocka_unit_test(sockets_are_not_shut_for_good),
		cmocka_unit_test(limits_are_looked_at_by_the_loader),
		cmocka_unit_test(threads_are_for_the_loader),
		cmocka_unit_test(abort_ends_a_process_and_signals_nobody_else),
		cmocka_unit_test(each_row_says_what_for),
		cmocka_unit_test_teardown(files_are_within_reach_of_few,
			teardown),
		cmocka_unit_test(others_are_out_of_reach),
		cmocka_unit_test(programs_signal_each_other_alone),
		cmocka_unit_test(tcp_is_out_of_reach),
		cmocka_unit_test(what_is_there_is_used_unless_unwanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
