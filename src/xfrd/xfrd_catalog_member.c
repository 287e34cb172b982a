/* xfrd_catalog_member.c - which pattern a member of a catalog gets, whether it
 * may come, and whether it may move from another catalog. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_catalogs.h"
#include "xfrd/xfrd_member_id.h"
#include "zone/table.h"

/* Members with several groups that a round writes to the log. */
#define LINES_MAX 20u

/* True if there is such a pattern. Most members have that of the one before. */
static bool
pattern_is_known(struct xfrd_catalog *catalog, const char *name)
{
	struct catalog_round *round = catalog->round;

	if (strcmp(round->pattern, name) == 0)
		return round->has_pattern;
	if (*name == '\0' || strlen(name) >= sizeof(round->pattern))
		return false;
	snprintf(round->pattern, sizeof(round->pattern), "%s", name);
	round->has_pattern = xfrd_has_pattern(catalog->xfrd, name);
	return round->has_pattern;
}

/* Finds the pattern of a member: the first of its groups that is known
 * (RFC 9432 section 4.4.2), or else that of the catalog's members. NULL: there
 * is none; *missing: the one that it would have, or NULL. */
static const char *
member_find_pattern(struct xfrd_catalog *catalog,
	const struct xfrd_options *options,
	const struct catalog_member *member, const char **missing)
{
	const char *pattern;

	for (unsigned i = 0; i < member->group_count; i++)
		if (xfrd_pattern_takes_group(options->pattern,
			    member->groups[i])
			&& pattern_is_known(catalog, member->groups[i]))
			return member->groups[i];
	pattern = settings_pattern_text(options->pattern,
		options->pattern->catalog.member_pattern_at);
	*missing = member->group_count > 0 ? member->groups[0] : pattern;
	return pattern != NULL && pattern_is_known(catalog, pattern) ? pattern
								     : NULL;
}

/* Gets the catalog that the zone of a member belongs to now, and returns the ID
 * there. NULL: none. */
static const char *
member_get_owner(const struct xfrd *xfrd, const struct catalog_member *member,
	uint8_t apex[NAME_MAX_LEN])
{
	const struct xfrd_zone_table *table = &xfrd->zones.table;
	const struct xfrd_zone *zone = xfrd_zone_find(table, member->name);
	const char *id = zone != NULL ? xfrd_zone_member(table, zone) : NULL;
	uint8_t label[CATALOG_LABEL_SIZE];

	return id != NULL && xfrd_member_id_parse(id, label, apex)
			&& xfrd_catalog_find(xfrd, apex) != NULL
		? id
		: NULL;
}

/* Tells the catalog that the coo property of a member names: it may have waited
 * for that. A version is told of once: if each round did so, two catalogs could
 * have each other look again for ever. */
static void
member_offer(const struct xfrd_catalog *catalog,
	const struct catalog_member *member)
{
	const struct xfrd_catalog *other = xfrd_catalog_has_compared(catalog)
		? NULL : xfrd_catalog_find(catalog->xfrd, member->coo);

	if (other != NULL && other != catalog)
		xfrd_members_on_offered(&other->members, member->name);
}

/* Looks at the coo property of a member. If the zone has moved to the catalog
 * that it names (RFC 9432 section 4.4.1), returns its ID there. */
static const char *
member_look_at_coo(struct xfrd_catalog *catalog,
	const struct catalog_member *member)
{
	uint8_t apex[NAME_MAX_LEN];
	const char *id = member->has_coo
		? member_get_owner(catalog->xfrd, member, apex) : NULL;

	if (id == NULL)
		return NULL;
	if (name_equal(apex, catalog->apex)) {
		member_offer(catalog, member);
		return NULL;
	}
	return name_equal(apex, member->coo) ? id : NULL;
}

/* Tells of a member with several groups, of which the first known one
 * counts. */
static void
member_note_groups(struct xfrd_catalog *catalog,
	const struct catalog_member *member, const char *pattern)
{
	struct catalog_round *round = catalog->round;
	char name[NAME_TEXT_MAX];

	if (member->group_count < 2 || pattern == NULL
		|| round->lines++ >= LINES_MAX)
		return;
	name_print_text(member->name, name);
	log_warning("member zone '%s': %s: there are several group properties;"
		    " the pattern is %s", name, catalog->name, pattern);
}

void
xfrd_catalog_apply(struct xfrd_catalog *catalog,
	const struct catalog_member *member)
{
	struct xfrd *xfrd = catalog->xfrd;
	struct xfrd_options options = xfrd_options_find(xfrd, catalog->apex);
	char id[XFRD_MEMBER_ID_MAX];
	struct xfrd_member_ask ask = {
		.apex = member->name,
		.id = xfrd_member_id_print(member->label, catalog->apex, id),
	};
	const char *missing = NULL, *moved;

	if (options.pattern == NULL) {
		/* The catalog is going. */
		xfrd_members_refuse(&catalog->members, &ask,
			XFRD_REFUSAL_FAILED, "the catalog is not there", true);
		xfrd_read_end(xfrd);
		return;
	}
	moved = member_look_at_coo(catalog, member);
	if (moved != NULL) {
		xfrd_members_refuse(&catalog->members, &ask,
			XFRD_REFUSAL_MOVED, moved, true);
		xfrd_read_end(xfrd);
		return;
	}
	ask.pattern = member_find_pattern(catalog, &options, member, &missing);
	member_note_groups(catalog, member, ask.pattern);
	if (!xfrd_pattern_allows(options.pattern, member->name))
		xfrd_members_refuse(&catalog->members, &ask,
			XFRD_REFUSAL_ALLOW, NULL, false);
	else if (ask.pattern == NULL)
		xfrd_members_refuse(&catalog->members, &ask,
			XFRD_REFUSAL_PATTERN, missing, true);
	else
		xfrd_members_want(&catalog->members, &ask);
	xfrd_read_end(xfrd);
}

/* Finds a member of another catalog in its served version, which has to be
 * known as valid: a fault may be in any of its nodes. */
static bool
other_find(struct xfrd *xfrd, const struct xfrd_catalog *other,
	const uint8_t *label, struct catalog_member *member)
{
	struct xfrd_options options = xfrd_options_find(xfrd, other->apex);
	store_ref ref = options.entry != NULL
		? store_load_ref(&options.entry->zone) : STORE_NONE;
	bool found = false;

	if (ref != STORE_NONE) {
		const struct zone *zone = store_get(options.view, ref);

		found = xfrd_catalog_has_checked(other, zone, ref)
			&& catalog_find(options.view, zone, other->apex, label,
				   member)
				== NSD_OK
			&& member->fault == CATALOG_FAULT_NONE;
	}
	xfrd_read_end(xfrd);
	return found;
}

void
xfrd_catalog_tell_valid(const struct xfrd_catalog *catalog)
{
	bool was_unknown = *catalog->invalid != '\0' || !catalog->is_compared;

	if (!xfrd_catalog_has_compared(catalog))
		xfrd_members_on_checked(&catalog->members, was_unknown);
}

enum xfrd_take
xfrd_catalog_may_take(void *ctx, const struct xfrd_zone *zone, const char *id,
	const struct xfrd_member_ask *ask)
{
	const struct xfrd_catalog *catalog = ctx, *other;
	uint8_t label[CATALOG_LABEL_SIZE], apex[NAME_MAX_LEN];
	uint8_t ours[CATALOG_LABEL_SIZE], unused[NAME_MAX_LEN];
	struct catalog_member member;

	if (!xfrd_member_id_parse(id, label, apex)
		|| !xfrd_member_id_parse(ask->id, ours, unused))
		return XFRD_TAKE_NOT;
	other = xfrd_catalog_find(catalog->xfrd, apex);
	if (other == NULL || !other_find(catalog->xfrd, other, label, &member)
		|| !member.has_coo || !name_equal(member.coo, catalog->apex)
		|| !name_equal(member.name, ask->apex))
		return XFRD_TAKE_NOT;
	return memcmp(label, ours, 1u + *label) == 0 ? XFRD_TAKE_KEEP
						     : XFRD_TAKE_RESET;
}

bool
xfrd_catalog_note_moved(struct xfrd_catalog *catalog,
	const struct xfrd_refused_member *moved)
{
	const struct xfrd_zone_table *table = &catalog->xfrd->zones.table;
	const struct xfrd_zone *zone = xfrd_zone_find(table, moved->apex);
	const struct xfrd_member_ask ask = {
		.apex = moved->apex,
		.id = moved->id,
	};
	uint8_t label[CATALOG_LABEL_SIZE], apex[NAME_MAX_LEN];
	struct catalog_member member;

	if (zone == NULL || !xfrd_member_id_parse(moved->id, label, apex)
		|| !other_find(catalog->xfrd, catalog, label, &member)
		|| !member.has_coo || !name_equal(member.name, moved->apex))
		return false;
	(void)xfrd_members_keep_refused(&catalog->members, &ask,
		XFRD_REFUSAL_MOVED, xfrd_zone_member(table, zone));
	return true;
}
