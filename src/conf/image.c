/*
 * image.c - a configuration as octets, for another process of this program.
 *
 * Each function below serves both directions: what a writer appends, a reader
 * takes from the same place. A struct comes as it is in memory; then each of
 * its pointers is made anew from what follows.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/grow.h"
#include "conf/image.h"
#include "conf/parser.h"
#include "dns/name.h"

#define MAGIC UINT64_C(0x676d692d666e6f63) /* "conf-img" */
#define BUFFER_SIZE 65536u
/* Length of a text that is not there. */
#define NO_TEXT UINT32_MAX

/* Items that several lists of patterns have. */
struct image_list {
	const void *items; /* the key */
	uint32_t number;
};

struct image {
	struct conf_owner *owner; /* of a reader, that is made */
	bool reads;
	enum nsd_err err;         /* the first one; nothing is done then */
	/* Of a writer: what is still to go to the file. Of a reader: the mapped
	 * file, and how far it is. */
	uint8_t *octets;
	size_t len;
	size_t at;
	int fd;                   /* of a writer */
	size_t zone_end;          /* the same: zones before it are written */
	/* Of lists: of a writer by address, of a reader by number. */
	struct conf_map lists;
	struct arena scratch;     /* of a writer: struct image_list */
	void **items;
	uint32_t list_count;
	size_t list_room;
	/* What the last zone had. */
	const struct conf_pattern *options;
	const char *file;
};

static void
image_fail(struct image *image, enum nsd_err err)
{
	if (image->err == NSD_OK)
		image->err = err;
}

/* ---- octets -------------------------------------------------------------- */

static void
image_flush(struct image *image)
{
	if (image->err == NSD_OK)
		image->err = fs_write_all(image->fd, image->octets,
			image->len);
	image->len = 0;
}

static void
image_append(struct image *image, const void *data, size_t len)
{
	const uint8_t *from = data;

	while (len > 0) {
		size_t part = len < BUFFER_SIZE - image->len
			? len : BUFFER_SIZE - image->len;

		memcpy(image->octets + image->len, from, part);
		image->len += part;
		from += part;
		len -= part;
		if (image->len == BUFFER_SIZE)
			image_flush(image);
	}
}

/* NULL: so many are not there. */
static const uint8_t *
image_take(struct image *image, size_t len)
{
	const uint8_t *taken = image->octets + image->at;

	if (image->err == NSD_OK && len > image->len - image->at)
		image_fail(image, NSD_E_WIRE);
	if (image->err != NSD_OK)
		return NULL;
	image->at += len;
	return taken;
}

/* A reader that has failed leaves data as it is. */
static void
image_octets(struct image *image, void *data, size_t len)
{
	const uint8_t *from;

	if (!image->reads) {
		image_append(image, data, len);
		return;
	}
	from = image_take(image, len);
	if (from != NULL)
		memcpy(data, from, len);
}

static uint32_t
image_number(struct image *image, uint32_t number)
{
	image_octets(image, &number, sizeof(number));
	return number;
}

static void *
image_alloc(struct image *image, size_t len)
{
	void *p = image->err == NSD_OK
		? arena_alloc_zero(&image->owner->arena, len) : NULL;

	if (p == NULL)
		image_fail(image, NSD_E_MEMORY);
	return p;
}

/* Octets that a field points at; len: how many, unless it is NULL. */
static void
image_data(struct image *image, const uint8_t **field, size_t len)
{
	uint32_t count = image_number(image, *field == NULL ? NO_TEXT
							    : (uint32_t)len);
	const uint8_t *from;

	if (!image->reads) {
		if (*field != NULL)
			image_append(image, *field, len);
		return;
	}
	*field = NULL;
	if (image->err != NSD_OK || count == NO_TEXT)
		return;
	from = image_take(image, count);
	if (from == NULL)
		return;
	/* A NUL stands behind them, for what is text. */
	*field = (const uint8_t *)arena_copy_text(&image->owner->arena,
		(const char *)from, count);
	if (*field == NULL)
		image_fail(image, NSD_E_MEMORY);
}

static void
image_text(struct image *image, const char **field)
{
	bool none = image->reads || *field == NULL;
	const uint8_t *data = (const uint8_t *)*field;

	image_data(image, &data, none ? 0 : strlen(*field));
	*field = (const char *)data;
}

/* An array of numbers, whose length both sides know. */
static void
image_array(struct image *image, void **field, size_t len)
{
	if (image->reads && image->err == NSD_OK
		&& len > image->len - image->at)
		image_fail(image, NSD_E_WIRE);
	if (image->reads)
		*field = len > 0 && image->err == NSD_OK
			? image_alloc(image, len) : NULL;
	if (*field != NULL)
		image_octets(image, *field, len);
}

/* A name in wire form. */
static void
image_wire(struct image *image, const uint8_t **field)
{
	bool none = image->reads || *field == NULL;

	image_data(image, field, none ? 0 : name_len(*field));
}

/* The name of a file of nsd.conf: mostly that of the clause before. */
static void
image_file(struct image *image, const char **field)
{
	if (image_number(image, *field != NULL && *field == image->file)) {
		*field = image->file;
		return;
	}
	image_text(image, field);
	image->file = *field;
}

/* ---- lists --------------------------------------------------------------- */

static void
image_string(struct image *image, void *item)
{
	image_text(image, item);
}

static void
image_interface(struct image *image, void *item)
{
	struct conf_interface *interface = item;
	struct conf_ranges *servers = &interface->servers;
	void *ranges = servers->items;

	image_text(image, &interface->text);
	image_text(image, &interface->host);
	image_array(image, &ranges, servers->count * sizeof(*servers->items));
	servers->items = ranges;
}

static void
image_acl(struct image *image, void *item)
{
	struct conf_acl *acl = item;

	image_text(image, &acl->spec);
	image_text(image, &acl->key_name);
	image_text(image, &acl->tls_auth_name);
	image_file(image, &acl->file);
	if (!image->reads || image->err != NSD_OK)
		return;
	acl->key = acl->key_name == NULL ? NULL
		: conf_find_key(&image->owner->conf, acl->key_name);
	acl->tls_auth = acl->tls_auth_name == NULL ? NULL
		: conf_find_tls_auth(&image->owner->conf, acl->tls_auth_name);
}

typedef void image_item(struct image *image, void *item);

/* What is made anew in an item of a type; NULL: nothing. */
static image_item *
image_item_of(enum conf_type type)
{
	if (option_is_acl(type))
		return image_acl;
	switch (type) {
	case TYPE_STRINGS:
		return image_string;
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
image_items(struct image *image, struct conf_list *list, enum conf_type type,
	uint32_t count)
{
	image_item *item = image_item_of(type);
	size_t size = option_item_size(type);
	uint8_t *items = list->items;

	count = image_number(image, count);
	/* Each item has at least its own octets in what follows. */
	if (image->reads && count > (image->len - image->at) / size)
		image_fail(image, NSD_E_WIRE);
	if (image->reads)
		list->items = items = list_restore(&image->owner->arena,
			image->err == NSD_OK ? count : 0, size);
	if (items == NULL && count > 0)
		image_fail(image, NSD_E_MEMORY);
	for (uint32_t i = 0; i < count && image->err == NSD_OK; i++) {
		image_octets(image, items + i * size, size);
		if (item != NULL)
			item(image, items + i * size);
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

/* The number of the items, if they have been written; else they get the next
 * one, which is given back. */
static uint32_t
image_number_list(struct image *image, const struct conf_list *list)
{
	const struct image_list *seen = map_find(&image->lists, &list->items,
		sizeof(list->items));
	struct image_list *added;

	if (seen != NULL)
		return seen->number;
	added = arena_alloc(&image->scratch, sizeof(*added));
	if (added == NULL) {
		image_fail(image, NSD_E_MEMORY);
		return 0;
	}
	*added = (struct image_list){list->items, image->list_count};
	if (map_add(&image->lists, added) != NSD_OK)
		image_fail(image, NSD_E_MEMORY);
	return added->number;
}

/* A list of a pattern: others may have the same items, or the first of them. */
static void
image_shared_list(struct image *image, struct conf_list *list,
	enum conf_type type)
{
	uint32_t number = 0;
	void **items;

	if (list->count == 0) {
		list->items = NULL;
		return;
	}
	if (!image->reads)
		number = image_number_list(image, list);
	number = image_number(image, number);
	if (image->err != NSD_OK)
		return;
	if (number < image->list_count) {
		if (image->reads)
			list->items = image->items[number];
		if (list->count > list_count_used(list))
			image_fail(image, NSD_E_WIRE);
		return;
	}
	(void)image_items(image, list, type,
		image->reads ? 0 : list_count_used(list));
	image->list_count++;
	if (!image->reads)
		return;
	items = grow_array(image->items, number, &image->list_room,
		sizeof(*items));
	if (items == NULL) {
		image_fail(image, NSD_E_MEMORY);
		return;
	}
	image->items = items;
	image->items[number] = list->items;
}

/* ---- clauses ------------------------------------------------------------- */

static void
image_option(struct image *image, const struct conf_option *option,
	void *object)
{
	enum conf_type type = (enum conf_type)option->type;
	void *field = (uint8_t *)object + option->offset;
	struct conf_list *list = field;

	if ((option->flags & OPTION_ALIAS) != 0 || type == TYPE_IGNORED
		|| type == TYPE_INCLUDE)
		return;
	if (option_is_text(type))
		image_text(image, field);
	else if (option_is_acl(type) && option->clause == CLAUSE_PATTERN)
		image_shared_list(image, list, type);
	else if (option_item_size(type) > 0)
		list->count = image_items(image, list, type, list->count);
}

/* A clause as it is in memory, with what its options point at. */
static void
image_clause(struct image *image, enum conf_clause clause, void *object)
{
	size_t count;
	const struct conf_option *rows = option_rows(clause, &count);

	for (size_t i = 0; i < count; i++)
		image_option(image, &rows[i], object);
}

static void
image_singles(struct image *image)
{
	struct conf *conf = &image->owner->conf;
	struct conf_server *server = &conf->server;
	void *nsid;

	image_octets(image, server, sizeof(*server));
	image_octets(image, &conf->remote_control,
		sizeof(conf->remote_control));
	image_octets(image, &conf->verify, sizeof(conf->verify));
	image_octets(image, &conf->dnstap, sizeof(conf->dnstap));
	nsid = (void *)(uintptr_t)server->nsid_data;
	image_text(image, &conf->file);
	for (size_t i = 0; i < CLAUSE_COUNT; i++)
		if (conf_clauses[i].single)
			image_clause(image, (enum conf_clause)i,
				(uint8_t *)conf + conf_clauses[i].offset);
	image_array(image, &nsid, server->nsid_len);
	server->nsid_data = nsid;
	image_wire(image, &server->edns_report_channel_name);
}

static void
image_key(struct image *image, struct conf_key *key)
{
	image_octets(image, key, sizeof(*key));
	image_clause(image, CLAUSE_KEY, key);
	image_wire(image, &key->wire);
	image_text(image, &key->algorithm_name);
	image_file(image, &key->file);
	if (!image->reads)
		return;
	key->secret_data = NULL;
	key->secret_len = 0;
	/* One without was made by key_edit_apply, in memory of its own. */
	if (key->file == NULL)
		key->file = "";
}

static void
image_tls_auth(struct image *image, struct conf_tls_auth *auth)
{
	image_octets(image, auth, sizeof(*auth));
	image_clause(image, CLAUSE_TLS_AUTH, auth);
	image_file(image, &auth->file);
}

static void
image_pattern(struct image *image, struct conf_pattern *pattern)
{
	image_octets(image, pattern, sizeof(*pattern));
	image_text(image, &pattern->name);
	image_file(image, &pattern->file);
	image_clause(image, CLAUSE_PATTERN, pattern);
}

/* ---- objects with names -------------------------------------------------- */

/* The array of a reader: count objects of so many octets, all zero. */
static void
image_make_array(struct image *image, void ***array, size_t count, size_t size)
{
	uint8_t *objects;

	if (count > (image->len - image->at) / size)
		image_fail(image, NSD_E_WIRE);
	objects = image_alloc(image, image->err == NSD_OK
		? count * size + 1 : 1);
	*array = image->err == NSD_OK ? calloc(count + 1, sizeof(**array))
				      : NULL;
	if (*array == NULL)
		image_fail(image, NSD_E_MEMORY);
	for (size_t i = 0; image->err == NSD_OK && i < count; i++)
		(*array)[i] = objects + i * size;
}

static void
image_keep(struct image *image, struct conf_map *map, void *object,
	const char *name)
{
	if (!image->reads || image->err != NSD_OK)
		return;
	if (name == NULL)
		image_fail(image, NSD_E_WIRE);
	else if (map_add(map, object) != NSD_OK)
		image_fail(image, NSD_E_MEMORY);
}

/* Those of one kind, in the order of their names. */
#define IMAGE_ALL(kind, map)                                                  \
	static void                                                           \
	image_##kind##s(struct image *image)                                  \
	{                                                                     \
		struct conf *conf = &image->owner->conf;                      \
		size_t count = image_number(image,                            \
			(uint32_t)conf->kind##_count);                        \
                                                                              \
		if (image->reads)                                             \
			image_make_array(image, (void ***)&conf->kind##s,     \
				count, sizeof(**conf->kind##s));              \
		for (size_t i = 0; image->err == NSD_OK && i < count; i++) {  \
			image_##kind(image, conf->kind##s[i]);                \
			image_keep(image, &image->owner->map,                 \
				conf->kind##s[i], conf->kind##s[i]->name);    \
			if (image->reads && image->err == NSD_OK)             \
				conf->kind##_count++;                         \
		}                                                             \
	}

IMAGE_ALL(key, keys)
IMAGE_ALL(tls_auth, tls_auths)
IMAGE_ALL(pattern, patterns)

/* ---- zones --------------------------------------------------------------- */

static void
image_own_options(struct image *image, struct conf_zone *zone)
{
	struct conf_pattern *own = image->reads
		? image_alloc(image, sizeof(*own))
		: (struct conf_pattern *)(uintptr_t)zone->options;

	if (own != NULL)
		image_pattern(image, own);
	zone->options = own;
}

/* Mostly those of the zone before, or of a pattern. */
static void
image_zone_options(struct image *image, struct conf_zone *zone)
{
	const struct conf *conf = &image->owner->conf;
	const char *name = image->reads ? NULL : zone->options->name;

	if (image_number(image, zone->options == image->options)) {
		zone->options = image->options;
	} else if (image_number(image, image->reads
			|| conf_find_pattern(conf, name) != zone->options)) {
		image_own_options(image, zone);
	} else {
		image_text(image, &name);
		if (image->reads)
			zone->options = image->err == NSD_OK && name != NULL
				? conf_find_pattern(conf, name) : NULL;
	}
	image->options = zone->options;
	if (zone->options == NULL)
		image_fail(image, NSD_E_WIRE);
}

static void
image_zone(struct image *image, struct conf_zone *zone)
{
	bool shares = !image->reads
		&& zone->zonefile == zone->options->zonefile;

	image_zone_options(image, zone);
	image_text(image, &zone->name);
	image_wire(image, &zone->wire);
	image_octets(image, &zone->line, sizeof(zone->line));
	image_file(image, &zone->file);
	if (!image_number(image, shares))
		image_text(image, &zone->zonefile);
	else if (image->reads && image->err == NSD_OK)
		zone->zonefile = zone->options->zonefile;
}

static void
image_write_zones(struct image *image)
{
	const struct conf *conf = &image->owner->conf;
	uint32_t count = 0;

	for (size_t i = 0; i < image->zone_end; i++)
		count += conf->zones[i]->pattern_name == NULL;
	(void)image_number(image, count);
	for (size_t i = 0; i < image->zone_end; i++)
		if (conf->zones[i]->pattern_name == NULL)
			image_zone(image, conf->zones[i]);
}

static void
image_read_zones(struct image *image)
{
	struct conf_owner *owner = image->owner;
	uint32_t count = image_number(image, 0);
	struct conf_zone *zones;

	/* Each has at least its numbers in what follows. */
	if (count > (image->len - image->at) / (4 * sizeof(uint32_t)))
		image_fail(image, NSD_E_WIRE);
	zones = image_alloc(image, image->err == NSD_OK
		? count * sizeof(*zones) + 1 : 1);
	for (uint32_t i = 0; image->err == NSD_OK && i < count; i++) {
		image_zone(image, &zones[i]);
		if (image->err == NSD_OK && (zones[i].wire == NULL
				|| zones[i].name == NULL))
			image_fail(image, NSD_E_WIRE);
		if (image->err == NSD_OK)
			image_fail(image, conf_append_zone(owner, &zones[i]));
	}
}

/* ---- all of it ----------------------------------------------------------- */

/* In both directions. What zones and lists refer to comes first. */
static void
image_run(struct image *image)
{
	uint64_t magic = MAGIC;

	image_octets(image, &magic, sizeof(magic));
	if (magic != MAGIC)
		image_fail(image, NSD_E_WIRE);
	if (image->err == NSD_OK)
		image_keys(image);
	if (image->err == NSD_OK)
		image_tls_auths(image);
	if (image->err == NSD_OK)
		image_singles(image);
	if (image->err == NSD_OK)
		image_patterns(image);
	if (image->err != NSD_OK)
		return;
	if (image->reads)
		image_read_zones(image);
	else
		image_write_zones(image);
}

/* What is in the file stays as it is. */
static enum nsd_err
image_seal(int fd)
{
	return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK
		| F_SEAL_GROW | F_SEAL_WRITE) != -1 ? NSD_OK : NSD_E_SYSTEM;
}

enum nsd_err
conf_image_write(const struct conf *conf, enum conf_image_part part, int *fd)
{
	struct image image = {
		.owner = (struct conf_owner *)(uintptr_t)conf,
		.err = NSD_OK,
		.octets = malloc(BUFFER_SIZE),
		.zone_end = part == CONF_IMAGE_ALL ? conf->zone_count : 0,
		.fd = memfd_create("nsd-conf",
			MFD_CLOEXEC | MFD_ALLOW_SEALING),
	};
	int error = errno;

	arena_init(&image.scratch, NULL, 0);
	map_init(&image.lists, image_list_key);
	if (image.octets == NULL)
		image.err = NSD_E_MEMORY;
	else if (image.fd == -1)
		image.err = NSD_E_SYSTEM;
	else
		image_run(&image);
	if (image.err == NSD_OK)
		image_flush(&image);
	if (image.err == NSD_OK)
		image.err = image_seal(image.fd);
	if (image.err == NSD_E_SYSTEM && image.fd != -1)
		error = errno;
	map_fini(&image.lists);
	arena_fini(&image.scratch);
	free(image.octets);
	if (image.err == NSD_OK)
		*fd = image.fd;
	else if (image.fd != -1)
		close(image.fd);
	errno = error;
	return image.err;
}

enum nsd_err
conf_image_read(int fd, struct conf **conf)
{
	struct image image = {.reads = true, .err = NSD_OK};
	struct stat st;

	if (fstat(fd, &st) == -1)
		return NSD_E_SYSTEM;
	if (st.st_size < (off_t)sizeof(uint64_t))
		return NSD_E_WIRE;
	image.len = (size_t)st.st_size;
	image.octets = mmap(NULL, image.len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (image.octets == MAP_FAILED)
		return NSD_E_SYSTEM;
	image.err = conf_owner_create(&image.owner);
	if (image.err == NSD_OK)
		image_run(&image);
	if (image.err == NSD_OK && image.at != image.len)
		image.err = NSD_E_WIRE;
	munmap(image.octets, image.len);
	free(image.items);
	if (image.err != NSD_OK && image.owner != NULL)
		conf_destroy(&image.owner->conf);
	else if (image.err == NSD_OK)
		*conf = &image.owner->conf;
	return image.err;
}
