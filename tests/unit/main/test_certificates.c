/* test_certificates.c - keys and certificates that main has read anew reach
 * those that serve, if one of them can use them. */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/trial.h"
#include "main/certificates.h"
#include "main/child.h"
#include "main/service.h"
#include "main/supervisor.h"
#include "process/tls_texts.h"
#include "tls/server.h"

/* The time for a verdict that is to come. */
#define PATIENCE_MSEC 60000
/* The same for one that does not. */
#define LITTLE_MSEC 50

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
enum nsd_err __real_trial_hear(int from, int limit_msec,
	char text[TRIAL_TEXT_MAX]);
enum nsd_err __wrap_trial_hear(int from, int limit_msec,
	char text[TRIAL_TEXT_MAX]);

static unsigned lacks; /* calls without a descriptor */
static unsigned asked;
static int patience_msec = PATIENCE_MSEC; /* in place of main's own */

int
__wrap_memfd_create(const char *name, unsigned flags)
{
	asked++;
	if (lacks == 0)
		return __real_memfd_create(name, flags);
	lacks--;
	errno = EMFILE;
	return -1;
}

/* Main would wait for three seconds, in which a busy machine may come to
 * nothing. */
enum nsd_err
__wrap_trial_hear(int from, int limit_msec, char text[TRIAL_TEXT_MAX])
{
	assert_true(limit_msec <= 3000);
	return __real_trial_hear(from, patience_msec, text);
}

static struct secrets *
make_texts(void)
{
	struct secrets *texts;

	assert_int_equal(secrets_create(TLS_SERVER_TEXTS, TLS_SERVER_TEXTS,
				 &texts), NSD_OK);
	for (unsigned i = 0; i < TLS_SERVER_TEXTS; i++)
		secrets_add(texts,
			(struct secrets_octets){(const uint8_t *)"x", 1});
	return texts;
}

/* Main tries again by itself: the shortage may pass, and the files do not
 * change again. */
static void
workers_are_told_again_if_that_failed(void **state)
{
	static struct conf conf;
	static struct supervisor s = {.server.conf = &conf};

	s.base = event_base_new();
	assert_non_null(s.base);
	assert_int_equal(certificates_init(&s), NSD_OK);
	s.server.tls = make_texts();
	asked = 0;
	lacks = 2;
	assert_true(certificates_take(&s, make_texts()));
	assert_int_equal(asked, 1);
	for (unsigned look = 1; look < 5; look++) {
		event_active(s.certificates.event, EV_TIMEOUT, 0);
		assert_int_equal(event_base_loop(s.base, EVLOOP_NONBLOCK), 0);
		assert_int_equal(asked, look < 2 ? 1 + look : 3);
	}
	secrets_drop(s.server.tls);
	event_free(s.certificates.event);
	event_base_free(s.base);
}

/* ---- trials -------------------------------------------------------------- */

/* The messages of the sink. */
struct told {
	struct diag_sink sink; /* first */
	unsigned count;
	bool untold; /* workers are to be told what main has */
	char text[TRIAL_TEXT_MAX + 100];
};

static void
on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct told *told = (struct told *)sink;

	told->count++;
	snprintf(told->text, sizeof(told->text), "%s", d->text);
}

/* Runs in the process that tries texts: receives them, and answers with this
 * text. */
static _Noreturn void
answer(struct ipc_channel *channel, const char *text, uint32_t err)
{
	struct trial_report report = {.err = err};
	struct ipc_tls_texts message;
	struct secrets *texts;
	struct ipc_message m;

	while (ipc_receive(channel, &m) == NSD_E_AGAIN)
		usleep(1000);
	memcpy(&message, m.payload, sizeof(message));
	if (m.type != IPC_TLS_TEXTS || m.fd_count != 2
		|| tls_texts_unpack(&message, m.fds[0], &texts) != NSD_OK
		|| secrets_count(texts) != TLS_SERVER_TEXTS)
		_exit(2);
	if (text == NULL)
		_exit(0);
	snprintf(report.text, sizeof(report.text), "%s", text);
	_exit(write(m.fds[1], &report, sizeof(report)) != sizeof(report));
}

/* Gives a service a child without a process; its end of the channel is
 * theirs. */
static void
open_child(struct service *service, struct ipc_channel *theirs)
{
	static struct generation generation;
	struct child *child = child_create(service, &generation);

	assert_non_null(child);
	child->serving = true;
	assert_int_equal(ipc_channel_open_pair(ROLE_MAIN, service->role,
				 &child->link.channel, theirs), NSD_OK);
	assert_true(child_watch(child));
	service->current = child;
}

static void
close_child(struct service *service)
{
	child_unwatch(service->current);
	free(service->current);
}

/* Has one asked that says this; NULL: it dies. */
static enum nsd_err
try(enum ipc_role role, const char *text, uint32_t err, struct told *told)
{
	static struct supervisor s;
	static struct service workers[1];
	struct service *service = role == ROLE_XFRD ? &s.xfrd : workers;
	struct secrets *texts = make_texts();
	struct ipc_channel theirs;
	enum nsd_err found;
	int status;
	pid_t pid;

	s = (struct supervisor){.base = event_base_new(), .workers = workers,
		.worker_count = 1};
	workers[0] = (struct service){.supervisor = &s};
	*service = (struct service){.supervisor = &s, .role = role};
	open_child(service, &theirs);
	pid = fork();
	if (pid == 0) {
		close(service->current->link.channel.fd);
		answer(&theirs, text, err);
	}
	ipc_channel_close(&theirs);
	*told = (struct told){.sink.on_diag = on_diag};
	found = certificates_try(&s, role, texts, &told->sink);
	told->untold = s.certificates.untold;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close_child(service);
	event_base_free(s.base);
	secrets_drop(texts);
	return found;
}

static void
who_uses_them_says_how_they_are(void **state)
{
	const enum ipc_role roles[] = {ROLE_WORKER, ROLE_XFRD};
	struct told told;

	lacks = 0;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(try(roles[i], "", NSD_OK, &told), NSD_OK);
		assert_int_equal(told.count, 0);
		assert_int_equal(try(roles[i], "no\nkey", NSD_E_SYNTAX, &told),
			NSD_E_SYNTAX);
		assert_int_equal(told.count, 1);
		assert_string_equal(told.text, "no key");
		assert_false(told.untold);
		assert_int_equal(try(roles[i], "", NSD_E_MEMORY, &told),
			NSD_E_MEMORY);
		assert_int_equal(told.count, 1);
	}
}

/* A process that was taken over may send any answer. */
static void
who_cannot_say_it_changes_nothing(void **state)
{
	struct told told;

	lacks = 0;
	assert_int_equal(try(ROLE_WORKER, NULL, 0, &told), NSD_E_SYSTEM);
	assert_string_equal(told.text, "keys and certificates could not be"
				       " tried: who tried them has died");
	assert_true(told.untold);
	/* xfrd has only looked. */
	assert_int_equal(try(ROLE_XFRD, NULL, 0, &told), NSD_E_SYSTEM);
	assert_false(told.untold);
	assert_int_equal(try(ROLE_WORKER, "", 1u << 31, &told), NSD_E_SYSTEM);
	assert_int_equal(told.count, 1);
}

/* A worker that is stopped, or was taken over, and keeps the pipe open. It may
 * use the certificates later, which main has not taken. */
static void
one_that_says_nothing_is_asked_last(void **state)
{
	static struct supervisor s;
	static struct service workers[2];
	struct told told = {.sink.on_diag = on_diag};
	struct secrets *texts = make_texts();
	struct ipc_channel silent, theirs;
	int status;
	pid_t pid;

	lacks = 0;
	s = (struct supervisor){.base = event_base_new(), .workers = workers,
		.worker_count = 2};
	for (unsigned i = 0; i < 2; i++) {
		workers[i] = (struct service){.supervisor = &s,
			.role = ROLE_WORKER, .index = i};
		open_child(&workers[i], i == 0 ? &silent : &theirs);
	}
	patience_msec = LITTLE_MSEC;
	assert_int_equal(certificates_try(&s, ROLE_WORKER, texts, &told.sink),
		NSD_E_SYSTEM);
	assert_string_equal(told.text, "keys and certificates could not be"
				       " tried: it took too long");
	assert_true(s.certificates.untold);
	patience_msec = PATIENCE_MSEC;
	pid = fork();
	if (pid == 0) {
		close(workers[1].current->link.channel.fd);
		answer(&theirs, "", NSD_OK);
	}
	ipc_channel_close(&theirs);
	assert_int_equal(certificates_try(&s, ROLE_WORKER, texts, &told.sink),
		NSD_OK);
	assert_int_equal(told.count, 1);
	/* Behind the last worker comes the first. */
	assert_ptr_equal(service_find_server(&s, 2), workers[0].current);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	ipc_channel_close(&silent);
	close_child(&workers[0]);
	close_child(&workers[1]);
	event_base_free(s.base);
	secrets_drop(texts);
}

static void
nobody_is_there_to_say_it(void **state)
{
	static struct supervisor s;
	struct told told = {.sink.on_diag = on_diag};
	struct secrets *texts = make_texts();

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(certificates_try(&s,
					 i ? ROLE_XFRD : ROLE_WORKER, texts,
					 &told.sink), NSD_E_SYSTEM);
	assert_int_equal(told.count, 2);
	secrets_drop(texts);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers_are_told_again_if_that_failed),
		cmocka_unit_test(who_uses_them_says_how_they_are),
		cmocka_unit_test(who_cannot_say_it_changes_nothing),
		cmocka_unit_test(one_that_says_nothing_is_asked_last),
		cmocka_unit_test(nobody_is_there_to_say_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
