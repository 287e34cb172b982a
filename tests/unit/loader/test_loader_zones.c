/* test_loader_zones.c - zones that come and go while others, or they
 * themselves, are listed to be read. */
#include "config.h"

#include <event2/event.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "loader/load_list.h"
#include "loader/loader.h"
#include "process/counts.h"
#include "process/zone_message.h"
#include "store/writer.h"

/* Several threads read a file of this length, after the answer. */
#define LARGE (9 << 20)

static char directory[32], file[64];
static struct store *store;
static struct server server;
static struct loader loader;

/* ---- the fixture --------------------------------------------------------- */

static void
open_events(void)
{
	const struct {
		struct event **event;
		event_callback_fn on_event;
		short what;
	} rows[] = {
		{&loader.progress_event, loader_on_progress, EV_PERSIST},
		{&loader.reclaim_event, loader_on_reclaim, 0},
		{&loader.results_event, loader_on_more_results, 0},
		{&loader.updates_event, loader_on_updates, 0},
		{&loader.again_event, loader_on_again, 0},
		{&loader.idle_event, loader_on_idle, 0},
		{&loader.compact_event, loader_on_compact, 0},
		{&loader.counts_event, loader_on_counts, 0},
		{&loader.changes_event, loader_on_changes, 0},
	};

	loader.role.base = event_base_new();
	assert_non_null(loader.role.base);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		*rows[i].event = event_new(loader.role.base, -1, rows[i].what,
			rows[i].on_event, &loader);
		assert_non_null(*rows[i].event);
	}
}

static void
open_store(void)
{
	const struct store_options options = {
		.reservation = (size_t)1 << 30,
		.reader_max = 1,
	};
	struct load_list_result listed;

	assert_int_equal(store_create(&options, &store), NSD_OK);
	assert_int_equal(store_writer_open(store, &loader.writer), NSD_OK);
	assert_int_equal(load_set_init(&loader.set, server.conf->zone_count),
		NSD_OK);
	assert_int_equal(load_list_publish(loader.writer, server.conf,
				 loader.set.zones, &listed),
		NSD_OK);
}

/* The file of the zone "big", which is not looked into. */
static void
make_file(void)
{
	int fd;

	strcpy(directory, "/tmp/nsd-test-XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(file, sizeof(file), "%s/big", directory);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_not_equal(fd, -1);
	assert_int_equal(ftruncate(fd, LARGE), 0);
	close(fd);
}

static int
open_loader(void **state)
{
	const struct counts_options options = {
		.workers = 1,
		.groups_max = 16,
		.limits = 64,
	};
	char text[256];

	memset(&server, 0, sizeof(server));
	memset(&loader, 0, sizeof(loader));
	make_file();
	snprintf(text, sizeof(text), "pattern: name: p zonefile: \"%s/%%s\"\n"
		"zone: name: a zonefile: \"%s/a\"\n", directory, directory);
	assert_int_equal(conf_load_text("test", text, strlen(text), false,
				 NULL, &server.conf),
		NSD_OK);
	assert_int_equal(counts_create(&options, &server.counts), NSD_OK);
	open_store();
	open_events();
	pthread_mutex_init(&loader.busy_lock, NULL);
	loader.role.server = &server;
	loader.context = (struct load_context){
		.writer = loader.writer,
		.threads_max = 1,
		.progress = &loader.progress,
		.busy_lock = &loader.busy_lock,
		.retire = &loader.retire,
	};
	loader.retire.on_work = loader_on_retire;
	loader.retire.ctx = &loader;
	assert_int_equal(loader_init_counts(&loader), NSD_OK);
	return 0;
}

static int
close_loader(void **state)
{
	struct event *const events[] = {loader.progress_event,
		loader.reclaim_event, loader.results_event,
		loader.updates_event, loader.again_event, loader.idle_event,
		loader.compact_event, loader.counts_event,
		loader.changes_event};

	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		event_free(events[i]);
	event_base_free(loader.role.base);
	load_settle_fini(&loader.settle);
	textlist_writer_destroy(loader.groups);
	pthread_mutex_destroy(&loader.busy_lock);
	store_writer_close(loader.writer);
	store_destroy(store);
	counts_destroy(server.counts);
	conf_destroy(server.conf);
	(void)unlink(file);
	return rmdir(directory);
}

/* ---- changes ------------------------------------------------------------- */

struct change {
	const char *name;
	bool comes; /* or it goes */
};

/* True while the clock stands still: a message's turn does not end early on a
 * busy machine. */
static bool is_stopped;

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int
__wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	*now = (struct timespec){.tv_sec = 1};
	return is_stopped ? 0 : __real_clock_gettime(clock, now);
}

/* Takes a CHANGE_ZONE with these changes. */
static void
change_zones(const struct change *changes, size_t count)
{
	static struct ipc_message m;
	struct zone_message message;

	zone_message_init(&message);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(zone_message_add(&message,
					 &(struct zone_change){
						 .name = changes[i].name,
						 .pattern = changes[i].comes
							 ? "p" : "",
					 }),
			NSD_OK);
	m.from = ROLE_XFRD;
	m.type = IPC_CHANGE_ZONE;
	m.len = message.len;
	memcpy(m.payload, &message.payload, message.len);
	is_stopped = true;
	loader_on_change_zone(&loader.role, &m);
	is_stopped = false;
	assert_false(loader.changing);
}

static const struct load_zone *
find_zone(const char *name)
{
	const struct conf_zone *conf = conf_find_zone_text(server.conf, name);
	const struct load_zone *zone;

	assert_non_null(conf);
	zone = load_set_find(&loader.set, store_writer_view(loader.writer),
		conf);
	assert_non_null(zone);
	return zone;
}

/* Lets the pass for listed zones begin, and end. */
static void
run_pass(void)
{
	assert_int_equal(loader.pass, LOADER_PASS_NONE);
	while (loader.again_count > 0 || loader.pass != LOADER_PASS_NONE)
		assert_int_not_equal(event_base_loop(loader.role.base,
			EVLOOP_ONCE), -1);
}

/* ---- the tests ----------------------------------------------------------- */

/* The pass still looks at the place. *state: whether the changes come in one
 * message. */
static void
place_of_a_listed_zone_rests_until_its_pass_ends(void **state)
{
	static const struct change changes[] = {{"big", true}, {"big", false},
		{"other", true}}, third = {"third", true};
	const bool at_once = *(const bool *)*state;
	const struct load_zone *place;

	for (size_t i = 0; i < 3; i += at_once ? 3 : 1)
		change_zones(changes + i, at_once ? 3 : 1);
	assert_int_equal(loader.again_count, 1);
	place = loader.again[0];
	assert_null(place->conf);
	assert_true(place->removed);
	assert_ptr_not_equal(find_zone("other"), place);
	run_pass();
	change_zones(&third, 1);
	assert_ptr_equal(find_zone("third"), place);
	assert_false(place->removed);
}

/* xfrd asks for the file of a zone; or of all, if it has no name. */
static void
ask_to_read(const uint8_t *apex, size_t len)
{
	static struct ipc_message m;
	struct ipc_read read = {.accepts = 0};

	if (len > 0)
		memcpy(read.apex, apex, len);
	m.from = ROLE_XFRD;
	m.type = IPC_READ;
	m.len = offsetof(struct ipc_read, apex) + len;
	memcpy(m.payload, &read, m.len);
	loader_on_read(&loader.role, &m);
}

/* As above: the next pass is to look at the place. */
static void
place_of_a_zone_that_is_asked_for_rests(void **state)
{
	static const struct change come = {"big", true}, go = {"big", false},
		other = {"other", true};
	const struct load_zone *place;

	change_zones(&come, 1);
	place = find_zone("big");
	while (loader.pass != LOADER_PASS_AGAIN)
		event_base_loop(loader.role.base, EVLOOP_ONCE);
	ask_to_read((const uint8_t *)"\3big", 5);
	ask_to_read(NULL, 0);
	change_zones(&go, 1);
	while (loader.pass == LOADER_PASS_AGAIN)
		event_base_loop(loader.role.base, EVLOOP_ONCE);
	assert_int_equal(loader.pass, LOADER_PASS_ASKED);
	change_zones(&other, 1);
	assert_ptr_not_equal(find_zone("other"), place);
	while (loader.pass != LOADER_PASS_NONE)
		event_base_loop(loader.role.base, EVLOOP_ONCE);
}

int
main(void)
{
	static bool yes = true, no = false;
#define TEST_OF(name, which, value) \
	{#name ", " which, name, open_loader, close_loader, value}
	const struct CMUnitTest tests[] = {
		TEST_OF(place_of_a_listed_zone_rests_until_its_pass_ends,
			"one by one", &no),
		TEST_OF(place_of_a_listed_zone_rests_until_its_pass_ends,
			"at once", &yes),
		cmocka_unit_test_setup_teardown(
			place_of_a_zone_that_is_asked_for_rests, open_loader,
			close_loader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
