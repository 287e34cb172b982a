/*
 * nsd_taken.c - nsd whose processes do as somebody would who has taken them
 * over: they make the system calls that are written to main's standard input.
 *
 *   nsd_taken -d -c nsd.conf ...        as nsd; -d is needed
 *
 *   ROLE NUMBER ARGUMENT...    the process ("loader", "xfrd", "writer",
 *                              "verifier", "verify-server", "server-1") makes
 *                              the call of that number once it has begun to
 *                              wait for events. An
 *                              argument is a number, or
 *                              =TEXT    a text that the call finds in memory
 *                              @zeros   4096 octets of zeros
 *                              @code    a page of the program
 *                              @store   where the process has mapped the store
 *                              @log     the descriptor of the log file
 *                              @ring    of a worker: its ring of records
 *   ROLE abort                 it aborts
 *
 * Each line is answered by one: "done RESULT", "refused ERRNO", or "died" if
 * the process has ended of it.
 *
 * What it has of nsd is all of it: the linker puts the functions below in front
 * of three of nsd's (Makefile.am).
 */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "main/service.h"
#include "main/start.h"
#include "main/supervisor.h"
#include "process/counts.h"
#include "process/hooks.h"
#include "process/role.h"
#include "store/store.h"

#define BOXES 16
#define TICK_USEC 5000
#define TEXT_MAX 512
#define ARGUMENTS 6

/* Between main and the process of a role, in memory that they share. A process
 * that takes another's place finds it taken, and does not die of it again. */
struct box {
	char name[32];
	_Atomic int state; /* enum */
	_Atomic int pid;   /* of the process */
	char text[TEXT_MAX];
	long result;
	int error;
};

enum { BOX_EMPTY, BOX_ASKED, BOX_TAKEN, BOX_DONE };

static struct {
	atomic_flag is_held; /* for a look */
	struct box boxes[BOXES];
} *table;

/* The box of this process. */
static struct box *own;
static const uint8_t *store_base;
static void *ring;
static uint8_t zeros[4096] __attribute__((aligned(4096)));

void __real_role_init_name(const char *log_name, const char *title);
void __wrap_role_init_name(const char *log_name, const char *title);
void __real_role_run(struct role *role);
void __wrap_role_run(struct role *role);
enum nsd_err __real_store_reader_open(struct store *store, unsigned slot,
	const char *name, struct store_reader **reader);
enum nsd_err __wrap_store_reader_open(struct store *store, unsigned slot,
	const char *name, struct store_reader **reader);

static void
die(const char *what)
{
	fprintf(stderr, "nsd_taken: %s\n", what);
	abort();
}

/* The box of a process, or the first free one. Processes that start at the same
 * time look for theirs one after the other. */
static struct box *
find_box(const char *name)
{
	struct box *found = NULL;

	while (atomic_flag_test_and_set(&table->is_held))
		sched_yield();
	for (int i = 0; i < BOXES && found == NULL; i++) {
		struct box *box = &table->boxes[i];

		if (box->name[0] == '\0')
			snprintf(box->name, sizeof(box->name), "%s", name);
		if (strcmp(box->name, name) == 0)
			found = box;
	}
	atomic_flag_clear(&table->is_held);
	if (found == NULL)
		die("too many processes");
	return found;
}

/* ---- in a process -------------------------------------------------------- */

void
__wrap_role_init_name(const char *log_name, const char *title)
{
	char name[32];

	snprintf(name, sizeof(name), "%s", title);
	for (char *c = name; *c != '\0'; c++)
		if (*c == ' ')
			*c = '-';
	own = find_box(name);
	__real_role_init_name(log_name, title);
}

enum nsd_err
__wrap_store_reader_open(struct store *store, unsigned slot,
	const char *name, struct store_reader **reader)
{
	enum nsd_err err = __real_store_reader_open(store, slot, name,
		reader);

	if (err == NSD_OK)
		store_base = store_reader_view(*reader)->base;
	return err;
}

static long
read_argument(char *word)
{
	static const char *const names[] = {"@zeros", "@code", "@store",
		"@log", "@ring"};
	const long values[] = {
		(long)(uintptr_t)zeros,
		(long)((uintptr_t)die & ~(uintptr_t)4095),
		(long)(uintptr_t)store_base,
		log_fd(),
		(long)(uintptr_t)ring,
	};

	if (*word == '=')
		return (long)(uintptr_t)(word + 1);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		if (strcmp(word, names[i]) == 0)
			return values[i];
	return strtol(word, NULL, 0);
}

static void
make_call(struct box *box)
{
	long numbers[1 + ARGUMENTS] = {0};
	char *rest = box->text, *word;
	int pid = box->pid;

	if (strcmp(rest, "abort") == 0)
		abort();
	for (int i = 0; i < 1 + ARGUMENTS
		&& (word = strtok_r(rest, " ", &rest)) != NULL; i++)
		numbers[i] = read_argument(word);
	box->result = syscall(numbers[0], numbers[1], numbers[2], numbers[3],
		numbers[4], numbers[5], numbers[6]);
	box->error = errno;
	if (getpid() != pid)
		_exit(0); /* the call has made a process */
	box->state = BOX_DONE;
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	if (own->state != BOX_ASKED)
		return;
	own->pid = getpid();
	own->state = BOX_TAKEN;
	make_call(own);
}

void
__wrap_role_run(struct role *role)
{
	struct timeval tick = {.tv_usec = TICK_USEC};
	unsigned number;
	struct event *event = event_new(role->base, -1, EV_PERSIST, on_tick,
		NULL);

	if (event == NULL || event_add(event, &tick) == -1)
		die("no event");
	if (sscanf(own->name, "server-%u", &number) == 1)
		ring = counts_get_ring(role->server->counts, number - 1);
	__real_role_run(role);
}

/* ---- in main ------------------------------------------------------------- */

static struct box *asked; /* the box with an open request */

static void
ask(char *line)
{
	char *space = strchr(line, ' ');

	if (space == NULL || asked != NULL)
		die("a line that is none, or before an answer");
	*space = '\0';
	asked = find_box(line);
	snprintf(asked->text, sizeof(asked->text), "%s", space + 1);
	asked->state = BOX_ASKED;
}

static void
on_input(evutil_socket_t fd, short what, void *arg)
{
	static char line[TEXT_MAX];
	static size_t len;
	ssize_t n = read(fd, line + len, 1);

	if (n == 0)
		event_del(*(struct event **)arg);
	if (n != 1)
		return;
	if (line[len] != '\n') {
		if (++len == sizeof(line))
			die("a line that is too long");
		return;
	}
	line[len] = '\0';
	len = 0;
	ask(line);
}

static bool
has_died(struct supervisor *s, pid_t pid)
{
	if (s->loader.current != NULL && s->loader.current->pid == pid)
		return false;
	if (s->xfrd.current != NULL && s->xfrd.current->pid == pid)
		return false;
	if (s->writer.current != NULL && s->writer.current->pid == pid)
		return false;
	if (s->verifier.current != NULL && s->verifier.current->pid == pid)
		return false;
	if (s->collector.current != NULL && s->collector.current->pid == pid)
		return false;
	if (s->verify_server.current != NULL
		&& s->verify_server.current->pid == pid)
		return false;
	for (unsigned i = 0; i < s->worker_count; i++)
		if (s->workers[i].current != NULL
			&& s->workers[i].current->pid == pid)
			return false;
	return true;
}

static void
on_look(evutil_socket_t fd, short what, void *arg)
{
	if (asked == NULL)
		return;
	/* The writer and the verifier run on demand and end when idle: ask for
	 * one. */
	if (asked->state == BOX_ASKED && strcmp(asked->name, "writer") == 0)
		service_want_writer(arg);
	if (asked->state == BOX_ASKED && strcmp(asked->name, "verifier") == 0)
		service_want_verifier(arg);
	if (asked->state == BOX_DONE) {
		if (asked->result == -1)
			printf("refused %d\n", asked->error);
		else
			printf("done %ld\n", asked->result);
	} else if (asked->state == BOX_TAKEN && has_died(arg, asked->pid)) {
		printf("died\n");
	} else {
		return;
	}
	asked->state = BOX_EMPTY;
	asked = NULL;
}

static void
on_main(struct supervisor *s)
{
	static struct event *input, *look;
	struct timeval tick = {.tv_usec = TICK_USEC};
	/* The children have no use for it. */
	int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

	input = event_new(s->base, in, EV_READ | EV_PERSIST, on_input,
		&input);
	look = event_new(s->base, -1, EV_PERSIST, on_look, s);
	if (in == -1 || input == NULL || look == NULL
		|| event_add(input, NULL) == -1
		|| event_add(look, &tick) == -1)
		die("no event");
}

int
main(int argc, char **argv)
{
	static const struct role_hooks hooks = {.on_main = on_main};

	table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (table == MAP_FAILED)
		die("no memory");
	setvbuf(stdout, NULL, _IOLBF, 0);
	return start_server(argc, argv, &hooks);
}
