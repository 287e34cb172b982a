/* xfrd_produce_text.c - the records of a catalog that this server produces, and
 * how they differ from those that are served. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "dns/nsec3.h"
#include "dns/rrtype.h"
#include "dns/serial.h"
#include "xfr/changes.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_edit.h"
#include "xfrd/xfrd_member_id.h"
#include "xfrd/xfrd_produce.h"
#include "zone/walk.h"

/* Octets of differences from which on a version removes nothing more. The other
 * half of what an edit may have is for the record that has gone beyond, and for
 * what the names of a version are to have: a PTR and a TXT record each. */
#define OCTETS_FULL (XFRD_EDIT_DIFFS_MAX / 2)
/* TTL of all records: caches have no use for them (RFC 9432 section 4.1). */
#define TTL_SEC 0u

/* SOA and NS name no host (RFC 9432 section 4.1). Behind the serial: refresh,
 * retry, expire, minimum. */
static const uint8_t invalid_name[] = "\7invalid";
#define SOA_LEN (2 * sizeof(invalid_name) + 20)
static const uint32_t soa_timers[4] = {3600, 600, 2147483646, 0};

static const uint8_t zones_label[] = "\5zones";
static const uint8_t group_label[] = "\5group";
static const uint8_t version_label[] = "\7version";
static const uint8_t version_text[] = "\1" "2";

/* ---- names --------------------------------------------------------------- */

/* Puts a label, with the octet of its length, before a name. False: the name
 * would be too long. */
static bool
produce_prepend(const uint8_t *label, const uint8_t *name,
	uint8_t out[NAME_MAX_LEN])
{
	size_t len = name_len(name), add = 1u + label[0];

	if (len + add > NAME_MAX_LEN)
		return false;
	memmove(out + add, name, len);
	memcpy(out, label, add);
	return true;
}

/* True if the name is a member node: one label below zones.CATALOG. */
static bool
owner_is_member(const uint8_t *owner, const uint8_t *catalog)
{
	const uint8_t *rest = owner + 1 + owner[0];

	return owner[0] != 0
		&& memcmp(rest, zones_label, sizeof(zones_label) - 1) == 0
		&& name_equal(rest + sizeof(zones_label) - 1, catalog);
}

const uint8_t *
xfrd_produce_find_node(const uint8_t *owner, const uint8_t *catalog)
{
	unsigned depth = name_count_labels(owner) - name_count_labels(catalog);
	const uint8_t *node = depth > 2 ? name_skip_labels(owner, depth - 2)
					: owner;

	return owner_is_member(node, catalog) ? node : owner;
}

bool
xfrd_produce_is_group(const uint8_t *owner, const uint8_t *node)
{
	return memcmp(owner, group_label, sizeof(group_label) - 1) == 0
		&& owner + sizeof(group_label) - 1 == node;
}

/* Makes a member node of a label, with the octet of its length. False: there is
 * no room for it, or for its property. */
static bool
owner_make(const uint8_t *label, const uint8_t *catalog,
	uint8_t owner[NAME_MAX_LEN])
{
	uint8_t group[NAME_MAX_LEN];

	return produce_prepend(zones_label, catalog, owner)
		&& produce_prepend(label, owner, owner)
		&& produce_prepend(group_label, owner, group);
}

static bool
owner_make_hashed(const uint8_t hash[NSEC3_HASH_LEN], const uint8_t *catalog,
	uint8_t owner[NAME_MAX_LEN])
{
	uint8_t label[1 + NSEC3_LABEL_LEN] = {NSEC3_LABEL_LEN};

	nsec3_print_label(hash, label + 1);
	return owner_make(label, catalog, owner);
}

/* Hashes a name with a salt, which is cut at 255 octets. */
static void
produce_hash(const uint8_t *apex, const void *salt, size_t salt_len,
	uint8_t hash[NSEC3_HASH_LEN])
{
	const struct nsec3_params params = {
		.salt = salt,
		.salt_len = (uint8_t)(salt_len < UINT8_MAX ? salt_len
							   : UINT8_MAX),
	};
	struct nsec3_job job = {.name = apex}, *const jobs[] = {&job};

	nsec3_hash_batch(&params, jobs, 1);
	memcpy(hash, job.hash, NSEC3_HASH_LEN);
}

/* Reads the ID of a producer's member: a label alone. False: it is none, or
 * that of a source. */
static bool
produce_read_id(const char *id, uint8_t wire[NAME_MAX_LEN])
{
	static const uint8_t root[1];
	const char *why;
	size_t len;

	if (id == NULL || strcmp(id, XFRD_MEMBER_OF_FOLDER) == 0
		|| name_parse_text(id, strlen(id), root, wire, &len, &why)
			!= NSD_OK
		|| name_count_labels(wire) != 1)
		return false;
	name_lower(wire);
	return true;
}

bool
xfrd_produce_find_owner(const struct xfrd *xfrd, const struct xfrd_zone *zone,
	const uint8_t *catalog, uint8_t owner[NAME_MAX_LEN])
{
	const char *id = xfrd_zone_member(&xfrd->zones.table, zone);
	uint8_t label[NAME_MAX_LEN], hash[NSEC3_HASH_LEN];

	if (produce_read_id(id, label))
		return owner_make(label, catalog, owner);
	/* The member of another source that is reset has another ID there, so
	 * it is another one here, too. */
	produce_hash(xfrd_zone_apex(zone), id, id != NULL ? strlen(id) : 0,
		hash);
	return owner_make_hashed(hash, catalog, owner);
}

bool
xfrd_produce_has_pattern(struct xfrd *xfrd, const char *pattern)
{
	const struct store_view *view = xfrd_read_begin(xfrd);
	store_ref ref = settings_find_pattern(view, pattern);
	const struct settings_pattern *found = ref == STORE_NONE ? NULL
		: store_get(view, ref);
	bool has = found != NULL && settings_pattern_name(found,
		found->catalog.producer_at) != NULL;

	xfrd_read_end(xfrd);
	return has;
}

bool
xfrd_produce_make_id(struct xfrd *xfrd, const char *pattern,
	const uint8_t *apex, const char *old, char id[XFRD_MEMBER_ID_MAX])
{
	uint8_t label[NAME_MAX_LEN], hash[NSEC3_HASH_LEN];
	int64_t now[2] = {clock_now_usec(), (int64_t)time(NULL)};
	bool wanted = xfrd_produce_has_pattern(xfrd, pattern)
		&& !produce_read_id(old, label)
		&& (old == NULL || !xfrd_member_id_has_source(xfrd,
			xfrd_zone_find(&xfrd->zones.table, apex), old));

	if (!wanted)
		return false;
	produce_hash(apex, now, sizeof(now), hash);
	nsec3_print_label(hash, (uint8_t *)id);
	id[NSEC3_LABEL_LEN] = '\0';
	return true;
}

/* ---- differences --------------------------------------------------------- */

/* Adds a record to the octets of removed or added ones. */
static void
produce_put(struct produce_text *text, enum changes_action action,
	const uint8_t *owner, uint16_t type, uint32_t ttl_sec,
	const uint8_t *rdata, uint16_t rdlen)
{
	bool add = action == XFR_ADD;
	uint8_t **octets = add ? &text->added : &text->removed;
	size_t *len = add ? &text->added_len : &text->removed_len;
	size_t *room = add ? &text->added_room : &text->removed_room;
	const struct changes_rr rr = {
		.action = action,
		.ttl_sec = ttl_sec,
		.type = type,
		.rdlen = rdlen,
		.owner_len = (uint8_t)name_len(owner),
		.owner = owner,
		.rdata = rdata,
	};
	size_t need = *len + changes_rdata_offset(rr.owner_len) + rdlen;

	if (need > *room && !text->failed) {
		size_t more = need * 2 + 1024;
		uint8_t *grown = realloc(*octets, more);

		text->failed = grown == NULL;
		if (grown != NULL) {
			*octets = grown;
			*room = more;
		}
	}
	if (type == TYPE_PTR)
		text->more += add ? 1 : -1;
	if (!text->failed)
		*len += changes_write(*octets + *len, &rr);
}

/* The RRset that a name is to have of a type: one record. */
struct produce_wanted {
	uint16_t type;
	uint16_t rdlen;
	const uint8_t *rdata;
	bool found;  /* the served version has it */
};

/* A comparison of a name of the served version with its wanted RRsets. */
struct produce_compare {
	const uint8_t *apex, *owner;
	struct produce_wanted *wanted;
	unsigned wanted_count;
	struct produce_text *text; /* NULL: only whether they differ */
	bool differs;
};

static struct produce_wanted *
compare_find(const struct produce_compare *c, const struct zone_rr *rr)
{
	for (unsigned i = 0; i < c->wanted_count; i++) {
		struct produce_wanted *w = &c->wanted[i];

		if (w->type == rr->type && rr->ttl_sec == TTL_SEC
			&& w->rdlen == rr->rdlen
			&& memcmp(w->rdata, rr->rdata, rr->rdlen) == 0)
			return w;
	}
	return NULL;
}

/* Takes a record that the served version has, and is not to have; or one that
 * it lacks: this one stays out, too, if a record is left that it may not fit
 * beside. */
static void
compare_put(struct produce_compare *c, enum changes_action action,
	const struct zone_rr *rr)
{
	struct produce_text *text = c->text;

	c->differs = true;
	if (text == NULL)
		return;
	text->is_full |= action == XFR_REMOVE
		&& text->removed_len + text->added_len >= OCTETS_FULL;
	if (text->is_full)
		return;
	produce_put(text, action, c->owner, rr->type, rr->ttl_sec, rr->rdata,
		rr->rdlen);
	text->records++;
}

static void
compare_read_rr(struct produce_compare *c, const struct zone_rr *rr)
{
	struct produce_wanted *w = compare_find(c, rr);

	/* The SOA of the apex is that of the version. */
	if (rr->type == TYPE_SOA)
		return;
	if (w != NULL)
		w->found = true;
	else
		compare_put(c, XFR_REMOVE, rr);
}

/* Reads all records of the name: the zone may have been signed before, so it
 * may have signatures and NSEC3 records. */
static void
compare_read_served(struct xfrd *xfrd, struct produce_compare *c)
{
	struct xfrd_options options = xfrd_options_find(xfrd, c->apex);
	store_ref ref = options.entry != NULL
		? store_load_ref(&options.entry->zone) : STORE_NONE;
	struct zone_cursor *cursor = NULL;
	struct zone_rr rr;

	if (ref != STORE_NONE
		&& zone_cursor_create(options.view,
			   store_get(options.view, ref), c->apex, &cursor)
			!= NSD_OK) {
		c->differs = true;
		if (c->text != NULL)
			c->text->failed = true;
	}
	if (cursor != NULL) {
		zone_cursor_seek(cursor, c->owner);
		while (zone_cursor_next(cursor, &rr))
			compare_read_rr(c, &rr);
	}
	zone_cursor_destroy(cursor);
	xfrd_read_end(xfrd);
}

static void
produce_compare_name(struct xfrd *xfrd, struct produce_compare *c)
{
	compare_read_served(xfrd, c);
	for (unsigned i = 0; i < c->wanted_count; i++) {
		const struct produce_wanted *w = &c->wanted[i];
		const struct zone_rr rr = {
			.ttl_sec = TTL_SEC,
			.type = w->type,
			.rdlen = w->rdlen,
			.rdata = w->rdata,
		};

		if (!w->found)
			compare_put(c, XFR_ADD, &rr);
	}
}

/* Compares a name. text: NULL, or takes the differences. True: there are
 * some. */
static bool
produce_compare_rrsets(struct xfrd *xfrd, const uint8_t *catalog,
	const uint8_t *owner, struct produce_wanted *wanted, unsigned count,
	struct produce_text *text)
{
	struct produce_compare c = {
		.apex = catalog,
		.owner = owner,
		.wanted = wanted,
		.wanted_count = count,
		.text = text,
	};

	produce_compare_name(xfrd, &c);
	return c.differs;
}

/* ---- members ------------------------------------------------------------- */

/* Room for the RDATA of a TXT that has the longest name of a pattern that is
 * told of. */
#define GROUP_MAX 1024u

/* Writes a pattern's name as strings of a TXT record. Returns its octets. */
static size_t
produce_write_group(const char *pattern, uint8_t out[GROUP_MAX])
{
	size_t left = strlen(pattern), len = 0;

	do {
		size_t part = left < UINT8_MAX ? left : UINT8_MAX;

		if (len + 1 + part > GROUP_MAX)
			break;
		out[len++] = (uint8_t)part;
		memcpy(out + len, pattern, part);
		len += part;
		pattern += part;
		left -= part;
	} while (left > 0);
	return len;
}

/* A zone, as the catalog is to describe it. */
struct produce_member {
	bool is_member;
	size_t group_len; /* 0: none */
	uint8_t group[GROUP_MAX];
};

bool
xfrd_produce_find_member(const struct xfrd *xfrd, const struct xfrd_zone *zone,
	const struct xfrd_options *options, const uint8_t *catalog,
	uint8_t owner[NAME_MAX_LEN])
{
	const uint8_t *name = options->pattern == NULL ? NULL
		: settings_pattern_name(options->pattern,
			options->pattern->catalog.producer_at);

	return name != NULL && name_equal(name, catalog)
		&& !name_equal(xfrd_zone_apex(zone), catalog)
		&& xfrd_produce_find_owner(xfrd, zone, catalog, owner);
}

static void
produce_read_member(struct xfrd *xfrd, const uint8_t *apex,
	const uint8_t *catalog, const uint8_t *owner,
	struct produce_member *member)
{
	const struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table, apex);
	uint8_t of[NAME_MAX_LEN];
	struct xfrd_options options;
	const char *pattern;

	*member = (struct produce_member){.is_member = false};
	if (zone == NULL)
		return;
	options = xfrd_options_begin(xfrd, zone);
	if (xfrd_produce_find_member(xfrd, zone, &options, catalog, of)
		&& name_equal(of, owner)) {
		pattern = settings_pattern_text(options.pattern,
			options.pattern->name_at);
		member->is_member = true;
		if (pattern != NULL)
			member->group_len = produce_write_group(pattern,
				member->group);
	}
	xfrd_read_end(xfrd);
}

bool
xfrd_produce_is_member(struct xfrd *xfrd, const uint8_t *apex,
	const uint8_t *catalog, const uint8_t *owner)
{
	struct produce_member member;

	produce_read_member(xfrd, apex, catalog, owner, &member);
	return member.is_member;
}

/* Compares a member node and its property. */
static bool
produce_compare_member(struct xfrd *xfrd, const uint8_t *catalog,
	const struct produce_name *name, struct produce_text *text)
{
	uint8_t group[NAME_MAX_LEN];
	struct produce_member member = {.is_member = false};
	struct produce_wanted ptr = {
		.type = TYPE_PTR,
		.rdata = name->member,
		.rdlen = (uint16_t)name_len(name->member),
	};
	struct produce_wanted txt = {.type = TYPE_TXT, .rdata = member.group};
	bool differs;

	produce_read_member(xfrd, name->member, catalog, name->owner, &member);
	txt.rdlen = (uint16_t)member.group_len;
	differs = produce_compare_rrsets(xfrd, catalog, name->owner, &ptr,
		member.is_member, text);
	if (produce_prepend(group_label, name->owner, group)
		&& produce_compare_rrsets(xfrd, catalog, group, &txt,
			member.is_member && member.group_len > 0, text))
		differs = true;
	return differs;
}

static bool
produce_compare_any(struct xfrd *xfrd, const uint8_t *catalog,
	const struct produce_name *name, struct produce_text *text)
{
	struct produce_wanted ns = {
		.type = TYPE_NS,
		.rdata = invalid_name,
		.rdlen = sizeof(invalid_name),
	};
	struct produce_wanted version = {
		.type = TYPE_TXT,
		.rdata = version_text,
		.rdlen = sizeof(version_text) - 1,
	};
	uint8_t version_name[NAME_MAX_LEN];
	const uint8_t *owner = name->owner;

	if (owner_is_member(owner, catalog))
		return produce_compare_member(xfrd, catalog, name, text);
	if (name_equal(owner, catalog))
		return produce_compare_rrsets(xfrd, catalog, owner, &ns, 1,
			text);
	if (xfrd_produce_find_version(catalog, version_name)
		&& name_equal(owner, version_name))
		return produce_compare_rrsets(xfrd, catalog, owner, &version, 1,
			text);
	return produce_compare_rrsets(xfrd, catalog, owner, NULL, 0, text);
}

bool
xfrd_produce_differs(struct xfrd *xfrd, const uint8_t *catalog,
	const struct produce_name *name)
{
	return produce_compare_any(xfrd, catalog, name, NULL);
}

void
xfrd_produce_add(struct xfrd *xfrd, const uint8_t *catalog,
	const struct produce_name *name, struct produce_text *text)
{
	(void)produce_compare_any(xfrd, catalog, name, text);
}

bool
xfrd_produce_find_version(const uint8_t *catalog, uint8_t owner[NAME_MAX_LEN])
{
	return produce_prepend(version_label, catalog, owner);
}

/* ---- versions ------------------------------------------------------------ */

static void
produce_write_soa(uint32_t serial, uint8_t rdata[SOA_LEN])
{
	uint8_t *at = rdata;

	for (unsigned i = 0; i < 2; i++) {
		memcpy(at, invalid_name, sizeof(invalid_name));
		at += sizeof(invalid_name);
	}
	octets_put_u32(at, serial);
	for (unsigned i = 0; i < 4; i++)
		octets_put_u32(at + 4 + i * 4, soa_timers[i]);
}

bool
xfrd_produce_begin(struct xfrd *xfrd, const uint8_t *catalog,
	struct produce_text *text, uint32_t *from, uint32_t *to)
{
	const struct xfrd_zone *zone = xfrd_zone_find(&xfrd->zones.table,
		catalog);
	uint8_t rdata[SOA_LEN];
	struct xfrd_soa soa;
	bool is_served = zone != NULL && xfrd_zones_get_soa(xfrd, zone, &soa);

	*text = (struct produce_text){.failed = false};
	*from = is_served ? soa.numbers.serial : 0;
	*to = (uint32_t)time(NULL);
	if (is_served && !serial_is_newer(*to, *from))
		*to = *from + 1;
	if (is_served)
		produce_put(text, XFR_REMOVE, catalog, TYPE_SOA, soa.ttl_sec,
			soa.rdata, soa.len);
	produce_write_soa(*to, rdata);
	produce_put(text, XFR_ADD, catalog, TYPE_SOA, TTL_SEC, rdata, SOA_LEN);
	return is_served;
}

enum nsd_err
xfrd_produce_end(struct produce_text *text)
{
	size_t len = text->removed_len + text->added_len;
	uint8_t *grown;

	if (text->failed)
		return NSD_E_MEMORY;
	grown = realloc(text->removed, len);
	if (grown == NULL)
		return NSD_E_MEMORY;
	memcpy(grown + text->removed_len, text->added, text->added_len);
	text->removed = grown;
	text->removed_len = text->removed_room = len;
	return NSD_OK;
}

void
xfrd_produce_free(struct produce_text *text)
{
	free(text->removed);
	free(text->added);
}
