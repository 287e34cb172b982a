/* clause.c - clauses as they begin, get their options, and end. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/grow.h"
#include "conf/parser.h"
#include "dns/name.h"

/* The array of pointers with room for one more. NULL: no memory, which was
 * said. */
static void *
clause_grow(struct conf_parser *p, void *array, size_t count, size_t *room)
{
	void *grown = grow_array(array, count, room, sizeof(void *));

	if (grown == NULL)
		error_memory(p);
	return grown;
}

/* ---- the beginning ----------------------------------------------------- */

void
clause_begin(struct conf_parser *p, const struct conf_token *token)
{
	assert(token->name->clause >= 0 && token->name->clause < CLAUSE_COUNT);
	p->clause = token->name->clause;
	p->clause_file = token->file;
	p->clause_line = token->line;
	p->stray = false;
	switch ((enum conf_clause)p->clause) {
	case CLAUSE_KEY:
		p->object = &p->key;
		break;
	case CLAUSE_TLS_AUTH:
		p->object = &p->tls_auth;
		break;
	case CLAUSE_ZONE:
		/* It gets options of its own when one is set. */
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
		/* The items are the other's: to add is to copy them. */
		list = (struct conf_list *)((char *)&p->pattern
			+ rows[i].offset);
		list->capacity = 0;
	}
}

/* Takes one option of src into dst: ACL elements are appended, all else
 * replaces what was there. */
static bool
pattern_merge_option(struct conf_parser *p, const struct conf_option *option,
	struct conf_pattern *dst, const struct conf_pattern *src)
{
	size_t item_size = option_item_size(option->type);
	void *to = (char *)dst + option->offset;
	const void *from = (const char *)src + option->offset;
	const struct conf_list *more = from;
	struct conf_list *list = to;
	struct conf_acl *acl;
	uint32_t i;

	if (option->type == TYPE_RRL) {
		*(uint16_t *)to |= *(const uint16_t *)from;
		return true;
	}
	if (!option_is_acl(option->type) || list->count == 0) {
		memcpy(to, from, option_field_size(option->type));
		if (item_size > 0)
			list->capacity = 0;
		return true;
	}
	for (i = 0; i < more->count; i++) {
		acl = list_add_item(p, list, item_size);
		if (acl == NULL)
			return false;
		*acl = ((const struct conf_acl *)more->items)[i];
		acl->inherited = true;
	}
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
			|| (rows[i].flags & OPTION_ALIAS) != 0
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
			"could not find pattern %s", word->text);
		return;
	}
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
	*field = arena_copy_text(&p->owner->arena, word->text, word->len);
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

/* Words behind the last one that the option takes are stray words. */
static void
clause_surplus_words(struct conf_parser *p, const struct conf_word *word,
	uint32_t count)
{
	p->stray = false;
	for (; count > 0; count--, word = word->next)
		clause_stray_word(p, word);
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
	char name[80];

	p->stray = false;
	if (option == NULL) {
		snprintf(name, sizeof(name), "%s:", token->name->name);
		error_syntax(p, token->file, token->line, name);
		return;
	}
	value_word_count(option, words->first, &least, &most);
	if (words->count < least) {
		error_syntax(p, p->token_file, p->token_line, p->token);
		return;
	}
	if (taken.count > most)
		taken.count = most;
	clause_apply(p, option, &taken, token->number);
	if (words->count > most) {
		word = words->first;
		for (i = 0; i < most; i++)
			word = word->next;
		clause_surplus_words(p, word, words->count - most);
	}
}

void
clause_stray_word(struct conf_parser *p, const struct conf_word *word)
{
	/* The value of an unknown option is not a second error. A word that
	 * looks like another option's name is. */
	if (!p->stray || (!word->quoted && word->len > 1
		&& word->text[word->len - 1] == ':'))
		error_syntax(p, word->file, word->line, word->text);
	p->stray = true;
}

/* ---- the end ----------------------------------------------------------- */

static bool
clause_needs(struct conf_parser *p, bool has, const char *text)
{
	if (!has)
		error_at(p, p->clause_file, p->clause_line, "%s", text);
	return has;
}

/* Copies an object to the arena. NULL: no memory, which was said. */
static void *
clause_keep(struct conf_parser *p, const void *object, size_t size)
{
	void *kept = arena_alloc(&p->owner->arena, size);

	if (kept == NULL)
		error_memory(p);
	else
		memcpy(kept, object, size);
	return kept;
}

static bool
clause_is_duplicate(struct conf_parser *p, const struct conf_map *map,
	const char *what, const char *name)
{
	if (map_find(map, name, strlen(name)) == NULL)
		return false;
	error_at(p, p->clause_file, p->clause_line, "duplicate %s %s", what,
		name);
	return true;
}

/* Fills in what is made from the words: the name in wire form, the algorithm's
 * full name and the octets of the secret. */
static bool
key_complete(struct conf_parser *p, struct conf_key *key)
{
	uint8_t wire[NAME_MAX_LEN];
	const uint8_t root[1] = { 0 };
	struct arena *arena = &p->owner->arena;
	const char *why;
	size_t len;

	if (name_parse_text(key->name, strlen(key->name), root, wire, &len,
		&why) != NSD_OK) {
		error_at(p, p->clause_file, p->clause_line,
			"bad tsig key name %s: expected %s", key->name,
			why);
		return false;
	}
	key->wire = arena_copy(arena, wire, len);
	key->algorithm_name = decode_algorithm(key->algorithm);
	key->secret_data = decode_base64(arena, key->secret,
		&key->secret_len);
	if (key->secret_data == NULL) {
		error_at(p, p->clause_file, p->clause_line,
			"cannot base64 decode tsig secret %s", key->name);
		return false;
	}
	if (key->secret_len == 0) {
		error_at(p, p->clause_file, p->clause_line,
			"tsig key %s has no secret blob", key->name);
		return false;
	}
	if (key->wire == NULL)
		error_memory(p);
	return key->wire != NULL;
}

static void
key_end(struct conf_parser *p)
{
	struct conf *conf = p->conf;
	void *items;
	struct conf_key *key = &p->key;

	key->line = p->clause_line;
	if (!clause_needs(p, key->name != NULL, "tsig key has no name"))
		return;
	if (key->secret == NULL) {
		error_at(p, p->clause_file, p->clause_line,
			"tsig key %s has no secret blob", key->name);
		return;
	}
	if (clause_is_duplicate(p, &p->owner->keys, "tsig key", key->name)
		|| !key_complete(p, key))
		return;
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

	auth->line = p->clause_line;
	if (!clause_needs(p, auth->name != NULL, "tls-auth has no name"))
		return;
	if (auth->auth_domain_name == NULL) {
		error_at(p, p->clause_file, p->clause_line,
			"tls-auth %s has no auth-domain-name", auth->name);
		return;
	}
	if (clause_is_duplicate(p, &p->owner->tls_auths, "tls-auth",
		auth->name))
		return;
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

static void
pattern_end(struct conf_parser *p)
{
	struct conf *conf = p->conf;
	void *items;
	struct conf_pattern *pattern = &p->pattern;

	pattern->file = p->clause_file;
	pattern->line = p->clause_line;
	if (!clause_needs(p, pattern->name != NULL, "pattern has no name"))
		return;
	if (clause_is_duplicate(p, &p->owner->patterns, "pattern",
		pattern->name))
		return;
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
}

/* Keeps the options of a zone that has its own: its implicit pattern. */
static const struct conf_pattern *
zone_keep_own(struct conf_parser *p)
{
	static const char head[] = "_implicit_";
	size_t len = strlen(p->zone_name);
	char *name = arena_alloc(&p->owner->arena, sizeof(head) + len);

	if (name == NULL) {
		error_memory(p);
		return NULL;
	}
	memcpy(name, head, sizeof(head) - 1);
	memcpy(name + sizeof(head) - 1, p->zone_name, len + 1);
	p->pattern.name = name;
	p->pattern.implicit = true;
	p->pattern.file = p->clause_file;
	p->pattern.line = p->clause_line;
	p->pattern.zonefile = p->zonefile;
	return clause_keep(p, &p->pattern, sizeof(p->pattern));
}

static void
zone_end(struct conf_parser *p)
{
	struct conf_owner *owner = p->owner;
	const struct conf_pattern *options;
	const uint8_t *wire;
	struct conf_zone *zone;
	const char *why;

	if (!clause_needs(p, p->zone_name != NULL, "zone has no name"))
		return;
	wire = conf_zone_wire(owner, p->zone_name, &why);
	if (wire == NULL) {
		if (why == NULL)
			error_memory(p);
		else
			error_at(p, p->clause_file, p->clause_line,
				"cannot parse zone name '%s': expected %s",
				p->zone_name, why);
		return;
	}
	if (map_find(&owner->zones, wire, name_len(wire)) != NULL) {
		error_at(p, p->clause_file, p->clause_line,
			"duplicate zone %s", p->zone_name);
		return;
	}
	options = p->own ? zone_keep_own(p)
		: p->shared != NULL ? p->shared : owner->defaults;
	if (options == NULL)
		return;
	if (options->catalog == CONF_CATALOG_PRODUCER
		&& options->request_xfr.count > 0)
		error_at(p, p->clause_file, p->clause_line,
			"zone %s is a catalog producer and has request-xfr",
			p->zone_name);
	zone = arena_alloc_zero(&owner->arena, sizeof(*zone));
	if (zone == NULL) {
		error_memory(p);
		return;
	}
	zone->name = p->zone_name;
	zone->wire = wire;
	zone->options = options;
	zone->zonefile = p->zonefile;
	zone->line = p->clause_line;
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
