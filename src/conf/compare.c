/* compare.c - differences between two configurations. */
#include "config.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "conf/compare.h"
#include "conf/option.h"
#include "conf/parser.h"

/* ---- values -------------------------------------------------------------- */

static bool
text_is_same(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a, b) == 0;
}

static bool
texts_are_same(const struct conf_strings *a, const struct conf_strings *b)
{
	bool same = a->count == b->count;

	for (uint32_t i = 0; same && i < a->count; i++)
		same = strcmp(a->items[i], b->items[i]) == 0;
	return same;
}

static bool
interfaces_are_same(const struct conf_interfaces *a,
	const struct conf_interfaces *b)
{
	bool same = a->count == b->count;

	for (uint32_t i = 0; same && i < a->count; i++) {
		const struct conf_interface *x = &a->items[i];
		const struct conf_interface *y = &b->items[i];

		same = strcmp(x->text, y->text) == 0
			&& x->bindtodevice == y->bindtodevice
			&& x->setfib == y->setfib
			&& x->servers.count == y->servers.count
			&& (x->servers.count == 0
				|| memcmp(x->servers.items, y->servers.items,
					   x->servers.count
						   * sizeof(*x->servers.items))
					== 0);
	}
	return same;
}

static bool
acl_is_same(const struct conf_acl *x, const struct conf_acl *y)
{
	return text_is_same(x->spec, y->spec)
		&& text_is_same(x->key_name, y->key_name)
		&& text_is_same(x->tls_auth_name, y->tls_auth_name)
		&& x->port == y->port && x->blocked == y->blocked
		&& x->nokey == y->nokey && x->axfr_only == y->axfr_only
		&& x->allow_udp == y->allow_udp;
}

static bool
policies_are_same(const struct conf_policies *a, const struct conf_policies *b)
{
	bool same = a->count == b->count;

	for (uint32_t i = 0; same && i < a->count; i++) {
		const struct conf_policy *x = &a->items[i];
		const struct conf_policy *y = &b->items[i];

		same = strcmp(x->key_name, y->key_name) == 0
			&& strcmp(x->text, y->text) == 0
			&& x->type_count == y->type_count
			&& (x->type_count == 0
				|| memcmp(x->types, y->types, x->type_count
						* sizeof(*x->types)) == 0);
	}
	return same;
}

static bool
acls_are_same(const struct conf_acls *a, const struct conf_acls *b)
{
	bool same = a->count == b->count;

	for (uint32_t i = 0; same && i < a->count; i++)
		same = acl_is_same(&a->items[i], &b->items[i]);
	return same;
}

/* Two lists whose items are numbers. */
static bool
numbers_are_same(enum conf_type type, const void *a, const void *b)
{
	const struct conf_list *x = a, *y = b;

	return x->count == y->count
		&& (x->count == 0
			|| memcmp(x->items, y->items,
				   x->count * option_item_size(type))
				== 0);
}

static bool
value_is_same(enum conf_type type, const void *a, const void *b)
{
	if (option_is_text(type))
		return text_is_same(*(const char *const *)a,
			*(const char *const *)b);
	if (option_is_acl(type))
		return acls_are_same(a, b);
	switch (type) {
	case TYPE_IGNORED:
	case TYPE_INCLUDE:
		return true;
	case TYPE_STRINGS:
	case TYPE_TEXT_EACH:
	case TYPE_SUFFIX:
		return texts_are_same(a, b);
	case TYPE_LISTEN:
	case TYPE_INTERFACE:
		return interfaces_are_same(a, b);
	case TYPE_POLICY:
		return policies_are_same(a, b);
	case TYPE_NUMBERS:
	case TYPE_NUMBER_EACH:
	case TYPE_NETBLOCK:
	case TYPE_SERVER_CPU:
		return numbers_are_same(type, a, b);
	default:
		return memcmp(a, b, option_field_size(type)) == 0;
	}
}

bool
compare_option(const struct conf_option *option, const void *a, const void *b)
{
	return value_is_same((enum conf_type)option->type,
		(const uint8_t *)a + option->offset,
		(const uint8_t *)b + option->offset);
}

static bool
object_is_same(enum conf_clause clause, const void *a, const void *b)
{
	size_t count;
	const struct conf_option *rows = option_rows(clause, &count);

	for (size_t i = 0; i < count; i++)
		if (!compare_option(&rows[i], a, b))
			return false;
	return true;
}

/* ---- clauses that are there once ----------------------------------------- */

static const void *
clause_get(const struct conf *conf, enum conf_clause clause)
{
	return (const uint8_t *)conf + conf_clauses[clause].offset;
}

static bool
option_begins(const struct conf_option *option, const char *clause,
	const char *prefix)
{
	const struct conf_clause_info *of = &conf_clauses[option->clause];

	return of->single && strcmp(of->name, clause) == 0
		&& strncmp(option->name, prefix, strlen(prefix)) == 0;
}

bool
conf_options_are_same(const struct conf *a, const struct conf *b,
	const char *clause, const char *prefix)
{
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *option = &conf_options[i];
		enum conf_clause of = (enum conf_clause)option->clause;

		if (option_begins(option, clause, prefix)
			&& !compare_option(option, clause_get(a, of),
				clause_get(b, of)))
			return false;
	}
	return true;
}

/* True if a change of the option is reported: not for an alias, whose option is
 * reported itself, and not for an option without effect
 * (conf_list_without_effect). */
static bool
option_is_told(const struct conf_option *option)
{
	return (option->flags & (OPTION_ALIAS | OPTION_NO_EFFECT)) == 0
		&& option->type != TYPE_ONLY;
}

void
conf_keep_waiting(struct conf *conf, const struct conf *running)
{
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *option = &conf_options[i];
		enum conf_clause clause = (enum conf_clause)option->clause;
		size_t at = conf_clauses[clause].offset + option->offset;

		if (!conf_clauses[clause].single
			|| (option->flags & OPTION_RESTART) == 0
			|| (option->flags & OPTION_NO_EFFECT) != 0
			|| option->type == TYPE_IGNORED)
			continue;
		memcpy((uint8_t *)conf + at, (const uint8_t *)running + at,
			option_field_size((enum conf_type)option->type));
	}
}

enum nsd_err
conf_keep_texts(struct conf *conf, const struct conf *running,
	const char *clause, const char *prefix)
{
	struct conf_owner *owner = (struct conf_owner *)conf;

	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *option = &conf_options[i];
		size_t at = conf_clauses[option->clause].offset
			+ option->offset;
		const char *text;

		if (!option_begins(option, clause, prefix))
			continue;
		assert(option->type == TYPE_STRING);
		memcpy(&text, (const uint8_t *)running + at, sizeof(text));
		if (text != NULL) {
			text = arena_copy_text(&owner->arena, text,
				strlen(text));
			if (text == NULL)
				return NSD_E_MEMORY;
		}
		memcpy((uint8_t *)conf + at, &text, sizeof(text));
	}
	return NSD_OK;
}

/* ---- objects with names -------------------------------------------------- */

/* Objects in the order of their names. */
struct compare_list {
	const void *const *items;
	size_t count;
};

static const char *
object_name(enum conf_clause clause, const void *object)
{
	switch (clause) {
	case CLAUSE_KEY:
		return ((const struct conf_key *)object)->name;
	case CLAUSE_TLS_AUTH:
		return ((const struct conf_tls_auth *)object)->name;
	default:
		return ((const struct conf_pattern *)object)->name;
	}
}

/* Compares beyond the options: the place of a key's secret, which may have
 * moved. */
static bool
object_is_where_it_was(enum conf_clause clause, const void *a, const void *b)
{
	const struct conf_key *x = a, *y = b;

	return clause != CLAUSE_KEY || key_handle_is_same(x->handle, y->handle);
}

/* Counts objects that were added, removed or changed. */
static size_t
objects_compare(enum conf_clause clause, struct compare_list a,
	struct compare_list b)
{
	size_t i = 0, j = 0, different = 0;

	while (i < a.count || j < b.count) {
		int order = i == a.count ? 1
			: j == b.count	 ? -1
					 : strcmp(object_name(clause,
							   a.items[i]),
						   object_name(clause,
							   b.items[j]));

		if (order != 0)
			different++;
		else if (!object_is_same(clause, a.items[i], b.items[j])
			|| !object_is_where_it_was(clause, a.items[i],
				b.items[j]))
			different++;
		i += order <= 0;
		j += order >= 0;
	}
	return different;
}

/* ---- zones --------------------------------------------------------------- */

/* The last comparison of options, which zones of a pattern share. */
struct compare_last {
	const struct conf_pattern *old, *new;
	bool same;
};

/* Compares zones. The name of a zone's own options does not count. */
static bool
zone_is_same(const struct conf_zone *old, const struct conf_zone *new,
	struct compare_last *last)
{
	if (!text_is_same(old->zonefile, new->zonefile)
		|| !text_is_same(old->pattern_name, new->pattern_name)
		|| strcmp(old->name, new->name) != 0)
		return false;
	if (last->old != old->options || last->new != new->options) {
		last->old = old->options;
		last->new = new->options;
		last->same = object_is_same(CLAUSE_PATTERN, old->options,
			new->options);
	}
	return last->same;
}

static void
zones_compare(const struct conf *old, const struct conf *new,
	struct conf_difference *d)
{
	struct compare_last last = {NULL, NULL, false};
	size_t near = 0;

	for (size_t i = 0; i < new->zone_count; i++) {
		const struct conf_zone *zone = new->zones[i];
		const struct conf_zone *before = conf_find_zone_near(old,
			zone->wire, &near);

		if (before == NULL)
			d->zones_added++;
		else if (!zone_is_same(before, zone, &last))
			d->zones_changed++;
	}
	/* A zone of the new one that was not added is in the old one. */
	d->zones_removed = old->zone_count
		- (new->zone_count - d->zones_added);
}

/* ---- whole configurations ------------------------------------------------ */

/* An alias has no row of its own in the places. */
static struct conf_changed
option_describe(const struct conf *conf, const struct conf_option *option)
{
	const struct conf_owner *owner = (const struct conf_owner *)conf;
	enum conf_clause clause = (enum conf_clause)option->clause;
	struct conf_changed changed = {
		.clause = conf_clauses[clause].name,
		.option = option->name,
		.waits = (option->flags & OPTION_RESTART) != 0,
	};

	/* An option that a flag of the program sets has no place in a file. */
	if (option_is_set(option, clause_get(conf, clause))) {
		changed.file = owner->places[option - conf_options].file;
		changed.line = owner->places[option - conf_options].line;
	}
	return changed;
}

struct conf_changed
conf_find_option(const struct conf *conf, const char *option)
{
	const struct conf_option *row = option_find(CLAUSE_SERVER, option);

	assert(row != NULL);
	return option_describe(conf, row);
}

void
conf_compare_options(const struct conf *old, const struct conf *new,
	void (*on_changed)(void *ctx, const struct conf_changed *changed),
	void *ctx)
{
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *option = &conf_options[i];
		enum conf_clause clause = (enum conf_clause)option->clause;
		struct conf_changed changed;

		if (!conf_clauses[clause].single || !option_is_told(option)
			|| compare_option(option, clause_get(old, clause),
				clause_get(new, clause)))
			continue;
		changed = option_describe(new, option);
		on_changed(ctx, &changed);
	}
}

static void
difference_count(void *ctx, const struct conf_changed *changed)
{
	struct conf_difference *d = ctx;

	d->options += !changed->waits;
	d->waiting += changed->waits;
}

void
conf_compare(const struct conf *old, const struct conf *new,
	struct conf_difference *d)
{
#define LIST(of, which) \
	((struct compare_list){(const void *const *)of->which##s, \
		of->which##_count})
	memset(d, 0, sizeof(*d));
	conf_compare_options(old, new, difference_count, d);
	d->keys = objects_compare(CLAUSE_KEY, LIST(old, key), LIST(new, key));
	d->tls_auths = objects_compare(CLAUSE_TLS_AUTH, LIST(old, tls_auth),
		LIST(new, tls_auth));
	d->patterns = objects_compare(CLAUSE_PATTERN, LIST(old, pattern),
		LIST(new, pattern));
	zones_compare(old, new, d);
#undef LIST
}
