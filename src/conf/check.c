/* check.c - checks that need the whole of the file. */
#include <string.h>

#include "conf/parser.h"
#include "dns/name.h"

/* A key and a tls-auth that have nothing set. An ACL element refers to them if
 * what it names is missing. */
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

/* Warns once, at the element that brought the list beyond its end, not for each
 * pattern that includes it. */
static void
check_length(struct conf_parser *p, const struct conf_pattern *pattern,
	const char *name, const struct conf_acls *list, uint32_t most)
{
	const struct conf_acl *next = list->count > most ? &list->items[most]
							 : NULL;

	if (next != NULL && !next->inherited)
		diag_emit(p->sink, DIAG_WARNING, next->file, next->line, 0,
			"%s in pattern %s: only the first %u are used", name,
			pattern->name, most);
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
	policy_check(p, pattern);
	check_length(p, pattern, "request-xfr", &pattern->request_xfr,
		CONF_REQUEST_XFR_MAX);
	check_length(p, pattern, "notify", &pattern->notify, CONF_NOTIFY_MAX);
}

/* catalog-producer-zone must name a producer. */
static void
check_producer(struct conf_parser *p, const struct conf_producer *producer)
{
	const char *name = producer->pattern->catalog_producer_zone;
	const struct conf_zone *zone = conf_find_zone_text(p->conf, name);

	if (zone == NULL || zone->options->catalog != CONF_CATALOG_PRODUCER)
		error_at_place(p, &producer->place,
			"catalog-producer-zone %.300s in pattern %.200s is not "
			"a catalog producer zone", name,
			producer->pattern->name);
}

/* Finds the place of an option of server:, or the file if it is not set. */
static struct conf_place
check_place(const struct conf *conf, const char *name)
{
	const struct conf_owner *owner = (const struct conf_owner *)conf;
	const struct conf_option *option = option_find(CLAUSE_SERVER, name);
	struct conf_place place = owner->places[option - conf_options];

	if (place.file == NULL)
		place.file = conf->file;
	return place;
}

void
check_references(struct conf_parser *p)
{
	const struct conf *conf = p->conf;
	const struct conf_producer *producer;
	struct conf_place place;
	size_t i;

	for (i = 0; i < conf->pattern_count; i++)
		check_pattern(p, conf->patterns[i]);
	for (producer = p->producers; producer != NULL;
		producer = producer->next)
		check_producer(p, producer);
	/* Many zones have the defaults, which refer to nothing. */
	for (i = 0; i < conf->zone_count; i++)
		if (conf->zones[i]->options->implicit
			&& conf->zones[i]->options != p->owner->defaults)
			check_pattern(p, conf->zones[i]->options);
	if (conf->server.cookie_staging_secret == NULL
		|| conf->server.cookie_secret != NULL)
		return;
	place = check_place(conf, "cookie-staging-secret");
	error_at_place(p, &place,
		"a cookie-staging-secret cannot be configured without also "
		"providing a cookie-secret");
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

/* Octets of a member node of a catalog that is produced here, with a property
 * below it: LABEL.zones, group. */
#define MEMBER_LEN (1u + 32u + 6u + 6u)

/* A zone that cannot be a member, or cannot have members. */
static void
check_catalog(const struct conf_zone *zone, struct diag_sink *sink)
{
	const struct conf_pattern *o = zone->options;
	uint8_t wire[NAME_MAX_LEN];

	if (o->catalog == CONF_CATALOG_PRODUCER
		&& name_len(zone->wire) + MEMBER_LEN > NAME_MAX_LEN)
		diag_emit(sink, DIAG_ERROR, zone->file, zone->line, 0,
			"zone %.300s is a catalog producer, but its name is too "
			"long for member nodes", zone->name);
	if (o->catalog_producer_zone != NULL
		&& conf_parse_zone_name(o->catalog_producer_zone, wire)
		&& name_equal(wire, zone->wire))
		diag_emit(sink, DIAG_ERROR, zone->file, zone->line, 0,
			"zone %.300s cannot be a member of itself: its pattern "
			"has catalog-producer-zone %.300s", zone->name,
			o->catalog_producer_zone);
}

static void
check_zone(const struct conf *conf, const struct conf_zone *zone,
	struct diag_sink *sink)
{
	const struct conf_pattern *o = zone->options;
	const struct conf_acl *acl = o->allow_notify.items;
	uint32_t i;

	check_catalog(zone, sink);
	if (o->allow_notify.count > 0 && o->request_xfr.count == 0)
		diag_emit(sink, DIAG_ERROR, acl->file, acl->line, 0,
			"zone %.300s has allow-notify but no request-xfr "
			"items. Where can it get a zone transfer when a "
			"notify is received?", zone->name);
	if (o->update_forward.count > 0 && o->request_xfr.count == 0)
		diag_emit(sink, DIAG_ERROR, o->update_forward.items->file,
			o->update_forward.items->line, 0,
			"zone %.300s has update-forward but no request-xfr "
			"items. Where can updates be passed on to?",
			zone->name);
	if (o->request_xfr.count == 0 && o->catalog != CONF_CATALOG_PRODUCER
		&& (zone->zonefile == NULL || zone->zonefile[0] == '\0'))
		diag_emit(sink, DIAG_ERROR, zone->file, zone->line, 0,
			"zone %.300s is a primary zone but has no zonefile. "
			"Where can the data come from?", zone->name);
	if (conf->server.tls_auth_port != 0)
		return;
	for (i = 0; i < o->provide_xfr.count; i++) {
		acl = &o->provide_xfr.items[i];
		/* A tls-auth that is not there was an error. */
		if (acl->tls_auth == NULL || acl->tls_auth->name == NULL)
			continue;
		diag_emit(sink, DIAG_WARNING, acl->file, acl->line, 0,
			"zone %.300s has provide-xfr with tls-auth %.300s but "
			"there is no tls-auth-port", zone->name,
			acl->tls_auth_name);
		break;
	}
}

static void
check_text(const struct conf *conf, const char *name, const char *text,
	struct diag_sink *sink)
{
	struct conf_place place = check_place(conf, name);

	if (text != NULL && strlen(text) > IDENTITY_MAX)
		diag_emit(sink, DIAG_ERROR, place.file, place.line, 0,
			"server %s too long (%zu characters), expected at "
			"most %u", name, strlen(text), IDENTITY_MAX);
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
final_slash(const char *path)
{
	size_t len = strlen(path);

	return len > 0 && path[len - 1] != '/' ? "/" : "";
}

/* The place of a path; of the chroot, if the path is a default. */
static struct conf_place
check_path_place(const struct conf *conf, const char *name)
{
	struct conf_place place = check_place(conf, name);

	return place.line != 0 ? place : check_place(conf, "chroot");
}

/* A relative path is below zonesdir; an absolute one must be in the chroot. */
static void
check_path(const struct conf *conf, const char *name, const char *path,
	bool folder, struct diag_sink *sink)
{
	const char *chroot = conf->server.chroot;
	struct conf_place place = check_path_place(conf, name);

	if (path != NULL && path[0] == '/' && !is_in_chroot(conf, path))
		diag_emit(sink, DIAG_ERROR, place.file, place.line, 0,
			"%s %s%s is not relative to chroot %s%s.", name, path,
			folder ? final_slash(path) : "", chroot,
			final_slash(chroot));
}

static void
check_chroot(const struct conf *conf, struct diag_sink *sink)
{
	const struct conf_server *s = &conf->server;
	struct conf_place place = check_path_place(conf, "zonesdir");

	if (chroot_len(conf) == 0)
		return;
	if (s->zonesdir[0] != '/' || !is_in_chroot(conf, s->zonesdir))
		diag_emit(sink, DIAG_ERROR, place.file, place.line, 0,
			"zonesdir %s%s has to be an absolute path that starts "
			"with the chroot path %s%s", s->zonesdir,
			final_slash(s->zonesdir), s->chroot,
			final_slash(s->chroot));
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
	struct conf_place place = check_place(conf, "port");
	size_t i;

	for (i = 0; i < conf->zone_count; i++)
		if (conf->zones[i]->file != NULL)
			check_zone(conf, conf->zones[i], to);
	policy_match_check(conf, to);
	(void)conf_check_texts(conf, to);
	check_chroot(conf, to);
	if (conf->server.port == 0)
		diag_emit(to, DIAG_ERROR, place.file, place.line, 0,
			"port number '0' is not a positive number.");
	return to->errors - before;
}
