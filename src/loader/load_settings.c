/* load_settings.c - converts a configuration to settings. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dns/tsig.h"
#include "loader/load_settings.h"

/* ---- keys ---------------------------------------------------------------- */

/* The algorithm with a name of nsd.conf (doc/surface.md 1.6), which is the
 * first label of its name in a TSIG. conf refuses other names. */
static enum mac_kind
key_find_algorithm(const char *text)
{
	size_t len = strlen(text);

	for (unsigned i = 0; i < MAC_KIND_COUNT; i++) {
		const uint8_t *name = tsig_algorithm_name((enum mac_kind)i);

		if (name[0] == len && memcmp(name + 1, text, len) == 0)
			return (enum mac_kind)i;
	}
	assert(!"an algorithm of TSIG");
	return MAC_HMAC_SHA256;
}

static enum nsd_err
key_make(struct settings_edit *edit, const struct conf_key *key,
	store_ref *ref)
{
	return settings_edit_key(edit, key->wire,
		key_find_algorithm(key->algorithm_name), ref);
}

/* ---- lists --------------------------------------------------------------- */

/* Where the address of IPv4 is in a mapped one (RFC 4291 section 2.5.5.2). */
#define MAPPED_AT 12

/* Turns an element whose addresses are all mapped ones of IPv4 into one of
 * IPv4: clients with such addresses count as IPv4, though a proxy may give them
 * as IPv6 (net/proxy.h). */
static void
element_unmap(struct acl_element *e)
{
	static const uint8_t mapped[MAPPED_AT] = {[10] = 0xff, [11] = 0xff};
	static const uint8_t ones[MAPPED_AT] = {0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	const uint8_t *end = e->kind == ACL_MASK ? ones : mapped;

	if (e->family != 6 || memcmp(e->address, mapped, MAPPED_AT) != 0
		|| (e->kind != ACL_SINGLE
			&& memcmp(e->other, end, MAPPED_AT) != 0))
		return;
	e->family = 4;
	memmove(e->address, e->address + MAPPED_AT, 4);
	memset(e->address + 4, 0, sizeof(e->address) - 4);
	memmove(e->other, e->other + MAPPED_AT, 4);
	memset(e->other + 4, 0, sizeof(e->other) - 4);
}

void
load_settings_element(const struct conf_acl *acl, struct acl_element *e)
{
	memset(e, 0, sizeof(*e));
	e->family = acl->family;
	e->kind = acl->kind == CONF_ACL_SINGLE ? ACL_SINGLE
		: acl->kind == CONF_ACL_RANGE  ? ACL_RANGE
					       : ACL_MASK;
	e->blocked = acl->blocked;
	e->axfr_only = acl->axfr_only;
	e->allow_udp = acl->allow_udp;
	e->port = acl->port;
	memcpy(e->address, acl->address, sizeof(e->address));
	memcpy(e->other, acl->other, sizeof(e->other));
	element_unmap(e);
}

/* A tls-auth that is not configured matches no client, as a key that is not
 * configured. */
static enum nsd_err
identity_make(struct settings_edit *edit, const struct conf_tls_auth *auth,
	struct acl_element *e)
{
	enum nsd_err err = NSD_E_LIMIT;

	if (auth != NULL && auth->auth_domain_name != NULL)
		err = settings_edit_identity(edit, auth->auth_domain_name,
			&e->identity);
	e->needs_key |= err == NSD_E_LIMIT;
	return err == NSD_E_LIMIT ? NSD_OK : err;
}

static enum nsd_err
element_convert(struct settings_edit *edit, const struct conf_acl *acl,
	enum settings_list list, struct acl_element *e)
{
	enum nsd_err err;

	load_settings_element(acl, e);
	e->needs_key = acl->key_name != NULL;
	if ((list == SETTINGS_PROVIDE_XFR || list == SETTINGS_REQUEST_XFR)
		&& acl->tls_auth_name != NULL) {
		err = identity_make(edit, acl->tls_auth, e);
		if (err != NSD_OK || e->identity == STORE_NONE)
			return err;
	}
	/* A key that is not configured has no name. */
	if (acl->key == NULL || acl->key->name == NULL)
		return NSD_OK;
	return key_make(edit, acl->key, &e->key);
}

_Static_assert((int)CONF_SERIAL_UNIXTIME == (int)SETTINGS_SERIAL_UNIXTIME
	&& (int)CONF_SERIAL_DATESERIAL == (int)SETTINGS_SERIAL_DATESERIAL,
	"policies of serials have the same numbers");

/* Converts lines of update-policy. *lines: the caller's. */
static enum nsd_err
policies_convert(struct settings_edit *edit, const struct conf_policies *from,
	struct update_policy_line **lines)
{
	static const enum update_policy_kind kinds[] = {
		[CONF_POLICY_NAME] = UPDATE_POLICY_NAME,
		[CONF_POLICY_BELOW] = UPDATE_POLICY_BELOW,
		[CONF_POLICY_LABELS] = UPDATE_POLICY_LABELS,
		[CONF_POLICY_ANY] = UPDATE_POLICY_ANY,
		[CONF_POLICY_SELF] = UPDATE_POLICY_NAME,
	};
	struct update_policy_line *to = calloc(from->count + (size_t)1,
		sizeof(*to));
	enum nsd_err err = to != NULL ? NSD_OK : NSD_E_MEMORY;

	for (uint32_t i = 0; err == NSD_OK && i < from->count; i++) {
		const struct conf_policy *policy = &from->items[i];

		to[i] = (struct update_policy_line){
			.name = policy->name,
			.types = policy->types,
			.type_count = policy->type_count,
			.kind = kinds[policy->kind],
		};
		/* A key that is not configured has no name. */
		if (policy->key == NULL || policy->key->name == NULL)
			continue;
		if (policy->kind == CONF_POLICY_SELF)
			to[i].name = policy->key->wire;
		err = key_make(edit, policy->key, &to[i].key);
	}
	*lines = to;
	return err;
}

static struct settings_xfr
xfr_convert(const struct conf_pattern *from)
{
	return (struct settings_xfr){
		.notify_tries = from->notify_retry,
		.refresh_min_sec = from->min_refresh_time,
		.refresh_max_sec = from->max_refresh_time,
		.retry_min_sec = from->min_retry_time,
		.retry_max_sec = from->max_retry_time,
		.expire_min_sec = from->min_expire_time,
		.axfr_fallback = from->allow_axfr_fallback,
		.check_all = from->multi_primary_check,
	};
}

_Static_assert(CONF_EXPIRE_FROM_SOA == SETTINGS_EXPIRE_FROM_SOA,
	"a bound that follows from the SOA is the same to both");

static enum nsd_err
options_make(struct settings_edit *edit, const struct conf_pattern *pattern,
	store_ref *options)
{
#define LOAD_SETTINGS_LIST(code, field) &pattern->field,
	const struct conf_acls *const from[] = {
		SETTINGS_LISTS(LOAD_SETTINGS_LIST)};
#undef LOAD_SETTINGS_LIST
	const struct settings_xfr xfr = xfr_convert(pattern);
	const unsigned end = pattern->request_xfr.count > 0
			|| pattern->notify.count > 0
		? SETTINGS_LIST_COUNT : SETTINGS_CLIENT_LISTS;
	struct settings_lists lists = {
		.numbers = {
			.rrl_whitelist = pattern->rrl_whitelist,
			.serial_policy = pattern->serial_policy,
			.update_unchecked = pattern->update_unchecked,
		},
		.policy_count = pattern->update_policy.count,
		.xfr = end == SETTINGS_LIST_COUNT ? &xfr : NULL,
	};
	struct update_policy_line *lines;
	struct acl_element *elements;
	enum nsd_err err;
	size_t count = 0;

	for (unsigned i = 0; i < end; i++)
		count += lists.counts[i] = from[i]->count;
	*options = STORE_NONE;
	elements = calloc(count + 1, sizeof(*elements));
	if (elements == NULL)
		return NSD_E_MEMORY;
	err = policies_convert(edit, &pattern->update_policy, &lines);
	lists.policies = lines;
	count = 0;
	for (unsigned i = 0; i < end; i++) {
		lists.lists[i] = &elements[count];
		for (uint32_t n = 0; err == NSD_OK && n < from[i]->count; n++)
			err = element_convert(edit, &from[i]->items[n],
				(enum settings_list)i, &elements[count++]);
	}
	if (err == NSD_OK)
		err = settings_edit_options(edit, &lists, options);
	free(elements);
	free(lines);
	return err;
}

/* ---- patterns ------------------------------------------------------------ */

#define TEXT_LISTS ((unsigned)SETTINGS_LIST_COUNT - SETTINGS_CLIENT_LISTS)

static uint16_t
checks_convert(const struct conf_pattern *from)
{
	uint16_t checks = from->verify_zone == CONF_INHERIT
		? SETTINGS_VERIFIES_AS_ALL
		: from->verify_zone != 0 ? SETTINGS_VERIFIES : 0;

	if (from->zonemd_verify || from->dnssec_verify != CONF_DNSSEC_NO
		|| from->xfr_max_change < 100)
		checks |= SETTINGS_CHECKS;
	return checks;
}

static struct settings_storing
storing_convert(const struct conf_pattern *from)
{

	return (struct settings_storing){
		.size_limit_xfr = from->size_limit_xfr,
		.ixfr_size = from->ixfr_size,
		.ixfr_number = from->ixfr_number,
		.store_ixfr = from->store_ixfr,
		.create_ixfr = from->create_ixfr,
		.checks = checks_convert(from),
	};
}

static void
texts_convert(const struct conf_acls *from, struct settings_texts *to)
{
	for (uint32_t i = 0; i < from->count; i++)
		to[i] = (struct settings_texts){
			.spec = from->items[i].spec,
			.key_name = from->items[i].key_name,
			.tls_auth = from->items[i].tls_auth_name,
		};
}

/* Makes the names of catalog-allow, and behind them that of the producer. NULL:
 * there is no memory. */
static uint8_t *
names_make(const struct conf_pattern *from,
	struct settings_catalog_setup *to)
{
	const struct conf_strings *allow = &from->catalog_allow;
	uint8_t *names = malloc(((size_t)allow->count + 1) * NAME_MAX_LEN);
	size_t at = 0;

	if (names == NULL)
		return NULL;
	/* conf refuses what is no name, and producers that are not there. */
	for (uint32_t i = 0; i < allow->count; i++)
		if (conf_parse_zone_name(allow->items[i], names + at)) {
			at += name_len(names + at);
			to->suffix_count++;
		}
	to->suffixes = names;
	if (from->catalog_producer_zone != NULL
		&& conf_parse_zone_name(from->catalog_producer_zone,
			names + at))
		to->producer = names + at;
	return names;
}

static struct settings_catalog_setup
catalog_convert(const struct conf_pattern *from)
{
	return (struct settings_catalog_setup){
		.member_pattern = from->catalog_member_pattern,
		.groups = from->catalog_group_pattern.items,
		.group_count = from->catalog_group_pattern.count,
		.folder = from->implicit ? NULL : from->zone_directory,
		.max = from->catalog_max,
		.role = from->catalog,
		.empty_deletes = from->catalog_empty_deletes,
	};
}

static enum nsd_err
pattern_make(struct settings_edit *edit, const struct conf_pattern *from,
	store_ref options, store_ref *pattern)
{
	const struct conf_acls *lists[TEXT_LISTS] = {&from->request_xfr,
		&from->notify, &from->outgoing_interface};
	struct settings_pattern_setup setup = {
		.name = from->implicit ? NULL : from->name,
		.file = from->implicit ? NULL : from->zonefile,
		.options = options,
		.storing = storing_convert(from),
		.catalog = catalog_convert(from),
	};
	struct settings_texts *texts;
	uint8_t *names;
	enum nsd_err err;
	size_t count = 0;

	*pattern = STORE_NONE;
	for (unsigned i = 0; i < TEXT_LISTS; i++)
		count += setup.counts[i] = lists[i]->count;
	texts = calloc(count + 1, sizeof(*texts));
	names = names_make(from, &setup.catalog);
	if (texts == NULL || names == NULL) {
		free(texts);
		free(names);
		return NSD_E_MEMORY;
	}
	count = 0;
	for (unsigned i = 0; i < TEXT_LISTS; i++) {
		texts_convert(lists[i], texts + count);
		count += setup.counts[i];
	}
	setup.texts = texts;
	err = settings_edit_pattern(edit, &setup, pattern);
	free(texts);
	free(names);
	return err;
}

enum nsd_err
load_settings_pattern(struct settings_edit *edit,
	const struct conf_pattern *from, store_ref *options,
	store_ref *pattern)
{
	enum nsd_err err = options_make(edit, from, options);

	return err != NSD_OK ? err
		: pattern_make(edit, from, *options, pattern);
}

/* ---- the settings -------------------------------------------------------- */

/* Converts the netblock of the limit itself and those beside it, narrowest
 * first. */
static struct settings_netblocks
netblocks_convert(uint32_t bits, const struct conf_netblocks *wider)
{
	struct settings_netblocks to = {.count = 1, .items = {{bits, 1}}};

	for (uint32_t i = 0; i < wider->count
		&& to.count < SETTINGS_NETBLOCKS_MAX; i++) {
		const struct conf_netblock *from = &wider->items[i];
		uint32_t at = to.count++;

		for (; at > 0 && to.items[at - 1].bits < from->bits; at--)
			to.items[at] = to.items[at - 1];
		to.items[at].bits = from->bits;
		to.items[at].factor = from->factor;
	}
	return to;
}

static struct settings_setup
settings_convert(const struct conf_server *o)
{
	return (struct settings_setup){
		.identity = o->hide_identity ? NULL : o->identity,
		.version = o->hide_version ? NULL
			: o->version != NULL ? o->version
					     : PACKAGE_STRING,
		.nsid = o->nsid_len > 0 ? o->nsid_data : NULL,
		.nsid_len = (uint16_t)o->nsid_len,
		.report_channel = o->edns_report_channel_name,
		.udp4_size = (uint16_t)o->ipv4_edns_size,
		.udp6_size = (uint16_t)o->ipv6_edns_size,
		.minimal_responses = o->minimal_responses,
		.round_robin = o->round_robin,
		.refuse_any = o->refuse_any,
		/* tls-auth-port waits for the next start. */
		.tls_auth_xfr_only = o->tls_auth_xfr_only
			&& o->tls_auth_port != 0,
		.confine_to_zone = o->confine_to_zone,
		.drop_updates = o->drop_updates,
		.tcp_reject_overflow = o->tcp_reject_overflow,
		.tcp_count = o->tcp_count,
		.tcp_query_count = o->tcp_query_count,
		.tcp_timeout_sec = o->tcp_timeout,
		.rrl_ratelimit = o->rrl_ratelimit,
		.rrl_whitelist_ratelimit = o->rrl_whitelist_ratelimit,
		.rrl_slip = o->rrl_slip,
		.rrl_ip4 = netblocks_convert(o->rrl_ipv4_prefix_length,
			&o->rrl_ipv4_wider),
		.rrl_ip6 = netblocks_convert(o->rrl_ipv6_prefix_length,
			&o->rrl_ipv6_wider),
		.answer_cookie = o->answer_cookie,
		.rssac002 = o->rssac002,
		.tcp_cpu_limit = o->tcp_cpu_limit,
		.rrl_size = o->rrl_size,
	};
}

/* Converts the elements of lists of addresses alone. NULL: there is no
 * memory. */
static struct acl_element *
elements_convert(const struct conf_acls *from)
{
	struct acl_element *elements = calloc(from->count + 1u,
		sizeof(*elements));

	for (uint32_t i = 0; elements != NULL && i < from->count; i++)
		load_settings_element(&from->items[i], &elements[i]);
	return elements;
}

/* Converts the names of the keys, as written. NULL: there is no memory. */
static char *
names_convert(const struct conf *conf, uint32_t *len)
{
	size_t all = 0, at = 0;
	char *names;

	for (size_t i = 0; i < conf->key_count; i++)
		all += strlen(conf->keys[i]->name) + 1;
	names = malloc(all + 1);
	for (size_t i = 0; names != NULL && i < conf->key_count; i++) {
		size_t size = strlen(conf->keys[i]->name) + 1;

		memcpy(names + at, conf->keys[i]->name, size);
		at += size;
	}
	*len = (uint32_t)all;
	return names;
}

/* Makes the objects of the store that settings refer to. */
static enum nsd_err
objects_make(struct settings_edit *edit, const struct conf *conf,
	struct settings_setup *setup, store_ref *refs,
	struct key_handle *secrets)
{
	store_ref *patterns = refs + conf->key_count, options;
	enum nsd_err err = NSD_OK;

	for (size_t i = 0; err == NSD_OK && i < conf->key_count; i++) {
		secrets[i] = conf->keys[i]->handle;
		err = key_make(edit, conf->keys[i], &refs[i]);
	}
	for (size_t i = 0; err == NSD_OK && i < conf->pattern_count; i++)
		err = load_settings_pattern(edit, conf->patterns[i], &options,
			&patterns[i]);
	setup->keys = refs;
	setup->secrets = secrets;
	setup->key_count = (uint32_t)conf->key_count;
	setup->patterns = patterns;
	setup->pattern_count = (uint32_t)conf->pattern_count;
	return err;
}

/* True if some pattern or zone takes or forwards UPDATEs. */
static bool
updates_are_taken(const struct conf *conf)
{
	const struct conf_pattern *options;

	for (size_t i = 0; i < conf->pattern_count; i++)
		if (conf_takes_updates(conf->patterns[i])
			|| conf->patterns[i]->update_forward.count > 0)
			return true;
	for (size_t i = 0; i < conf->zone_count; i++) {
		options = conf->zones[i]->options;
		if (conf_takes_updates(options)
			|| options->update_forward.count > 0)
			return true;
	}
	return false;
}

enum nsd_err
load_settings_publish(struct settings_edit *edit, const struct conf *conf)
{
	const struct conf_server *o = &conf->server;
	struct settings_setup setup = settings_convert(o);
	store_ref *refs = calloc(conf->key_count + conf->pattern_count + 1,
		sizeof(*refs));
	struct key_handle *secrets = calloc(conf->key_count + 1,
		sizeof(*secrets));
	struct acl_element *whitelist = elements_convert(
		&o->tcp_cpu_whitelist);
	struct acl_element *proxies = elements_convert(&o->allow_proxy);
	char *names = names_convert(conf, &setup.key_names_len);
	enum nsd_err err = refs != NULL && secrets != NULL && whitelist != NULL
			&& proxies != NULL && names != NULL
		? NSD_OK : NSD_E_MEMORY;
	char host[256] = "";

	if (err == NSD_OK)
		err = objects_make(edit, conf, &setup, refs, secrets);
	if (!o->hide_identity && setup.identity == NULL) {
		gethostname(host, sizeof(host) - 1);
		setup.identity = host;
	}
	setup.takes_updates = updates_are_taken(conf);
	setup.key_names = names;
	setup.tcp_cpu_whitelist = whitelist;
	setup.tcp_cpu_whitelist_count = o->tcp_cpu_whitelist.count;
	setup.allow_proxy = proxies;
	setup.allow_proxy_count = o->allow_proxy.count;
	if (err == NSD_OK)
		err = settings_edit_publish(edit, &setup);
	free(refs);
	free(secrets);
	free(whitelist);
	free(proxies);
	free(names);
	return err;
}

bool
load_settings_find(const struct store_view *view, const struct conf *conf,
	const struct conf_pattern *pattern, store_ref *found)
{
	const struct settings *settings = settings_get(view);
	size_t low = 0, high = conf->pattern_count;

	if (settings->pattern_count != conf->pattern_count
		|| pattern->name == NULL)
		return false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (conf->patterns[middle] == pattern) {
			*found = settings_patterns(settings)[middle];
			return true;
		}
		if (strcmp(conf->patterns[middle]->name, pattern->name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}
