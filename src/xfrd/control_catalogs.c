/* control_catalogs.c - the verb catalogs: sources of member zones, and what is
 * wrong with them. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_catalog.h"
#include "xfrd/xfrd_member_id.h"

/* Zones, and time, in one turn of the loop. */
#define TURN_ZONES 1000u
#define TURN_USEC 1000
/* Refused members that are named in a list of all sources. */
#define NAMED_MAX 10u
#define WHY_MAX 1500

/* A list of one catalog and its members. */
struct control_members {
	struct xfrd *xfrd;
	uint8_t apex[NAME_MAX_LEN]; /* in lower case */
	uint32_t next;              /* number of the zone to look at */
	bool is_json;
	struct ctl_json json;
};

/* ---- a source ------------------------------------------------------------ */

/* Prints a name as an operator writes it. */
static const char *
catalogs_print_name(const uint8_t *name, char out[NAME_TEXT_MAX])
{
	size_t len = name_print_text(name, out);

	if (len > 1)
		out[len - 1] = '\0';
	return out;
}

static void
catalogs_print_refused(struct ctl_json *json, bool is_json,
	const struct xfrd_members *members, unsigned most)
{
	char name[NAME_TEXT_MAX], why[WHY_MAX];
	const struct xfrd_refused *refused;

	if (is_json)
		ctl_json_open(json, "refused_members", '[');
	cds_list_for_each_entry(refused, &members->refused, node) {
		if (most-- == 0)
			break;
		(void)catalogs_print_name(refused->apex, name);
		(void)xfrd_members_print_refusal(refused, why, sizeof(why));
		if (!is_json) {
			ctl_printf(json->call, "\trefused-member: %s %s: %s\n",
				name, refused->id, why);
			continue;
		}
		ctl_json_open(json, NULL, '{');
		ctl_json_text(json, "zone", name);
		ctl_json_text(json, "id", refused->id);
		ctl_json_text(json, "text", why);
		ctl_json_close(json, '}');
	}
	if (is_json)
		ctl_json_close(json, ']');
}

static void
catalogs_print_invalid(struct ctl_json *json, bool is_json,
	const struct xfrd_catalog *catalog)
{
	char why[WHY_MAX];

	(void)xfrd_catalog_print_invalid(catalog, why, sizeof(why));
	if (!is_json) {
		if (*why != '\0')
			ctl_printf(json->call, "\tinvalid: %s\n", why);
		return;
	}
	if (*why == '\0') {
		ctl_json_text(json, "invalid", NULL);
		return;
	}
	ctl_json_open(json, "invalid", '{');
	ctl_json_number(json, "serial", *catalog->invalid != '\0'
			? catalog->invalid_serial
			: catalog->serial);
	ctl_json_text(json, "text", why);
	ctl_json_close(json, '}');
}

/* True if a version is being looked at, or done, or will be at once. */
static bool
catalogs_is_busy(const struct xfrd_catalog *catalog)
{
	return catalog->round != NULL || catalog->heard || catalog->whole
		|| catalog->again_count > 0;
}

/* Prints a consumed catalog; in JSON as an object that is left open. */
static void
catalogs_print_consumer(struct xfrd *xfrd, struct ctl_json *json, bool is_json,
	const struct xfrd_catalog *catalog, unsigned most)
{
	struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		catalog->apex);
	const struct xfrd_members *members = &catalog->members;
	uint64_t refused = members->refused_count + members->refused_more;
	unsigned long long count = xfrd_catalog_count(catalog);
	const char *state = catalogs_is_busy(catalog) ? "busy" : "idle";
	char name[NAME_TEXT_MAX];

	if (zone != NULL)
		(void)xfrd_zone_print_name(xfrd, zone, name);
	else
		(void)catalogs_print_name(catalog->apex, name);
	if (is_json) {
		ctl_json_open(json, NULL, '{');
		ctl_json_text(json, "source", name);
		ctl_json_text(json, "role", "consumer");
		ctl_json_text(json, "state", state);
		if (catalog->is_compared)
			ctl_json_number(json, "serial", catalog->serial);
		else
			ctl_json_text(json, "serial", NULL);
		ctl_json_number(json, "members", (long long)count);
		ctl_json_number(json, "refused", (long long)refused);
	} else {
		ctl_printf(json->call, "catalog:\t%s\n\trole: consumer\n"
			"\tstate: %s\n", name, state);
		if (catalog->is_compared)
			ctl_printf(json->call, "\tserial: %u\n",
				(unsigned)catalog->serial);
		else
			ctl_printf(json->call, "\tserial: none\n");
		ctl_printf(json->call, "\tmembers: %llu\n", count);
		if (refused > 0)
			ctl_printf(json->call, "\trefused: %llu\n",
				(unsigned long long)refused);
	}
	catalogs_print_invalid(json, is_json, catalog);
	catalogs_print_refused(json, is_json, members, most);
}

/* ---- all sources --------------------------------------------------------- */

static void
catalogs_print_all(struct xfrd *xfrd, struct ctl_call *call)
{
	struct ctl_json json = {.call = call};
	bool is_json = ctl_command(call)->json;
	const struct xfrd_catalog *catalog;

	if (is_json)
		ctl_json_open(&json, NULL, '[');
	cds_list_for_each_entry(catalog, &xfrd->catalogs, node) {
		catalogs_print_consumer(xfrd, &json, is_json, catalog,
			NAMED_MAX);
		if (is_json)
			ctl_json_close(&json, '}');
	}
	if (is_json) {
		ctl_json_close(&json, ']');
		ctl_printf(call, "\n");
	}
	ctl_end(call);
}

/* ---- members of one ------------------------------------------------------ */

/* Prints a zone, if it is a member. */
static void
members_print(struct control_members *list, struct ctl_call *call,
	struct xfrd_zone *zone)
{
	const char *id = xfrd_zone_member(&list->xfrd->zones.table, zone);
	uint8_t label[LABEL_MAX_LEN + 1], catalog[NAME_MAX_LEN];
	char name[NAME_TEXT_MAX];
	struct xfrd_options options;
	const char *pattern;

	if (id == NULL || !xfrd_member_id_parse(id, label, catalog)
		|| !name_equal(catalog, list->apex))
		return;
	(void)xfrd_zone_print_name(list->xfrd, zone, name);
	options = xfrd_options_begin(list->xfrd, zone);
	pattern = xfrd_options_pattern(&options);
	if (list->is_json) {
		ctl_json_open(&list->json, NULL, '{');
		ctl_json_text(&list->json, "zone", name);
		ctl_json_text(&list->json, "pattern", pattern);
		ctl_json_text(&list->json, "id", id);
		ctl_json_close(&list->json, '}');
	} else {
		ctl_printf(call, "\tmember: %s %s %s\n", name,
			pattern != NULL ? pattern : "", id);
	}
	xfrd_read_end(list->xfrd);
}

static void
members_on_gone(struct ctl_call *call)
{
	free(ctl_hooks(call)->ctx);
	ctl_end(call);
}

/* Zones may come and go meanwhile: some may be left out. */
static void
members_on_room(struct ctl_call *call)
{
	struct control_members *list = ctl_hooks(call)->ctx;
	const struct xfrd_zone_table *table = &list->xfrd->zones.table;
	int64_t end_usec = clock_now_usec() + TURN_USEC;

	for (unsigned i = 0; i < TURN_ZONES && list->next < table->end; i++) {
		struct xfrd_zone *zone = xfrd_zone_at(table, list->next++);

		if (zone != NULL)
			members_print(list, call, zone);
		if (i % 64 == 63 && clock_now_usec() >= end_usec)
			break;
	}
	if (list->next < table->end)
		return;
	if (list->is_json) {
		ctl_json_close(&list->json, ']');
		ctl_json_close(&list->json, '}');
		ctl_json_close(&list->json, ']');
		ctl_printf(call, "\n");
	}
	free(list);
	ctl_end(call);
}

static void
members_start(struct xfrd *xfrd, struct ctl_call *call,
	const struct xfrd_catalog *catalog)
{
	struct control_members *list = calloc(1, sizeof(*list));

	if (list == NULL) {
		ctl_printf(call, "error out of memory\n");
		ctl_end(call);
		return;
	}
	list->xfrd = xfrd;
	list->is_json = ctl_command(call)->json;
	list->json.call = call;
	memcpy(list->apex, catalog->apex, name_len(catalog->apex));
	/* The catalog is printed now: it may go before there is room. */
	if (list->is_json)
		ctl_json_open(&list->json, NULL, '[');
	catalogs_print_consumer(xfrd, &list->json, list->is_json, catalog,
		XFRD_REFUSED_MAX);
	if (list->is_json)
		ctl_json_open(&list->json, "member_zones", '[');
	ctl_hooks(call)->ctx = list;
	ctl_hooks(call)->on_gone = members_on_gone;
	ctl_stream(call, members_on_room);
}

/* ---- the verb ------------------------------------------------------------ */

/* Keys stay; others may come. doc/nsd-control.8 lists them. */
void
control_on_catalogs(struct xfrd *xfrd, struct ctl_call *call)
{
	const char *name = ctl_argument(call, 0);
	const struct xfrd_catalog *catalog;
	const struct xfrd_zone *zone;

	if (name == NULL) {
		catalogs_print_all(xfrd, call);
		return;
	}
	zone = control_find_zone(xfrd, call, name);
	if (zone == NULL)
		return;
	catalog = xfrd_catalog_find(xfrd, xfrd_zone_apex(zone));
	if (catalog != NULL) {
		members_start(xfrd, call, catalog);
		return;
	}
	ctl_printf(call, "error zone %s is no catalog\n", name);
	ctl_end(call);
}
