/* xfrd_members_refused.c - members that a source wants, and that were refused;
 * and what others ask of sources. */
#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xfrd/xfrd.h"
#include "xfrd/xfrd_apexes.h"
#include "xfrd/xfrd_member_id.h"
#include "xfrd/xfrd_members.h"

static struct xfrd_refused_member *
refused_find(const struct xfrd_members *members, const uint8_t *apex)
{
	return xfrd_apexes_find(&members->refused_tree, apex);
}

const struct xfrd_refused_member *
xfrd_members_find_refused(const struct xfrd_members *members,
	const uint8_t *apex)
{
	return refused_find(members, apex);
}

/* Frees one that is not among those of a source. */
static void
refused_destroy(struct xfrd_refused_member *refused)
{
	free(refused->text);
	free(refused->id);
	free(refused);
}

static void
refused_free(struct xfrd_members *members, struct xfrd_refused_member *refused)
{
	assert(members->refused_count > 0);
	xfrd_apexes_remove(&members->refused_tree, refused);
	cds_list_del(&refused->node);
	members->refused_count--;
	refused_destroy(refused);
}

void
xfrd_members_forget_refused(struct xfrd_members *members, const uint8_t *apex)
{
	struct xfrd_refused_member *refused = members->refused_count > 0
		? refused_find(members, apex) : NULL;

	if (refused != NULL)
		refused_free(members, refused);
}

void
xfrd_members_forget_refused_id(struct xfrd_members *members,
	const uint8_t *apex, const char *id)
{
	struct xfrd_refused_member *refused = members->refused_count > 0
		? refused_find(members, apex) : NULL;

	if (refused != NULL && strcmp(refused->id, id) == 0)
		refused_free(members, refused);
}

void
xfrd_members_forget_all_refused(struct xfrd_members *members)
{
	struct xfrd_refused_member *refused;

	while ((refused = list_first_or_null(&members->refused,
			struct xfrd_refused_member, node)) != NULL)
		refused_free(members, refused);
	members->refused_more = 0;
}

/* Makes a refused member. NULL: no memory. */
static struct xfrd_refused_member *
refused_create(const struct xfrd_member_ask *ask, enum xfrd_refusal why,
	const char *text)
{
	struct xfrd_refused_member *refused = calloc(1, sizeof(*refused));

	if (refused == NULL)
		return NULL;
	refused->why = why;
	memcpy(refused->apex, ask->apex, name_len(ask->apex));
	refused->id = strdup(ask->id);
	refused->text = text != NULL ? strdup(text) : NULL;
	if (refused->id != NULL && (text == NULL || refused->text != NULL))
		return refused;
	refused_destroy(refused);
	return NULL;
}

const struct xfrd_refused_member *
xfrd_members_keep_refused(struct xfrd_members *members,
	const struct xfrd_member_ask *ask, enum xfrd_refusal why,
	const char *text)
{
	struct xfrd_refused_member *refused = NULL;
	struct xfrd_refused_member *before = members->refused_count > 0
		? refused_find(members, ask->apex) : NULL;

	if (before != NULL || members->refused_count < XFRD_REFUSED_MAX)
		refused = refused_create(ask, why, text);
	/* The earlier refusal may lend what was asked. */
	if (before != NULL)
		refused_free(members, before);
	if (refused != NULL
		&& !xfrd_apexes_add(&members->refused_tree, refused)) {
		refused_destroy(refused);
		refused = NULL;
	}
	if (refused == NULL) {
		members->refused_more++;
		return NULL;
	}
	cds_list_add_tail(&refused->node, &members->refused);
	members->refused_count++;
	return refused;
}

const char *
xfrd_members_print_text(const char *text, char *out, size_t size)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t len = 0;

	for (; *at != '\0' && len + sizeof("\\DDD") <= size; at++) {
		if (*at >= 0x20 && *at < 0x7f)
			out[len++] = (char)*at;
		else
			len += (size_t)sprintf(out + len, "\\%03u", *at);
	}
	out[len] = '\0';
	return out;
}

const char *
xfrd_members_print_refusal(const struct xfrd_refused_member *refused, char *out,
	size_t size)
{
	char text[NAME_TEXT_MAX];

	(void)xfrd_members_print_text(
		refused->text != NULL ? refused->text : "", text,
		sizeof(text));
	switch (refused->why) {
	case XFRD_REFUSAL_NAME:
		snprintf(out, size, "not the name of a zone");
		break;
	case XFRD_REFUSAL_ALLOW:
		snprintf(out, size, "not in catalog-allow");
		break;
	case XFRD_REFUSAL_PATTERN:
		snprintf(out, size, "no pattern %s", *text != '\0' ? text
			: "is set: neither group nor catalog-member-pattern");
		break;
	case XFRD_REFUSAL_MOVED:
		snprintf(out, size, "the zone has moved: %s", text);
		break;
	case XFRD_REFUSAL_FIXED:
		snprintf(out, size, "the zone is in nsd.conf");
		break;
	case XFRD_REFUSAL_BY_HAND:
		snprintf(out, size, "the zone was added by hand%s%s",
			*text != '\0' ? ", or by a source that is not there any"
					" more: " : "", text);
		break;
	case XFRD_REFUSAL_MEMBER:
		snprintf(out, size, "the zone is a member of another source: "
			"%s", text);
		break;
	case XFRD_REFUSAL_FAILED:
		snprintf(out, size, "%s", *text != '\0' ? text
			: "no zone can be added now");
		break;
	}
	return out;
}

/* Has a source look again at a member that it has refused; without one, at all,
 * if the member may be among those that were only counted. */
static void
source_look_again(const struct xfrd_members *members,
	const struct xfrd_refused_member *refused)
{
	if (refused != NULL || members->refused_more > 0)
		members->hooks->on_free(members->ctx, refused);
}

void
xfrd_members_on_gone(struct xfrd *xfrd, const uint8_t *apex)
{
	struct xfrd_members *members;

	cds_list_for_each_entry(members, &xfrd->sources, node)
		source_look_again(members, refused_find(members, apex));
}

void
xfrd_members_on_came_anew(struct xfrd *xfrd, const uint8_t *apex)
{
	struct xfrd_members *members;

	cds_list_for_each_entry(members, &xfrd->sources, node) {
		const struct xfrd_refused_member *refused = refused_find(
			members, apex);

		if (refused != NULL && refused->why == XFRD_REFUSAL_MEMBER)
			source_look_again(members, refused);
	}
}

void
xfrd_members_on_offered(const struct xfrd_members *to, const uint8_t *apex)
{
	const struct xfrd_refused_member *refused = refused_find(to, apex);
	struct xfrd_refused_member back;

	if (refused != NULL && refused->why == XFRD_REFUSAL_MOVED) {
		/* The zone has moved on since, and may come back. */
		back = *refused;
		back.why = XFRD_REFUSAL_MEMBER;
		source_look_again(to, &back);
	} else if (refused == NULL || refused->why == XFRD_REFUSAL_MEMBER
		|| refused->why == XFRD_REFUSAL_BY_HAND) {
		source_look_again(to, refused);
	}
}

void
xfrd_members_on_checked(const struct xfrd_members *by, bool was_unknown)
{
	const struct xfrd_zone_table *table = &by->xfrd->zones.table;
	const struct xfrd_refused_member *refused;
	struct xfrd_members *members;

	cds_list_for_each_entry(members, &by->xfrd->sources, node) {
		if (members == by)
			continue;
		cds_list_for_each_entry(refused, &members->refused, node)
			if (refused->why == XFRD_REFUSAL_MEMBER
				&& by->hooks->owns(by->ctx, xfrd_zone_find(
					table, refused->apex), refused->text))
				source_look_again(members, refused);
		if (was_unknown)
			source_look_again(members, NULL);
	}
}

void
xfrd_members_on_moved(const struct xfrd_members *to,
	const struct xfrd_zone *zone, const char *id)
{
	char had[XFRD_MEMBER_ID_MAX];
	struct xfrd_refused_member moved = {
		.why = XFRD_REFUSAL_MOVED,
		.id = had,
	};
	struct xfrd_members *members;

	memcpy(moved.apex, xfrd_zone_apex(zone),
		name_len(xfrd_zone_apex(zone)));
	snprintf(had, sizeof(had), "%s", id);
	cds_list_for_each_entry(members, &to->xfrd->sources, node)
		if (members != to
			&& members->hooks->owns(members->ctx, zone, id))
			members->hooks->on_free(members->ctx, &moved);
}

bool
xfrd_members_is_full(const struct xfrd_members *members)
{
	return members->open >= XFRD_MEMBERS_OPEN_MAX;
}

bool
xfrd_members_want_more(const struct xfrd *xfrd)
{
	const struct xfrd_members *members;

	cds_list_for_each_entry(members, &xfrd->sources, node)
		if (members->step == XFRD_MEMBERS_WANT
			&& !xfrd_members_is_full(members))
			return true;
	return false;
}
