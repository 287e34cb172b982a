/* conf.c - a configuration as a whole: making, finding, zones added. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/platform.h"
#include "conf/parser.h"
#include "dns/name.h"

/* Memory of fewer zones is not given back. */
#define SHRINK_MIN 512u

static const void *
zone_key(const void *item, size_t *len)
{
	const struct conf_zone *zone = item;

	*len = name_len(zone->wire);
	return zone->wire;
}

#define TEXT_KEY(type)                                \
	static const void *                           \
	type##_key(const void *item, size_t *len)     \
	{                                             \
		const struct conf_##type *o = item;   \
                                                      \
		*len = strlen(o->name);               \
		return o->name;                       \
	}

TEXT_KEY(pattern)
TEXT_KEY(key)
TEXT_KEY(tls_auth)

enum nsd_err
conf_owner_create(struct conf_owner **owner)
{
	struct conf_owner *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return NSD_E_MEMORY;
	arena_init(&o->arena, NULL, 0);
	arena_init(&o->zone_arena, NULL, 0);
	map_init(&o->zones, zone_key);
	map_init(&o->patterns, pattern_key);
	map_init(&o->keys, key_key);
	map_init(&o->tls_auths, tls_auth_key);
	*owner = o;
	return NSD_OK;
}

/* Overwrites a text. It lies in our arena, so the cast is sound. */
static void
wipe_text(const char *text)
{
	if (text != NULL)
		explicit_bzero((char *)(uintptr_t)text, strlen(text));
}

void
conf_wipe_secrets(struct conf *conf)
{
	wipe_text(conf->server.cookie_secret);
	wipe_text(conf->server.cookie_staging_secret);
	for (size_t i = 0; i < conf->key_count; i++) {
		struct conf_key *key = conf->keys[i];

		wipe_text(key->secret);
		if (key->secret_data != NULL)
			explicit_bzero((uint8_t *)(uintptr_t)key->secret_data,
				key->secret_len);
		key->secret_len = 0;
	}
}

/* Frees zones, without their arena. */
static void
owner_free_zones(struct conf_owner *owner)
{
	struct conf *conf = &owner->conf;

	map_fini(&owner->zones);
	for (size_t i = 0; i < conf->zone_count; i++)
		if (conf->zones[i]->is_added)
			free(conf->zones[i]);
	free(conf->zones);
}

void
conf_drop_zones(struct conf *conf)
{
	struct conf_owner *owner = (struct conf_owner *)conf;

	owner_free_zones(owner);
	arena_fini(&owner->zone_arena);
	arena_init(&owner->zone_arena, NULL, 0);
	map_init(&owner->zones, zone_key);
	conf->zones = NULL;
	conf->zone_count = 0;
	conf->secondary_count = 0;
	owner->assocs = NULL;
	owner->spare_assocs = NULL;
	owner->zone_room = 0;
	owner->zone_peak = 0;
	owner->added_size = 0;
	platform_heap_trim();
}

void
conf_destroy(struct conf *conf)
{
	struct conf_owner *owner = (struct conf_owner *)conf;

	if (conf == NULL)
		return;
	owner_free_zones(owner);
	map_fini(&owner->patterns);
	map_fini(&owner->keys);
	map_fini(&owner->tls_auths);
	for (size_t i = 0; i < conf->key_count; i++)
		if (conf->keys[i]->file == NULL)
			free(conf->keys[i]);
	free(conf->patterns);
	free(conf->keys);
	free(conf->tls_auths);
	arena_fini(&owner->zone_arena);
	arena_fini(&owner->arena);
	free(owner);
}

size_t
conf_memory_size(const struct conf *conf)
{
	const struct conf_owner *owner = (const struct conf_owner *)conf;

	return sizeof(*owner) + owner->arena.mapped
		+ owner->zone_arena.mapped
		+ map_memory_size(&owner->zones)
		+ map_memory_size(&owner->patterns)
		+ map_memory_size(&owner->keys)
		+ map_memory_size(&owner->tls_auths)
		+ owner->zone_room * sizeof(*conf->zones)
		+ owner->added_size
		+ (conf->pattern_count + conf->key_count
			+ conf->tls_auth_count) * sizeof(void *);
}

/* ---- finding ----------------------------------------------------------- */

const struct conf_zone *
conf_find_zone(const struct conf *conf, const uint8_t *wire)
{
	const struct conf_owner *owner = (const struct conf_owner *)conf;
	uint8_t lower[NAME_MAX_LEN];
	size_t len = name_len(wire);

	memcpy(lower, wire, len);
	name_lower(lower);
	return map_find(&owner->zones, lower, len);
}

const struct conf_zone *
conf_find_zone_near(const struct conf *conf, const uint8_t *wire, size_t *near)
{
	const struct conf_zone *zone = *near < conf->zone_count
		? conf->zones[*near] : NULL;

	if (zone == NULL || !name_equal(zone->wire, wire))
		zone = conf_find_zone(conf, wire);
	if (zone != NULL)
		*near = zone->index + 1u;
	return zone;
}

/* Parses a zone's name, with a dot at its end or without, into lower case. */
static enum nsd_err
zone_parse_name(const char *name, uint8_t wire[NAME_MAX_LEN], size_t *len,
	const char **why)
{
	static const uint8_t root[1] = { 0 };
	enum nsd_err err;

	*why = "a name";
	if (name[0] == '\0')
		return NSD_E_SYNTAX;
	err = name_parse_text(name, strlen(name), root, wire, len, why);
	if (err == NSD_OK)
		name_lower(wire);
	return err;
}

bool
conf_parse_zone_name(const char *name, uint8_t *wire)
{
	const char *why;
	size_t len;

	return zone_parse_name(name, wire, &len, &why) == NSD_OK;
}

const struct conf_zone *
conf_find_zone_text(const struct conf *conf, const char *name)
{
	uint8_t wire[NAME_MAX_LEN];
	const char *why;
	size_t len;

	if (zone_parse_name(name, wire, &len, &why) != NSD_OK)
		return NULL;
	return conf_find_zone(conf, wire);
}

const struct conf_pattern *
conf_find_pattern(const struct conf *conf, const char *name)
{
	return map_find(&((const struct conf_owner *)conf)->patterns, name,
		strlen(name));
}

const struct conf_key *
conf_find_key(const struct conf *conf, const char *name)
{
	return map_find(&((const struct conf_owner *)conf)->keys, name,
		strlen(name));
}

const struct conf_tls_auth *
conf_find_tls_auth(const struct conf *conf, const char *name)
{
	return map_find(&((const struct conf_owner *)conf)->tls_auths, name,
		strlen(name));
}

/* ---- zones ------------------------------------------------------------- */

const uint8_t *
conf_zone_wire(struct arena *arena, const char *name, const char **why)
{
	uint8_t wire[NAME_MAX_LEN];
	size_t len;

	if (zone_parse_name(name, wire, &len, why) != NSD_OK)
		return NULL;
	*why = NULL;
	return arena_copy(arena, wire, len);
}

static bool
zone_is_secondary(const struct conf_zone *zone)
{
	return zone->options->request_xfr.count > 0;
}

enum nsd_err
conf_append_zone(struct conf_owner *owner, struct conf_zone *zone)
{
	struct conf *conf = &owner->conf;
	struct conf_zone **zones = grow_array(conf->zones, conf->zone_count,
		&owner->zone_room, sizeof(*zones));

	if (zones == NULL)
		return NSD_E_MEMORY;
	conf->zones = zones;
	if (map_add(&owner->zones, zone) != NSD_OK)
		return NSD_E_MEMORY;
	zone->index = (uint32_t)conf->zone_count;
	conf->zones[conf->zone_count++] = zone;
	conf->secondary_count += zone_is_secondary(zone);
	if (owner->zone_peak < conf->zone_count)
		owner->zone_peak = conf->zone_count;
	return NSD_OK;
}

/* A zone that was added at run time. It has memory of its own: zones come and
 * go, and an arena would grow with each. */
struct added_zone {
	struct conf_zone zone; /* must be first */
	char text[];           /* the zone's wire name, then its name */
};

static size_t
added_zone_size(const char *name, const uint8_t *wire)
{
	return sizeof(struct added_zone) + name_len(wire) + strlen(name) + 1;
}

static struct conf_zone *
added_zone_create(const char *name, const uint8_t *wire, size_t wire_len)
{
	struct added_zone *added = calloc(1, added_zone_size(name, wire));

	if (added == NULL)
		return NULL;
	memcpy(added->text, wire, wire_len);
	memcpy(added->text + wire_len, name, strlen(name) + 1);
	added->zone.wire = (const uint8_t *)added->text;
	added->zone.name = added->text + wire_len;
	added->zone.is_added = true;
	return &added->zone;
}

enum nsd_err
conf_add_zone(struct conf *conf, const char *name, const char *pattern,
	const struct conf_zone **zone)
{
	const struct conf_pattern *options = conf_find_pattern(conf, pattern);
	struct conf_owner *owner = (struct conf_owner *)conf;
	uint8_t wire[NAME_MAX_LEN];
	struct conf_zone *added;
	const char *why;
	size_t len;

	if (options == NULL)
		return NSD_E_NOT_FOUND;
	if (zone_parse_name(name, wire, &len, &why) != NSD_OK)
		return NSD_E_SYNTAX;
	if (map_find(&owner->zones, wire, len) != NULL)
		return NSD_E_ZONE;
	added = added_zone_create(name, wire, len);
	if (added == NULL)
		return NSD_E_MEMORY;
	added->options = options;
	added->zonefile = options->zonefile;
	added->pattern_name = options->name;
	if (conf_append_zone(owner, added) != NSD_OK) {
		free(added);
		return NSD_E_MEMORY;
	}
	owner->added_size += added_zone_size(name, wire);
	*zone = added;
	return NSD_OK;
}

/* The zone that is not const, from the configuration. */
static struct conf_zone *
conf_get_zone(const struct conf *conf, const struct conf_zone *zone)
{
	assert(zone->index < conf->zone_count);
	assert(conf->zones[zone->index] == zone);
	return conf->zones[zone->index];
}

enum nsd_err
conf_change_zone(struct conf *conf, const uint8_t *wire, const char *pattern)
{
	const struct conf_pattern *options = conf_find_pattern(conf, pattern);
	const struct conf_zone *found = conf_find_zone(conf, wire);
	struct conf_zone *zone;

	if (options == NULL || found == NULL)
		return NSD_E_NOT_FOUND;
	if (found->pattern_name == NULL)
		return NSD_E_DENIED;
	zone = conf_get_zone(conf, found);
	conf->secondary_count -= zone_is_secondary(zone);
	zone->was_from_xfrd |= conf_is_from_xfrd(zone->options);
	zone->options = options;
	zone->was_from_xfrd &= !conf_is_from_xfrd(zone->options);
	conf->secondary_count += zone_is_secondary(zone);
	zone->zonefile = options->zonefile;
	zone->pattern_name = options->name;
	return NSD_OK;
}

void
conf_note_role(struct conf *conf, const struct conf_zone *zone)
{
	conf_get_zone(conf, zone)->was_from_xfrd =
		!conf_is_from_xfrd(zone->options);
}

enum nsd_err
conf_add_listed(struct conf *conf, const struct conf *from,
	void (*on_missing)(void *ctx, const struct conf_zone *zone), void *ctx)
{
	const struct conf_zone *added;

	for (size_t i = 0; i < from->zone_count; i++) {
		const struct conf_zone *zone = from->zones[i];
		enum nsd_err err;

		if (zone->pattern_name == NULL)
			continue;
		err = conf_add_zone(conf, zone->name, zone->pattern_name,
			&added);
		if (err == NSD_E_NOT_FOUND)
			on_missing(ctx, zone);
		else if (err != NSD_OK && err != NSD_E_ZONE)
			return err;
	}
	return NSD_OK;
}

void
conf_keep_roles(struct conf *conf, const struct conf *before)
{
	size_t near = 0;

	for (size_t i = 0; i < conf->zone_count; i++) {
		struct conf_zone *zone = conf->zones[i];
		const struct conf_zone *old = NULL;

		if (!conf_is_from_xfrd(zone->options))
			old = conf_find_zone_near(before, zone->wire, &near);

		zone->was_from_xfrd = old != NULL && (old->was_from_xfrd
			|| conf_is_from_xfrd(old->options));
	}
}

/* Gives memory back each time that half of many zones have gone. */
static void
conf_shrink(struct conf_owner *owner)
{
	struct conf *conf = &owner->conf;
	size_t count = conf->zone_count;
	struct conf_zone **zones;

	if (owner->zone_peak < SHRINK_MIN || count >= owner->zone_peak / 2)
		return;
	owner->zone_peak = count;
	zones = realloc(conf->zones, (count + 1) * sizeof(*zones));
	if (zones != NULL) {
		conf->zones = zones;
		owner->zone_room = count + 1;
	}
	platform_heap_trim();
}

enum nsd_err
conf_remove_zone(struct conf *conf, const uint8_t *wire)
{
	struct conf_owner *owner = (struct conf_owner *)conf;
	uint8_t lower[NAME_MAX_LEN];
	size_t len = name_len(wire);
	struct conf_zone *zone, *last;

	memcpy(lower, wire, len);
	name_lower(lower);
	zone = map_remove(&owner->zones, lower, len);
	if (zone == NULL)
		return NSD_E_NOT_FOUND;
	assert(zone->index < conf->zone_count);
	assert(conf->zones[zone->index] == zone);
	conf->secondary_count -= zone_is_secondary(zone);
	last = conf->zones[--conf->zone_count];
	conf->zones[zone->index] = last;
	last->index = zone->index;
	if (zone->is_added) {
		size_t size = added_zone_size(zone->name, zone->wire);

		assert(owner->added_size >= size);
		owner->added_size -= size;
		free(zone);
	}
	conf_shrink(owner);
	return NSD_OK;
}
