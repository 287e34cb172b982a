/* print.c - a configuration, or one option of it, as text. */
#include <arpa/inet.h>
#include <assert.h>
#include <string.h>

#include "conf/option.h"
#include "dns/rrtype.h"

/* The form of printed values: as in nsd.conf, or alone (-o). */
struct printer {
	const struct conf *conf;
	FILE *out;
	bool full_paths;
	bool acl_comments;
};

static bool
is_chrooted(const struct conf *conf)
{
	return conf->server.chroot != NULL && conf->server.chroot[0] != '\0';
}

/* ---- values alone ------------------------------------------------------ */

static void
put_string(const struct printer *pr, const struct conf_option *option,
	const char *text)
{
	const char *chroot = pr->conf->server.chroot;
	size_t len;

	if (text == NULL || text[0] == '\0')
		return;
	if (!is_chrooted(pr->conf)) {
		fputs(text, pr->out);
		return;
	}
	if (pr->full_paths && (option->flags & OPTION_PATH) != 0
		&& text[0] != '/') {
		len = strlen(chroot);
		fprintf(pr->out, "%s%s", chroot,
			chroot[len - 1] == '/' ? "" : "/");
	}
	fputs(text, pr->out);
	if ((option->flags & OPTION_DIRECTORY) != 0
		&& text[strlen(text) - 1] != '/')
		fputc('/', pr->out);
}

static void
put_number(const struct printer *pr, const struct conf_option *option,
	const void *field)
{
	uint32_t u32;

	switch ((enum conf_type)option->type) {
	case TYPE_I32:
		fprintf(pr->out, "%d", *(const int32_t *)field);
		return;
	case TYPE_U64:
		fprintf(pr->out, "%llu",
			(unsigned long long)*(const uint64_t *)field);
		return;
	default:
		break;
	}
	u32 = *(const uint32_t *)field;
	if (option->type == TYPE_EXPIRE && u32 == CONF_EXPIRE_FROM_SOA)
		fputs("refresh+retry+1", pr->out);
	else
		fprintf(pr->out, "%u", u32);
}

static void
put_nsid(const struct printer *pr, const struct conf_server *server)
{
	uint32_t i;

	for (i = 0; i < server->nsid_len; i++)
		fprintf(pr->out, "%02x", server->nsid_data[i]);
}

static const char *
catalog_text(uint8_t catalog)
{
	return catalog == CONF_CATALOG_CONSUMER ? "consumer"
		: catalog == CONF_CATALOG_PRODUCER ? "producer" : "";
}

/* Puts a word in quotes if it would not be read as one word without. */
static void
put_word(const struct printer *pr, const char *text)
{
	size_t len = strlen(text);
	bool quote = len == 0 || text[0] == '#' || text[len - 1] == ':'
		|| strpbrk(text, " \t\r\n\"") != NULL;

	fprintf(pr->out, "%s%s%s", quote ? "\"" : "", text,
		quote ? "\"" : "");
}

static void
put_key_words(const struct printer *pr, const struct conf_acl *acl)
{
	if (acl->nokey)
		fputs(" NOKEY", pr->out);
	else if (acl->blocked)
		fputs(" BLOCKED", pr->out);
	if (acl->key_name != NULL) {
		fputc(' ', pr->out);
		put_word(pr, acl->key_name);
	}
	if (acl->tls_auth_name != NULL) {
		fputc(' ', pr->out);
		put_word(pr, acl->tls_auth_name);
	}
}

static void
put_policy(const struct printer *pr, const struct conf_policy *policy)
{
	char type[RRTYPE_TEXT_MAX];

	put_word(pr, policy->key_name);
	fputc(' ', pr->out);
	put_word(pr, policy->text);
	for (uint32_t i = 0; i < policy->type_count; i++) {
		rrtype_print(policy->types[i], type);
		fprintf(pr->out, " %s", type);
	}
}

/* True if the name is to be printed. If all bits are set, only "all" is. */
static bool
rrl_is_shown(uint16_t bits, const struct conf_rrl_name *name)
{
	return bits == ANSWER_ALL ? name->bits == ANSWER_ALL
		: name->bits != ANSWER_ALL && (bits & name->bits) != 0;
}

/* A line for each item. Lists that stand on one line have put_list_line. */
static void
put_list_lines(const struct printer *pr, const struct conf_option *option,
	const struct conf_list *list)
{
	const struct conf_interface *interface;
	const struct conf_netblock *netblock;
	const struct conf_acl *acl;
	uint32_t i;

	for (i = 0; i < list->count; i++) {
		if (option_is_acl(option->type)) {
			acl = (const struct conf_acl *)list->items + i;
			fputs(acl->spec, pr->out);
			put_key_words(pr, acl);
		} else if (option->type == TYPE_POLICY) {
			put_policy(pr, (const struct conf_policy *)
				list->items + i);
		} else if (option->type == TYPE_NUMBER_EACH) {
			fprintf(pr->out, "%u",
				((const uint32_t *)list->items)[i]);
		} else if (option->type == TYPE_SUFFIX
			|| option->type == TYPE_TEXT_EACH) {
			fputs(((const char *const *)list->items)[i], pr->out);
		} else if (option->type == TYPE_NETBLOCK) {
			netblock = (const struct conf_netblock *)
				list->items + i;
			fprintf(pr->out, "%u %u", netblock->bits,
				netblock->factor);
		} else {
			interface = (const struct conf_interface *)
				list->items + i;
			fputs(interface->text, pr->out);
		}
		fputc('\n', pr->out);
	}
}

static void
put_list_line(const struct printer *pr, const struct conf_option *option,
	const struct conf_list *list)
{
	uint32_t i;

	for (i = 0; i < list->count; i++) {
		if (i > 0)
			fputc(' ', pr->out);
		if (option->type == TYPE_STRINGS)
			fprintf(pr->out, "%s",
				((const char *const *)list->items)[i]);
		else
			fprintf(pr->out, "%u",
				((const uint32_t *)list->items)[i]);
	}
}

static void
put_value(const struct printer *pr, const struct conf_option *option,
	const void *object)
{
	const void *field = (const char *)object + option->offset;

	switch ((enum conf_type)option->type) {
	case TYPE_BOOL:
		fputs(*(const bool *)field ? "yes" : "no", pr->out);
		break;
	case TYPE_INHERIT:
		fputs(*(const uint8_t *)field ? "yes" : "no", pr->out);
		break;
	case TYPE_U32:
	case TYPE_I32:
	case TYPE_U64:
	case TYPE_EXPIRE:
		put_number(pr, option, field);
		break;
	case TYPE_NSID:
		put_nsid(pr, object);
		break;
	case TYPE_CATALOG:
		fputs(catalog_text(*(const uint8_t *)field), pr->out);
		break;
	case TYPE_EMPTY:
	case TYPE_UNCHECKED:
	case TYPE_SERIAL:
	case TYPE_DNSSEC:
		fputs(option_words(option->type)[*(const uint8_t *)field],
			pr->out);
		break;
	case TYPE_STRINGS:
	case TYPE_NUMBERS:
		put_list_line(pr, option, field);
		break;
	default:
		put_string(pr, option, *(const char *const *)field);
		break;
	}
}

/* ---- the whole configuration ------------------------------------------- */

static void
print_acl_comment(const struct printer *pr, const struct conf_acl *acl)
{
	static const char *const kinds[] = {
		[CONF_ACL_SINGLE] = "single", [CONF_ACL_MASK] = "masked",
		[CONF_ACL_SUBNET] = "subnet", [CONF_ACL_RANGE] = "minmax",
	};
	int family = acl->family == 4 ? AF_INET : AF_INET6;
	char address[INET6_ADDRSTRLEN], other[INET6_ADDRSTRLEN];

	assert(acl->kind <= CONF_ACL_RANGE);
	inet_ntop(family, acl->address, address, sizeof(address));
	inet_ntop(family, acl->other, other, sizeof(other));
	fprintf(pr->out, "\t# ip%u ", acl->family);
	if (acl->port != 0)
		fprintf(pr->out, "port=%u", acl->port);
	else
		fputs("noport", pr->out);
	fprintf(pr->out, " %s addr=%s", kinds[acl->kind], address);
	if (acl->kind != CONF_ACL_SINGLE)
		fprintf(pr->out, " rangemask=%s", other);
	fputc('\n', pr->out);
}

static void
print_acls(const struct printer *pr, const struct conf_option *option,
	const struct conf_acls *list)
{
	const struct conf_acl *acl;
	uint32_t i;

	for (i = 0; i < list->count; i++) {
		acl = &list->items[i];
		fprintf(pr->out, "\t%s: %s%s", option->name,
			acl->axfr_only ? "AXFR " : acl->allow_udp ? "UDP " : "",
			acl->spec);
		put_key_words(pr, acl);
		fputc('\n', pr->out);
		if (pr->acl_comments && option->type != TYPE_ACL_ADDRESS)
			print_acl_comment(pr, acl);
	}
}

static void
print_ranges(const struct printer *pr, const struct conf_ranges *ranges)
{
	uint32_t i;

	for (i = 0; i < ranges->count; i++) {
		fprintf(pr->out, "%s%u", i > 0 ? " " : " servers=\"",
			ranges->items[i].first);
		if (ranges->items[i].last != ranges->items[i].first)
			fprintf(pr->out, "-%u", ranges->items[i].last);
	}
	if (ranges->count > 0)
		fputc('"', pr->out);
}

static void
print_interfaces(const struct printer *pr, const struct conf_option *option,
	const struct conf_interfaces *list)
{
	const struct conf_interface *item;
	uint32_t i;

	for (i = 0; i < list->count; i++) {
		item = &list->items[i];
		fprintf(pr->out, "\t%s: ", option->name);
		if (option->type == TYPE_LISTEN)
			put_word(pr, item->text);
		else
			fprintf(pr->out, "\"%s\"", item->text);
		print_ranges(pr, &item->servers);
		if (item->bindtodevice)
			fputs(" bindtodevice=yes", pr->out);
		if (item->setfib >= 0)
			fprintf(pr->out, " setfib=%d", item->setfib);
		fputc('\n', pr->out);
	}
}

static void
print_rrl(const struct printer *pr, const struct conf_option *option,
	uint16_t bits)
{
	const struct conf_rrl_name *name;

	for (name = conf_rrl_names; name->name != NULL; name++)
		if (rrl_is_shown(bits, name))
			fprintf(pr->out, "\t%s: %s\n", option->name,
				name->name);
}

/* A line for each item, or one for all, as nsd.conf has it. Nothing if the
 * list is empty. */
static void
print_list(const struct printer *pr, const struct conf_option *option,
	const struct conf_list *list)
{
	const struct conf_netblock *netblock = list->items;
	const struct conf_server_cpu *cpu = list->items;
	uint32_t i;

	if (list->count == 0)
		return;
	if (option_is_acl(option->type)) {
		print_acls(pr, option, (const void *)list);
		return;
	}
	switch ((enum conf_type)option->type) {
	case TYPE_LISTEN:
	case TYPE_INTERFACE:
		print_interfaces(pr, option, (const void *)list);
		return;
	case TYPE_SERVER_CPU:
		for (i = 0; i < list->count; i++)
			fprintf(pr->out, "\tserver-%u-cpu-affinity: %u\n",
				cpu[i].server, cpu[i].cpu);
		return;
	case TYPE_NUMBER_EACH:
		for (i = 0; i < list->count; i++)
			fprintf(pr->out, "\t%s: %u\n", option->name,
				((const uint32_t *)list->items)[i]);
		return;
	case TYPE_POLICY:
		for (i = 0; i < list->count; i++) {
			fprintf(pr->out, "\t%s: ", option->name);
			put_policy(pr, (const struct conf_policy *)
				list->items + i);
			fputc('\n', pr->out);
		}
		return;
	case TYPE_NETBLOCK:
		for (i = 0; i < list->count; i++)
			fprintf(pr->out, "\t%s: %u %u\n", option->name,
				netblock[i].bits, netblock[i].factor);
		return;
	case TYPE_SUFFIX:
	case TYPE_TEXT_EACH:
		for (i = 0; i < list->count; i++)
			fprintf(pr->out, "\t%s: \"%s\"\n", option->name,
				((const char *const *)list->items)[i]);
		return;
	case TYPE_STRINGS:
		fprintf(pr->out, "\t%s:", option->name);
		for (i = 0; i < list->count; i++)
			fprintf(pr->out, " \"%s\"",
				((const char *const *)list->items)[i]);
		fputc('\n', pr->out);
		return;
	default:
		fprintf(pr->out, "\t%s: ", option->name);
		put_list_line(pr, option, list);
		fputc('\n', pr->out);
		return;
	}
}

static bool
is_quoted(const struct conf_option *option)
{
	return option_is_text((enum conf_type)option->type)
		|| (option->flags & OPTION_QUOTED) != 0;
}

static void
print_option(const struct printer *pr, const struct conf_option *option,
	const void *object)
{
	const void *field = (const char *)object + option->offset;
	const char *quote = is_quoted(option) ? "\"" : "";

	if (option_item_size(option->type) > 0) {
		print_list(pr, option, field);
		return;
	}
	if (option->type == TYPE_RRL) {
		print_rrl(pr, option, *(const uint16_t *)field);
		return;
	}
	if (quote[0] != '\0' && (option->flags & OPTION_QUOTED) == 0
		&& *(const char *const *)field == NULL) {
		fprintf(pr->out, "\t#%s:\n", option->name);
		return;
	}
	fprintf(pr->out, "\t%s: %s", option->name, quote);
	put_value(pr, option, object);
	fprintf(pr->out, "%s\n", quote);
}

/* only_set: options that were not given are left out. */
static void
print_clause(const struct printer *pr, enum conf_clause clause,
	const void *object, bool only_set)
{
	size_t count, i;
	const struct conf_option *rows = option_rows(clause, &count);

	for (i = 0; i < count; i++) {
		if ((rows[i].flags & (OPTION_NOT_PRINTED | OPTION_ALIAS)) != 0)
			continue;
		if (clause == CLAUSE_ZONE
			&& (rows[i].flags & OPTION_PATTERN_ONLY) != 0)
			continue;
		if (!option_is_set(&rows[i], object) && (only_set
			|| (rows[i].flags & OPTION_PRINT_IF_SET) != 0))
			continue;
		print_option(pr, &rows[i], object);
	}
}

static void
print_zone(const struct printer *pr, const struct conf_zone *zone)
{
	struct conf_pattern options = *zone->options;
	const struct conf_option *zonefile =
		option_find(CLAUSE_PATTERN, "zonefile");

	options.name = zone->name;
	options.zonefile = zone->zonefile;
	option_mark_set(option_find(CLAUSE_PATTERN, "name"), &options);
	if (zone->zonefile != NULL)
		option_mark_set(zonefile, &options);
	print_clause(pr, CLAUSE_ZONE, &options, true);
}

void
conf_print(const struct conf *conf, bool acl_comments, FILE *out)
{
	struct printer pr = {
		.conf = conf, .out = out, .acl_comments = acl_comments,
	};
	size_t i;

	fprintf(out, "# Config settings.\n");
	for (i = 0; i < CLAUSE_COUNT; i++) {
		if (!conf_clauses[i].single)
			continue;
		fprintf(out, "%s%s:\n", i > 0 ? "\n" : "",
			conf_clauses[i].name);
		print_clause(&pr, (enum conf_clause)i,
			(const char *)conf + conf_clauses[i].offset, false);
	}
	for (i = 0; i < conf->key_count; i++) {
		fprintf(out, "\nkey:\n");
		print_clause(&pr, CLAUSE_KEY, conf->keys[i], false);
	}
	for (i = 0; i < conf->tls_auth_count; i++) {
		fprintf(out, "\ntls-auth:\n");
		print_clause(&pr, CLAUSE_TLS_AUTH, conf->tls_auths[i], true);
	}
	for (i = 0; i < conf->pattern_count; i++) {
		fprintf(out, "\npattern:\n");
		print_clause(&pr, CLAUSE_PATTERN, conf->patterns[i], true);
	}
	for (i = 0; i < conf->zone_count; i++) {
		fprintf(out, "\nzone:\n");
		print_zone(&pr, conf->zones[i]);
	}
}

/* ---- one option -------------------------------------------------------- */

#define OPTION_NAME_MAX 64u

/* The name with - for _; false: too long to be one. */
static bool
option_normalize(const char *option, char name[OPTION_NAME_MAX])
{
	size_t len = strlen(option), i;

	if (len >= OPTION_NAME_MAX)
		return false;
	for (i = 0; i <= len; i++)
		name[i] = option[i] == '_' ? '-' : option[i];
	return true;
}

static void
print_alone(const struct printer *pr, const struct conf_option *option,
	const void *object)
{
	const void *field = (const char *)object + option->offset;
	const struct conf_rrl_name *name;

	if (option->type == TYPE_RRL) {
		for (name = conf_rrl_names; name->name != NULL; name++)
			if (rrl_is_shown(*(const uint16_t *)field, name))
				fprintf(pr->out, "%s\n", name->name);
		return;
	}
	if (option_item_size(option->type) > 0
		&& option->type != TYPE_STRINGS
		&& option->type != TYPE_NUMBERS) {
		put_list_lines(pr, option, field);
		return;
	}
	put_value(pr, option, object);
	fputc('\n', pr->out);
}

static bool
is_printable_alone(const struct conf_option *option)
{
	return option != NULL && option->type != TYPE_SERVER_CPU
		&& option->type != TYPE_IGNORED
		&& option->type != TYPE_INCLUDE && option->type != TYPE_ONLY;
}

/* server-N-cpu-affinity; an empty line if none is given. */
static bool
print_server_cpu(const struct conf *conf, const char *name, FILE *out)
{
	const struct conf_server_cpus *list =
		&conf->server.server_cpu_affinity;
	unsigned server;
	uint32_t i;
	int end = 0;

	if (sscanf(name, "server-%5u-cpu-affinity%n", &server, &end) != 1
		|| end == 0 || name[end] != '\0' || server == 0)
		return false;
	for (i = 0; i < list->count; i++)
		if (list->items[i].server == server)
			fprintf(out, "%u", list->items[i].cpu);
	fputc('\n', out);
	return true;
}

enum nsd_err
conf_print_option(const struct conf *conf, const char *option,
	bool full_paths, FILE *out)
{
	const struct printer pr = {
		.conf = conf, .out = out, .full_paths = full_paths,
	};
	const struct conf_option *row;
	char name[OPTION_NAME_MAX];
	size_t i;

	if (!option_normalize(option, name))
		return NSD_E_NOT_FOUND;
	/* Of several clauses with the option, the first counts: server. */
	for (i = 0; i < CLAUSE_COUNT; i++) {
		if (!conf_clauses[i].single)
			continue;
		row = option_find((enum conf_clause)i, name);
		if (!is_printable_alone(row))
			continue;
		print_alone(&pr, row, (const char *)conf
			+ conf_clauses[i].offset);
		return NSD_OK;
	}
	return print_server_cpu(conf, name, out) ? NSD_OK : NSD_E_NOT_FOUND;
}

/* Takes from the verify: clause what the pattern leaves to it. */
static void
inherit_verify(const struct conf *conf, struct conf_pattern *options)
{
	const struct conf_verify *verify = &conf->verify;

	if (options->verify_zone == CONF_INHERIT)
		options->verify_zone = verify->verify_zones;
	if (options->verifier_feed_zone == CONF_INHERIT)
		options->verifier_feed_zone = verify->verifier_feed_zone;
	if (options->verifier_timeout == CONF_INHERIT_TIMEOUT)
		options->verifier_timeout = verify->verifier_timeout;
	if (options->verifier.count == 0)
		options->verifier = verify->verifier;
}

enum nsd_err
conf_print_pattern_option(const struct conf *conf,
	const struct conf_pattern *pattern, const char *option,
	bool full_paths, FILE *out)
{
	const struct printer pr = {
		.conf = conf, .out = out, .full_paths = full_paths,
	};
	struct conf_pattern options = *pattern;
	const struct conf_option *row;
	char name[OPTION_NAME_MAX];

	if (!option_normalize(option, name))
		return NSD_E_NOT_FOUND;
	row = option_find(CLAUSE_PATTERN, name);
	if (!is_printable_alone(row))
		return NSD_E_NOT_FOUND;
	inherit_verify(conf, &options);
	print_alone(&pr, row, &options);
	return NSD_OK;
}

enum nsd_err
conf_print_zone_option(const struct conf *conf, const struct conf_zone *zone,
	const char *option, bool full_paths, FILE *out)
{
	struct conf_pattern options = *zone->options;
	char name[OPTION_NAME_MAX];

	if (!option_normalize(option, name))
		return NSD_E_NOT_FOUND;
	if (strcmp(name, "pattern") == 0) {
		if (zone->pattern_name != NULL)
			fprintf(out, "%s\n", zone->pattern_name);
		else
			fprintf(out, "_implicit_%s\n", zone->name);
		return NSD_OK;
	}
	if (strcmp(name, "part-of-config") == 0) {
		fputs(zone->pattern_name == NULL ? "yes\n" : "no\n", out);
		return NSD_OK;
	}
	options.name = zone->name;
	options.zonefile = zone->zonefile;
	return conf_print_pattern_option(conf, &options, name, full_paths,
		out);
}
