/*
 * control_dump.c - the verb dumpzone: a zone in memory, as a zone file.
 *
 * The version is pinned for as long as the client reads, and a pin holds memory
 * back: there are few at a time, and each client has to be quick enough.
 */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"
#include "zone/table.h"
#include "zone/walk.h"
#include "zonefile/writer.h"

/* Octets of text in one turn of the loop. */
#define TURN_OCTETS (32u << 10)
/* After PATIENCE_SEC a client that takes less than this in a second is broken
 * off. */
#define PATIENCE_SEC 60
#define OCTETS_A_SEC (64u << 10)
#define LOOK_SEC 5

struct control_dump {
	struct xfrd *xfrd;
	struct control_dump **place; /* in control.dumps */
	struct ctl_call *call;
	struct event *event;
	struct store_pin pin;
	struct zone_cursor *cursor;
	struct zonefile_writer writer;
	int64_t begun_msec;
	uint64_t octets, records; /* printed so far */
};

/* Ends a dump and its call. */
static void
dump_end(struct control_dump *dump)
{
	struct ctl_call *call = dump->call;

	assert(*dump->place == dump);
	store_reader_unpin(dump->xfrd->reader, &dump->pin);
	*dump->place = NULL;
	zone_cursor_destroy(dump->cursor);
	zonefile_writer_fini(&dump->writer);
	event_free(dump->event);
	free(dump);
	ctl_end(call);
}

static void
dump_on_gone(struct ctl_call *call)
{
	dump_end(ctl_hooks(call)->ctx);
}

/* ---- turns --------------------------------------------------------------- */

/* Prints some more records. *more: there may be others. */
static enum nsd_err
dump_print(struct control_dump *dump, bool *more)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	enum nsd_err err = NSD_OK;
	struct zone_rr rr;

	if (out == NULL)
		return NSD_E_MEMORY;
	dump->writer.out = out;
	*more = true;
	while (err == NSD_OK && ftell(out) < (long)TURN_OCTETS
		&& (*more = zone_cursor_next(dump->cursor, &rr))) {
		err = zonefile_writer_rr(&dump->writer, rr.owner, rr.ttl_sec,
			rr.type, rr.rdata, rr.rdlen);
		dump->records++;
	}
	if (fclose(out) != 0 && err == NSD_OK)
		err = NSD_E_MEMORY;
	if (err == NSD_OK)
		ctl_write(dump->call, text, len);
	dump->octets += len;
	free(text);
	return err;
}

static void
dump_on_room(struct ctl_call *call)
{
	struct control_dump *dump = ctl_hooks(call)->ctx;
	bool more;
	enum nsd_err err = dump_print(dump, &more);

	assert(dump->call == call);
	if (err == NSD_OK && more)
		return;
	if (err == NSD_OK)
		ctl_printf(call, "; end of zone %s, %llu records\n",
			ctl_argument(call, 0),
			(unsigned long long)dump->records);
	else
		ctl_printf(call, "error out of memory\n");
	dump_end(dump);
}

static void
dump_on_time(evutil_socket_t fd, short what, void *arg)
{
	struct control_dump *dump = arg;
	int64_t sec = (clock_now_msec() - dump->begun_msec) / 1000;

	if (sec < PATIENCE_SEC
		|| dump->octets / OCTETS_A_SEC >= (uint64_t)sec)
		return;
	ctl_break_off(dump->call, "error the zone is read too slowly");
	dump_end(dump);
}

void
control_let_go(struct xfrd *xfrd, uint64_t epoch)
{
	for (unsigned i = 0; i < CONTROL_DUMPS_MAX; i++) {
		struct control_dump *dump = xfrd->control.dumps[i];

		if (dump == NULL || !store_reader_has_pinned(xfrd->reader,
				&dump->pin, epoch))
			continue;
		ctl_break_off(dump->call, "error the zone is read too slowly:"
			" old versions fill the store");
		dump_end(dump);
	}
}

/* ---- the verb ------------------------------------------------------------ */

/* Pins the served version of a zone. NSD_E_NOT_FOUND: none is served. */
static enum nsd_err
dump_pin(struct control_dump *dump, const uint8_t *apex, uint32_t *serial)
{
	struct store_reader *reader = dump->xfrd->reader;
	const struct store_view *view = xfrd_read_begin(dump->xfrd);
	store_ref entry, served = STORE_NONE;
	enum nsd_err err;

	err = store_reader_pin(reader, &dump->pin);
	if (err != NSD_OK)
		goto end;
	if (table_find_apex(view, apex, &entry) == NSD_OK)
		served = store_load_ref(&((const struct zone_entry *)
				store_get(view, entry))->zone);
	err = NSD_E_NOT_FOUND;
	if (served != STORE_NONE) {
		const struct zone *zone = store_get(view, served);

		*serial = zone->serial;
		err = zone_cursor_create(view, zone, apex, &dump->cursor);
	}
	if (err != NSD_OK)
		store_reader_unpin(reader, &dump->pin);
end:
	xfrd_read_end(dump->xfrd);
	return err;
}

/* Begins a dump in a free place, to be ended by dump_end; without NSD_OK
 * nothing is left. */
static enum nsd_err
dump_create(struct xfrd *xfrd, struct ctl_call *call, const uint8_t *apex,
	struct control_dump **place, uint32_t *serial)
{
	static const struct timeval look = {.tv_sec = LOOK_SEC};
	struct control_dump *dump = calloc(1, sizeof(*dump));
	enum nsd_err err;

	assert(*place == NULL);
	if (dump == NULL)
		return NSD_E_MEMORY;
	dump->xfrd = xfrd;
	dump->place = place;
	dump->call = call;
	dump->begun_msec = clock_now_msec();
	err = zonefile_writer_init(&dump->writer, NULL, apex);
	if (err != NSD_OK)
		goto free_dump;
	err = NSD_E_MEMORY;
	dump->event = event_new(xfrd->role.base, -1, EV_PERSIST, dump_on_time,
		dump);
	if (dump->event == NULL || event_add(dump->event, &look) == -1)
		goto free_event;
	err = dump_pin(dump, apex, serial);
	if (err != NSD_OK)
		goto free_event;
	*place = dump;
	return NSD_OK;
free_event:
	if (dump->event != NULL)
		event_free(dump->event);
	zonefile_writer_fini(&dump->writer);
free_dump:
	free(dump);
	return err;
}

void
control_on_dumpzone(struct xfrd *xfrd, struct ctl_call *call)
{
	const char *name = ctl_argument(call, 0);
	struct xfrd_zone *zone = control_find_zone(xfrd, call, name);
	struct control_dump **place = xfrd->control.dumps;
	char text[NAME_TEXT_MAX];
	uint32_t serial;
	unsigned i = 0;
	enum nsd_err err;

	if (zone == NULL)
		return;
	while (i < CONTROL_DUMPS_MAX && place[i] != NULL)
		i++;
	err = i < CONTROL_DUMPS_MAX
		? dump_create(xfrd, call, xfrd_zone_apex(zone), &place[i],
			&serial)
		: NSD_E_AGAIN;
	if (err == NSD_OK) {
		ctl_printf(call, "; zone %s, serial %u, as it is in memory\n",
			xfrd_zone_print_name(xfrd, zone, text),
			(unsigned)serial);
		ctl_hooks(call)->ctx = place[i];
		ctl_hooks(call)->on_gone = dump_on_gone;
		ctl_stream(call, dump_on_room);
		return;
	}
	if (err == NSD_E_NOT_FOUND)
		ctl_printf(call, "error zone %s is not loaded\n", name);
	else if (err == NSD_E_AGAIN)
		ctl_printf(call, "error %u zones are being dumped: try again"
				 " later\n", CONTROL_DUMPS_MAX);
	else
		ctl_printf(call, "error %s\n", err_text(err));
	ctl_end(call);
}
