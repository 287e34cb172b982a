/* test_key_change.c - main's part when keys of TSIG come, go or change: the
 * secret goes to the key store, the loader is told, xfrd hears of it at the
 * end. */
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

#include "base/diag.h"
#include "conf/secret_keys.h"
#include "loader/conf_zones.h"
#include "main/barrier.h"
#include "main/child.h"
#include "main/key_change.h"
#include "process/key_message.h"
#include "process/requests.h"

#define XFRD_PID 100
#define LOADER_PID 200

static const char nsd_conf[] =
	"key: name: k secret: AAAA\n"
	"zone: name: z zonefile: f\nprovide-xfr: 192.0.2.1 k\n";

static struct supervisor s;
static struct generation generation;
static struct ipc_channel xfrd_end, loader_end;
static struct child *xfrd, *loader;
/* The last broadcast to leave old secrets that xfrd has received; 0: none. */
static uint64_t passed;

static struct child *
open_child(struct service *service, enum ipc_role role, pid_t pid,
	struct ipc_channel *end)
{
	struct ipc_channel ours;

	*service = (struct service){.supervisor = &s, .role = role};
	service->current = child_create(service, &generation);
	assert_non_null(service->current);
	assert_int_equal(ipc_channel_open_pair(ROLE_MAIN, role, &ours, end),
		NSD_OK);
	service->current->link.channel = ours;
	service->current->pid = pid;
	assert_true(child_watch(service->current));
	return service->current;
}

static int
open_world(void **state)
{
	s = (struct supervisor){.base = event_base_new(),
		.serving = &generation};
	assert_int_equal(conf_load_text("nsd.conf", nsd_conf,
				 sizeof(nsd_conf) - 1, false, NULL,
				 &s.server.conf), NSD_OK);
	assert_int_equal(secret_keys_create(s.server.conf, &s.server.key_store),
		NSD_OK);
	assert_int_equal(secret_keys_move(s.server.conf, NULL,
				 s.server.key_store), NSD_OK);
	conf_drop_zones(s.server.conf);
	xfrd = open_child(&s.xfrd, ROLE_XFRD, XFRD_PID, &xfrd_end);
	loader = open_child(&s.loader, ROLE_LOADER, LOADER_PID, &loader_end);
	assert_int_equal(key_change_init(&s), NSD_OK);
	passed = 0;
	return 0;
}

static int
close_world(void **state)
{
	conf_zones_forget_key(&s.server, "k");
	assert_null(s.server.assocs);
	child_unwatch(xfrd);
	child_unwatch(loader);
	free(xfrd);
	free(loader);
	ipc_channel_close(&xfrd_end);
	ipc_channel_close(&loader_end);
	conf_destroy(s.server.conf);
	key_store_destroy(s.server.key_store);
	for (unsigned i = 0; i < BARRIER_COUNT; i++)
		if (s.barriers[i].late_event != NULL)
			event_free(s.barriers[i].late_event);
	event_base_free(s.base);
	return 0;
}

/* ---- messages ------------------------------------------------------------ */

static void
ask(uint64_t ticket, enum key_edit_what what, const char *key,
	const char *secret)
{
	const struct key_message message = {
		.ticket = ticket,
		.edit = {.what = what, .key = key, .zone = "z",
			.algorithm = "sha256"},
		.secret = (const uint8_t *)secret,
		.secret_len = (uint32_t)strlen(secret),
	};
	struct ipc_message m = {.from = ROLE_XFRD, .type = IPC_KEY};
	struct ipc_key payload;
	size_t len;

	assert_int_equal(key_message_write(&message, &payload, &len), NSD_OK);
	memcpy(m.payload, &payload, len);
	m.len = len;
	assert_true(ipc_credits_take(&xfrd->link.credits, IPC_KEY));
	key_change_on_key(&s, xfrd, &m);
}

/* Replaces xfrd by one with a new channel. */
static void
replace_xfrd(void)
{
	xfrd->number++;
	ipc_credits_init(&xfrd->link.credits, &xfrd->link.channel);
}

/* False: no message has come. */
static bool
take(struct ipc_channel *end, enum ipc_type type, struct key_message *message)
{
	static struct ipc_key payload;
	struct ipc_message m;

	struct ipc_broadcast broadcast;

	for (;;) {
		if (ipc_receive(end, &m) != NSD_OK)
			return false;
		if (m.type == IPC_CREDIT)
			continue;
		if (m.type != IPC_OBEY)
			break;
		memcpy(&broadcast, m.payload, sizeof(broadcast));
		assert_int_equal(broadcast.what, BROADCAST_SETTINGS);
		passed = broadcast.request.ticket;
	}
	assert_int_equal(m.type, type);
	assert_int_equal(key_message_read(&m, &payload, message), NSD_OK);
	/* The message has no secret: it is in shared memory only. */
	assert_int_equal(message->secret_len, 0);
	return true;
}

static void
loader_says(uint64_t ticket, enum nsd_err err)
{
	const struct ipc_key done = {.request.ticket = ticket, .err = err};
	struct ipc_message m = {.from = ROLE_LOADER, .type = IPC_KEY_DONE,
		.len = IPC_KEY_MIN};

	memcpy(m.payload, &done, IPC_KEY_MIN);
	key_change_on_done(&s, loader, &m);
}

/* As the loader does: with what it was told, and perhaps another zone. */
static void
loader_answers(const struct key_message *told, enum nsd_err err,
	const char *zone)
{
	struct key_message answer = *told;
	struct ipc_message m = {.from = ROLE_LOADER, .type = IPC_KEY_DONE};
	struct ipc_key payload;

	answer.err = err;
	if (zone != NULL)
		answer.edit.zone = zone;
	assert_int_equal(key_message_write(&answer, &payload, &m.len),
		NSD_OK);
	memcpy(m.payload, &payload, m.len);
	key_change_on_done(&s, loader, &m);
}

static void
xfrd_obeys(uint64_t ticket)
{
	struct ipc_message m = {.from = ROLE_XFRD, .type = IPC_OBEYED,
		.len = sizeof(ticket)};

	memcpy(m.payload, &ticket, sizeof(ticket));
	barrier_on_obeyed(&s, xfrd, &m);
}

static bool
key_store_has(struct key_handle handle, const char *secret)
{
	size_t len;
	const uint8_t *octets = key_store_get(s.server.key_store, handle, &len);

	return octets != NULL && len == strlen(secret)
		&& memcmp(octets, secret, len) == 0;
}

/* The secret of nsd_conf. */
static bool
key_store_has_old(struct key_handle handle)
{
	size_t len;
	const uint8_t *octets = key_store_get(s.server.key_store, handle, &len);

	return octets != NULL && len == 3
		&& memcmp(octets, "\0\0\0", 3) == 0;
}

static struct key_handle
place_of(const char *key)
{
	const struct conf_key *found = conf_find_key(s.server.conf, key);

	assert_non_null(found);
	return found->handle;
}

static void
expect_error(uint64_t ticket, enum nsd_err err)
{
	struct key_message message;

	assert_true(take(&xfrd_end, IPC_KEY_DONE, &message));
	assert_int_equal(message.ticket, ticket);
	assert_int_equal(message.err, err);
	assert_false(take(&loader_end, IPC_CHANGE_KEY, &message));
	assert_false(s.key_change.under_way);
}

/* ---- the tests ----------------------------------------------------------- */

static void
xfrd_hears_of_it_when_it_is_published(void **state)
{
	struct key_handle old = place_of("k");
	struct key_message told, done;

	ask(7, KEY_EDIT_SECRET, "k", "new");
	assert_true(key_store_has(place_of("k"), "new"));
	/* The settings that are published name it yet. */
	assert_true(key_store_has_old(old));
	key_change_sweep(&s);
	assert_true(key_store_has_old(old));
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &told));
	assert_true(key_handle_is_same(told.edit.handle, place_of("k")));
	assert_false(take(&xfrd_end, IPC_KEY_DONE, &done));
	loader_says(told.ticket + 1, NSD_OK);
	assert_false(take(&xfrd_end, IPC_KEY_DONE, &done));
	loader_says(told.ticket, NSD_OK);
	assert_true(take(&xfrd_end, IPC_KEY_DONE, &done));
	assert_int_equal(done.ticket, 7);
	assert_int_equal(done.err, NSD_OK);
	assert_int_equal(done.edit.what, KEY_EDIT_SECRET);
	assert_string_equal(done.edit.key, "k");
	assert_true(key_handle_is_same(done.edit.handle, place_of("k")));
	assert_int_equal(passed, 0);
	loader_says(told.ticket, NSD_OK);
	assert_false(take(&xfrd_end, IPC_KEY_DONE, &done));
}

/* Without another change. */
static void
old_secret_goes_when_all_are_past_it(void **state)
{
	struct key_handle old = place_of("k"), second;
	struct key_message message;

	ask(1, KEY_EDIT_SECRET, "k", "new");
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &message));
	loader_says(message.ticket, NSD_OK);
	assert_true(take(&xfrd_end, IPC_KEY_DONE, &message));
	assert_false(take(&xfrd_end, IPC_KEY_DONE, &message));
	assert_int_not_equal(passed, 0);
	assert_true(key_store_has_old(old));
	xfrd_obeys(passed + 1);
	assert_true(key_store_has_old(old));
	xfrd_obeys(passed);
	assert_false(key_store_has_old(old));
	assert_true(key_store_has(place_of("k"), "new"));

	/* A process that hangs is not waited for. */
	second = place_of("k");
	ask(2, KEY_EDIT_SECRET, "k", "newer");
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &message));
	loader_says(message.ticket, NSD_OK);
	assert_true(key_store_has(second, "new"));
	event_active(s.barriers[BARRIER_SECRETS].late_event, EV_TIMEOUT, 0);
	event_base_loop(s.base, EVLOOP_NONBLOCK);
	assert_false(key_store_has(second, "new"));
	assert_true(key_store_has(place_of("k"), "newer"));
}

/* The loader has not published the next change yet. */
static void
old_secret_stays_while_a_change_is_under_way(void **state)
{
	struct key_message message;
	struct key_handle second;

	ask(1, KEY_EDIT_SECRET, "k", "new");
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &message));
	loader_says(message.ticket, NSD_OK);
	assert_true(take(&xfrd_end, IPC_KEY_DONE, &message));
	assert_false(take(&xfrd_end, IPC_KEY_DONE, &message));
	second = place_of("k");
	ask(2, KEY_EDIT_SECRET, "k", "newer");
	xfrd_obeys(passed);
	assert_true(key_store_has(second, "new"));
}

/* The next change is asked for before all are past this one. */
static void
old_secret_stays_though_another_change_comes(void **state)
{
	struct key_handle old = place_of("k"), second;
	struct key_message message;

	ask(1, KEY_EDIT_SECRET, "k", "new");
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &message));
	loader_says(message.ticket, NSD_OK);
	assert_true(take(&xfrd_end, IPC_KEY_DONE, &message));
	second = place_of("k");
	ask(2, KEY_EDIT_SECRET, "k", "newer");
	assert_true(key_store_has_old(old));
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &message));
	loader_says(message.ticket, NSD_OK);
	assert_true(take(&xfrd_end, IPC_KEY_DONE, &message));
	assert_false(take(&xfrd_end, IPC_KEY_DONE, &message));
	assert_true(key_store_has_old(old));
	assert_true(key_store_has(second, "new"));
	xfrd_obeys(passed);
	assert_false(key_store_has_old(old));
	assert_false(key_store_has(second, "new"));
	assert_true(key_store_has(place_of("k"), "newer"));
}

static void
what_the_loader_cannot_do_is_an_error(void **state)
{
	struct key_message told, done;

	ask(7, KEY_EDIT_ADD, "n", "new");
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &told));
	loader_says(told.ticket, NSD_E_MEMORY);
	assert_true(take(&xfrd_end, IPC_KEY_DONE, &done));
	assert_int_equal(done.err, NSD_E_MEMORY);
}

static void
wrong_changes_leave_no_secret(void **state)
{
	struct key_handle k = place_of("k");

	ask(1, KEY_EDIT_SECRET, "n", "new");
	expect_error(1, NSD_E_NOT_FOUND);
	ask(2, KEY_EDIT_ADD, "k", "new");
	expect_error(2, NSD_E_DENIED);
	assert_true(key_handle_is_same(k, place_of("k")));
	s.building = &generation;
	ask(4, KEY_EDIT_SECRET, "k", "new");
	expect_error(4, NSD_E_AGAIN);
	s.building = s.serving = NULL;
	ask(5, KEY_EDIT_SECRET, "k", "new");
	expect_error(5, NSD_E_AGAIN);
	assert_true(key_handle_is_same(k, place_of("k")));
}

/* The loader that was told does not count; the next one begins with the
 * change. */
static void
next_loader_publishes_it(void **state)
{
	struct key_message message;

	ask(7, KEY_EDIT_SECRET, "k", "new");
	key_change_on_listed(&s, loader);
	assert_false(take(&xfrd_end, IPC_KEY_DONE, &message));
	loader->pid++;
	key_change_on_listed(&s, loader);
	assert_true(take(&xfrd_end, IPC_KEY_DONE, &message));
	assert_int_equal(message.err, NSD_OK);
	/* A change while there is no loader. */
	s.loader.current = NULL;
	ask(8, KEY_EDIT_SECRET, "k", "newer");
	assert_false(take(&xfrd_end, IPC_KEY_DONE, &message));
	key_change_on_listed(&s, loader);
	assert_true(take(&xfrd_end, IPC_KEY_DONE, &message));
	assert_int_equal(message.ticket, 8);
}

/* ---- changes that the loader makes first, as it has the zones ------------ */

static void
a_key_goes_once_the_loader_lets_it_go(void **state)
{
	struct key_message told, done;

	ask(1, KEY_EDIT_REMOVE, "k", "");
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &told));
	assert_non_null(conf_find_key(s.server.conf, "k"));
	loader_answers(&told, NSD_E_DENIED, "a zone");
	assert_true(take(&xfrd_end, IPC_KEY_DONE, &done));
	assert_int_equal(done.ticket, 1);
	assert_int_equal(done.err, NSD_E_DENIED);
	assert_string_equal(done.edit.key, "k");
	assert_string_equal(done.edit.zone, "a zone");
	assert_non_null(conf_find_key(s.server.conf, "k"));
	ask(2, KEY_EDIT_REMOVE, "k", "");
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &told));
	loader_answers(&told, NSD_OK, NULL);
	assert_true(take(&xfrd_end, IPC_KEY_DONE, &done));
	assert_int_equal(done.err, NSD_OK);
	assert_null(conf_find_key(s.server.conf, "k"));
}

/* The loader that was asked dies. */
static void
the_next_loader_is_asked_for_it(void **state)
{
	struct key_message told, done;

	ask(1, KEY_EDIT_REMOVE, "k", "");
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &told));
	key_change_on_listed(&s, loader);
	assert_false(take(&loader_end, IPC_CHANGE_KEY, &told));
	loader->pid++;
	key_change_on_listed(&s, loader);
	assert_false(take(&xfrd_end, IPC_KEY_DONE, &done));
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &told));
	loader_answers(&told, NSD_OK, NULL);
	assert_true(take(&xfrd_end, IPC_KEY_DONE, &done));
	assert_null(conf_find_key(s.server.conf, "k"));
	/* A change that is asked for while no loader runs goes to the next
	 * one. */
	s.loader.current = NULL;
	ask(2, KEY_EDIT_REMOVE, "k", "");
	key_change_on_listed(&s, loader);
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &told));
	loader_answers(&told, NSD_E_NOT_FOUND, NULL);
	assert_true(take(&xfrd_end, IPC_KEY_DONE, &done));
	assert_int_equal(done.err, NSD_E_NOT_FOUND);
}

/* A change that loaders die of is not asked for for ever. */
static void
what_loaders_die_of_is_given_up(void **state)
{
	struct key_message message;

	ask(1, KEY_EDIT_REMOVE, "k", "");
	for (unsigned i = 1; i < REQUEST_DEATHS_MAX; i++) {
		assert_true(take(&loader_end, IPC_CHANGE_KEY, &message));
		loader->pid++;
		key_change_on_listed(&s, loader);
		assert_false(take(&xfrd_end, IPC_KEY_DONE, &message));
	}
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &message));
	loader->pid++;
	key_change_on_listed(&s, loader);
	expect_error(1, NSD_E_PEER);
	assert_false(take(&loader_end, IPC_CHANGE_KEY, &message));
	assert_non_null(conf_find_key(s.server.conf, "k"));
}

static void
main_follows_the_loader_in_any_case(void **state)
{
	struct key_message told, other;

	ask(1, KEY_EDIT_REMOVE, "k", "");
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &told));
	replace_xfrd();
	ask(2, KEY_EDIT_ADD, "n", "new");
	loader_answers(&told, NSD_OK, NULL);
	assert_null(conf_find_key(s.server.conf, "k"));
	assert_false(take(&xfrd_end, IPC_KEY_DONE, &other));
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &told));
	loader_answers(&told, NSD_OK, NULL);
	assert_true(take(&xfrd_end, IPC_KEY_DONE, &other));
	assert_non_null(conf_find_key(s.server.conf, "n"));
}

/* The loader got the new configuration after the change: main does not apply
 * the change to it. */
static void
but_not_if_another_configuration_has_come(void **state)
{
	struct key_message told, second;

	ask(1, KEY_EDIT_REMOVE, "k", "");
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &told));
	s.server.conf_number++;
	loader_answers(&told, NSD_OK, NULL);
	assert_true(take(&xfrd_end, IPC_KEY_DONE, &second));
	assert_int_equal(second.err, NSD_OK);
	assert_non_null(conf_find_key(s.server.conf, "k"));
	/* The answer to the old change does not apply to the new
	 * configuration's next change either. */
	ask(2, KEY_EDIT_REMOVE, "k", "");
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &second));
	loader_answers(&told, NSD_OK, NULL);
	assert_non_null(conf_find_key(s.server.conf, "k"));
	loader_answers(&second, NSD_OK, NULL);
	assert_null(conf_find_key(s.server.conf, "k"));
}

static void
zone_loses_key(const char *zone)
{
	const struct key_message lost = {.edit = {.what = KEY_EDIT_ASSOC,
		.key = "", .algorithm = ""}};

	loader_answers(&lost, NSD_OK, zone);
}

static void
a_zone_has_its_key_until_it_changes_or_goes(void **state)
{
	struct key_message told, done;

	for (unsigned i = 0; i < 3; i++) {
		ask(i, KEY_EDIT_ASSOC, "k", "");
		assert_true(take(&loader_end, IPC_CHANGE_KEY, &told));
		assert_true(i == 1 || s.server.assocs == NULL);
		loader_answers(&told, NSD_OK, NULL);
		assert_true(take(&xfrd_end, IPC_KEY_DONE, &done));
		assert_int_equal(done.err, NSD_OK);
		assert_string_equal(s.server.assocs->zone, "z");
		assert_string_equal(s.server.assocs->key, "k");
		assert_null(s.server.assocs->next);
		zone_loses_key("other");
		assert_non_null(s.server.assocs);
		if (i > 0)
			zone_loses_key("Z.");
	}
	assert_null(s.server.assocs);
	ask(3, KEY_EDIT_ASSOC, "k", "");
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &told));
	loader_answers(&told, NSD_E_ZONE, NULL);
	assert_null(s.server.assocs);
}

/* A loader that has been taken over has main keep what was asked for alone. */
static void
what_nobody_has_asked_for_is_not_kept(void **state)
{
	struct key_message first, second, wrong, done;

	ask(7, KEY_EDIT_ASSOC, "k", "");
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &first));
	loader_answers(&first, NSD_OK, "other");
	assert_null(s.server.assocs);
	assert_false(take(&xfrd_end, IPC_KEY_DONE, &done));
	wrong = first;
	wrong.ticket += 100;
	loader_answers(&wrong, NSD_OK, NULL);
	assert_null(s.server.assocs);
	/* An answer for an xfrd that died is accepted without a comparison,
	 * once. */
	replace_xfrd();
	ask(1, KEY_EDIT_ASSOC, "k", "");
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &second));
	loader_answers(&first, NSD_OK, "x");
	loader_answers(&first, NSD_OK, "y");
	loader_answers(&second, NSD_OK, NULL);
	assert_true(take(&xfrd_end, IPC_KEY_DONE, &done));
	assert_string_equal(s.server.assocs->zone, "z");
	assert_string_equal(s.server.assocs->next->zone, "x");
	assert_null(s.server.assocs->next->next);
}

static void
one_at_a_time_and_dead_xfrds_make_way(void **state)
{
	struct key_message first, second, done;

	ask(7, KEY_EDIT_SECRET, "k", "new");
	assert_false(ipc_credits_take(&xfrd->link.credits, IPC_KEY));
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &first));
	replace_xfrd();
	ask(1, KEY_EDIT_SECRET, "k", "newest");
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &second));
	loader_says(first.ticket, NSD_OK);
	assert_false(take(&xfrd_end, IPC_KEY_DONE, &done));
	loader_says(second.ticket, NSD_OK);
	assert_true(take(&xfrd_end, IPC_KEY_DONE, &done));
	assert_int_equal(done.ticket, 1);
	/* The xfrd that asked is gone: no answer. */
	ask(2, KEY_EDIT_SECRET, "k", "x");
	assert_true(take(&loader_end, IPC_CHANGE_KEY, &first));
	replace_xfrd();
	loader_says(first.ticket, NSD_OK);
	assert_false(take(&xfrd_end, IPC_KEY_DONE, &done));
}

/* ---- messages of one that was taken over --------------------------------- */

static void
refuse(const void *octets, size_t len)
{
	struct ipc_message m = {.from = ROLE_XFRD, .type = IPC_KEY,
		.len = len};
	struct key_message message;
	struct ipc_key payload;

	memcpy(m.payload, octets, len);
	assert_int_equal(key_message_read(&m, &payload, &message),
		NSD_E_WIRE);
	key_change_on_key(&s, xfrd, &m);
	assert_false(take(&xfrd_end, IPC_KEY_DONE, &message));
}

static void
malformed_messages_are_refused(void **state)
{
	const size_t head = offsetof(struct ipc_key, text);
	struct ipc_key key = {.request.ticket = 1};

	memcpy(key.text, "a\0b\0c\0secret", 12);
	key.secret_len = 6;
	for (size_t len = head + 1; len < head + 12; len++)
		refuse(&key, len);
	refuse(&key, head + 13);
	key.secret_len = UINT32_MAX;
	refuse(&key, head + 12);
	key.secret_len = 6;
	key.what = KEY_EDIT_COUNT;
	refuse(&key, head + 12);
	memset(key.text, 'x', sizeof(key.text));
	key.what = 0;
	key.secret_len = 0;
	refuse(&key, sizeof(key));
}

static void
what_is_too_long_is_not_written(void **state)
{
	static char text[IPC_KEY_TEXT_MAX];
	struct key_message message = {.edit = {.key = text, .zone = "",
		.algorithm = ""}};
	struct ipc_key payload;
	size_t len;

	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(key_message_write(&message, &payload, &len),
		NSD_E_LIMIT);
	text[sizeof(text) - 3] = '\0';
	assert_int_equal(key_message_write(&message, &payload, &len), NSD_OK);
	assert_int_equal(len, sizeof(payload));
	message.secret = (const uint8_t *)"x";
	message.secret_len = 1;
	assert_int_equal(key_message_write(&message, &payload, &len),
		NSD_E_LIMIT);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, \
	close_world)
	const struct CMUnitTest tests[] = {
		TEST(xfrd_hears_of_it_when_it_is_published),
		TEST(old_secret_goes_when_all_are_past_it),
		TEST(old_secret_stays_while_a_change_is_under_way),
		TEST(old_secret_stays_though_another_change_comes),
		TEST(what_the_loader_cannot_do_is_an_error),
		TEST(wrong_changes_leave_no_secret),
		TEST(next_loader_publishes_it),
		TEST(a_key_goes_once_the_loader_lets_it_go),
		TEST(the_next_loader_is_asked_for_it),
		TEST(what_loaders_die_of_is_given_up),
		TEST(main_follows_the_loader_in_any_case),
		TEST(but_not_if_another_configuration_has_come),
		TEST(a_zone_has_its_key_until_it_changes_or_goes),
		TEST(what_nobody_has_asked_for_is_not_kept),
		TEST(one_at_a_time_and_dead_xfrds_make_way),
		TEST(malformed_messages_are_refused),
		TEST(what_is_too_long_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
