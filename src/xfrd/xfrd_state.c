/*
 * xfrd_state.c - keeps the timers of zones over a restart, in xfrdfile
 * (xfr/state.h).
 *
 * The file is opened before this process is confined, and written in place: it
 * may reach no folder but that of the journal. A file that was being written
 * when the power failed is wrong as a whole and counts as none; then all zones
 * are checked soon.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "conf/chroot.h"
#include "xfr/state.h"
#include "xfrd/xfrd.h"

#define READ_SIZE 65536u
#define WRITE_SIZE (256u * 1024)
/* Few zones are written often, many seldom; an expiry soon. */
#define SAVE_SEC 60
#define SAVE_MANY_SEC 3600
#define MANY 20000u
/* Zones in a turn of the loop, 0.1 ms: a transfer takes some ten turns, and
 * each waits for this. */
#define TURN_ZONES 40
#define MINIMUM_LEN 4u

/* ---- reading ------------------------------------------------------------- */

static void
state_on_diag(struct diag_sink *sink, const struct diag *d)
{
	log_write(log_diag_level(d), "xfrd: %s:%lu: %s", d->file,
		(unsigned long)d->line, d->text);
}

static void
state_keep_zone(void *ctx, const struct xfr_state_zone *zone)
{
	struct xfrd *xfrd = ctx;
	struct xfrd_zone_table *table = &xfrd->zones.table;
	struct xfrd_zone *of = xfrd_zone_find(table, zone->name);
	struct xfrd_past *past = of != NULL
		? xfrd_zone_get_past(table, of) : NULL;
	struct xfrd_state_zone *kept;

	/* Without memory the zone is checked soon. */
	if (past == NULL || past->state.is_known)
		return;
	kept = &past->state;
	kept->is_known = true;
	kept->state = zone->state;
	kept->next_timeout_sec = zone->next_timeout_sec;
	kept->backoff = zone->backoff;
	for (unsigned i = 0; i < XFR_STATE_SOAS; i++) {
		kept->soas[i].acquired_sec = zone->soas[i].acquired_sec;
		kept->soas[i].serial = zone->soas[i].serial;
		kept->soas[i].refresh_sec = zone->soas[i].refresh_sec;
		kept->soas[i].retry_sec = zone->soas[i].retry_sec;
		kept->soas[i].expire_sec = zone->soas[i].expire_sec;
	}
}

/* Reads the file once. keep: keeps the states of zones; else it is only
 * checked. */
static enum nsd_err
state_read(struct xfrd *xfrd, bool keep)
{
	struct diag_sink sink = {.on_diag = state_on_diag};
	static struct xfr_state_parser parser; /* large */
	static char text[READ_SIZE];
	enum nsd_err err = NSD_OK;
	off_t at = 0;
	ssize_t n;

	xfr_state_parse_begin(&parser,
		xfrd->role.server->conf->server.xfrdfile, &sink);
	parser.on_zone = keep ? state_keep_zone : NULL;
	parser.context = xfrd;
	while (err == NSD_OK
		&& (n = pread(xfrd->state.fd, text, sizeof(text), at)) > 0) {
		err = xfr_state_parse(&parser, text, (size_t)n);
		at += n;
	}
	if (err == NSD_OK && at > 0)
		err = xfr_state_parse_end(&parser);
	xfrd->state.filetime_sec = parser.filetime_sec;
	return at > 0 ? err : NSD_E_NOT_FOUND;
}

/* The state of a zone by the file; NULL: none. */
static struct xfrd_state_zone *
state_kept(const struct xfrd_zone *zone)
{
	return zone->past != NULL && zone->past->state.is_known
		? &zone->past->state : NULL;
}

void
xfrd_state_get_start(struct xfrd *xfrd, const struct xfrd_zone *of,
	const struct xfrd_soa *served, struct xfr_start *start)
{
	const struct xfrd_state_zone *kept = state_kept(of);
	const struct xfr_state_clocks clocks = {
		.real_sec = (int64_t)time(NULL),
		.now = clock_now_msec(),
	};
	static struct xfr_state_zone zone; /* large */

	assert(of->handle == XFR_NONE);
	if (kept != NULL) {
		zone = (struct xfr_state_zone){
			.state = kept->state,
			.next_timeout_sec = kept->next_timeout_sec,
			.backoff = kept->backoff,
			.next_master = -1,
			.round_num = -1,
		};
		for (unsigned i = 0; i < XFR_STATE_SOAS; i++) {
			struct xfr_state_soa *soa = &zone.soas[i];

			soa->acquired_sec = kept->soas[i].acquired_sec;
			soa->serial = kept->soas[i].serial;
			soa->refresh_sec = kept->soas[i].refresh_sec;
			soa->retry_sec = kept->soas[i].retry_sec;
			soa->expire_sec = kept->soas[i].expire_sec;
		}
	}
	xfr_state_to_start(kept != NULL ? &zone : NULL,
		xfrd->state.filetime_sec, &clocks,
		served != NULL ? &served->numbers : NULL, start);
	if (served != NULL && served->expires_sec != 0)
		start->expire_at = (int64_t)served->expires_sec * 1000;
}

void
xfrd_state_make_due(struct xfrd_zone *zone)
{
	struct xfrd_state_zone *kept = state_kept(zone);

	if (kept != NULL)
		kept->next_timeout_sec = 0;
}

static struct timeval
state_pause(const struct xfrd *xfrd)
{
	return (struct timeval){
		.tv_sec = xfrd->zones.table.count > MANY
			? SAVE_MANY_SEC
			: SAVE_SEC,
	};
}

void
xfrd_state_drop(struct xfrd *xfrd)
{
	struct xfrd_state *state = &xfrd->state;

	/* The count of zones stands in the head of the file: it is written
	 * from the beginning, later, as more zones may go. */
	if (state->saving) {
		struct timeval later = state_pause(xfrd);

		assert(state->event != NULL);
		state->saving = false;
		event_add(state->event, &later);
	}
}

/* ---- writing ------------------------------------------------------------- */

static void
state_fail(struct xfrd *xfrd)
{
	if (!xfrd->state.failed)
		log_error("xfrd: cannot write %s: %s",
			xfrd->role.server->conf->server.xfrdfile,
			strerror(errno));
	xfrd->state.failed = true;
}

static void
state_flush(struct xfrd *xfrd)
{
	struct xfrd_state *state = &xfrd->state;
	size_t at = 0;

	assert(state->len <= WRITE_SIZE && state->fd != -1);
	while (at < state->len && !state->failed) {
		ssize_t n = pwrite(state->fd, state->text + at,
			state->len - at, state->offset);

		if (n == -1 && errno != EINTR)
			state_fail(xfrd);
		at += n > 0 ? (size_t)n : 0;
		state->offset += n > 0 ? n : 0;
	}
	state->len = 0;
}

/* Returns the room for another text. */
static char *
state_room(struct xfrd *xfrd)
{
	if (WRITE_SIZE - xfrd->state.len < XFR_STATE_TEXT_MAX)
		state_flush(xfrd);
	assert(WRITE_SIZE - xfrd->state.len >= XFR_STATE_TEXT_MAX);
	return xfrd->state.text + xfrd->state.len;
}

/* True if a zone is in the file. Those that have come since its count was
 * written are not. */
static bool
state_has(const struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	return zone != NULL && zone->handle != XFR_NONE
		&& zone->incarnation <= xfrd->state.incarnation
		&& xfr_is_secondary(xfrd->zones.machine, zone->handle);
}

/* Puts values of the served SOA into all SOAs of the file: the journal has a
 * version before it is served. */
static void
state_fill_soas(const struct xfrd_soa *soa, struct xfr_state_zone *zone)
{
	const uint8_t *rname = soa->rdata + name_len(soa->rdata);

	for (unsigned i = 0; i < XFR_STATE_SOAS; i++) {
		struct xfr_state_soa *out = &zone->soas[i];

		if (out->acquired_sec == 0)
			continue;
		out->ttl_sec = soa->ttl_sec;
		memcpy(out->mname, soa->rdata, name_len(soa->rdata));
		memcpy(out->rname, rname, name_len(rname));
		out->minimum_sec = octets_get_u32(soa->rdata + soa->len
			- MINIMUM_LEN);
	}
}

static void
state_put_zone(struct xfrd *xfrd, const struct xfrd_zone *of)
{
	const struct xfr_state_clocks clocks = {
		.real_sec = xfrd->state.filetime_sec,
		.now = clock_now_msec(),
	};
	static struct xfr_state_zone zone; /* large */
	struct xfr_status status;
	struct xfrd_soa soa;

	xfr_get_status(xfrd->zones.machine, of->handle, clocks.now, &status);
	memset(&zone, 0, sizeof(zone));
	xfr_state_from_status(&status, &clocks, &zone);
	memcpy(zone.name, xfrd_zone_apex(of), name_len(xfrd_zone_apex(of)));
	if (xfrd_zones_get_soa(xfrd, of, &soa))
		state_fill_soas(&soa, &zone);
	else
		memset(zone.soas, 0, sizeof(zone.soas));
	xfrd->state.len += xfr_state_print_zone(&zone, clocks.real_sec,
		state_room(xfrd));
}

static void
state_begin(struct xfrd *xfrd)
{
	struct xfrd_state *state = &xfrd->state;
	const struct xfrd_zone_table *table = &xfrd->zones.table;
	uint32_t zones = 0;

	/* Zones are all known: before that, the file would lose some. */
	assert(xfrd->zones.told && state->event != NULL);
	state->incarnation = xfrd->zones.incarnation;
	for (uint32_t i = 0; i < table->end; i++)
		zones += state_has(xfrd, xfrd_zone_at(table, i));
	state->len = 0;
	state->offset = 0;
	state->failed = false;
	state->next = 0;
	state->filetime_sec = (int64_t)time(NULL);
	state->len += xfr_state_print_head(state->filetime_sec, zones,
		state_room(xfrd));
}

/* The file may have been longer: it is not cut, but filled up with blanks. */
static void
state_end(struct xfrd *xfrd)
{
	struct xfrd_state *state = &xfrd->state;
	struct stat st;

	assert(state->next >= xfrd->zones.table.end);
	state->len += xfr_state_print_tail(state_room(xfrd));
	state_flush(xfrd);
	if (state->failed || fstat(state->fd, &st) == -1)
		return;
	while (state->offset < st.st_size && !state->failed) {
		off_t rest = st.st_size - state->offset;

		state->len = rest < (off_t)WRITE_SIZE ? (size_t)rest
						      : WRITE_SIZE;
		memset(state->text, '\n', state->len);
		state_flush(xfrd);
	}
}

/* Writes some zones. False: the file is written. */
static bool
state_step(struct xfrd *xfrd, size_t zones)
{
	const struct xfrd_zone_table *table = &xfrd->zones.table;
	struct xfrd_state *state = &xfrd->state;

	while (state->next < table->end && zones-- > 0) {
		const struct xfrd_zone *zone = xfrd_zone_at(table,
			state->next++);

		if (state_has(xfrd, zone))
			state_put_zone(xfrd, zone);
	}
	if (state->next < table->end)
		return true;
	state_end(xfrd);
	return false;
}

void
xfrd_state_save_soon(struct xfrd *xfrd)
{
	static const struct timeval soon = {.tv_usec = 200000};

	/* With many zones, the file is not written for each that expires. */
	if (xfrd->state.event != NULL && !xfrd->state.saving
		&& xfrd->zones.table.count <= MANY)
		event_add(xfrd->state.event, &soon);
}

static void
state_on_time(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval at_once = {.tv_sec = 0};
	struct xfrd *xfrd = arg;
	struct timeval later = state_pause(xfrd);
	bool more;

	/* Before all zones are known, the file that is there is better. */
	if (!xfrd->zones.told) {
		event_add(xfrd->state.event, &later);
		return;
	}
	if (!xfrd->state.saving)
		state_begin(xfrd);
	more = state_step(xfrd, TURN_ZONES);
	xfrd->state.saving = more;
	event_add(xfrd->state.event, more ? &at_once : &later);
}

void
xfrd_state_save(struct xfrd *xfrd)
{
	/* Before the zones are known, the file that is there is better. */
	if (xfrd->state.event == NULL || !xfrd->zones.told)
		return;
	state_begin(xfrd);
	while (state_step(xfrd, TURN_ZONES))
		role_heartbeat(&xfrd->role);
}

/* ---- start --------------------------------------------------------------- */

void
xfrd_state_init(struct xfrd *xfrd)
{
	struct timeval later = state_pause(xfrd);
	const struct server *server = xfrd->role.server;
	const char *file = server->conf->server.xfrdfile;
	struct xfrd_state *state = &xfrd->state;

	if (file == NULL || *file == '\0')
		return;
	state->text = malloc(WRITE_SIZE);
	state->fd = open(conf_path_in_chroot(server->chroot, file),
		O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
	if (state->fd == -1) {
		log_error("xfrd: cannot open %s, timers of zones are not kept:"
			  " %s", file, strerror(errno));
		return;
	}
	if (state->text == NULL)
		return;
	/* A wrong file counts as none: it is read twice. */
	if (state_read(xfrd, false) == NSD_OK)
		(void)state_read(xfrd, true);
	state->event = event_new(xfrd->role.base, -1, 0, state_on_time, xfrd);
	if (state->event != NULL)
		event_add(state->event, &later);
}
