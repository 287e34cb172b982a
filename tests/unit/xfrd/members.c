/* members.c - changes of member zones, as they are played. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "members.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_members.h"

struct asked {
	enum xfrd_change_kind kind;
	bool comes_anew;
	char name[64], pattern[16], member[64], expect[64];
	xfrd_change_on_end *on_end;
	void *ctx;
};

static struct asked asked[MEMBERS_ASKED_MAX];
static unsigned asked_done;
unsigned members_asked;
char members_said[4096];

static void
copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from != NULL ? from : "");
}

void
xfrd_change_zone(struct xfrd *xfrd, const struct xfrd_change_ask *ask)
{
	static const char marks[] = "+-=";
	struct asked *one = &asked[members_asked++];
	size_t len = strlen(members_said);

	assert_true(members_asked <= MEMBERS_ASKED_MAX && ask->no_wait);
	one->kind = ask->kind;
	one->comes_anew = ask->comes_anew;
	copy(one->name, sizeof(one->name), ask->name);
	copy(one->pattern, sizeof(one->pattern), ask->pattern);
	copy(one->member, sizeof(one->member), ask->member);
	copy(one->expect, sizeof(one->expect), ask->expect);
	one->on_end = ask->on_end;
	one->ctx = ask->ctx;
	if (len + 200 > sizeof(members_said))
		return;
	snprintf(members_said + len, sizeof(members_said) - len,
		"%c%s%s%s%s%s%s%s ",
		marks[ask->kind], one->name,
		ask->kind != XFRD_CHANGE_DELETE ? ":" : "",
		ask->kind != XFRD_CHANGE_DELETE ? one->pattern : "",
		ask->kind != XFRD_CHANGE_DELETE ? ":" : "",
		ask->kind != XFRD_CHANGE_DELETE ? one->member : "",
		ask->expect != NULL ? "?" : "", one->expect);
}

void
members_list(const char *name, const char *pattern, const char *id)
{
	struct xfrd_zone_table *table = &fixture.xfrd.zones.table;
	struct xfrd_zone *zone = fixture_find(name);
	uint8_t apex[NAME_MAX_LEN];

	assert_int_equal(fixture_list(name, pattern), NSD_OK);
	assert_true(conf_parse_zone_name(name, apex));
	if (zone == NULL)
		assert_int_equal(xfrd_zone_add(table, apex, &zone), NSD_OK);
	xfrd_zone_set_listed(table, zone, true, 0);
	assert_int_equal(xfrd_zone_set_member(table, zone, id), NSD_OK);
}

/* As xfrd_change_commit. */
static void
unlist(const char *name, bool comes_anew)
{
	uint8_t apex[NAME_MAX_LEN];

	assert_true(conf_parse_zone_name(name, apex));
	assert_int_equal(fixture_list(name, NULL), NSD_OK);
	xfrd_zone_remove(&fixture.xfrd.zones.table, fixture_find(name));
	if (!comes_anew)
		xfrd_members_on_gone(&fixture.xfrd, apex);
}

void
members_unlist(const char *name)
{
	unlist(name, false);
}

void
members_end_one(enum xfrd_changed outcome)
{
	struct xfrd_change_end end = {.outcome = outcome, .why = "why"};
	const struct asked *one = &asked[asked_done++];

	assert_true(asked_done <= members_asked);
	if (outcome == XFRD_CHANGED && one->kind == XFRD_CHANGE_DELETE
		&& fixture_find(one->name) == NULL)
		end.outcome = XFRD_CHANGED_ABSENT;
	else if (outcome == XFRD_CHANGED && one->kind == XFRD_CHANGE_DELETE)
		unlist(one->name, one->comes_anew);
	else if (outcome == XFRD_CHANGED)
		members_list(one->name, one->pattern, one->member);
	one->on_end(one->ctx, &end);
}

unsigned
members_left(void)
{
	return members_asked - asked_done;
}

void
members_begin(void)
{
	members_asked = asked_done = 0;
	*members_said = '\0';
}
