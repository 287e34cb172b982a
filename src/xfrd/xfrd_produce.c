/* xfrd_produce.c - which catalogs this server produces, which zones are their
 * members, and when their versions are made. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_edit.h"
#include "xfrd/xfrd_produce.h"
#include "zone/walk.h"

/* Zones, or records of a catalog, that are looked at in a turn of the loop. */
#define TURN_ZONES 500u
/* Names whose differences are one version, at most. */
#define VERSION_NAMES 500u
/* The pause after a version that has failed, at first; it doubles up to the
 * longest. */
#define PAUSE_SEC 1u
#define PAUSE_SEC_MAX 60u

/* ---- turns of the loop --------------------------------------------------- */

/* Has the next step taken after a pause, if none is to be taken before. */
static void
produce_step_after(struct produce_zone *z, unsigned sec)
{
	const struct timeval wait = {.tv_sec = sec};

	if (!event_pending(z->event, EV_TIMEOUT, NULL))
		event_add(z->event, &wait);
}

/* Has the next step taken in a later turn of the loop, so that changes of one
 * turn are one version. */
static void
produce_step_soon(struct produce_zone *z)
{
	produce_step_after(z, 0);
}

/* ---- names that may differ ----------------------------------------------- */

static int
produce_order_names(const void *a, const void *b)
{
	const struct produce_name *one = a, *other = b;

	return name_compare(one->owner, other->owner);
}

/* Notes a name. member: NULL, or the zone that its records are about. */
static void
produce_note_name(struct produce_zone *z, const uint8_t *owner,
	const uint8_t *member)
{
	struct produce_name *name = calloc(1, sizeof(*name)), **place;

	if (name == NULL) {
		z->again = true; /* all names are looked at later */
		return;
	}
	memcpy(name->owner, owner, name_len(owner));
	if (member != NULL)
		memcpy(name->member, member, name_len(member));
	place = tsearch(name, &z->names, produce_order_names);
	if (place != NULL && *place == name) {
		z->name_count++;
		return;
	}
	z->again |= place == NULL;
	/* A node that is another zone's now is about that one. */
	if (place != NULL && member != NULL
		&& xfrd_produce_is_member(z->xfrd, member, z->apex, owner))
		memcpy((*place)->member, name->member, NAME_MAX_LEN);
	free(name);
}

/* Takes any name. NULL: there is none. */
static struct produce_name *
produce_take_name(struct produce_zone *z)
{
	struct produce_name *name;

	if (z->names == NULL)
		return NULL;
	name = *(struct produce_name **)z->names;
	(void)tdelete(name, &z->names, produce_order_names);
	assert(z->name_count > 0);
	z->name_count--;
	return name;
}

static void
produce_drop_names(struct produce_zone *z)
{
	struct produce_name *name;

	while ((name = produce_take_name(z)) != NULL)
		free(name);
}

/* ---- catalogs ------------------------------------------------------------ */

/* True if a zone is published as a catalog that is produced here. */
static bool
zone_is_produced(struct xfrd *xfrd, const uint8_t *apex)
{
	struct xfrd_options options = xfrd_options_find(xfrd, apex);
	enum conf_catalog role = xfrd_options_catalog(&options);

	xfrd_read_end(xfrd);
	return role == CONF_CATALOG_PRODUCER;
}

struct produce_zone *
xfrd_produce_find(const struct xfrd *xfrd, const uint8_t *apex)
{
	struct produce_zone *z;

	cds_list_for_each_entry(z, &xfrd->produce.zones, node)
		if (name_equal(z->apex, apex))
			return z;
	return NULL;
}

/* Ends the walk over the served version, if there is one. */
static void
produce_close(struct produce_zone *z)
{
	if (z->cursor == NULL)
		return;
	zone_cursor_destroy(z->cursor);
	z->cursor = NULL;
	store_reader_unpin(z->xfrd->reader, &z->pin);
}

/* Compares all anew: from the names of the served version on. */
static void
produce_zone_restart(struct produce_zone *z)
{
	produce_close(z);
	z->next = 0;
	z->again = false;
	if (z->step > PRODUCE_RESUME)
		z->step = PRODUCE_SERVED;
}

/* ---- versions ------------------------------------------------------------ */

static void
produce_log(const struct produce_zone *z, enum nsd_err err, const char *why)
{
	char name[NAME_TEXT_MAX];
	size_t len = name_print_text(z->apex, name);

	name[len > 1 ? len - 1 : len] = '\0';
	log_error("xfrd: catalog producer zone %s: no version could be made:"
		  " %s", name, why != NULL ? why : err_text(err));
}

/* A version has failed: all is compared anew, after a pause. */
static void
produce_fail(struct produce_zone *z, enum nsd_err err, const char *why)
{
	if (z->pause_sec == 0)
		produce_log(z, err, why);
	z->pause_sec = z->pause_sec == 0 ? PAUSE_SEC : z->pause_sec * 2;
	if (z->pause_sec > PAUSE_SEC_MAX)
		z->pause_sec = PAUSE_SEC_MAX;
	z->more = 0;
	produce_zone_restart(z);
	/* Zones that have come meanwhile do not shorten the pause. */
	event_del(z->event);
	produce_step_after(z, z->pause_sec);
}

static void
produce_on_end(void *ctx, const struct xfrd_edit_end *end)
{
	struct produce_zone *z = ctx;

	assert(z->busy);
	z->busy = false;
	if (z->step == PRODUCE_RESUME)
		z->step = PRODUCE_SERVED;
	else if (end->err != NSD_OK) {
		produce_fail(z, end->err, end->why);
		return;
	}
	z->pause_sec = 0;
	z->serial = z->to;
	z->count += (uint64_t)z->more;
	z->more = 0;
	produce_step_soon(z);
}

static void
produce_ask(struct produce_zone *z, struct xfrd_edit_ask *ask,
	struct produce_text *text)
{
	enum nsd_err err = xfrd_produce_end(text);

	ask->apex = z->apex;
	ask->records = text->removed;
	ask->len = text->removed_len;
	ask->source = XFRD_EDIT_SOURCE;
	ask->on_end = produce_on_end;
	ask->ctx = z;
	z->more = text->more;
	z->to = ask->to;
	z->busy = true;
	if (z->xfrd->journal == NULL || xfrd_keep_is_lost(z->xfrd))
		err = NSD_E_DENIED;
	if (err == NSD_OK)
		err = xfrd_edit(z->xfrd, ask);
	if (err == NSD_OK)
		return;
	z->busy = false;
	produce_fail(z, err, err == NSD_E_DENIED ? z->xfrd->journal_why
						 : NULL);
}

/* Makes a version of the names that differ. Without a served version, the first
 * one, which has no members yet. */
static void
produce_make(struct produce_zone *z)
{
	struct xfrd_edit_ask ask = {.kind = XFR_DIFFS};
	struct produce_name apex = {.member = {0}}, *name;
	struct produce_text text;

	(void)xfrd_read_begin(z->xfrd);
	if (!xfrd_produce_begin(z->xfrd, z->apex, &text, &ask.from, &ask.to)) {
		ask.kind = XFR_WHOLE;
		z->is_counted = true;
		z->count = 0;
		memcpy(apex.owner, z->apex, name_len(z->apex));
		xfrd_produce_add(z->xfrd, z->apex, &apex, &text);
		if (xfrd_produce_find_version(z->apex, apex.owner))
			xfrd_produce_add(z->xfrd, z->apex, &apex, &text);
	}
	for (unsigned i = 0; i < VERSION_NAMES && ask.kind == XFR_DIFFS
		&& !text.is_full && (name = produce_take_name(z)) != NULL;
		i++) {
		xfrd_produce_add(z->xfrd, z->apex, name, &text);
		if (text.is_full)
			produce_note_name(z, name->owner, name->member);
		free(name);
	}
	xfrd_read_end(z->xfrd);
	if (text.records > 0 || text.failed)
		produce_ask(z, &ask, &text);
	else
		produce_step_soon(z);
	xfrd_produce_free(&text);
}

/* ---- comparing all ------------------------------------------------------- */

/* Pins the served version, and begins to walk over it. */
static enum nsd_err
produce_pin(struct produce_zone *z, const struct store_view *view,
	const struct zone *served)
{
	struct store_reader *reader = z->xfrd->reader;
	enum nsd_err err = store_reader_pin(reader, &z->pin);

	if (err != NSD_OK)
		return err;
	err = zone_cursor_create(view, served, z->apex, &z->cursor);
	if (err != NSD_OK)
		store_reader_unpin(reader, &z->pin);
	return err;
}

/* Begins to look at the names of the served version. False: there is none. */
static bool
produce_open(struct produce_zone *z)
{
	struct xfrd_options options = xfrd_options_find(z->xfrd, z->apex);
	store_ref ref = options.entry != NULL
		? store_load_ref(&options.entry->zone) : STORE_NONE;

	if (ref != STORE_NONE) {
		const struct zone *served = store_get(options.view, ref);

		z->serial = served->serial;
		z->again |= produce_pin(z, options.view, served) != NSD_OK;
	}
	xfrd_read_end(z->xfrd);
	memset(&z->at, 0, sizeof(z->at));
	z->walked = 0;
	return ref != STORE_NONE;
}

/* The name at hand is over. */
static void
produce_look_at(struct produce_zone *z)
{
	if (xfrd_produce_differs(z->xfrd, z->apex, &z->at))
		produce_note_name(z, z->at.owner,
			z->at.member[0] != 0 ? z->at.member : NULL);
}

/* Takes the PTR record of a member node. If there are several, the zone counts
 * whose node this is: it stays a member. */
static void
produce_take_ptr(struct produce_zone *z, const struct zone_rr *rr)
{
	if (z->at.member[0] != 0
		&& xfrd_produce_is_member(z->xfrd, z->at.member, z->apex,
			z->at.owner))
		return;
	memcpy(z->at.member, rr->rdata, rr->rdlen);
	name_lower(z->at.member);
}

/* Takes a record of the served version. What is below a member node is looked
 * at with it, as are the names that are other than its property. */
static void
produce_take_rr(struct produce_zone *z, const struct zone_rr *rr)
{
	const uint8_t *node = xfrd_produce_find_node(rr->owner, z->apex);

	if (!name_equal(node, z->at.owner)) {
		if (z->at.owner[0] != 0)
			produce_look_at(z);
		memset(&z->at, 0, sizeof(z->at));
		memcpy(z->at.owner, node, name_len(node));
	}
	z->walked += rr->type == TYPE_PTR;
	if (node != rr->owner && !xfrd_produce_is_group(rr->owner, node))
		produce_note_name(z, rr->owner, NULL);
	else if (node == rr->owner && rr->type == TYPE_PTR)
		produce_take_ptr(z, rr);
}

/* Looks at the next records of the served version. True: there are more. */
static bool
produce_walk(struct produce_zone *z)
{
	struct zone_rr rr;

	for (unsigned i = 0; i < TURN_ZONES; i++) {
		if (!zone_cursor_next(z->cursor, &rr)) {
			if (z->at.owner[0] != 0)
				produce_look_at(z);
			produce_close(z);
			z->count = z->walked;
			z->is_counted = true;
			return false;
		}
		produce_take_rr(z, &rr);
	}
	return true;
}

/* Notes the next zones that are to be members, and are not. True: there are
 * more. */
static bool
produce_look_zones(struct produce_zone *z)
{
	const struct xfrd_zone_table *table = &z->xfrd->zones.table;

	(void)xfrd_read_begin(z->xfrd);
	for (unsigned i = 0; i < TURN_ZONES && z->next < table->end
		&& z->name_count < VERSION_NAMES; i++) {
		const struct xfrd_zone *zone = xfrd_zone_at(table, z->next++);
		struct produce_name name = {.member = {0}};

		if (zone == NULL
			|| !xfrd_produce_find_owner(z->xfrd, zone, z->apex,
				name.owner))
			continue;
		memcpy(name.member, xfrd_zone_apex(zone),
			name_len(xfrd_zone_apex(zone)));
		if (xfrd_produce_differs(z->xfrd, z->apex, &name))
			produce_note_name(z, name.owner, name.member);
	}
	xfrd_read_end(z->xfrd);
	return z->next < table->end;
}

/* Has the apex and the version looked at, which may lack records. */
static void
produce_look_head(struct produce_zone *z)
{
	struct produce_name name = {.member = {0}};

	memcpy(name.owner, z->apex, name_len(z->apex));
	if (xfrd_produce_differs(z->xfrd, z->apex, &name))
		produce_note_name(z, name.owner, NULL);
	if (xfrd_produce_find_version(z->apex, name.owner)
		&& xfrd_produce_differs(z->xfrd, z->apex, &name))
		produce_note_name(z, name.owner, NULL);
}

/* Has the zone never expire: it may have been a secondary before. False: the
 * loader is to be told later. */
static bool
produce_end_expiry(struct produce_zone *z)
{
	const struct xfrd_zone *zone = xfrd_zone_find(&z->xfrd->zones.table,
		z->apex);
	struct xfrd_soa soa;

	return zone == NULL || !xfrd_zones_get_soa(z->xfrd, zone, &soa)
		|| soa.expires_sec == 0
		|| xfrd_loader_expire(z->xfrd, z->apex, IPC_EXPIRY_NEVER)
			== NSD_OK;
}

/* Has what the last xfrd has left published, before all else. */
static void
produce_resume(struct produce_zone *z)
{
	enum nsd_err err = xfrd_edit_resume(z->xfrd, z->apex, produce_on_end,
		z);

	z->busy = err == NSD_OK;
	if (err == NSD_E_MEMORY) {
		produce_step_after(z, PAUSE_SEC);
		return;
	}
	z->step = z->busy ? PRODUCE_RESUME : PRODUCE_SERVED;
	if (!z->busy)
		produce_step_soon(z);
}

/* Goes on with the comparison, or makes a version. */
static void
produce_step(struct produce_zone *z)
{
	if (z->busy)
		return;
	/* The zone may have been deleted, or have another pattern. */
	z->is_there = z->is_there && zone_is_produced(z->xfrd, z->apex);
	if (!z->is_there) {
		produce_close(z);
		return;
	}
	if (z->again && z->step > PRODUCE_RESUME)
		produce_zone_restart(z);
	if (z->step < PRODUCE_ZONES && !produce_end_expiry(z)) {
		produce_step_after(z, PAUSE_SEC);
		return;
	}
	switch (z->step) {
	case PRODUCE_BEGIN:
		produce_resume(z);
		return;
	case PRODUCE_RESUME:
		return;
	case PRODUCE_SERVED:
		if (z->cursor == NULL && !produce_open(z)) {
			produce_make(z);
			return;
		}
		if (z->cursor != NULL && !produce_walk(z)) {
			produce_look_head(z);
			z->step = PRODUCE_ZONES;
		}
		break;
	case PRODUCE_ZONES:
		if (z->name_count >= VERSION_NAMES) {
			produce_make(z);
			return;
		}
		if (!produce_look_zones(z))
			z->step = PRODUCE_READY;
		break;
	case PRODUCE_READY:
		if (z->name_count > 0)
			produce_make(z);
		return;
	}
	produce_step_soon(z);
}

static void
produce_on_step(evutil_socket_t fd, short what, void *arg)
{
	produce_step(arg);
}

/* ---- which catalogs there are -------------------------------------------- */

static void
produce_zone_free(struct produce_zone *z)
{
	assert(!z->busy);
	cds_list_del(&z->node);
	produce_drop_names(z);
	produce_close(z);
	event_free(z->event);
	free(z);
}

/* Has a catalog looked after. False: there is no memory for it now. */
static bool
produce_zone_begin(struct xfrd *xfrd, const uint8_t *apex)
{
	struct produce_zone *z = xfrd_produce_find(xfrd, apex);

	if (z == NULL) {
		z = calloc(1, sizeof(*z));
		if (z == NULL)
			return false;
		z->xfrd = xfrd;
		memcpy(z->apex, apex, name_len(apex));
		z->event = event_new(xfrd->role.base, -1, 0, produce_on_step,
			z);
		if (z->event == NULL) {
			free(z);
			return false;
		}
		cds_list_add_tail(&z->node, &xfrd->produce.zones);
	}
	z->is_there = true;
	z->again = true;
	z->pause_sec = 0;
	produce_step_soon(z);
	return true;
}

/* Forgets catalogs that are there no more. */
static void
produce_sweep(struct xfrd *xfrd)
{
	struct produce_zone *z, *next;

	cds_list_for_each_entry_safe(z, next, &xfrd->produce.zones, node)
		if (!z->is_there && !z->busy)
			produce_zone_free(z);
}

static void
produce_on_look(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;
	struct xfrd_produce *produce = &xfrd->produce;
	const struct xfrd_zone_table *table = &xfrd->zones.table;
	struct timeval wait = {.tv_sec = 0};

	(void)xfrd_read_begin(xfrd);
	for (unsigned i = 0; i < TURN_ZONES && produce->next < table->end;
		i++) {
		const struct xfrd_zone *zone = xfrd_zone_at(table,
			produce->next);

		if (zone != NULL) {
			struct xfrd_options options = xfrd_options_begin(xfrd,
				zone);
			bool is_producer = xfrd_options_catalog(&options)
				== CONF_CATALOG_PRODUCER;

			xfrd_read_end(xfrd);
			if (is_producer && !produce_zone_begin(xfrd,
						   xfrd_zone_apex(zone))) {
				wait.tv_sec = 1;
				break;
			}
		}
		produce->next++;
	}
	xfrd_read_end(xfrd);
	produce->looking = produce->next < table->end;
	if (produce->looking)
		event_add(produce->event, &wait);
	else
		produce_sweep(xfrd);
}

void
xfrd_produce_look_at_served(struct xfrd *xfrd)
{
	struct produce_zone *z;
	struct xfrd_soa soa;

	cds_list_for_each_entry(z, &xfrd->produce.zones, node) {
		const struct xfrd_zone *zone = xfrd_zone_find(
			&xfrd->zones.table, z->apex);

		if (z->busy || z->step <= PRODUCE_RESUME || zone == NULL
			|| !xfrd_zones_get_soa(xfrd, zone, &soa)
			|| soa.numbers.serial == z->serial)
			continue;
		z->again = true;
		produce_step_soon(z);
	}
}

void
xfrd_produce_let_go(struct xfrd *xfrd, uint64_t epoch)
{
	struct produce_zone *z;

	/* A zone with a cursor has its next step taken soon. */
	cds_list_for_each_entry(z, &xfrd->produce.zones, node)
		if (z->cursor != NULL
			&& store_reader_has_pinned(xfrd->reader, &z->pin,
				epoch))
			produce_zone_restart(z);
}

void
xfrd_produce_look(struct xfrd *xfrd)
{
	static const struct timeval at_once = {.tv_sec = 0};
	struct produce_zone *z;

	cds_list_for_each_entry(z, &xfrd->produce.zones, node)
		z->is_there = false;
	xfrd->produce.looking = true;
	xfrd->produce.next = 0;
	event_add(xfrd->produce.event, &at_once);
}

bool
xfrd_produce_find_count(const struct xfrd *xfrd, const uint8_t *apex,
	uint64_t *count)
{
	const struct produce_zone *z = xfrd_produce_find(xfrd, apex);

	if (z == NULL || !z->is_counted)
		return false;
	*count = z->count;
	return true;
}

void
xfrd_produce_note(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	struct produce_zone *z;
	uint8_t owner[NAME_MAX_LEN];
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	bool is_catalog = xfrd_options_catalog(&options)
		== CONF_CATALOG_PRODUCER;

	xfrd_read_end(xfrd);
	/* Without memory the catalog is found by the next look. */
	if (is_catalog)
		(void)produce_zone_begin(xfrd, xfrd_zone_apex(zone));
	cds_list_for_each_entry(z, &xfrd->produce.zones, node) {
		if (!xfrd_produce_find_owner(xfrd, zone, z->apex, owner))
			continue;
		produce_note_name(z, owner, xfrd_zone_apex(zone));
		produce_step_soon(z);
	}
}

enum nsd_err
xfrd_produce_init(struct xfrd *xfrd)
{
	CDS_INIT_LIST_HEAD(&xfrd->produce.zones);
	xfrd->produce.event = event_new(xfrd->role.base, -1, 0,
		produce_on_look, xfrd);
	return xfrd->produce.event != NULL ? NSD_OK : NSD_E_MEMORY;
}
