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

/* A source, as it is told of. */
struct catalogs_source {
	const char *role;
	bool is_busy;       /* members come and go, or may do so at once */
	bool has_serial;
	uint32_t serial;    /* of the version that members follow */
	bool has_count;
	uint64_t count;     /* members that are here */
	const struct xfrd_members *members; /* refused ones; NULL: none */
	uint32_t invalid_serial;
	char invalid[WHY_MAX]; /* why it is not followed; empty: it is */
	unsigned gone;      /* of a folder: members without a file, and for */
	int64_t gone_sec;   /* how long they stay if nothing comes */
	const char *path;   /* of a folder; NULL: of a zone, its name: */
	char text[NAME_TEXT_MAX];
};

/* A list of one catalog and its members. */
struct control_members {
	struct xfrd *xfrd;
	uint8_t apex[NAME_MAX_LEN]; /* in lower case; of a folder: */
	char *pattern;              /* name of its pattern; else NULL */
	uint32_t next;              /* number of the zone to look at */
	bool is_json;
	struct ctl_json json;
};

/* ---- kinds of sources ---------------------------------------------------- */

/* Prints a name as an operator writes it. */
static const char *
catalogs_print_name(const uint8_t *name, char out[NAME_TEXT_MAX])
{
	size_t len = name_print_text(name, out);

	if (len > 1)
		out[len - 1] = '\0';
	return out;
}

static struct catalogs_source
source_begin(struct xfrd *xfrd, const uint8_t *apex, const char *role)
{
	struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table, apex);
	struct catalogs_source source = {.role = role};

	if (zone != NULL)
		(void)xfrd_zone_print_name(xfrd, zone, source.text);
	else
		(void)catalogs_print_name(apex, source.text);
	return source;
}

static struct catalogs_source
source_of_consumer(struct xfrd *xfrd, const struct xfrd_catalog *catalog)
{
	struct catalogs_source source = source_begin(xfrd, catalog->apex,
		"consumer");

	source.is_busy = catalog->round != NULL || catalog->heard
		|| catalog->whole || catalog->again_count > 0;
	source.has_serial = catalog->is_compared;
	source.serial = catalog->serial;
	source.has_count = true;
	source.count = xfrd_catalog_count(catalog);
	source.members = &catalog->members;
	(void)xfrd_catalog_print_invalid(catalog, source.invalid, WHY_MAX);
	source.invalid_serial = *catalog->invalid != '\0'
		? catalog->invalid_serial : catalog->serial;
	return source;
}

static struct catalogs_source
source_of_producer(struct xfrd *xfrd, const struct produce_zone *produced)
{
	struct catalogs_source source = source_begin(xfrd, produced->apex,
		"producer");
	const struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		produced->apex);
	struct xfrd_soa soa;

	source.is_busy = produced->step != PRODUCE_READY || produced->busy
		|| produced->again || produced->name_count > 0;
	source.has_count = xfrd_produce_find_count(xfrd, produced->apex,
		&source.count);
	source.has_serial = zone != NULL && xfrd_zones_get_soa(xfrd, zone,
		&soa);
	if (source.has_serial)
		source.serial = soa.numbers.serial;
	return source;
}

static const char *
folder_path(const struct xfrd_folder *folder)
{
	return folder->name + strlen("zone-directory ");
}

static struct catalogs_source
source_of_folder(const struct xfrd_folder *folder)
{
	struct catalogs_source source = {
		.path = folder_path(folder),
		.role = "zone-directory",
		.is_busy = folder->step != XFRD_FOLDER_IDLE,
		.has_count = folder->is_read,
		.count = folder->count,
		.members = &folder->members,
	};
	int64_t gone_msec;

	source.gone = xfrd_watch_count_gone(&folder->watch, &gone_msec);
	source.gone_sec = (gone_msec + 999) / 1000;
	(void)xfrd_folder_print_fault(folder, source.invalid, WHY_MAX);
	return source;
}

/* ---- texts of a source --------------------------------------------------- */

static void
source_print_refused(struct ctl_json *json, bool is_json,
	const struct xfrd_members *members, unsigned most)
{
	char name[NAME_TEXT_MAX], why[WHY_MAX];
	const struct xfrd_refused_member *refused;

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
}

/* Prints an object, which is left open. most: refused members. */
static void
source_print_json(struct ctl_json *json, const struct catalogs_source *source,
	uint64_t refused, unsigned most)
{
	ctl_json_open(json, NULL, '{');
	ctl_json_text(json, "source", source->path != NULL ? source->path
		: source->text);
	ctl_json_text(json, "role", source->role);
	ctl_json_text(json, "state", source->is_busy ? "busy" : "idle");
	if (source->has_serial)
		ctl_json_number(json, "serial", source->serial);
	else
		ctl_json_text(json, "serial", NULL);
	if (source->has_count)
		ctl_json_number(json, "members", (long long)source->count);
	else
		ctl_json_text(json, "members", NULL);
	if (*source->invalid != '\0') {
		ctl_json_open(json, "invalid", '{');
		if (source->path == NULL)
			ctl_json_number(json, "serial",
				source->invalid_serial);
		ctl_json_text(json, "text", source->invalid);
		ctl_json_close(json, '}');
	} else {
		ctl_json_text(json, "invalid", NULL);
	}
	if (source->path != NULL)
		ctl_json_number(json, "missing", source->gone);
	ctl_json_number(json, "refused", (long long)refused);
	ctl_json_open(json, "refused_members", '[');
	if (source->members != NULL)
		source_print_refused(json, true, source->members, most);
	ctl_json_close(json, ']');
}

static void
source_print_head(struct ctl_call *call, const struct catalogs_source *source)
{
	const char *state = source->is_busy ? "busy" : "idle";

	if (source->path != NULL) {
		ctl_printf(call, "zone-directory:\t%s\n\tstate: %s\n",
			source->path, state);
		return;
	}
	ctl_printf(call, "catalog:\t%s\n\trole: %s\n\tstate: %s\n",
		source->text, source->role, state);
	if (source->has_serial)
		ctl_printf(call, "\tserial: %u\n", (unsigned)source->serial);
	else
		ctl_printf(call, "\tserial: none\n");
}

/* Prints lines; or an object, which is left open. most: refused members that
 * are named. */
static void
source_print(struct ctl_json *json, bool is_json,
	const struct catalogs_source *source, unsigned most)
{
	const struct xfrd_members *members = source->members;
	uint64_t refused = members == NULL ? 0
		: members->refused_count + members->refused_more;

	if (is_json) {
		source_print_json(json, source, refused, most);
		return;
	}
	source_print_head(json->call, source);
	if (source->has_count)
		ctl_printf(json->call, "\tmembers: %llu\n",
			(unsigned long long)source->count);
	if (source->gone > 0)
		ctl_printf(json->call, "\tmissing: %u files: their zones go in"
			" %lld s unless files come\n", source->gone,
			(long long)source->gone_sec);
	if (refused > 0)
		ctl_printf(json->call, "\trefused: %llu\n",
			(unsigned long long)refused);
	if (*source->invalid != '\0' && source->path != NULL)
		ctl_printf(json->call, "\tinvalid: %s\n", source->invalid);
	else if (*source->invalid != '\0')
		ctl_printf(json->call, "\tinvalid: serial %u: %s\n",
			(unsigned)source->invalid_serial, source->invalid);
	if (members != NULL)
		source_print_refused(json, false, members, most);
}

/* ---- all sources --------------------------------------------------------- */

static void
catalogs_print(struct ctl_json *json, bool is_json,
	const struct catalogs_source *source)
{
	source_print(json, is_json, source, NAMED_MAX);
	if (is_json)
		ctl_json_close(json, '}');
}

static void
catalogs_print_all(struct xfrd *xfrd, struct ctl_call *call)
{
	struct ctl_json json = {.call = call};
	bool is_json = ctl_command(call)->json;
	const struct xfrd_catalog *catalog;
	const struct produce_zone *produced;
	const struct xfrd_folder *folder;
	struct catalogs_source source;

	if (is_json)
		ctl_json_open(&json, NULL, '[');
	cds_list_for_each_entry(catalog, &xfrd->catalogs, node) {
		source = source_of_consumer(xfrd, catalog);
		catalogs_print(&json, is_json, &source);
	}
	cds_list_for_each_entry(produced, &xfrd->produce.zones, node) {
		source = source_of_producer(xfrd, produced);
		catalogs_print(&json, is_json, &source);
	}
	cds_list_for_each_entry(folder, &xfrd->folders.list, node) {
		source = source_of_folder(folder);
		catalogs_print(&json, is_json, &source);
	}
	if (is_json) {
		ctl_json_close(&json, ']');
		ctl_printf(call, "\n");
	}
	ctl_end(call);
}

/* ---- members of one ------------------------------------------------------ */

/* Finds the ID of a member of the catalog: a zone may be one of another, too.
 * out: room for it. NULL: it is none. */
static const char *
members_find_id(const struct control_members *list,
	const struct xfrd_zone *zone, const struct xfrd_options *options,
	char out[NAME_TEXT_MAX])
{
	const char *id = xfrd_zone_member(&list->xfrd->zones.table, zone);
	uint8_t label[LABEL_MAX_LEN + 1], name[NAME_MAX_LEN];

	if (list->pattern != NULL) {
		const char *pattern = xfrd_options_pattern(options);

		return id != NULL && strcmp(id, XFRD_MEMBER_OF_FOLDER) == 0
			&& pattern != NULL
			&& strcmp(pattern, list->pattern) == 0 ? id : NULL;
	}
	if (id != NULL && xfrd_member_id_parse(id, label, name)
		&& name_equal(name, list->apex))
		return id;
	if (!xfrd_produce_find_member(list->xfrd, zone, options, list->apex,
			name))
		return NULL;
	(void)name_print_text(name, out);
	return out;
}

/* Prints a zone, if it is a member. */
static void
members_print(struct control_members *list, struct ctl_call *call,
	struct xfrd_zone *zone)
{
	struct xfrd_options options = xfrd_options_begin(list->xfrd, zone);
	char text[NAME_TEXT_MAX], name[NAME_TEXT_MAX];
	const char *id = members_find_id(list, zone, &options, text);
	const char *pattern = xfrd_options_pattern(&options);

	if (id == NULL) {
		xfrd_read_end(list->xfrd);
		return;
	}
	(void)xfrd_zone_print_name(list->xfrd, zone, name);
	if (list->is_json) {
		ctl_json_open(&list->json, NULL, '{');
		ctl_json_text(&list->json, "zone", name);
		ctl_json_text(&list->json, "pattern", pattern);
		ctl_json_text(&list->json, "id", id);
		ctl_json_close(&list->json, '}');
	} else {
		ctl_printf(call, "\tmember: %s %s %s\n", name,
			pattern != NULL ? pattern : "-", id);
	}
	xfrd_read_end(list->xfrd);
}

static void
members_free(struct control_members *list)
{
	free(list->pattern);
	free(list);
}

static void
members_on_gone(struct ctl_call *call)
{
	members_free(ctl_hooks(call)->ctx);
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
	members_free(list);
	ctl_end(call);
}

/* Lists a source and its members. apex: of a catalog; pattern: of a folder;
 * the other one: NULL. */
static void
members_start(struct xfrd *xfrd, struct ctl_call *call, const uint8_t *apex,
	const char *pattern, const struct catalogs_source *source)
{
	struct control_members *list = calloc(1, sizeof(*list));

	if (list != NULL && pattern != NULL) {
		list->pattern = strdup(pattern);
		if (list->pattern == NULL) {
			free(list);
			list = NULL;
		}
	}
	if (list == NULL) {
		ctl_printf(call, "error out of memory\n");
		ctl_end(call);
		return;
	}
	list->xfrd = xfrd;
	list->is_json = ctl_command(call)->json;
	list->json.call = call;
	if (apex != NULL)
		memcpy(list->apex, apex, name_len(apex));
	/* The catalog is printed now: it may go before there is room. */
	if (list->is_json)
		ctl_json_open(&list->json, NULL, '[');
	source_print(&list->json, list->is_json, source, XFRD_REFUSED_MAX);
	if (list->is_json)
		ctl_json_open(&list->json, "member_zones", '[');
	ctl_hooks(call)->ctx = list;
	ctl_hooks(call)->on_gone = members_on_gone;
	ctl_stream(call, members_on_room);
}

/* ---- the verb ------------------------------------------------------------ */

/* Lists a folder, by its path. False: there is none. */
static bool
catalogs_find_folder(struct xfrd *xfrd, struct ctl_call *call,
	const char *path)
{
	const struct xfrd_folder *folder;

	cds_list_for_each_entry(folder, &xfrd->folders.list, node) {
		struct catalogs_source source;

		if (strcmp(folder_path(folder), path) != 0)
			continue;
		source = source_of_folder(folder);
		members_start(xfrd, call, NULL, folder->pattern, &source);
		return true;
	}
	return false;
}

/* Keys stay; others may come. doc/nsd-control.8 lists them. */
void
control_on_catalogs(struct xfrd *xfrd, struct ctl_call *call)
{
	const char *name = ctl_argument(call, 0);
	const struct xfrd_catalog *catalog;
	const struct produce_zone *produced;
	struct catalogs_source source;
	const struct xfrd_zone *zone;

	if (name == NULL) {
		catalogs_print_all(xfrd, call);
		return;
	}
	if (catalogs_find_folder(xfrd, call, name))
		return;
	zone = control_find_zone(xfrd, call, name);
	if (zone == NULL)
		return;
	catalog = xfrd_catalog_find(xfrd, xfrd_zone_apex(zone));
	produced = xfrd_produce_find(xfrd, xfrd_zone_apex(zone));
	if (catalog == NULL && produced == NULL) {
		ctl_printf(call, "error zone %s is no catalog\n", name);
		ctl_end(call);
		return;
	}
	source = catalog != NULL ? source_of_consumer(xfrd, catalog)
				 : source_of_producer(xfrd, produced);
	members_start(xfrd, call, xfrd_zone_apex(zone), NULL, &source);
}
