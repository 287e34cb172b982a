/* effect.c - options that are read and have no effect in this program. */
#include <string.h>

#include "conf/parser.h"

/* Compares texts by their contents. The default of a list is an empty one. */
static bool
effect_is_default(const struct conf_option *option, const void *object,
	const void *defaults)
{
	const void *a = (const char *)object + option->offset;
	const void *b = (const char *)defaults + option->offset;
	enum conf_type type = (enum conf_type)option->type;

	if (option_item_size(type) > 0)
		return ((const struct conf_list *)a)->count == 0;
	if (option_is_text(type)) {
		const char *x = *(const char *const *)a;
		const char *y = *(const char *const *)b;

		return x == y || (x != NULL && y != NULL && strcmp(x, y) == 0);
	}
	return memcmp(a, b, option_field_size(type)) == 0;
}

static bool
effect_is_in_vain(const struct conf_option *option, const void *object,
	const void *defaults)
{
	return (option->flags & OPTION_NO_EFFECT) != 0
		&& (option->flags & OPTION_ALIAS) == 0
		&& option_is_set(option, object)
		&& !effect_is_default(option, object, defaults);
}

/* ---- clauses that may recur ---------------------------------------------- */

/* The defaults of a clause: a pattern's; other clauses have texts alone, NULL
 * by default. */
static const void *
effect_defaults(const struct conf_parser *p)
{
	static const union {
		struct conf_key key;
		struct conf_tls_auth tls_auth;
	} none;

	return p->clause == CLAUSE_PATTERN || p->clause == CLAUSE_ZONE
		? (const void *)p->owner->defaults : (const void *)&none;
}

static void
effect_note(struct conf_parser *p, size_t row, const struct conf_place *place,
	const char *name)
{
	struct conf_vain *vain = &p->owner->vain[row];

	if (vain->name != NULL) {
		vain->more++;
		return;
	}
	/* A copy: the zone may go before its name is reported. */
	name = arena_copy_text(&p->owner->arena, name, strlen(name));
	if (name == NULL) {
		error_memory(p);
		return;
	}
	vain->first = *place;
	vain->name = name;
	vain->clause = (uint8_t)p->clause;
}

void
effect_note_clause(struct conf_parser *p, const void *object, const char *name)
{
	const void *defaults = effect_defaults(p);
	size_t i;

	for (i = 0; i < CONF_CLAUSE_ROWS_MAX; i++) {
		size_t row = p->clause_row + i;

		if ((p->here.bits[i / 64] >> (i % 64)) == 0)
			i |= 63; /* no more in this word */
		else if ((p->here.bits[i / 64] >> (i % 64) & 1) != 0
			&& effect_is_in_vain(&conf_options[row], object,
				defaults))
			effect_note(p, row, &p->places[i], name);
	}
}

/* ---- the list of options ------------------------------------------------- */

static void
effect_tell(const struct conf_option *option, const struct conf_vain *vain,
	struct diag_sink *sink)
{
	char more[64] = "";

	if (vain->more > 0)
		snprintf(more, sizeof(more), ", nor has it in %u more clause%s",
			(unsigned)vain->more, vain->more > 1 ? "s" : "");
	diag_emit(sink, DIAG_WARNING, vain->first.file, vain->first.line, 0,
		"%s %.300s: %s has no effect in this program%s",
		conf_clauses[vain->clause].name, vain->name, option->name,
		more);
}

static void
effect_tell_single(const struct conf_owner *owner,
	const struct conf_option *option, const char *where,
	struct diag_sink *sink)
{
	const struct conf_place *place =
		&owner->places[option - conf_options];

	diag_emit(sink, DIAG_WARNING, place->file, place->line, 0,
		"%s: %s has no effect %s",
		conf_clauses[option->clause].name, option->name, where);
}

/* reuseport: several servers have sockets of their own in any case, and one has
 * nothing to share. */
static bool
effect_reuseport_is_in_vain(const struct conf *conf)
{
	return conf->server.reuseport && conf->server.server_count == 1;
}

static void
effect_check_reuseport(const struct conf_owner *owner,
	const struct conf *before, struct diag_sink *sink)
{
	if (effect_reuseport_is_in_vain(&owner->conf)
		&& (before == NULL || !effect_reuseport_is_in_vain(before)))
		effect_tell_single(owner,
			option_find(CLAUSE_SERVER, "reuseport"),
			"with server-count: 1", sink);
}

/* Lists the options without effect of a clause that is there once. */
static void
effect_list_single(const struct conf_owner *owner, const struct conf *before,
	enum conf_clause clause, struct diag_sink *sink)
{
	const char *object = (const char *)&owner->conf
		+ conf_clauses[clause].offset;
	const char *old = before != NULL
		? (const char *)before + conf_clauses[clause].offset : NULL;
	size_t count, i;
	const struct conf_option *rows = option_rows(clause, &count);
	union {
		struct conf_server server;
		struct conf_dnstap dnstap;
		struct conf_remote_control remote_control;
		struct conf_verify verify;
	} defaults;

	value_set_initial(clause, &defaults);
	for (i = 0; i < count; i++)
		if (effect_is_in_vain(&rows[i], object, &defaults)
			&& (old == NULL
				|| !compare_option(&rows[i], old, object)))
			effect_tell_single(owner, &rows[i], "in this program",
				sink);
}

/* before: of the same row; NULL: none. */
static bool
effect_is_new(const struct conf_vain *vain, const struct conf_vain *before)
{
	return vain->name != NULL
		&& (before == NULL || before->name == NULL
			|| vain->more > before->more
			|| vain->clause != before->clause
			|| strcmp(vain->name, before->name) != 0);
}

void
conf_list_without_effect(const struct conf *conf, const struct conf *before,
	struct diag_sink *sink)
{
	const struct conf_owner *owner = (const struct conf_owner *)conf;
	const struct conf_owner *old = (const struct conf_owner *)before;
	size_t i;

	for (i = 0; i < CLAUSE_COUNT; i++)
		if (conf_clauses[i].single)
			effect_list_single(owner, before, (enum conf_clause)i,
				sink);
	effect_check_reuseport(owner, before, sink);
	for (i = 0; i < conf_option_count; i++)
		if (effect_is_new(&owner->vain[i],
			    old != NULL ? &old->vain[i] : NULL))
			effect_tell(&conf_options[i], &owner->vain[i], sink);
}
