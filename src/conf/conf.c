/* conf.c - a configuration as a whole: making, finding, zones added. */
#include <stdlib.h>
#include <string.h>

#include "conf/parser.h"
#include "dns/name.h"

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
	map_init(&o->zones, zone_key);
	map_init(&o->patterns, pattern_key);
	map_init(&o->keys, key_key);
	map_init(&o->tls_auths, tls_auth_key);
	*owner = o;
	return NSD_OK;
}

void
conf_destroy(struct conf *conf)
{
	struct conf_owner *owner = (struct conf_owner *)conf;

	if (conf == NULL)
		return;
	map_fini(&owner->zones);
	map_fini(&owner->patterns);
	map_fini(&owner->keys);
	map_fini(&owner->tls_auths);
	free(conf->zones);
	free(conf->patterns);
	free(conf->keys);
	free(conf->tls_auths);
	arena_fini(&owner->arena);
	free(owner);
}

size_t
conf_memory_size(const struct conf *conf)
{
	const struct conf_owner *owner = (const struct conf_owner *)conf;

	return sizeof(*owner) + owner->arena.mapped +
		map_memory_size(&owner->zones) +
		map_memory_size(&owner->patterns) +
		map_memory_size(&owner->keys) +
		map_memory_size(&owner->tls_auths) +
		owner->zone_room * sizeof(*conf->zones) +
		(conf->pattern_count + conf->key_count +
			conf->tls_auth_count) * sizeof(void *);
}

size_t
conf_disk_size(const struct conf *conf)
{
	return ((const struct conf_owner *)conf)->disk_size;
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

/* A name that has no final dot is below the root. */
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
conf_zone_wire(struct conf_owner *owner, const char *name, const char **why)
{
	uint8_t wire[NAME_MAX_LEN];
	size_t len;

	if (zone_parse_name(name, wire, &len, why) != NSD_OK)
		return NULL;
	*why = NULL;
	return arena_copy(&owner->arena, wire, len);
}

struct conf_zone *
conf_append_zone(struct conf_owner *owner, const char *name,
	const uint8_t *wire)
{
	struct conf *conf = &owner->conf;
	struct conf_zone **bigger, *zone;
	size_t room;

	if (conf->zone_count >= owner->zone_room) {
		room = owner->zone_room > 0 ? owner->zone_room * 2 : 8;
		bigger = realloc(conf->zones, room * sizeof(*bigger));
		if (bigger == NULL)
			return NULL;
		conf->zones = bigger;
		owner->zone_room = room;
	}
	zone = arena_alloc_zero(&owner->arena, sizeof(*zone));
	if (zone == NULL)
		return NULL;
	zone->name = name;
	zone->wire = wire;
	if (map_add(&owner->zones, zone) != NSD_OK)
		return NULL;
	zone->index = (uint32_t)conf->zone_count;
	conf->zones[conf->zone_count++] = zone;
	return zone;
}

enum nsd_err
conf_add_zone(struct conf *conf, const char *name, const char *pattern,
	const struct conf_zone **zone)
{
	struct conf_owner *owner = (struct conf_owner *)conf;
	const struct conf_pattern *options = conf_find_pattern(conf, pattern);
	const char *why, *kept;
	struct conf_zone *added;
	const uint8_t *wire;

	if (options == NULL)
		return NSD_E_NOT_FOUND;
	wire = conf_zone_wire(owner, name, &why);
	if (wire == NULL)
		return why == NULL ? NSD_E_MEMORY : NSD_E_SYNTAX;
	if (map_find(&owner->zones, wire, name_len(wire)) != NULL)
		return NSD_E_ZONE;
	kept = arena_copy_text(&owner->arena, name, strlen(name));
	if (kept == NULL)
		return NSD_E_MEMORY;
	added = conf_append_zone(owner, kept, wire);
	if (added == NULL)
		return NSD_E_MEMORY;
	added->options = options;
	added->zonefile = options->zonefile;
	added->pattern_name = options->name;
	*zone = added;
	return NSD_OK;
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
	last = conf->zones[--conf->zone_count];
	conf->zones[zone->index] = last;
	last->index = zone->index;
	return NSD_OK;
}
