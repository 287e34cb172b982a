/* key_edit.c - TSIG keys come, go and change while the server runs. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "conf/key_edit.h"
#include "conf/parser.h"
#include "dns/name.h"

/* ---- lists --------------------------------------------------------------- */

#define LISTS 7u
/* KEY_EDIT_ASSOC sets keys in the lists of transfers: the first ones. */
#define LISTS_ASSOC 4u
/* Names of keys up to this have room in place of each other. */
#define NAME_ROOM 256u

static const size_t list_offsets[LISTS] = {
	offsetof(struct conf_pattern, notify),
	offsetof(struct conf_pattern, allow_notify),
	offsetof(struct conf_pattern, provide_xfr),
	offsetof(struct conf_pattern, request_xfr),
	offsetof(struct conf_pattern, allow_query),
	offsetof(struct conf_pattern, allow_update),
	offsetof(struct conf_pattern, update_forward),
};

static const struct conf_acls *
options_list(const struct conf_pattern *options, unsigned list)
{
	return (const struct conf_acls *)((const uint8_t *)options
		+ list_offsets[list]);
}

static bool
options_have_key(const struct conf_pattern *options,
	const struct conf_key *key)
{
	for (unsigned l = 0; l < LISTS; l++) {
		const struct conf_acls *acls = options_list(options, l);

		for (uint32_t i = 0; i < acls->count; i++)
			if (acls->items[i].key == key)
				return true;
	}
	for (uint32_t i = 0; i < options->update_policy.count; i++)
		if (options->update_policy.items[i].key == key)
			return true;
	return false;
}

bool
key_edit_is_assoc(const struct conf *conf, const struct conf_zone *zone)
{
	const struct conf_owner *owner = (const struct conf_owner *)conf;
	const struct conf_assoc *at = owner->assocs;

	while (at != NULL && &at->options != zone->options)
		at = at->next;
	return at != NULL;
}

const struct conf_zone *
key_edit_find_user(const struct conf *conf, const struct conf_key *key,
	const struct conf_zone *after)
{
	const struct conf_pattern *last = NULL;
	size_t i = after != NULL ? after->index + (size_t)1 : 0;

	for (; i < conf->zone_count; i++) {
		const struct conf_pattern *options = conf->zones[i]->options;

		/* Zones of one pattern mostly stand together. */
		if (options != last && options_have_key(options, key))
			return conf->zones[i];
		last = options;
	}
	return NULL;
}

/* ---- keys that come and go ----------------------------------------------- */

/* A key of an edit has memory of its own: keys come and go, and an arena would
 * grow with each. A key of the file stands in the arena, with its place in the
 * file. */
struct added_key {
	struct conf_key key; /* must be first */
	char text[];         /* the key's wire name, then its name */
};

static struct conf_key *
added_key_create(const char *name, const uint8_t *wire, size_t wire_len)
{
	size_t size = strlen(name) + 1;
	struct added_key *added = calloc(1, sizeof(*added) + wire_len + size);

	if (added == NULL)
		return NULL;
	memcpy(added->text, wire, wire_len);
	memcpy(added->text + wire_len, name, size);
	added->key.wire = (const uint8_t *)added->text;
	added->key.name = added->text + wire_len;
	return &added->key;
}

/* Finds the place of a key of this name, or where it would be inserted. */
static size_t
keys_find_place(const struct conf *conf, const char *name)
{
	size_t low = 0, high = conf->key_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(conf->keys[middle]->name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool
key_is_lost(const struct conf_key *has, const char *name,
	const struct conf_key *key)
{
	return has == NULL && name != NULL && strcmp(name, key->name) == 0;
}

/* Gives a key to all elements that name it: a key of this name may have gone
 * before. */
static void
pattern_link_key(const struct conf_pattern *pattern, const struct conf_key *key)
{
	const struct conf_policies *policies = &pattern->update_policy;

	for (unsigned l = 0; l < LISTS; l++) {
		const struct conf_acls *acls = options_list(pattern, l);

		for (uint32_t i = 0; i < acls->count; i++) {
			struct conf_acl *acl = &acls->items[i];

			if (key_is_lost(acl->key, acl->key_name, key))
				acl->key = key;
		}
	}
	for (uint32_t i = 0; i < policies->count; i++) {
		struct conf_policy *policy = &policies->items[i];

		if (key_is_lost(policy->key, policy->key_name, key))
			policy->key = key;
	}
}

static enum nsd_err
key_add(struct conf *conf, const struct key_edit *edit)
{
	struct conf_owner *owner = (struct conf_owner *)conf;
	static const uint8_t root[1] = { 0 };
	uint8_t wire[NAME_MAX_LEN];
	struct conf_key **keys, *key;
	const char *why;
	size_t len, place;

	if (name_parse_text(edit->key, strlen(edit->key), root, wire, &len,
		    &why) != NSD_OK)
		return NSD_E_SYNTAX;
	keys = realloc(conf->keys, (conf->key_count + 1) * sizeof(*keys));
	if (keys == NULL)
		return NSD_E_MEMORY;
	conf->keys = keys;
	key = added_key_create(edit->key, wire, len);
	if (key == NULL)
		return NSD_E_MEMORY;
	key->algorithm = key->algorithm_name =
		decode_algorithm(edit->algorithm);
	key->handle = edit->handle;
	if (map_add(&owner->keys, key) != NSD_OK) {
		free(key);
		return NSD_E_MEMORY;
	}
	place = keys_find_place(conf, key->name);
	memmove(&keys[place + 1], &keys[place],
		(conf->key_count - place) * sizeof(*keys));
	keys[place] = key;
	conf->key_count++;
	/* Options that were made for a key have that key in all elements. */
	for (size_t i = 0; i < conf->pattern_count; i++)
		pattern_link_key(conf->patterns[i], key);
	return NSD_OK;
}

/* Takes a key out of all elements, as if it had never been there. */
static void
pattern_forget_key(const struct conf_pattern *pattern,
	const struct conf_key *key)
{
	for (unsigned l = 0; l < LISTS; l++) {
		const struct conf_acls *acls = options_list(pattern, l);

		for (uint32_t i = 0; i < acls->count; i++)
			if (acls->items[i].key == key)
				acls->items[i].key = NULL;
	}
	for (uint32_t i = 0; i < pattern->update_policy.count; i++)
		if (pattern->update_policy.items[i].key == key)
			pattern->update_policy.items[i].key = NULL;
}

static void
key_remove(struct conf *conf, const char *name)
{
	struct conf_owner *owner = (struct conf_owner *)conf;
	struct conf_key *key = map_remove(&owner->keys, name, strlen(name));
	size_t place = keys_find_place(conf, name);
	struct conf_assoc **at = &owner->assocs;

	assert(place < conf->key_count && conf->keys[place] == key);
	conf->key_count--;
	memmove(&conf->keys[place], &conf->keys[place + 1],
		(conf->key_count - place) * sizeof(*conf->keys));
	for (size_t i = 0; i < conf->pattern_count; i++)
		pattern_forget_key(conf->patterns[i], key);
	/* Options that were made for the key: no zone has them any more, but
	 * they are kept to be used again. */
	while (*at != NULL) {
		struct conf_assoc *assoc = *at;

		pattern_forget_key(&assoc->options, key);
		if (assoc->key != key) {
			at = &assoc->next;
			continue;
		}
		*at = assoc->next;
		assoc->next = owner->spare_assocs;
		owner->spare_assocs = assoc;
	}
	if (key->file == NULL)
		free(key);
}

/* ---- zones that are given a key ------------------------------------------ */

/* Makes the elements of a list its own. False: no memory. */
static bool
acls_copy(struct arena *arena, struct conf_acls *acls)
{
	struct conf_acl *items;

	if (acls->count == 0)
		return true;
	items = arena_alloc(arena, acls->count * sizeof(*items));
	if (items == NULL)
		return false;
	memcpy(items, acls->items, acls->count * sizeof(*items));
	acls->items = items;
	acls->capacity = acls->count;
	return true;
}

static struct conf_acls *
assoc_list(struct conf_assoc *assoc, unsigned list)
{
	return (struct conf_acls *)(uintptr_t)options_list(&assoc->options,
		list);
}

/* Copies options, with lists of their own. NULL: no memory. */
static struct conf_assoc *
assoc_copy(struct conf_owner *owner, const struct conf_pattern *from)
{
	struct conf_assoc *assoc = arena_alloc_zero(&owner->zone_arena,
		sizeof(*assoc));
	bool whole = assoc != NULL;

	if (whole) {
		assoc->options = *from;
		assoc->from = from;
	}
	for (unsigned l = 0; whole && l < LISTS_ASSOC; l++)
		whole = acls_copy(&owner->zone_arena, assoc_list(assoc, l));
	return whole ? assoc : NULL;
}

/* Finds options that were made of `from` for a key that has gone: no zone has
 * them, and only the key differs. Without that the arena would grow
 * with each key that comes and goes. */
static struct conf_assoc *
assoc_take_spare(struct conf_owner *owner, const struct conf_pattern *from)
{
	struct conf_assoc **at = &owner->spare_assocs, *assoc;

	while ((assoc = *at) != NULL && assoc->from != from)
		at = &assoc->next;
	if (assoc != NULL)
		*at = assoc->next;
	return assoc;
}

/* False: no memory. */
static bool
assoc_name_key(struct arena *arena, struct conf_assoc *assoc,
	const struct conf_key *key)
{
	size_t size = strlen(key->name) + 1;

	if (size > assoc->name_room) {
		size_t room = size > NAME_ROOM ? size : NAME_ROOM;
		char *name = arena_alloc(arena, room);

		if (name == NULL)
			return false;
		assoc->key_name = name;
		assoc->name_room = room;
	}
	memcpy(assoc->key_name, key->name, size);
	return true;
}

/* Sets a key in the elements of the lists, except in BLOCKED ones. */
static void
assoc_set_key(struct conf_assoc *assoc, const struct conf_key *key)
{
	for (unsigned l = 0; l < LISTS_ASSOC; l++) {
		struct conf_acls *acls = assoc_list(assoc, l);

		for (uint32_t i = 0; i < acls->count; i++) {
			if (acls->items[i].blocked)
				continue;
			acls->items[i].key = key;
			acls->items[i].key_name = assoc->key_name;
			acls->items[i].nokey = false;
		}
	}
	assoc->key = key;
}

/* Makes the options of zones which had `from`, with the key. NULL: no
 * memory. */
static struct conf_assoc *
assoc_make(struct conf_owner *owner, const struct conf_pattern *from,
	const struct conf_key *key)
{
	struct conf_assoc *assoc = assoc_take_spare(owner, from);

	if (assoc == NULL)
		assoc = assoc_copy(owner, from);
	if (assoc == NULL)
		return NULL;
	if (!assoc_name_key(&owner->zone_arena, assoc, key)) {
		assoc->next = owner->spare_assocs;
		owner->spare_assocs = assoc;
		return NULL;
	}
	assoc_set_key(assoc, key);
	assoc->next = owner->assocs;
	owner->assocs = assoc;
	return assoc;
}

static enum nsd_err
zone_assoc(struct conf *conf, const struct conf_zone *found,
	const struct conf_key *key)
{
	struct conf_owner *owner = (struct conf_owner *)conf;
	const struct conf_pattern *from = found->options;
	struct conf_zone *zone = conf->zones[found->index];
	struct conf_assoc *at;

	/* The options that the zone had before it was given a key. */
	for (at = owner->assocs; at != NULL; at = at->next)
		if (&at->options == from) {
			from = at->from;
			break;
		}
	for (at = owner->assocs; at != NULL; at = at->next)
		if (at->from == from && at->key == key)
			break;
	if (at == NULL)
		at = assoc_make(owner, from, key);
	if (at == NULL)
		return NSD_E_MEMORY;
	__atomic_store_n(&zone->options, &at->options, __ATOMIC_RELEASE);
	return NSD_OK;
}

/* ---- an edit ------------------------------------------------------------- */

/* In DNS, k, K and k. are one key, and queries would find one of them alone.
 * nsd.conf may have them all, as in NSD; one more is not added to them. */
static enum nsd_err
key_check_new(const struct conf *conf, const char *name)
{
	uint8_t wire[NAME_MAX_LEN];

	if (!conf_parse_zone_name(name, wire))
		return NSD_E_SYNTAX;
	for (size_t i = 0; i < conf->key_count; i++)
		if (name_equal(conf->keys[i]->wire, wire))
			return NSD_E_DENIED;
	return NSD_OK;
}

enum nsd_err
key_edit_check(const struct conf *conf, const struct key_edit *edit)
{
	const struct conf_key *key = conf_find_key(conf, edit->key);

	if (edit->what == KEY_EDIT_ADD) {
		if (key != NULL)
			return NSD_E_DENIED;
		if (decode_algorithm(edit->algorithm) == NULL)
			return NSD_E_LIMIT;
		return key_check_new(conf, edit->key);
	}
	if (edit->what == KEY_EDIT_ASSOC
		&& conf_find_zone_text(conf, edit->zone) == NULL)
		return NSD_E_ZONE;
	if (key == NULL)
		return NSD_E_NOT_FOUND;
	if (edit->what == KEY_EDIT_REMOVE
		&& key_edit_find_user(conf, key, NULL) != NULL)
		return NSD_E_DENIED;
	return NSD_OK;
}

enum nsd_err
key_edit_apply(struct conf *conf, const struct key_edit *edit)
{
	enum nsd_err err = key_edit_check(conf, edit);
	const struct conf_key *key = conf_find_key(conf, edit->key);

	if (err != NSD_OK)
		return err;
	switch (edit->what) {
	case KEY_EDIT_ADD:
		return key_add(conf, edit);
	case KEY_EDIT_SECRET:
		conf->keys[keys_find_place(conf, edit->key)]->handle =
			edit->handle;
		return NSD_OK;
	case KEY_EDIT_REMOVE:
		key_remove(conf, edit->key);
		return NSD_OK;
	case KEY_EDIT_ASSOC:
		return zone_assoc(conf, conf_find_zone_text(conf, edit->zone),
			key);
	case KEY_EDIT_COUNT:
		break;
	}
	return NSD_E_BUG;
}

bool
key_edit_has_algorithm(const char *name)
{
	return decode_algorithm(name) != NULL;
}

uint8_t *
key_edit_decode(const char *text, uint32_t *len)
{
	struct arena arena;
	const uint8_t *octets;
	uint8_t *copy = NULL;

	arena_init(&arena, NULL, 0);
	octets = decode_base64(&arena, text, len);
	if (octets != NULL && *len > 0)
		copy = malloc(*len);
	if (copy != NULL)
		memcpy(copy, octets, *len);
	if (octets != NULL)
		explicit_bzero((uint8_t *)(uintptr_t)octets, *len);
	arena_fini(&arena);
	return copy;
}
