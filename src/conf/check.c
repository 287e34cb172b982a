/* check.c - what can only be checked when all of the file has been read. */
#include <string.h>

#include "conf/parser.h"

/* A key and a tls-auth that have nothing set. Options are compared with them,
 * and an ACL element refers to them if what it names is missing. */
static const struct conf_key no_key;
static const struct conf_tls_auth no_tls_auth;

static void
check_acl(struct conf_parser *p, const struct conf_pattern *pattern,
	struct conf_acl *acl)
{
	const struct conf *conf = p->conf;

	if (acl->key_name != NULL && acl->key == NULL) {
		acl->key = conf_find_key(conf, acl->key_name);
		if (acl->key == NULL && !acl->inherited)
			error_at(p, acl->file, acl->line,
				"key %s in pattern %s could not be found",
				acl->key_name, pattern->name);
		if (acl->key == NULL)
			acl->key = &no_key;
	}
	if (acl->tls_auth_name != NULL && acl->tls_auth == NULL) {
		acl->tls_auth = conf_find_tls_auth(conf, acl->tls_auth_name);
		if (acl->tls_auth == NULL && !acl->inherited)
			error_at(p, acl->file, acl->line,
				"tls-auth %s in pattern %s could not be found",
				acl->tls_auth_name, pattern->name);
		if (acl->tls_auth == NULL)
			acl->tls_auth = &no_tls_auth;
	}
}

static void
check_pattern(struct conf_parser *p, const struct conf_pattern *pattern)
{
	size_t count, i;
	const struct conf_option *rows = option_rows(CLAUSE_PATTERN, &count);
	const struct conf_acls *list;
	uint32_t k;

	for (i = 0; i < count; i++) {
		if (!option_is_acl(rows[i].type))
			continue;
		list = (const void *)((const char *)pattern + rows[i].offset);
		for (k = 0; k < list->count; k++)
			check_acl(p, pattern, &list->items[k]);
	}
}

/* catalog-producer-zone must name a producer. */
static void
check_producer(struct conf_parser *p, const struct conf_pattern *pattern)
{
	const char *name = pattern->catalog_producer_zone;
	const struct conf_zone *zone;

	if (name == NULL)
		return;
	zone = conf_find_zone_text(p->conf, name);
	if (zone == NULL || zone->options->catalog != CONF_CATALOG_PRODUCER)
		error_at(p, pattern->file, pattern->line,
			"catalog-producer-zone %s in pattern %s is not a "
			"catalog producer zone", name, pattern->name);
}

void
check_references(struct conf_parser *p)
{
	const struct conf *conf = p->conf;
	size_t i;

	for (i = 0; i < conf->pattern_count; i++) {
		check_pattern(p, conf->patterns[i]);
		check_producer(p, conf->patterns[i]);
	}
	/* Many zones have the defaults, which refer to nothing. */
	for (i = 0; i < conf->zone_count; i++)
		if (conf->zones[i]->options->implicit
			&& conf->zones[i]->options != p->owner->defaults)
			check_pattern(p, conf->zones[i]->options);
	if (conf->server.cookie_staging_secret != NULL
		&& conf->server.cookie_secret == NULL)
		error_at(p, p->token_file, p->token_line,
			"a cookie-staging-secret cannot be configured without "
			"also providing a cookie-secret");
}

/* ---- options without effect -------------------------------------------- */

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

/* Sets in found the bit of each row without effect that the object has set to
 * another value than its default. */
static void
effect_collect(enum conf_clause clause, const void *object,
	const void *defaults, struct conf_set *found)
{
	size_t count, i;
	const struct conf_option *rows = option_rows(clause, &count);

	for (i = 0; i < count; i++)
		if ((rows[i].flags & OPTION_NO_EFFECT) != 0
			&& (rows[i].flags & OPTION_ALIAS) == 0
			&& option_is_set(&rows[i], object)
			&& !effect_is_default(&rows[i], object, defaults))
			option_mark_set(&rows[i], found);
}

static void
effect_report(enum conf_clause clause, const struct conf_set *found,
	void (*on_option)(void *ctx, const char *clause, const char *option),
	void *ctx)
{
	size_t count, i;
	const struct conf_option *rows = option_rows(clause, &count);

	for (i = 0; i < count; i++)
		if ((rows[i].flags & OPTION_ALIAS) == 0
			&& option_is_set(&rows[i], found))
			on_option(ctx, conf_clauses[clause].name,
				rows[i].name);
}

/* A clause that is there once. */
static void
effect_of_single(const struct conf *conf, enum conf_clause clause,
	struct conf_set *found)
{
	union {
		struct conf_server server;
		struct conf_dnstap dnstap;
		struct conf_remote_control remote_control;
		struct conf_verify verify;
	} defaults;

	value_set_initial(clause, &defaults);
	effect_collect(clause, (const char *)conf
		+ conf_clauses[clause].offset, &defaults, found);
}

static void
effect_of_zones(const struct conf *conf, struct conf_set *found)
{
	const struct conf_owner *owner = (const struct conf_owner *)conf;
	const struct conf_pattern *options;
	size_t i;

	for (i = 0; i < conf->pattern_count; i++)
		effect_collect(CLAUSE_PATTERN, conf->patterns[i],
			owner->defaults, found);
	for (i = 0; i < conf->zone_count; i++) {
		options = conf->zones[i]->options;
		if (options->implicit && options != owner->defaults)
			effect_collect(CLAUSE_PATTERN, options,
				owner->defaults, found);
	}
}

void
conf_list_without_effect(const struct conf *conf,
	void (*on_option)(void *ctx, const char *clause, const char *option),
	void *ctx)
{
	struct conf_set found[CLAUSE_COUNT];
	size_t i;

	memset(found, 0, sizeof(found));
	for (i = 0; i < CLAUSE_COUNT; i++)
		if (conf_clauses[i].single)
			effect_of_single(conf, (enum conf_clause)i, &found[i]);
	for (i = 0; i < conf->key_count; i++)
		effect_collect(CLAUSE_KEY, conf->keys[i], &no_key,
			&found[CLAUSE_KEY]);
	for (i = 0; i < conf->tls_auth_count; i++)
		effect_collect(CLAUSE_TLS_AUTH, conf->tls_auths[i],
			&no_tls_auth, &found[CLAUSE_TLS_AUTH]);
	effect_of_zones(conf, &found[CLAUSE_PATTERN]);
	for (i = 0; i <= CLAUSE_PATTERN; i++)
		effect_report((enum conf_clause)i, &found[i], on_option, ctx);
}

/* ---- semantic errors --------------------------------------------------- */

#define IDENTITY_MAX 255u /* octets of a TXT string, RFC 1035 section 3.3 */

/* The chroot without final slashes; 0: there is none. */
static size_t
chroot_len(const struct conf *conf)
{
	const char *chroot = conf->server.chroot;
	size_t len = chroot != NULL ? strlen(chroot) : 0;

	while (len > 0 && chroot[len - 1] == '/')
		len--;
	return len;
}

static bool
is_in_chroot(const struct conf *conf, const char *path)
{
	size_t len = chroot_len(conf);

	return strncmp(path, conf->server.chroot, len) == 0
		&& (path[len] == '/' || path[len] == '\0');
}

static void
check_zone(const struct conf *conf, const struct conf_zone *zone,
	struct diag_sink *sink)
{
	const struct conf_pattern *o = zone->options;
	uint32_t i;

	if (o->allow_notify.count > 0 && o->request_xfr.count == 0)
		diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
			"%s: zone %s has allow-notify but no request-xfr "
			"items. Where can it get a zone transfer when a "
			"notify is received?", conf->file, zone->name);
	if (o->request_xfr.count == 0 && o->catalog != CONF_CATALOG_PRODUCER
		&& (zone->zonefile == NULL || zone->zonefile[0] == '\0'))
		diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
			"%s: zone %s is a primary zone but has no zonefile. "
			"Where can the data come from?", conf->file,
			zone->name);
	if (conf->server.tls_auth_port != 0)
		return;
	for (i = 0; i < o->provide_xfr.count; i++)
		if (o->provide_xfr.items[i].tls_auth_name != NULL) {
			diag_emit(sink, DIAG_WARNING, NULL, 0, 0,
				"%s: zone %s has provide-xfr with tls-auth %s "
				"but there is no tls-auth-port", conf->file,
				zone->name,
				o->provide_xfr.items[i].tls_auth_name);
			break;
		}
}

static void
check_text(const struct conf *conf, const char *name, const char *text,
	struct diag_sink *sink)
{
	if (text != NULL && strlen(text) > IDENTITY_MAX)
		diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
			"%s: server %s too long (%zu characters)", conf->file,
			name, strlen(text));
}

unsigned
conf_check_texts(const struct conf *conf, struct diag_sink *sink)
{
	uint32_t before = sink->errors;

	check_text(conf, "identity", conf->server.identity, sink);
	check_text(conf, "version", conf->server.version, sink);
	return sink->errors - before;
}

/* A folder is shown with a final slash. */
static const char *
slash(const char *path)
{
	size_t len = strlen(path);

	return len > 0 && path[len - 1] != '/' ? "/" : "";
}

/* A relative path is below zonesdir; an absolute one must be in the chroot. */
static void
check_path(const struct conf *conf, const char *name, const char *path,
	bool folder, struct diag_sink *sink)
{
	const char *chroot = conf->server.chroot;

	if (path != NULL && path[0] == '/' && !is_in_chroot(conf, path))
		diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
			"%s: %s %s%s is not relative to chroot %s%s.",
			conf->file, name, path, folder ? slash(path) : "",
			chroot, slash(chroot));
}

static void
check_chroot(const struct conf *conf, struct diag_sink *sink)
{
	const struct conf_server *s = &conf->server;

	if (chroot_len(conf) == 0)
		return;
	if (s->zonesdir[0] != '/' || !is_in_chroot(conf, s->zonesdir))
		diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
			"%s: zonesdir %s%s has to be an absolute path that "
			"starts with the chroot path %s%s", conf->file,
			s->zonesdir, slash(s->zonesdir), s->chroot,
			slash(s->chroot));
	check_path(conf, "pidfile", s->pidfile, false, sink);
	check_path(conf, "database", s->database, false, sink);
	check_path(conf, "xfrdfile", s->xfrdfile, false, sink);
	check_path(conf, "zonelistfile", s->zonelistfile, false, sink);
	check_path(conf, "xfrdir", s->xfrdir, true, sink);
}

unsigned
conf_check(const struct conf *conf, struct diag_sink *sink)
{
	/* Errors are counted even if the caller doesn't want to hear them. */
	struct diag_sink none = { .on_diag = NULL };
	struct diag_sink *to = sink != NULL ? sink : &none;
	uint32_t before = to->errors;
	size_t i;

	for (i = 0; i < conf->zone_count; i++)
		check_zone(conf, conf->zones[i], to);
	(void)conf_check_texts(conf, to);
	check_chroot(conf, to);
	if (conf->server.port == 0)
		diag_emit(to, DIAG_ERROR, NULL, 0, 0,
			"%s: port number '0' is not a positive number.",
			conf->file);
	return to->errors - before;
}
