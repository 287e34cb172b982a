/*
 * image.c - a configuration as octets, for another process of this program.
 *
 * Each function below serves both directions: what a writer appends, a reader
 * takes from the same place. A struct comes as it is in memory; then each of
 * its pointers is made anew from what follows.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "conf/image.h"
#include "conf/pack.h"
#include "dns/name.h"

#define MAGIC UINT64_C(0x676d692d666e6f63)       /* "conf-img" */
#define MAGIC_ZONES UINT64_C(0x73656e6f7a2d676d) /* "mg-zones" */

/* Items that several lists of patterns have. */
struct image_list {
	const void *items; /* the key */
	uint32_t number;
};

/* ---- lists --------------------------------------------------------------- */

static void
image_string(struct pack *pack, void *item)
{
	pack_text(pack, item);
}

static void
image_interface(struct pack *pack, void *item)
{
	struct conf_interface *interface = item;
	struct conf_ranges *servers = &interface->servers;
	void *ranges = servers->items;

	pack_text(pack, &interface->text);
	pack_text(pack, &interface->host);
	pack_array(pack, &ranges, servers->count * sizeof(*servers->items));
	servers->items = ranges;
}

static void
image_acl(struct pack *pack, void *item)
{
	struct conf_acl *acl = item;

	pack_text(pack, &acl->spec);
	pack_text(pack, &acl->key_name);
	pack_text(pack, &acl->tls_auth_name);
	pack_file(pack, &acl->file);
	if (!pack->reads || pack->err != NSD_OK)
		return;
	acl->key = acl->key_name == NULL ? NULL
		: conf_find_key(&pack->owner->conf, acl->key_name);
	acl->tls_auth = acl->tls_auth_name == NULL ? NULL
		: conf_find_tls_auth(&pack->owner->conf, acl->tls_auth_name);
}

static void
image_policy(struct pack *pack, void *item)
{
	struct conf_policy *policy = item;
	void *types = (void *)(uintptr_t)policy->types;

	pack_text(pack, &policy->key_name);
	pack_text(pack, &policy->text);
	pack_wire(pack, &policy->name);
	pack_array(pack, &types, policy->type_count * sizeof(uint16_t));
	policy->types = types;
	pack_file(pack, &policy->file);
	if (!pack->reads || pack->err != NSD_OK)
		return;
	if (policy->key_name == NULL || policy->text == NULL
		|| policy->name == NULL || policy->kind > CONF_POLICY_SELF)
		pack_fail(pack, NSD_E_WIRE);
	else
		policy->key = conf_find_key(&pack->owner->conf,
			policy->key_name);
}

typedef void image_item(struct pack *pack, void *item);

/* The function that makes fields of an item anew; NULL: no field needs it. */
static image_item *
image_item_of(enum conf_type type)
{
	if (option_is_acl(type))
		return image_acl;
	switch (type) {
	case TYPE_STRINGS:
	case TYPE_TEXT_EACH:
	case TYPE_SUFFIX:
		return image_string;
	case TYPE_POLICY:
		return image_policy;
	case TYPE_LISTEN:
	case TYPE_INTERFACE:
		return image_interface;
	default:
		return NULL;
	}
}

/* count: items that are written, of a list that may have fewer. Returns how
 * many there are. */
static uint32_t
image_items(struct pack *pack, struct conf_list *list, enum conf_type type,
	uint32_t count)
{
	image_item *item = image_item_of(type);
	size_t size = option_item_size(type);
	uint8_t *items = list->items;

	count = pack_number(pack, count);
	/* Each item has at least its own octets in what follows. */
	if (pack->reads && count > (pack->len - pack->at) / size)
		pack_fail(pack, NSD_E_WIRE);
	if (pack->reads)
		list->items = items = list_restore(pack->arena,
			pack->err == NSD_OK ? count : 0, size);
	if (items == NULL && count > 0)
		pack_fail(pack, NSD_E_MEMORY);
	for (uint32_t i = 0; i < count && pack->err == NSD_OK; i++) {
		pack_octets(pack, items + i * size, size);
		if (item != NULL)
			item(pack, items + i * size);
	}
	return count;
}

static const void *
image_list_key(const void *item, size_t *len)
{
	const struct image_list *list = item;

	*len = sizeof(list->items);
	return &list->items;
}

/* Returns the number of a list's items, which they got when they were written;
 * or the next number, which they get now. */
static uint32_t
image_number_list(struct pack *pack, const struct conf_list *list)
{
	const struct image_list *seen = map_find(&pack->lists, &list->items,
		sizeof(list->items));
	struct image_list *added;

	if (seen != NULL)
		return seen->number;
	added = arena_alloc(&pack->scratch, sizeof(*added));
	if (added == NULL) {
		pack_fail(pack, NSD_E_MEMORY);
		return 0;
	}
	*added = (struct image_list){list->items, pack->list_count};
	if (map_add(&pack->lists, added) != NSD_OK)
		pack_fail(pack, NSD_E_MEMORY);
	return added->number;
}

/* Packs a list of a pattern, whose items, or the first of them, other lists may
 * share. */
static void
image_shared_list(struct pack *pack, struct conf_list *list,
	enum conf_type type)
{
	uint32_t number = 0;
	void **items;

	if (list->count == 0) {
		list->items = NULL;
		return;
	}
	if (!pack->reads)
		number = image_number_list(pack, list);
	number = pack_number(pack, number);
	if (pack->err != NSD_OK)
		return;
	if (number < pack->list_count) {
		if (pack->reads)
			list->items = pack->items[number];
		if (list->count > list_count_used(list))
			pack_fail(pack, NSD_E_WIRE);
		return;
	}
	(void)image_items(pack, list, type,
		pack->reads ? 0 : list_count_used(list));
	pack->list_count++;
	if (!pack->reads)
		return;
	items = grow_array(pack->items, number, &pack->list_room,
		sizeof(*items));
	if (items == NULL) {
		pack_fail(pack, NSD_E_MEMORY);
		return;
	}
	pack->items = items;
	pack->items[number] = list->items;
}

/* ---- clauses ------------------------------------------------------------- */

static void
image_option(struct pack *pack, const struct conf_option *option,
	void *object)
{
	enum conf_type type = (enum conf_type)option->type;
	void *field = (uint8_t *)object + option->offset;
	struct conf_list *list = field;

	if ((option->flags & OPTION_ALIAS) != 0 || type == TYPE_IGNORED
		|| type == TYPE_INCLUDE)
		return;
	if (option_is_text(type))
		pack_text(pack, field);
	else if (option_is_appended(type)
		&& option->clause == CLAUSE_PATTERN)
		image_shared_list(pack, list, type);
	else if (option_item_size(type) > 0)
		list->count = image_items(pack, list, type, list->count);
}

/* Packs a clause: its options, with the objects that they point at. */
static void
image_clause(struct pack *pack, enum conf_clause clause, void *object)
{
	size_t count;
	const struct conf_option *rows = option_rows(clause, &count);

	for (size_t i = 0; i < count; i++)
		image_option(pack, &rows[i], object);
}

static void
image_singles(struct pack *pack)
{
	struct conf *conf = &pack->owner->conf;
	struct conf_server *server = &conf->server;
	void *nsid;

	pack_octets(pack, server, sizeof(*server));
	pack_octets(pack, &conf->remote_control,
		sizeof(conf->remote_control));
	pack_octets(pack, &conf->verify, sizeof(conf->verify));
	pack_octets(pack, &conf->dnstap, sizeof(conf->dnstap));
	nsid = (void *)(uintptr_t)server->nsid_data;
	pack_text(pack, &conf->file);
	for (size_t i = 0; i < CLAUSE_COUNT; i++)
		if (conf_clauses[i].single)
			image_clause(pack, (enum conf_clause)i,
				(uint8_t *)conf + conf_clauses[i].offset);
	pack_array(pack, &nsid, server->nsid_len);
	server->nsid_data = nsid;
	pack_wire(pack, &server->edns_report_channel_name);
}

static void
image_key(struct pack *pack, struct conf_key *key)
{
	pack_octets(pack, key, sizeof(*key));
	image_clause(pack, CLAUSE_KEY, key);
	pack_wire(pack, &key->wire);
	pack_text(pack, &key->algorithm_name);
	pack_file(pack, &key->file);
	if (!pack->reads)
		return;
	key->secret_data = NULL;
	key->secret_len = 0;
	/* A key without a file was made by key_edit_apply, in memory of its
	 * own. */
	if (key->file == NULL)
		key->file = "";
}

static void
image_tls_auth(struct pack *pack, struct conf_tls_auth *auth)
{
	pack_octets(pack, auth, sizeof(*auth));
	image_clause(pack, CLAUSE_TLS_AUTH, auth);
	pack_file(pack, &auth->file);
}

static void
image_pattern(struct pack *pack, struct conf_pattern *pattern)
{
	pack_octets(pack, pattern, sizeof(*pattern));
	pack_text(pack, &pattern->name);
	pack_file(pack, &pattern->file);
	image_clause(pack, CLAUSE_PATTERN, pattern);
}

/* ---- objects with names -------------------------------------------------- */

/* Makes the array of a reader: count objects of `size` octets, all zero. */
static void
image_make_array(struct pack *pack, void ***array, size_t count, size_t size)
{
	uint8_t *objects;

	if (count > (pack->len - pack->at) / size)
		pack_fail(pack, NSD_E_WIRE);
	objects = pack_alloc(pack, pack->err == NSD_OK
		? count * size + 1 : 1);
	*array = pack->err == NSD_OK ? calloc(count + 1, sizeof(**array))
				      : NULL;
	if (*array == NULL)
		pack_fail(pack, NSD_E_MEMORY);
	for (size_t i = 0; pack->err == NSD_OK && i < count; i++)
		(*array)[i] = objects + i * size;
}

static void
image_keep(struct pack *pack, struct conf_map *map, void *object,
	const char *name)
{
	if (!pack->reads || pack->err != NSD_OK)
		return;
	if (name == NULL)
		pack_fail(pack, NSD_E_WIRE);
	else if (map_add(map, object) != NSD_OK)
		pack_fail(pack, NSD_E_MEMORY);
}

/* Packs the objects of one kind, in the order of their names. */
#define IMAGE_ALL(kind, map)                                                  \
	static void                                                           \
	image_##kind##s(struct pack *pack)                                  \
	{                                                                     \
		struct conf *conf = &pack->owner->conf;                      \
		size_t count = pack_number(pack,                            \
			(uint32_t)conf->kind##_count);                        \
                                                                              \
		if (pack->reads)                                             \
			image_make_array(pack, (void ***)&conf->kind##s,     \
				count, sizeof(**conf->kind##s));              \
		for (size_t i = 0; pack->err == NSD_OK && i < count; i++) {  \
			image_##kind(pack, conf->kind##s[i]);                \
			image_keep(pack, &pack->owner->map,                 \
				conf->kind##s[i], conf->kind##s[i]->name);    \
			if (pack->reads && pack->err == NSD_OK)             \
				conf->kind##_count++;                         \
		}                                                             \
	}

IMAGE_ALL(key, keys)
IMAGE_ALL(tls_auth, tls_auths)
IMAGE_ALL(pattern, patterns)

/* ---- zones --------------------------------------------------------------- */

static void
image_own_options(struct pack *pack, struct conf_zone *zone)
{
	struct conf_pattern *own = pack->reads
		? pack_alloc(pack, sizeof(*own))
		: (struct conf_pattern *)(uintptr_t)zone->options;

	if (own != NULL)
		image_pattern(pack, own);
	zone->options = own;
}

/* Packs the options of a zone: mostly those of the zone before, or of a
 * pattern. */
static void
image_zone_options(struct pack *pack, struct conf_zone *zone)
{
	const struct conf *conf = &pack->owner->conf;
	const char *name = pack->reads ? NULL : zone->options->name;

	if (pack_number(pack, zone->options == pack->options)) {
		zone->options = pack->options;
	} else if (pack_number(pack, pack->reads
			|| conf_find_pattern(conf, name) != zone->options)) {
		image_own_options(pack, zone);
	} else {
		pack_text(pack, &name);
		if (pack->reads)
			zone->options = pack->err == NSD_OK && name != NULL
				? conf_find_pattern(conf, name) : NULL;
	}
	pack->options = zone->options;
	if (zone->options == NULL)
		pack_fail(pack, NSD_E_WIRE);
}

static void
image_zone(struct pack *pack, struct conf_zone *zone)
{
	bool shares = !pack->reads
		&& zone->zonefile == zone->options->zonefile;

	image_zone_options(pack, zone);
	pack_text(pack, &zone->name);
	pack_wire(pack, &zone->wire);
	pack_octets(pack, &zone->line, sizeof(zone->line));
	pack_file(pack, &zone->file);
	if (!pack_number(pack, shares))
		pack_text(pack, &zone->zonefile);
	else if (pack->reads && pack->err == NSD_OK)
		zone->zonefile = zone->options->zonefile;
}

static void
image_write_zones(struct pack *pack)
{
	const struct conf *conf = &pack->owner->conf;
	uint32_t count = 0;

	for (size_t i = 0; i < conf->zone_count; i++)
		count += conf->zones[i]->pattern_name == NULL;
	(void)pack_number(pack, count);
	for (size_t i = 0; i < conf->zone_count; i++)
		if (conf->zones[i]->pattern_name == NULL)
			image_zone(pack, conf->zones[i]);
}

static void
image_read_zones(struct pack *pack)
{
	struct conf_owner *owner = pack->owner;
	uint32_t count = pack_number(pack, 0);
	struct conf_zone *zones;

	/* Bound of the count: a zone has at least its numbers in the rest. */
	if (count > (pack->len - pack->at) / (4 * sizeof(uint32_t)))
		pack_fail(pack, NSD_E_WIRE);
	zones = pack_alloc(pack, pack->err == NSD_OK
		? count * sizeof(*zones) + 1 : 1);
	for (uint32_t i = 0; pack->err == NSD_OK && i < count; i++) {
		image_zone(pack, &zones[i]);
		if (pack->err == NSD_OK && (zones[i].wire == NULL
				|| zones[i].name == NULL))
			pack_fail(pack, NSD_E_WIRE);
		if (pack->err == NSD_OK)
			pack_fail(pack, conf_append_zone(owner, &zones[i]));
	}
}

/* ---- images -------------------------------------------------------------- */

static void
image_magic(struct pack *pack, uint64_t magic)
{
	uint64_t found = magic;

	pack_octets(pack, &found, sizeof(found));
	if (found != magic)
		pack_fail(pack, NSD_E_WIRE);
}

/* Packs the options, in both directions; objects that lists refer to come
 * first. */
static void
image_options(struct pack *pack)
{
	image_magic(pack, MAGIC);
	if (pack->err == NSD_OK)
		image_keys(pack);
	if (pack->err == NSD_OK)
		image_tls_auths(pack);
	if (pack->err == NSD_OK)
		image_singles(pack);
	if (pack->err == NSD_OK)
		image_patterns(pack);
}

static void
image_zones(struct pack *pack)
{
	image_magic(pack, MAGIC_ZONES);
	if (pack->err != NSD_OK)
		return;
	if (pack->reads)
		image_read_zones(pack);
	else
		image_write_zones(pack);
}

/* Seals the file: its octets stay as they are. */
static enum nsd_err
image_seal(int fd)
{
	return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK
		| F_SEAL_GROW | F_SEAL_WRITE) != -1 ? NSD_OK : NSD_E_SYSTEM;
}

static enum nsd_err
image_make(const struct conf *conf, const char *name,
	void (*run)(struct pack *pack), int *fd)
{
	struct pack pack = {
		.owner = (struct conf_owner *)(uintptr_t)conf,
		.err = NSD_OK,
		.octets = malloc(PACK_BUFFER),
		.fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING),
	};
	int error = errno;

	arena_init(&pack.scratch, NULL, 0);
	map_init(&pack.lists, image_list_key);
	if (pack.octets == NULL)
		pack.err = NSD_E_MEMORY;
	else if (pack.fd == -1)
		pack.err = NSD_E_SYSTEM;
	else
		run(&pack);
	if (pack.err == NSD_OK)
		pack_flush(&pack);
	if (pack.err == NSD_OK)
		pack.err = image_seal(pack.fd);
	if (pack.err == NSD_E_SYSTEM && pack.fd != -1)
		error = errno;
	map_fini(&pack.lists);
	arena_fini(&pack.scratch);
	free(pack.octets);
	if (pack.err == NSD_OK)
		*fd = pack.fd;
	else if (pack.fd != -1)
		close(pack.fd);
	errno = error;
	return pack.err;
}

enum nsd_err
conf_image_write(const struct conf *conf, int *fd)
{
	return image_make(conf, "nsd-conf", image_options, fd);
}

enum nsd_err
conf_image_write_zones(const struct conf *conf, int *fd)
{
	return image_make(conf, "nsd-zones", image_zones, fd);
}

/* Reads a file from its beginning to its end. */
static enum nsd_err
image_take_all(int fd, struct conf_owner *owner, struct arena *arena,
	void (*run)(struct pack *pack))
{
	struct pack pack = {.owner = owner, .arena = arena, .reads = true,
		.err = NSD_OK};
	struct stat st;

	if (fstat(fd, &st) == -1)
		return NSD_E_SYSTEM;
	if (st.st_size < (off_t)sizeof(uint64_t))
		return NSD_E_WIRE;
	pack.len = (size_t)st.st_size;
	pack.octets = mmap(NULL, pack.len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (pack.octets == MAP_FAILED)
		return NSD_E_SYSTEM;
	run(&pack);
	if (pack.err == NSD_OK && pack.at != pack.len)
		pack.err = NSD_E_WIRE;
	munmap(pack.octets, pack.len);
	free(pack.items);
	return pack.err;
}

enum nsd_err
conf_image_read(int fd, struct conf **conf)
{
	struct conf_owner *owner;
	enum nsd_err err = conf_owner_create(&owner);

	if (err != NSD_OK)
		return err;
	err = image_take_all(fd, owner, &owner->arena, image_options);
	if (err == NSD_OK)
		*conf = &owner->conf;
	else
		conf_destroy(&owner->conf);
	return err;
}

enum nsd_err
conf_image_read_zones(int fd, struct conf *conf)
{
	struct conf_owner *owner = (struct conf_owner *)conf;

	assert(conf->zone_count == 0);
	return image_take_all(fd, owner, &owner->zone_arena, image_zones);
}
