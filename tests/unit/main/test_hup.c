/* test_hup.c - SIGHUP: nsd.conf is read once xfrd has had zones that take
 * UPDATEs written to their files, or does not come to it. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <event2/event.h>

#include "main/barrier.h"
#include "main/child.h"
#include "main/hup.h"
#include "main/log_change.h"
#include "main/reload.h"
#include "main/supervisor.h"

/* The linker puts these in front of the real ones (--wrap). */
enum nsd_err __wrap_log_change_reopen(struct supervisor *of);
void __wrap_certificates_renew(struct supervisor *of);
void __wrap_reconfig_begin(struct supervisor *of);
void __wrap_reload_begin(struct supervisor *of);

static struct supervisor s;
static struct conf conf;
static struct generation generation;
static struct ipc_channel xfrd_end;
static struct child *xfrd;
static char done[32]; /* 'c': nsd.conf is read, 'z': zones are */
static bool changes;  /* nsd.conf is another one */

/* ---- stand-ins ----------------------------------------------------------- */

enum nsd_err
__wrap_log_change_reopen(struct supervisor *of)
{
	return NSD_OK;
}

void
__wrap_certificates_renew(struct supervisor *of)
{
}

void
__wrap_reconfig_begin(struct supervisor *of)
{
	strcat(done, "c");
	of->reconfig.under_way = changes;
}

void
__wrap_reload_begin(struct supervisor *of)
{
	strcat(done, "z");
}

/* ---- helpers ------------------------------------------------------------- */

static int
open_world(void **state)
{
	struct ipc_channel ours;

	conf.server.reload_config = true;
	conf.server.zonefiles_check = true;
	s = (struct supervisor){.base = event_base_new(),
		.server = {.conf = &conf}};
	*done = '\0';
	changes = false;
	assert_int_equal(hup_init(&s), NSD_OK);
	s.xfrd = (struct service){.supervisor = &s, .role = ROLE_XFRD};
	xfrd = s.xfrd.current = child_create(&s.xfrd, &generation);
	assert_non_null(xfrd);
	assert_int_equal(ipc_channel_open_pair(ROLE_MAIN, ROLE_XFRD, &ours,
				 &xfrd_end), NSD_OK);
	xfrd->link.channel = ours;
	assert_true(child_watch(xfrd));
	return 0;
}

static int
close_world(void **state)
{
	child_unwatch(xfrd);
	free(xfrd);
	ipc_channel_close(&xfrd_end);
	event_free(s.barriers[BARRIER_SAVE].late_event);
	event_base_free(s.base);
	return 0;
}

/* Receives what xfrd is told; returns its number. */
static uint64_t
take_obey(uint32_t what, uint32_t value)
{
	struct ipc_message m;
	struct ipc_broadcast broadcast;

	assert_int_equal(ipc_receive(&xfrd_end, &m), NSD_OK);
	assert_int_equal(m.type, IPC_OBEY);
	memcpy(&broadcast, m.payload, sizeof(broadcast));
	assert_int_equal(broadcast.what, what);
	assert_int_equal(broadcast.value, value);
	return broadcast.request.ticket;
}

static void
assert_told_nothing(void)
{
	struct ipc_message m;

	assert_int_not_equal(ipc_receive(&xfrd_end, &m), NSD_OK);
}

static void
say_obeyed(uint64_t number)
{
	struct ipc_message m = {.from = ROLE_XFRD, .type = IPC_OBEYED,
		.len = sizeof(number)};

	memcpy(m.payload, &number, sizeof(number));
	barrier_on_obeyed(&s, xfrd, &m);
}

/* Ten seconds go by. */
static void
be_late(void)
{
	event_active(s.barriers[BARRIER_SAVE].late_event, EV_TIMEOUT, 0);
	event_base_loop(s.base, EVLOOP_NONBLOCK);
}

/* ---- tests --------------------------------------------------------------- */

static void
conf_is_read_when_zones_are_written(void **state)
{
	uint64_t number;

	hup_take(&s);
	number = take_obey(BROADCAST_SAVE, 0);
	assert_string_equal(done, "");
	say_obeyed(number);
	assert_string_equal(done, "cz");
	(void)take_obey(BROADCAST_SAVED, 0);
	changes = true;
	hup_take(&s);
	say_obeyed(take_obey(BROADCAST_SAVE, 0));
	(void)take_obey(BROADCAST_SAVED, 1);
	/* xfrd follows that one already, and this signal has brought none. */
	s.barriers[BARRIER_SETTINGS].left = 1;
	hup_take(&s);
	say_obeyed(take_obey(BROADCAST_SAVE, 0));
	(void)take_obey(BROADCAST_SAVED, 0);
	assert_told_nothing();
	assert_string_equal(done, "czczcz");
}

static void
conf_that_is_not_read_is_not_waited_for(void **state)
{
	conf.server.reload_config = false;
	hup_take(&s);
	assert_told_nothing();
	assert_string_equal(done, "z");
}

/* nsd.conf is read once for both. */
static void
second_signal_takes_the_place_of_the_first(void **state)
{
	uint64_t first, second;

	hup_take(&s);
	first = take_obey(BROADCAST_SAVE, 0);
	hup_take(&s);
	second = take_obey(BROADCAST_SAVE, 0);
	say_obeyed(first);
	assert_string_equal(done, "");
	say_obeyed(second);
	assert_string_equal(done, "cz");
}

static void
late_xfrd_is_not_waited_for(void **state)
{
	hup_take(&s);
	(void)take_obey(BROADCAST_SAVE, 0);
	for (unsigned i = 0; i < 2; i++) {
		be_late();
		(void)take_obey(BROADCAST_SAVE, 0);
		assert_string_equal(done, "");
	}
	be_late();
	assert_string_equal(done, "cz");
	(void)take_obey(BROADCAST_SAVED, 0);
}

static void
next_xfrd_does_what_a_dead_one_has_not(void **state)
{
	uint64_t number;

	hup_take(&s);
	number = take_obey(BROADCAST_SAVE, 0);
	s.xfrd.current = NULL;
	barrier_lose(&s, xfrd);
	assert_string_equal(done, "");
	s.xfrd.current = xfrd;
	barrier_join(&s, xfrd);
	assert_true(take_obey(BROADCAST_SAVE, 0) == number);
	say_obeyed(number);
	assert_string_equal(done, "cz");
	(void)take_obey(BROADCAST_SAVED, 0);
	/* The same of one that has died before the signal. */
	s.xfrd.current = NULL;
	hup_take(&s);
	s.xfrd.current = xfrd;
	barrier_join(&s, xfrd);
	say_obeyed(take_obey(BROADCAST_SAVE, 0));
	assert_string_equal(done, "czcz");
	(void)take_obey(BROADCAST_SAVED, 0);
	barrier_join(&s, xfrd);
	assert_told_nothing();
}

static void
xfrd_that_never_comes_is_not_waited_for(void **state)
{
	s.xfrd.current = NULL;
	hup_take(&s);
	be_late();
	be_late();
	assert_string_equal(done, "");
	be_late();
	assert_string_equal(done, "cz");
}

static void
signal_while_the_server_ends_does_nothing(void **state)
{
	hup_take(&s);
	s.stopping = true;
	say_obeyed(take_obey(BROADCAST_SAVE, 0));
	hup_take(&s);
	assert_told_nothing();
	assert_string_equal(done, "");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, \
	close_world)
	const struct CMUnitTest tests[] = {
		TEST(conf_is_read_when_zones_are_written),
		TEST(conf_that_is_not_read_is_not_waited_for),
		TEST(second_signal_takes_the_place_of_the_first),
		TEST(late_xfrd_is_not_waited_for),
		TEST(next_xfrd_does_what_a_dead_one_has_not),
		TEST(xfrd_that_never_comes_is_not_waited_for),
		TEST(signal_while_the_server_ends_does_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
