/* parser.c - reads a configuration from beginning to end. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/grammar.h"
#include "conf/parser.h"
#include "dns/name.h"

/* ---- names ------------------------------------------------------------- */

static const void *
name_key(const void *item, size_t *len)
{
	const struct conf_name *name = item;

	*len = name->len;
	return name->name;
}

/* Finds the entry of a name or makes it. NULL: no memory. */
static struct conf_name *
parser_add_name(struct conf_parser *p, const char *text, size_t *count)
{
	struct conf_name *name = map_find(&p->names, text, strlen(text));
	size_t i;

	if (name != NULL)
		return name;
	assert(*count < conf_option_count + CLAUSE_COUNT);
	name = &p->name_items[(*count)++];
	name->name = text;
	name->len = strlen(text);
	name->clause = -1;
	for (i = 0; i < CLAUSE_COUNT; i++)
		name->row[i] = -1;
	return map_add(&p->names, name) == NSD_OK ? name : NULL;
}

static enum nsd_err
parser_add_names(struct conf_parser *p)
{
	const struct conf_option *option;
	struct conf_name *name;
	size_t count = 0, i;

	p->name_items = calloc(conf_option_count + CLAUSE_COUNT,
		sizeof(*p->name_items));
	if (p->name_items == NULL)
		return NSD_E_MEMORY;
	map_init(&p->names, name_key);
	for (i = 0; i < CLAUSE_COUNT; i++) {
		name = parser_add_name(p, conf_clauses[i].name, &count);
		if (name == NULL)
			return NSD_E_MEMORY;
		name->clause = (int8_t)i;
	}
	for (i = 0; i < conf_option_count; i++) {
		option = &conf_options[i];
		name = parser_add_name(p, option->name, &count);
		if (name == NULL)
			return NSD_E_MEMORY;
		name->row[option->clause] = (int16_t)i;
		if (option->clause == CLAUSE_PATTERN
			&& (option->flags & OPTION_PATTERN_ONLY) == 0)
			name->row[CLAUSE_ZONE] = (int16_t)i;
	}
	return NSD_OK;
}

/* ---- reading ----------------------------------------------------------- */

/* Sets the defaults of the clauses that are there once, and of zones; makes
 * room for the places of options. */
static enum nsd_err
parser_set_defaults(struct conf_parser *p)
{
	struct conf_pattern *defaults;
	size_t i;

	for (i = 0; i < CLAUSE_COUNT; i++)
		if (conf_clauses[i].single)
			value_set_initial((enum conf_clause)i,
				(char *)p->conf + conf_clauses[i].offset);
	defaults = arena_alloc(&p->owner->arena, sizeof(*defaults));
	if (defaults == NULL)
		return NSD_E_MEMORY;
	value_set_initial(CLAUSE_PATTERN, defaults);
	defaults->implicit = true;
	defaults->name = "";
	p->owner->defaults = defaults;
	p->owner->places = arena_alloc_zero(&p->owner->arena,
		conf_option_count * sizeof(*p->owner->places));
	p->owner->vain = arena_alloc_zero(&p->owner->arena,
		conf_option_count * sizeof(*p->owner->vain));
	return p->owner->places != NULL && p->owner->vain != NULL
		? NSD_OK : NSD_E_MEMORY;
}

static enum nsd_err
parser_init(struct conf_parser *p, const char *file)
{
	enum nsd_err err;

	p->clause = -1;
	p->producers_end = &p->producers;
	p->conf = &p->owner->conf;
	p->arena = &p->owner->arena;
	p->conf->file = arena_copy_text(&p->owner->arena, file, strlen(file));
	if (p->conf->file == NULL)
		return NSD_E_MEMORY;
	arena_init(&p->scratch, NULL, 0);
	err = parser_set_defaults(p);
	if (err == NSD_OK)
		err = parser_add_names(p);
	if (err == NSD_OK)
		err = lexer_open(p);
	return err;
}

static void
parser_fini(struct conf_parser *p)
{
	if (p->scanner != NULL)
		lexer_close(p);
	source_close_all(p);
	arena_fini(&p->scratch);
	map_fini(&p->names);
	free(p->name_items);
}

static int
compare_zones(const void *a, const void *b)
{
	const struct conf_zone *const *x = a, *const *y = b;

	return name_compare((*x)->wire, (*y)->wire);
}

#define COMPARE_NAMES(type)                                             \
	static int                                                      \
	compare_##type##s(const void *a, const void *b)                 \
	{                                                               \
		const struct conf_##type *const *x = a, *const *y = b;  \
                                                                        \
		return strcmp((*x)->name, (*y)->name);                  \
	}

COMPARE_NAMES(pattern)
COMPARE_NAMES(key)
COMPARE_NAMES(tls_auth)

static void
parser_sort_items(void *items, size_t count,
	int (*compare)(const void *a, const void *b))
{
	if (count > 1)
		qsort(items, count, sizeof(void *), compare);
}

static void
parser_sort(struct conf *conf)
{
	uint32_t i;

	parser_sort_items(conf->zones, conf->zone_count, compare_zones);
	for (i = 0; i < conf->zone_count; i++)
		conf->zones[i]->index = i;
	parser_sort_items(conf->patterns, conf->pattern_count,
		compare_patterns);
	parser_sort_items(conf->keys, conf->key_count, compare_keys);
	parser_sort_items(conf->tls_auths, conf->tls_auth_count,
		compare_tls_auths);
}

/* Reads the whole text, and checks what can only be checked then. */
static void
parser_run(struct conf_parser *p)
{
	/* The lexer comes back here when it has no memory. */
	if (setjmp(p->fatal) != 0) {
		error_memory(p);
		return;
	}
	if (grammar_parse(p) != 0)
		return;
	clause_end(p);
	if (p->failed != NSD_OK)
		return;
	parser_sort(p->conf);
	check_references(p);
	/* Errors of the whole are reported now, too, not only once the rest is
	 * mended. */
	if (p->errors > 0)
		p->errors += conf_check(p->conf, p->sink);
	if (p->errors > 0)
		diag_emit(p->sink, DIAG_ERROR, NULL, 0, 0,
			"read %s failed: %u errors in configuration file",
			p->conf->file, p->errors);
}

static enum nsd_err
parser_open(struct conf_parser *p, const char *file, const char *text,
	size_t len)
{
	enum nsd_err err;

	if (setjmp(p->fatal) != 0)
		return NSD_E_MEMORY;
	err = text != NULL ? source_open_text(p, file, text, len)
		: source_open(p, file);
	if (err == NSD_OK)
		lexer_switch(p);
	return err;
}

/* text NULL: the file is read. */
static enum nsd_err
parser_load(struct conf_parser *p, const char *file, const char *text,
	size_t len, struct conf **conf)
{
	enum nsd_err err = conf_owner_create(&p->owner);

	if (err != NSD_OK)
		return err;
	err = parser_init(p, file);
	if (err == NSD_OK)
		err = parser_open(p, file, text, len);
	if (err == NSD_OK) {
		parser_run(p);
		err = p->failed != NSD_OK ? p->failed
			: p->errors > 0 ? NSD_E_SYNTAX : NSD_OK;
	}
	parser_fini(p);
	if (err == NSD_OK || (err == NSD_E_SYNTAX && p->lines != NULL))
		*conf = &p->owner->conf;
	else
		conf_destroy(&p->owner->conf);
	return err;
}

static const struct conf_limits parser_limits = {
	.includes = 2000000,
	.deep = 100000,
	.octets = (uint64_t)2 << 30,
	.list = 65536,
	.inherited = 8u << 20,
};

enum nsd_err
parser_load_limited(const char *path, const struct conf_origin *origin,
	const struct conf_limits *limits, struct diag_sink *sink,
	struct conf **conf)
{
	static const struct conf_origin here = {NULL, NULL};
	struct conf_parser p = {
		.sink = sink,
		.origin = origin != NULL ? *origin : here,
		.files = true,
		.limits = *limits,
	};

	return parser_load(&p, path, NULL, 0, conf);
}

enum nsd_err
parser_load_lines(const char *path, struct conf_lines *lines,
	struct diag_sink *sink, struct conf **conf)
{
	struct conf_parser p = {
		.sink = sink,
		.files = true,
		.limits = parser_limits,
		.lines = lines,
	};

	return parser_load(&p, path, NULL, 0, conf);
}

enum nsd_err
conf_load(const char *path, const struct conf_origin *origin,
	struct diag_sink *sink, struct conf **conf)
{
	return parser_load_limited(path, origin, &parser_limits, sink, conf);
}

enum nsd_err
conf_load_text(const char *name, const char *text, size_t len, bool files,
	struct diag_sink *sink, struct conf **conf)
{
	struct conf_parser p = {
		.sink = sink,
		.files = files,
		.limits = parser_limits,
	};

	return parser_load(&p, name, text != NULL ? text : "", len, conf);
}
