/* clause.c - clauses as they begin, get their options, and end. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/grow.h"
#include "conf/parser.h"
#include "dns/name.h"

/* Grows an array of pointers by room for one more. NULL: no memory, which was
 * said. */
static void *
clause_grow(struct conf_parser *p, void *array, size_t count, size_t *room)
{
	void *grown = grow_array(array, count, room, sizeof(void *));

	if (grown == NULL)
		error_memory(p);
	return grown;
}

/* ---- places ------------------------------------------------------------- */

static void
place_note(struct conf_parser *p, const struct conf_option *option,
	const struct conf_place *place)
{
	size_t row = (size_t)(option - conf_options)
		- ((option->flags & OPTION_ALIAS) != 0);

	if (conf_clauses[p->clause].single) {
		p->owner->places[row] = *place;
		return;
	}
	assert(row >= p->clause_row);
	row -= p->clause_row;
	assert(row < CONF_CLAUSE_ROWS_MAX);
	p->here.bits[row / 64] |= (uint64_t)1 << (row % 64);
	p->places[row] = *place;
}

/* Finds the place of an option of the clause at hand, or that of the clause if
 * it is not set. */
static const struct conf_place *
place_find(const struct conf_parser *p, const char *name)
{
	const struct conf_option *option =
		option_find((enum conf_clause)p->clause, name);

	assert(option != NULL);
	return option_is_set(option, &p->here)
		? &p->places[option_index(option)] : &p->clause_place;
}

/* ---- the beginning ----------------------------------------------------- */

void
clause_begin(struct conf_parser *p, const struct conf_token *token)
{
	size_t count;

	assert(token->name->clause >= 0 && token->name->clause < CLAUSE_COUNT);
	p->clause = token->name->clause;
	p->clause_row = (size_t)(option_rows((enum conf_clause)p->clause,
		&count) - conf_options);
	p->clause_place = token->place;
	p->clause_errors = p->errors;
	p->arena = p->clause == CLAUSE_ZONE ? &p->owner->zone_arena
					    : &p->owner->arena;
	memset(&p->here, 0, sizeof(p->here));
	p->stray = false;
	line_begin_clause(p);
	switch ((enum conf_clause)p->clause) {
	case CLAUSE_KEY:
		p->object = &p->key;
		break;
	case CLAUSE_TLS_AUTH:
		p->object = &p->tls_auth;
		break;
	case CLAUSE_ZONE:
		/* A zone gets options of its own when one is set. */
		p->own = false;
		p->shared = NULL;
		p->zone_name = NULL;
		p->zonefile = NULL;
		p->object = &p->pattern;
		return;
	case CLAUSE_PATTERN:
		p->object = &p->pattern;
		break;
	default:
		p->object = (char *)p->conf + conf_clauses[p->clause].offset;
		return;
	}
	value_set_initial(p->clause, p->object);
}

/* ---- options ----------------------------------------------------------- */

/* Gives a zone options of its own, in p->pattern: a copy of what it shared. */
static void
zone_make_own(struct conf_parser *p)
{
	const struct conf_pattern *from =
		p->shared != NULL ? p->shared : p->owner->defaults;
	size_t count, i;
	const struct conf_option *rows = option_rows(CLAUSE_PATTERN, &count);
	struct conf_list *list;

	if (p->own)
		return;
	p->own = true;
	p->pattern = *from;
	for (i = 0; i < count; i++) {
		if (option_item_size(rows[i].type) == 0)
			continue;
		/* The items belong to the shared list: an addition copies
		 * them. */
		list = (struct conf_list *)((char *)&p->pattern
			+ rows[i].offset);
		list->capacity = 0;
	}
}

/* Takes one option of src into dst: elements of ACLs, groups and suffixes are
 * appended, all else replaces what was there. */
static bool
pattern_merge_option(struct conf_parser *p, const struct conf_option *option,
	struct conf_pattern *dst, const struct conf_pattern *src)
{
	size_t item_size = option_item_size(option->type);
	void *to = (char *)dst + option->offset;
	const void *from = (const char *)src + option->offset;
	struct conf_list *list = to;
	struct conf_policy *policies;
	struct conf_acl *acls;
	uint32_t i;

	if (option->type == TYPE_RRL) {
		*(uint16_t *)to |= *(const uint16_t *)from;
		return true;
	}
	if (!option_is_appended(option->type) || list->count == 0) {
		memcpy(to, from, option_field_size(option->type));
		if (item_size > 0)
			list->capacity = 0;
		return true;
	}
	i = list->count;
	if (!list_add_list(p, list, from, item_size))
		return false;
	acls = list->items;
	policies = list->items;
	for (; i < list->count; i++)
		if (option_is_acl(option->type))
			acls[i].inherited = true;
		else if (option->type == TYPE_POLICY)
			policies[i].inherited = true;
	return true;
}

/* Takes all options that src has set into dst. */
static bool
pattern_merge(struct conf_parser *p, struct conf_pattern *dst,
	const struct conf_pattern *src)
{
	size_t count, i;
	const struct conf_option *rows = option_rows(CLAUSE_PATTERN, &count);

	for (i = 0; i < count; i++) {
		if (rows[i].type == TYPE_NAME
			|| (rows[i].flags & (OPTION_ALIAS
				| OPTION_NOT_INCLUDED)) != 0
			|| !option_is_set(&rows[i], src))
			continue;
		if (!pattern_merge_option(p, &rows[i], dst, src))
			return false;
		option_mark_set(&rows[i], dst);
	}
	return true;
}

static void
clause_include_pattern(struct conf_parser *p, const struct conf_word *word)
{
	const struct conf_pattern *from =
		map_find(&p->owner->patterns, word->text, word->len);

	if (from == NULL) {
		error_at(p, word->file, word->line,
			"could not find pattern %.200s, expected one that "
			"stands above", word->text);
		return;
	}
	line_note_included(p, from);
	if (p->clause == CLAUSE_ZONE) {
		if (from->zonefile != NULL)
			p->zonefile = from->zonefile;
		if (!p->own && p->shared == NULL) {
			p->shared = from;
			return;
		}
		zone_make_own(p);
	}
	(void)pattern_merge(p, &p->pattern, from);
}

/* Sets a zone's name or zonefile, which are kept outside of its options.
 * False: it is another option. */
static bool
zone_option(struct conf_parser *p, const struct conf_option *option,
	const struct conf_word *word)
{
	const char **field = option->type == TYPE_NAME
		? &p->zone_name : &p->zonefile;

	if (option->type != TYPE_NAME
		&& option->offset != offsetof(struct conf_pattern, zonefile))
		return false;
	*field = arena_copy_text(p->arena, word->text, word->len);
	if (*field == NULL)
		error_memory(p);
	return true;
}

static void
clause_apply(struct conf_parser *p, const struct conf_option *option,
	const struct conf_token *words, uint32_t n)
{
	if (option->type == TYPE_INCLUDE) {
		clause_include_pattern(p, words->first);
		return;
	}
	if (p->clause == CLAUSE_ZONE) {
		if (zone_option(p, option, words->first))
			return;
		zone_make_own(p);
	}
	(void)value_set(p, option, p->object, words->first, words->count, n);
	if (p->conf->server.tls_auth_xfr_only
		&& p->conf->server.tls_auth_port == 0) {
		error_at(p, words->first->file, words->first->line,
			"tls-auth-xfr-only must stand after tls-auth-port");
		p->conf->server.tls_auth_xfr_only = false;
	}
}

static const struct conf_option *
clause_find_option(struct conf_parser *p, const struct conf_name *name)
{
	int row = p->clause >= 0 ? name->row[p->clause] : -1;

	return row >= 0 ? &conf_options[row] : NULL;
}

void
clause_option(struct conf_parser *p, const struct conf_token *token,
	const struct conf_token *words)
{
	const struct conf_option *option = clause_find_option(p, token->name);
	struct conf_token taken = *words;
	const struct conf_word *word;
	uint32_t least, most, i;
	unsigned errors;
	char name[80];

	p->stray = false;
	if (option == NULL) {
		stray_option(p, token);
		return;
	}
	p->option_place = token->place;
	place_note(p, option, &token->place);
	value_word_count(option, words->first, &least, &most);
	if (words->count < least) {
		snprintf(name, sizeof(name), "%s:", token->name->name);
		error_syntax(p, &token->place, name, "expected %s behind it",
			value_expects(option));
		return;
	}
	if (taken.count > most)
		taken.count = most;
	errors = p->errors;
	clause_apply(p, option, &taken, token->number);
	if (p->errors == errors)
		line_note(p, option, &token->place, words->first);
	if (words->count > most) {
		word = words->first;
		for (i = 0; i < most; i++)
			word = word->next;
		stray_surplus_words(p, option, word, words->count - most);
	}
}

/* ---- the end ----------------------------------------------------------- */

/* Reports that the clause lacks an option; not if the option is there without a
 * value, which was reported. */
static void
clause_refuse_absent(struct conf_parser *p, const char *option,
	const char *what, const char *name)
{
	if (place_find(p, option) == &p->clause_place)
		error_at_place(p, &p->clause_place, "%s%s%.200s has no %s",
			what, name[0] != '\0' ? " " : "", name, option);
}

static bool
clause_has_name(struct conf_parser *p, const char *name, const char *what)
{
	if (name == NULL)
		clause_refuse_absent(p, "name", what, "");
	return name != NULL;
}

/* Copies an object to the arena. NULL: no memory, which was said. */
static void *
clause_keep(struct conf_parser *p, const void *object, size_t size)
{
	void *kept = arena_alloc(p->arena, size);

	if (kept == NULL)
		error_memory(p);
	else
		memcpy(kept, object, size);
	return kept;
}

/* Says that the clause has the name of an earlier one. */
static void
clause_refuse_duplicate(struct conf_parser *p, const char *what,
	const char *name, const struct conf_place *first)
{
	if (first->file == NULL)
		error_at_place(p, place_find(p, "name"), "duplicate %s %.200s",
			what, name);
	else
		error_at_place(p, place_find(p, "name"), "duplicate %s %.200s,"
			" the first one is at %.200s:%u", what, name,
			first->file, (unsigned)first->line);
}

static void
key_decode_secret(struct conf_parser *p, struct conf_key *key)
{
	const struct conf_place *place = place_find(p, "secret");

	if (key->secret == NULL) {
		if (place == &p->clause_place)
			error_at_place(p, place, "tsig key %.200s has no "
				"secret blob", key->name);
		return;
	}
	key->secret_data = decode_base64(&p->owner->arena, key->secret,
		&key->secret_len);
	/* The secret is not shown: it may be right but for a letter. */
	if (key->secret_data == NULL)
		error_at_place(p, place, "cannot base64 decode tsig secret "
			"%.200s, expected letters, digits, + and /, filled up "
			"with = to a multiple of 4", key->name);
	else if (key->secret_len == 0)
		error_at_place(p, place, "tsig key %.200s has no secret blob",
			key->name);
}

/* Fills in what is made from the words: the name in wire form, the algorithm's
 * full name and the octets of the secret. */
static void
key_complete(struct conf_parser *p, struct conf_key *key)
{
	uint8_t wire[NAME_MAX_LEN];
	const uint8_t root[1] = { 0 };
	const char *why;
	size_t len;

	key->algorithm_name = decode_algorithm(key->algorithm);
	key_decode_secret(p, key);
	if (name_parse_text(key->name, strlen(key->name), root, wire, &len,
		&why) != NSD_OK) {
		error_at_place(p, place_find(p, "name"),
			"bad tsig key name %.200s: expected %s", key->name,
			why);
		return;
	}
	key->wire = arena_copy(&p->owner->arena, wire, len);
	if (key->wire == NULL)
		error_memory(p);
}

/* A key with errors is kept, too: those who refer to it are right to. */
static void
key_end(struct conf_parser *p)
{
	struct conf *conf = p->conf;
	void *items;
	struct conf_key *key = &p->key;
	const struct conf_key *first;

	key->file = p->clause_place.file;
	key->line = p->clause_place.line;
	if (!clause_has_name(p, key->name, "tsig key"))
		return;
	first = conf_find_key(conf, key->name);
	if (first != NULL) {
		clause_refuse_duplicate(p, "tsig key", key->name,
			&(struct conf_place){ first->file, first->line });
		return;
	}
	key_complete(p, key);
	effect_note_clause(p, key, key->name);
	items = clause_grow(p, conf->keys, conf->key_count, &p->key_room);
	if (items == NULL)
		return;
	conf->keys = items;
	key = clause_keep(p, key, sizeof(*key));
	if (key == NULL)
		return;
	if (map_add(&p->owner->keys, key) != NSD_OK)
		error_memory(p);
	else
		conf->keys[conf->key_count++] = key;
}

static void
tls_auth_end(struct conf_parser *p)
{
	struct conf *conf = p->conf;
	void *items;
	struct conf_tls_auth *auth = &p->tls_auth;
	const struct conf_tls_auth *first;

	auth->file = p->clause_place.file;
	auth->line = p->clause_place.line;
	if (!clause_has_name(p, auth->name, "tls-auth"))
		return;
	first = conf_find_tls_auth(conf, auth->name);
	if (first != NULL) {
		clause_refuse_duplicate(p, "tls-auth", auth->name,
			&(struct conf_place){ first->file, first->line });
		return;
	}
	if (auth->auth_domain_name == NULL)
		clause_refuse_absent(p, "auth-domain-name", "tls-auth",
			auth->name);
	else if (auth->auth_domain_name[0] == '\0')
		error_at_place(p, place_find(p, "auth-domain-name"),
			"tls-auth %.200s has an empty auth-domain-name, "
			"expected the name in the other side's certificate",
			auth->name);
	effect_note_clause(p, auth, auth->name);
	items = clause_grow(p, conf->tls_auths, conf->tls_auth_count,
		&p->tls_auth_room);
	if (items == NULL)
		return;
	conf->tls_auths = items;
	auth = clause_keep(p, auth, sizeof(*auth));
	if (auth == NULL)
		return;
	if (map_add(&p->owner->tls_auths, auth) != NSD_OK)
		error_memory(p);
	else
		conf->tls_auths[conf->tls_auth_count++] = auth;
}

/* Notes a catalog's producer, to be checked when all zones are known. */
static void
pattern_note_producer(struct conf_parser *p, const struct conf_pattern *kept)
{
	const struct conf_place *place = place_find(p,
		"catalog-producer-zone");
	struct conf_producer *producer;

	if (place == &p->clause_place || kept->catalog_producer_zone == NULL)
		return;
	producer = arena_alloc(&p->owner->arena, sizeof(*producer));
	if (producer == NULL) {
		error_memory(p);
		return;
	}
	*producer = (struct conf_producer){ NULL, kept, *place };
	*p->producers_end = producer;
	p->producers_end = &producer->next;
}

/* Gives a pattern with a zone-directory the files of that folder. */
static void
pattern_set_folder(struct conf_parser *p, struct conf_pattern *pattern)
{
	static const char tail[] = "/%s.zone";
	const struct conf_place *place = place_find(p, "zone-directory");
	const char *folder = pattern->zone_directory;
	size_t len = folder != NULL ? strlen(folder) : 0;
	char *file;

	if (place == &p->clause_place || folder == NULL)
		return;
	while (len > 0 && folder[len - 1] == '/')
		len--;
	if (folder[0] == '\0' || strchr(folder, '%') != NULL) {
		error_at_place(p, place, "zone-directory '%.200s': expected "
			"the name of a folder, without %%", folder);
		return;
	}
	file = arena_alloc(p->arena, len + sizeof(tail));
	if (file == NULL) {
		error_memory(p);
		return;
	}
	memcpy(file, folder, len);
	memcpy(file + len, tail, sizeof(tail));
	/* nsd-checkconf prints both: what it prints can be read. */
	if (place_find(p, "zonefile") != &p->clause_place
		&& strcmp(pattern->zonefile, file) != 0)
		error_at_place(p, place_find(p, "zonefile"), "pattern %.200s "
			"has a zone-directory: its zonefile is %.300s",
			pattern->name, file);
	pattern->zonefile = file;
	option_mark_set(option_find(CLAUSE_PATTERN, "zonefile"), pattern);
}

static void
pattern_end(struct conf_parser *p)
{
	struct conf *conf = p->conf;
	void *items;
	struct conf_pattern *pattern = &p->pattern;
	const struct conf_pattern *first;

	pattern->file = p->clause_place.file;
	pattern->line = p->clause_place.line;
	if (!clause_has_name(p, pattern->name, "pattern"))
		return;
	first = conf_find_pattern(conf, pattern->name);
	if (first != NULL) {
		clause_refuse_duplicate(p, "pattern", pattern->name,
			&(struct conf_place){ first->file, first->line });
		return;
	}
	pattern_set_folder(p, pattern);
	effect_note_clause(p, pattern, pattern->name);
	items = clause_grow(p, conf->patterns, conf->pattern_count,
		&p->pattern_room);
	if (items == NULL)
		return;
	conf->patterns = items;
	pattern = clause_keep(p, pattern, sizeof(*pattern));
	if (pattern == NULL)
		return;
	if (map_add(&p->owner->patterns, pattern) != NSD_OK)
		error_memory(p);
	else
		conf->patterns[conf->pattern_count++] = pattern;
	pattern_note_producer(p, pattern);
}

/* Keeps the options of a zone that has its own: its implicit pattern. */
static const struct conf_pattern *
zone_keep_own(struct conf_parser *p)
{
	static const char head[] = "_implicit_";
	size_t len = strlen(p->zone_name);
	char *name = arena_alloc(p->arena, sizeof(head) + len);

	if (name == NULL) {
		error_memory(p);
		return NULL;
	}
	memcpy(name, head, sizeof(head) - 1);
	memcpy(name + sizeof(head) - 1, p->zone_name, len + 1);
	p->pattern.name = name;
	p->pattern.implicit = true;
	p->pattern.file = p->clause_place.file;
	p->pattern.line = p->clause_place.line;
	p->pattern.zonefile = p->zonefile;
	return clause_keep(p, &p->pattern, sizeof(p->pattern));
}

/* The name in wire form; NULL: it is none, or there is one like it already,
 * which was said. */
static const uint8_t *
zone_make_wire(struct conf_parser *p)
{
	struct conf_owner *owner = p->owner;
	const struct conf_zone *first;
	const uint8_t *wire;
	const char *why;

	wire = conf_zone_wire(p->arena, p->zone_name, &why);
	if (wire == NULL) {
		if (why == NULL)
			error_memory(p);
		else
			error_at_place(p, place_find(p, "name"),
				"cannot parse zone name '%.300s': expected %s",
				p->zone_name, why);
		return NULL;
	}
	first = map_find(&owner->zones, wire, name_len(wire));
	if (first == NULL)
		return wire;
	clause_refuse_duplicate(p, "zone", p->zone_name,
		&(struct conf_place){ first->file, first->line });
	return NULL;
}

static void
zone_check_producer(struct conf_parser *p, const struct conf_pattern *options)
{
	const struct conf_acl *primary = options->request_xfr.items;

	if (options->catalog == CONF_CATALOG_PRODUCER
		&& options->request_xfr.count > 0)
		error_at(p, primary->file, primary->line,
			"zone %.300s is a catalog producer and has "
			"request-xfr", p->zone_name);
}

static void
zone_end(struct conf_parser *p)
{
	struct conf_owner *owner = p->owner;
	const struct conf_pattern *options;
	const uint8_t *wire;
	struct conf_zone *zone;

	if (!clause_has_name(p, p->zone_name, "zone"))
		return;
	wire = zone_make_wire(p);
	if (wire == NULL)
		return;
	options = p->own ? zone_keep_own(p)
		: p->shared != NULL ? p->shared : owner->defaults;
	if (options == NULL)
		return;
	zone_check_producer(p, options);
	zone = arena_alloc_zero(p->arena, sizeof(*zone));
	if (zone == NULL) {
		error_memory(p);
		return;
	}
	zone->name = p->zone_name;
	zone->wire = wire;
	zone->options = options;
	zone->zonefile = p->zonefile;
	/* Further errors of a clause with errors may result from those: without
	 * a file they are not reported. */
	if (p->errors == p->clause_errors)
		zone->file = p->clause_place.file;
	zone->line = p->clause_place.line;
	if (p->own)
		effect_note_clause(p, options, zone->name);
	if (conf_append_zone(owner, zone) != NSD_OK)
		error_memory(p);
}

void
clause_end(struct conf_parser *p)
{
	switch (p->clause) {
	case CLAUSE_KEY:
		key_end(p);
		break;
	case CLAUSE_TLS_AUTH:
		tls_auth_end(p);
		break;
	case CLAUSE_PATTERN:
		pattern_end(p);
		break;
	case CLAUSE_ZONE:
		zone_end(p);
		break;
	default:
		break;
	}
	p->clause = -1;
}
