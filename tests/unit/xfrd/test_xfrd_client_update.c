/* test_xfrd_client_update.c - UPDATEs of clients (RFC 2136): which go together,
 * and when they are answered. What a message says, the journal and the loader
 * are played. */
#include "config.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "dynupdate/dynupdate.h"
#include "fixture.h"
#include "journal/journal.h"
#include "xfrd/xfrd_client_updates.h"
#include "xfrd/xfrd_edit.h"

static const uint8_t apex[] = "\1c";

/* The edit that was asked for; on_end NULL: there is none. */
static struct xfrd_edit_ask asked;
static unsigned asked_count;
static enum nsd_err resumed; /* NSD_OK: the last xfrd has left a version */

static char ended[512];
static uint64_t tickets;

/* A batch: messages are an octet each. 'c' changes the zone, 'n' does not, 'r'
 * is refused, 'l' finds no room but at the beginning, 'm' no memory, 'o' is
 * old. */
struct dynupdate {
	uint32_t from, to;
	unsigned count;
};

/* ---- stand-ins ----------------------------------------------------------- */

enum nsd_err
dynupdate_begin(const struct store_view *view, const struct zone *zone,
	const uint8_t *name, const struct dynupdate_options *options,
	struct dynupdate **out)
{
	assert_memory_equal(name, apex, sizeof(apex));
	*out = calloc(1, sizeof(**out));
	assert_non_null(*out);
	(*out)->from = (*out)->to = 1;
	return NSD_OK;
}

enum nsd_err
dynupdate_apply(struct dynupdate *d, const uint8_t *message, size_t len,
	struct dynupdate_result *result)
{
	if (message[0] == 'm')
		return NSD_E_MEMORY;
	if (message[0] == 'l' && d->count > 0)
		return NSD_E_LIMIT;
	d->count++;
	*result = (struct dynupdate_result){.ede = EDE_NONE};
	result->changed = message[0] == 'c' || message[0] == 'l';
	d->to += result->changed;
	result->serial = d->to;
	if (message[0] == 'r')
		result->rcode = RCODE_YXDOMAIN;
	return NSD_OK;
}

const uint8_t *
dynupdate_records(const struct dynupdate *d, size_t *len, uint32_t *from,
	uint32_t *to)
{
	*from = d->from;
	*to = d->to;
	*len = d->to - d->from;
	return (const uint8_t *)"cccccccccccccccc";
}

void
dynupdate_end(struct dynupdate *d)
{
	free(d);
}

enum nsd_err
xfrd_edit(struct xfrd *xfrd, const struct xfrd_edit_ask *ask)
{
	assert_null(asked.on_end);
	asked = *ask;
	asked_count++;
	return NSD_OK;
}

enum nsd_err
xfrd_edit_resume(struct xfrd *xfrd, const uint8_t *name,
	xfrd_edit_on_end *on_end, void *ctx)
{
	if (resumed == NSD_OK)
		asked = (struct xfrd_edit_ask){.on_end = on_end, .ctx = ctx};
	return resumed;
}

bool
xfrd_keep_is_lost(struct xfrd *xfrd)
{
	return false;
}

bool
xfrd_client_update_check(struct xfrd *xfrd, const struct xfrd_options *options,
	struct client_update *update, struct client_update_end *end)
{
	end->rcode = RCODE_NOTAUTH;
	return update->message[0] != 'f';
}

void
xfrd_client_update_answer(struct xfrd *xfrd, struct client_update *update,
	const struct client_update_end *end)
{
	size_t at = strlen(ended);

	snprintf(ended + at, sizeof(ended) - at, "%llu:%d ",
		(unsigned long long)update->ticket, (int)end->rcode);
	free(update);
}

/* ---- helpers ------------------------------------------------------------- */

/* Has a request come for each octet. Tickets are counted from 1. */
static void
come(const char *messages)
{
	for (; *messages != '\0'; messages++) {
		struct client_update *update = calloc(1, sizeof(*update) + 1);

		assert_non_null(update);
		update->ticket = ++tickets;
		update->came_msec = clock_now_msec();
		if (*messages == 'o')
			update->came_msec -= 31000;
		CDS_INIT_LIST_HEAD(&update->id_node);
		update->from.ss_family = AF_INET;
		update->len = 1;
		update->message[0] = (uint8_t)*messages;
		memcpy(update->apex, apex, sizeof(apex));
		xfrd_client_update_queue(&fixture.xfrd, update);
	}
}

static void
turn(void)
{
	for (unsigned i = 0; i < 4; i++)
		event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK);
}

/* The edit ends. */
static void
done(enum nsd_err err)
{
	const struct xfrd_edit_end end = {.err = err, .why = "because"};
	xfrd_edit_on_end *on_end = asked.on_end;

	assert_non_null(on_end);
	asked.on_end = NULL;
	on_end(asked.ctx, &end);
	turn();
}

static void
assert_ended(const char *text)
{
	assert_string_equal(ended, text);
	*ended = '\0';
}

/* Has a version served, whose contents nobody reads; or none. */
static void
serve(bool is_served)
{
	struct xfrd_options options = xfrd_options_find(&fixture.xfrd, apex);
	uint64_t at = (uint64_t)((const char *)&options.entry->zone
		- (const char *)store_get(options.view, 1));
	store_ref *ref = (store_ref *)((char *)store_get(fixture.store.view, 1)
		+ at);

	xfrd_read_end(&fixture.xfrd);
	*ref = is_served ? 1 : STORE_NONE;
}

static int
begin(void **state)
{
	(void)fixture_begin(state);
	fixture_publish("zone: name: c allow-update: 127.0.0.1 NOKEY\n");
	fixture_open();
	fixture.xfrd.journal = (struct journal *)&asked;
	CDS_INIT_LIST_HEAD(&fixture.xfrd.freezer.list);
	assert_int_equal(xfrd_client_update_init(&fixture.xfrd), NSD_OK);
	asked.on_end = NULL;
	asked_count = 0;
	resumed = NSD_E_NOT_FOUND;
	*ended = '\0';
	tickets = 0;
	serve(true);
	return 0;
}

static int
end(void **state)
{
	assert_null(asked.on_end);
	assert_int_equal(fixture.xfrd.updates.busy, 0);
	serve(false);
	xfrd_client_update_forget(&fixture.xfrd, apex);
	assert_null(fixture.xfrd.updates.zones);
	event_free(fixture.xfrd.updates.event);
	fixture_close();
	return fixture_end(state);
}

/* ---- tests --------------------------------------------------------------- */

static void
requests_of_a_turn_are_one_batch(void **state)
{
	come("ccc");
	turn();
	assert_int_equal(asked_count, 1);
	assert_int_equal(asked.from, 1);
	assert_int_equal(asked.to, 4);
	assert_ended("");
	assert_true(xfrd_client_update_is_busy(&fixture.xfrd, apex));
	assert_int_equal(xfrd_client_update_count(&fixture.xfrd, apex), 3);
	done(NSD_OK);
	assert_ended("1:0 2:0 3:0 ");
	assert_false(xfrd_client_update_is_busy(&fixture.xfrd, NULL));
}

static void
requests_that_come_meanwhile_are_the_next_batch(void **state)
{
	come("c");
	turn();
	come("cc");
	turn();
	assert_int_equal(asked_count, 1);
	done(NSD_OK);
	assert_ended("1:0 ");
	assert_int_equal(asked_count, 2);
	assert_int_equal(asked.to, 3);
	done(NSD_OK);
	assert_ended("2:0 3:0 ");
}

/* An outcome may be the work of a request before it. */
static void
outcome_behind_a_change_waits_for_it(void **state)
{
	come("nrcnr");
	turn();
	assert_ended("1:0 2:6 ");
	done(NSD_OK);
	assert_ended("3:0 4:0 5:6 ");
}

static void
batch_that_fails_is_servfail_for_all(void **state)
{
	come("cnr");
	turn();
	come("c");
	done(NSD_E_SYSTEM);
	assert_ended("1:2 2:2 3:2 ");
	done(NSD_OK);
	assert_ended("4:0 ");
}

static void
request_without_room_goes_into_the_next_batch(void **state)
{
	come("lcl");
	turn();
	assert_int_equal(asked.to, 3);
	done(NSD_OK);
	assert_ended("1:0 2:0 ");
	done(NSD_OK);
	assert_ended("3:0 ");
	/* No room, though nothing has changed. */
	come("nl");
	turn();
	assert_ended("4:0 ");
	done(NSD_OK);
	assert_ended("5:0 ");
}

static void
request_that_is_not_allowed_ends_alone(void **state)
{
	come("cfmc");
	turn();
	assert_ended("2:9 3:2 ");
	done(NSD_OK);
	assert_ended("1:0 4:0 ");
}

static void
zone_that_goes_answers_what_waits(void **state)
{
	come("c");
	turn();
	come("cc");
	xfrd_client_update_forget(&fixture.xfrd, apex);
	assert_ended("2:9 3:9 ");
	done(NSD_E_NOT_FOUND);
	assert_ended("1:9 ");
}

static void
zone_that_cannot_change_says_so(void **state)
{
	serve(false);
	come("cc");
	turn();
	assert_ended("1:2 2:2 ");
	serve(true);
	assert_int_equal(xfrd_freeze_add(&fixture.xfrd, apex), NSD_OK);
	come("c");
	turn();
	assert_ended("3:5 ");
	xfrd_freeze_remove(&fixture.xfrd, apex);
	fixture.xfrd.journal = NULL;
	come("c");
	turn();
	assert_ended("4:2 ");
	fixture.xfrd.journal = (struct journal *)&asked;
	serve(false);
	fixture_publish("zone: name: c\n");
	come("c");
	turn();
	assert_ended("5:5 ");
	fixture_publish("zone: name: d\n");
	come("c");
	turn();
	assert_ended("6:9 ");
	fixture_publish("zone: name: c allow-update: 127.0.0.1 NOKEY\n");
	serve(true);
	assert_int_equal(asked_count, 0);
}

static void
zone_that_is_closed_amid_a_batch_refuses(void **state)
{
	come("c");
	turn();
	serve(false);
	fixture_publish("zone: name: c\n");
	done(NSD_E_DENIED);
	assert_ended("1:5 ");
	fixture_publish("zone: name: c allow-update: 127.0.0.1 NOKEY\n");
}

static void
version_of_the_last_xfrd_goes_first(void **state)
{
	resumed = NSD_OK;
	come("c");
	turn();
	assert_int_equal(asked_count, 0);
	done(NSD_OK);
	assert_int_equal(asked_count, 1);
	done(NSD_OK);
	assert_ended("1:0 ");
}

/* Without memory for it, none is made that would not fit behind it. */
static void
version_of_the_last_xfrd_is_not_left_out(void **state)
{
	resumed = NSD_E_MEMORY;
	come("cc");
	turn();
	assert_int_equal(asked_count, 0);
	assert_ended("1:2 2:2 ");
	resumed = NSD_OK;
	come("c");
	turn();
	assert_int_equal(asked_count, 0);
	done(NSD_OK);
	assert_int_equal(asked_count, 1);
	done(NSD_OK);
	assert_ended("3:0 ");
}

static void
last_update_is_known(void **state)
{
	struct xfrd_updated last;

	come("cnc");
	turn();
	done(NSD_OK);
	assert_true(xfrd_client_update_find_last(&fixture.xfrd, apex, &last));
	assert_int_equal(last.serial, 3);
	assert_string_equal(last.source, "0.0.0.0");
	assert_ended("1:0 2:0 3:0 ");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

/* Digests and signatures are verified of a batch as a whole. */
static void
batch_that_is_refused_is_halved(void **state)
{
	come("cccc");
	turn();
	assert_int_equal(asked.to, 5);
	done(NSD_E_DIGEST);
	assert_ended("");
	assert_int_equal(asked.to, 3);
	done(NSD_OK);
	assert_ended("1:0 2:0 ");
	come("c");
	assert_int_equal(asked.to, 3);
	done(NSD_E_SIGNED);
	assert_int_equal(asked.to, 2);
	done(NSD_OK);
	assert_ended("3:0 ");
	assert_int_equal(asked.to, 2);
	done(NSD_E_DIGEST);
	assert_ended("4:5 ");
	done(NSD_OK);
	assert_ended("5:0 ");
}

/* The worker has given it up. */
static void
request_that_has_waited_for_long_is_not_made(void **state)
{
	come("coc");
	turn();
	assert_int_equal(asked.to, 3);
	done(NSD_OK);
	assert_ended("2:2 1:0 3:0 ");
}

static void
requests_of_a_zone_that_is_held_wait(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		const uint8_t *held = i == 0 ? apex : NULL;

		come("c");
		assert_int_equal(xfrd_client_update_hold(&fixture.xfrd, held),
			NSD_OK);
		turn();
		come("c");
		turn();
		assert_null(asked.on_end);
		xfrd_client_update_release(&fixture.xfrd, held);
		turn();
		assert_int_equal(asked.to, 3);
		done(NSD_OK);
	}
	assert_ended("1:0 2:0 3:0 4:0 ");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(requests_of_a_turn_are_one_batch),
		TEST(requests_that_come_meanwhile_are_the_next_batch),
		TEST(outcome_behind_a_change_waits_for_it),
		TEST(batch_that_fails_is_servfail_for_all),
		TEST(request_without_room_goes_into_the_next_batch),
		TEST(request_that_is_not_allowed_ends_alone),
		TEST(zone_that_goes_answers_what_waits),
		TEST(zone_that_cannot_change_says_so),
		TEST(zone_that_is_closed_amid_a_batch_refuses),
		TEST(version_of_the_last_xfrd_goes_first),
		TEST(version_of_the_last_xfrd_is_not_left_out),
		TEST(last_update_is_known),
		TEST(batch_that_is_refused_is_halved),
		TEST(request_that_has_waited_for_long_is_not_made),
		TEST(requests_of_a_zone_that_is_held_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
