/* value.c - stores the words behind an option in its field, by the type of its
 * row in the table. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf/parser.h"
#include "dns/log_field.h"
#include "dns/name.h"

/* The arguments of a setter. */
struct setting {
	struct conf_parser *p;
	const struct conf_option *option;
	void *object;
	void *field;
	const struct conf_word *words;
	uint32_t count;
	uint32_t n; /* of server-N-cpu-affinity */
};

struct value_type {
	uint32_t least, most; /* words; value_word_count knows exceptions */
	bool (*set)(const struct setting *s);
	const char *expects;  /* describes the words */
};

/* Reports a word that is no value of the option. text begins the message; NULL:
 * "expected " and the words that the type expects. */
static bool
set_refuse(const struct setting *s, const char *text, const char *word)
{
	error_at(s->p, s->words->file, s->words->line,
		"%s%s for %s, got '%.200s'", text != NULL ? "" : "expected ",
		text != NULL ? text : value_expects(s->option),
		s->option->name, word);
	return false;
}

static bool
set_text(const struct setting *s, const char *text, size_t len,
	const char **field)
{
	*field = arena_copy_text(s->p->arena, text, len);
	if (*field == NULL)
		error_memory(s->p);
	return *field != NULL;
}

static bool
set_ignored(const struct setting *s)
{
	return true;
}

static bool
parse_bool(const struct setting *s, bool *value)
{
	*value = strcmp(s->words->text, "yes") == 0;
	if (!*value && strcmp(s->words->text, "no") != 0)
		return set_refuse(s, NULL, s->words->text);
	return true;
}

static bool
set_bool(const struct setting *s)
{
	return parse_bool(s, s->field);
}

static bool
set_inherit(const struct setting *s)
{
	bool value;

	if (!parse_bool(s, &value))
		return false;
	*(uint8_t *)s->field = value;
	return true;
}

/* ip4-only and ip6-only. Their field is that of the other family. */
static bool
set_only(const struct setting *s)
{
	struct conf_server *server = s->object;
	bool value;

	if (!parse_bool(s, &value))
		return false;
	if (value) {
		server->do_ip4 = server->do_ip6 = true;
		*(bool *)s->field = false;
	}
	return true;
}

/* A number of the row's range from a word. */
static bool
parse_number(const struct setting *s, const char *text, int64_t *value)
{
	const struct conf_option *o = s->option;
	bool negative = o->min < 0 && text[0] == '-';
	uint64_t number;

	if (!decode_number(text + negative, &number))
		return set_refuse(s, "expected a number", text);
	if (number == 0 && o->min == 1)
		return set_refuse(s, "expected a number greater than zero",
			text);
	*value = number > INT64_MAX ? INT64_MAX : (int64_t)number;
	if (negative)
		*value = -*value;
	if (number > INT64_MAX || *value > o->max || *value < o->min) {
		error_at(s->p, s->words->file, s->words->line,
			"%s: '%.200s' is out of range [%lld..%lld]", o->name,
			text,
			(long long)o->min, (long long)o->max);
		return false;
	}
	return true;
}

static bool
set_u32(const struct setting *s)
{
	int64_t value;

	if (!parse_number(s, s->words->text, &value))
		return false;
	*(uint32_t *)s->field = (uint32_t)value;
	return true;
}

static bool
set_i32(const struct setting *s)
{
	int64_t value;

	if (!parse_number(s, s->words->text, &value))
		return false;
	*(int32_t *)s->field = (int32_t)value;
	return true;
}

static bool
set_u64(const struct setting *s)
{
	int64_t value;

	if (!parse_number(s, s->words->text, &value))
		return false;
	*(uint64_t *)s->field = (uint64_t)value;
	return true;
}

static bool
set_string(const struct setting *s)
{
	return set_text(s, s->words->text, s->words->len, s->field);
}

static bool
set_strings(const struct setting *s)
{
	struct conf_strings *list = s->field;
	const struct conf_word *word = s->words;
	const char **item;
	uint32_t i;

	memset(list, 0, sizeof(*list));
	for (i = 0; i < s->count; i++, word = word->next) {
		item = list_add_item(s->p, (struct conf_list *)list,
			sizeof(*item));
		if (item == NULL || !set_text(s, word->text, word->len, item))
			return false;
	}
	return true;
}

static bool
set_log_format(const struct setting *s)
{
	struct log_format format;

	if (log_field_parse(s->words->text, &format) != NSD_OK)
		return set_refuse(s, NULL, s->words->text);
	return set_string(s);
}

static bool
set_text_each(const struct setting *s)
{
	const char **item = list_add_item(s->p, s->field, sizeof(*item));

	return item != NULL
		&& set_text(s, s->words->text, s->words->len, item);
}

/* catalog-allow, for which the root stands for all names; dnstap-zones. */
static bool
set_suffix(const struct setting *s)
{
	static const uint8_t root[] = "";
	uint8_t wire[NAME_MAX_LEN];
	const char *why;
	size_t len;

	if (name_parse_text(s->words->text, s->words->len, root, wire, &len,
		    &why) != NSD_OK) {
		error_at(s->p, s->words->file, s->words->line,
			"%s: bad domain name '%.200s': expected %s",
			s->option->name, s->words->text, why);
		return false;
	}
	return set_text_each(s);
}

static bool
add_number(const struct setting *s, const char *text)
{
	uint32_t *item;
	int64_t value;

	if (!parse_number(s, text, &value))
		return false;
	item = list_add_item(s->p, s->field, sizeof(*item));
	if (item == NULL)
		return false;
	*item = (uint32_t)value;
	return true;
}

static bool
set_number_each(const struct setting *s)
{
	return add_number(s, s->words->text);
}

/* The length of a prefix, and how many times the limit is for it. */
static bool
set_netblock(const struct setting *s)
{
	const struct conf_netblocks *list = s->field;
	const struct conf_word *factor = s->words->next;
	struct conf_netblock *item;
	uint64_t number;
	int64_t bits;

	if (!parse_number(s, s->words->text, &bits))
		return false;
	if (!decode_number(factor->text, &number) || number < 1
		|| number > UINT32_MAX)
		return set_refuse(s, "expected a factor from 1 on",
			factor->text);
	if (list->count == CONF_NETBLOCKS_MAX)
		return set_refuse(s, "expected at most four lines",
			s->words->text);
	item = list_add_item(s->p, s->field, sizeof(*item));
	if (item == NULL)
		return false;
	item->bits = (uint32_t)bits;
	item->factor = (uint32_t)number;
	return true;
}

/* `0 1` or "0 1". All of a list stands behind one option; a later option
 * replaces it. */
static bool
set_numbers(const struct setting *s)
{
	const struct conf_word *word = s->words;
	char *text, *part, *rest;
	uint32_t i;

	memset(s->field, 0, sizeof(struct conf_list));
	for (i = 0; i < s->count; i++, word = word->next) {
		text = arena_copy_text(&s->p->scratch, word->text, word->len);
		if (text == NULL) {
			error_memory(s->p);
			return false;
		}
		part = strtok_r(text, " \t\r\n", &rest);
		if (part == NULL)
			return set_refuse(s, "expected a number", word->text);
		for (; part != NULL; part = strtok_r(NULL, " \t\r\n", &rest))
			if (!add_number(s, part))
				return false;
	}
	return true;
}

static bool
set_server_cpu(const struct setting *s)
{
	struct conf_server_cpus *list = s->field;
	struct conf_server_cpu *item;
	int64_t cpu;
	uint32_t i;

	if (!parse_number(s, s->words->text, &cpu))
		return false;
	for (i = 0; i < list->count; i++)
		if (list->items[i].server == s->n)
			break;
	item = i < list->count ? &list->items[i]
		: list_add_item(s->p, (struct conf_list *)list, sizeof(*item));
	if (item == NULL)
		return false;
	item->server = s->n;
	item->cpu = (uint32_t)cpu;
	return true;
}

static bool
set_interface(const struct setting *s)
{
	return interface_set(s->p, s->option, s->field, s->words, s->count);
}

static bool
set_acl(const struct setting *s)
{
	return acl_set(s->p, s->option, s->field, s->words, s->count);
}

static bool
set_acl_update(const struct setting *s)
{
	const struct conf_acls *list = s->field;

	if (!set_acl(s))
		return false;
	policy_warn_open(s->p, &list->items[list->count - 1]);
	return true;
}

static bool
set_policy(const struct setting *s)
{
	return policy_set(s->p, s->option, s->field, s->words, s->count);
}

static bool
set_nsid_refuse(const struct setting *s, const char *text)
{
	error_at(s->p, s->words->file, s->words->line,
		"%s Expected %s, got '%.200s'", text,
		value_expects(s->option), s->words->text);
	return false;
}

static bool
set_nsid(const struct setting *s)
{
	static const char ascii[] = "ascii_";
	struct conf_server *server = s->object;
	const char *text = s->words->text;
	size_t len = s->words->len, i;
	uint8_t *data;
	int high, low;

	if (strncmp(text, ascii, sizeof(ascii) - 1) == 0) {
		text += sizeof(ascii) - 1;
		len -= sizeof(ascii) - 1;
		data = arena_copy(s->p->arena, text, len);
	} else if (len % 2 != 0) {
		return set_nsid_refuse(s,
			"the NSID must be a hex string of an even length.");
	} else {
		len /= 2;
		data = arena_alloc(s->p->arena, len + 1);
		for (i = 0; data != NULL && i < len; i++) {
			high = decode_hex_digit(text[2 * i]);
			low = decode_hex_digit(text[2 * i + 1]);
			if (high < 0 || low < 0)
				return set_nsid_refuse(s,
					"hex string cannot be parsed in NSID.");
			data[i] = (uint8_t)(high << 4 | low);
		}
	}
	if (data == NULL) {
		error_memory(s->p);
		return false;
	}
	if (len > UINT16_MAX)
		return set_nsid_refuse(s, "the NSID is too long.");
	server->nsid_data = data;
	server->nsid_len = (uint32_t)len;
	return set_string(s);
}

static bool
set_cookie(const struct setting *s)
{
	size_t i;

	for (i = 0; i < s->words->len; i++)
		if (decode_hex_digit(s->words->text[i]) < 0)
			break;
	if (i == 32 && s->words->len == 32)
		return set_string(s);
	/* The secret is not shown, even if it is none. */
	error_at(s->p, s->words->file, s->words->line,
		"%s must be 32 hex digits, got %zu%s", s->option->name, i,
		i < s->words->len ? " and something else behind them" : "");
	return false;
}

/* edns-report-channel: the root is no agent (RFC 9567 section 5). */
static bool
set_domain(const struct setting *s)
{
	static const uint8_t root[] = "";
	struct conf_server *server = s->object;
	uint8_t wire[NAME_MAX_LEN], *name;
	const char *why;
	size_t len;

	server->edns_report_channel_name = NULL;
	if (s->words->len == 0)
		return set_string(s);
	if (name_parse_text(s->words->text, s->words->len, root, wire, &len,
		    &why) != NSD_OK) {
		error_at(s->p, s->words->file, s->words->line,
			"%s: bad domain name '%.200s': expected %s",
			s->option->name, s->words->text, why);
		return false;
	}
	name_lower(wire);
	name = arena_copy(s->p->arena, wire, len);
	if (name == NULL) {
		error_memory(s->p);
		return false;
	}
	if (len > 1)
		server->edns_report_channel_name = name;
	return set_string(s);
}

static bool
set_algorithm(const struct setting *s)
{
	if (decode_algorithm(s->words->text) == NULL) {
		error_at(s->p, s->words->file, s->words->line,
			"bad tsig key algorithm %.200s, expected %s",
			s->words->text, value_expects(s->option));
		return false;
	}
	return set_string(s);
}

static bool
set_name(const struct setting *s)
{
	if (s->option->clause == CLAUSE_PATTERN
		&& strpbrk(s->words->text, " \t\r\n") != NULL) {
		error_at(s->p, s->words->file, s->words->line,
			"space is not allowed in pattern name: '%.200s'",
			s->words->text);
	}
	return set_string(s);
}

static bool
set_rrl(const struct setting *s)
{
	size_t i;

	for (i = 0; conf_rrl_names[i].name != NULL; i++)
		if (strcmp(s->words->text, conf_rrl_names[i].name) == 0) {
			*(uint16_t *)s->field |= conf_rrl_names[i].bits;
			return true;
		}
	/* NSD takes any word, and "ALL" means nothing to it, either. */
	diag_emit(s->p->sink, DIAG_WARNING, s->words->file, s->words->line, 0,
		"unknown rrl-whitelist type '%.200s' has no effect, expected"
		" %s", s->words->text, value_expects(s->option));
	return true;
}

static bool
set_expire(const struct setting *s)
{
	uint32_t *field = s->field;
	uint64_t number;

	if (strcmp(s->words->text, "refresh+retry+1") == 0) {
		*field = CONF_EXPIRE_FROM_SOA;
		return true;
	}
	if (!decode_number(s->words->text, &number))
		return set_refuse(s, NULL, s->words->text);
	return set_u32(s);
}

static bool
set_catalog(const struct setting *s)
{
	uint8_t *field = s->field;

	if (strcmp(s->words->text, "consumer") == 0)
		*field = CONF_CATALOG_CONSUMER;
	else if (strcmp(s->words->text, "producer") == 0)
		*field = CONF_CATALOG_PRODUCER;
	else
		return set_refuse(s, NULL, s->words->text);
	return true;
}

/* One of the words of the type (option_words), by its number. */
static bool
set_word(const struct setting *s)
{
	const char *const *words = option_words(s->option->type);
	uint8_t *field = s->field;

	for (unsigned i = 0; words[i] != NULL; i++)
		if (strcmp(s->words->text, words[i]) == 0) {
			*field = (uint8_t)i;
			return true;
		}
	return set_refuse(s, NULL, s->words->text);
}

#define YES_NO "yes or no"
#define TEXT_OR_WORD "a word, or text in quotes"
#define NUMBER "a number"
#define ADDRESS "an address"
#define KEY_OR_NOKEY "an address and a key or NOKEY"
#define KEY_OR_BLOCKED "an address and a key, NOKEY or BLOCKED"

static const struct value_type value_types[TYPE_COUNT] = {
	[TYPE_IGNORED] = { 1, 1, set_ignored, "a word" },
	[TYPE_BOOL] = { 1, 1, set_bool, YES_NO },
	[TYPE_INHERIT] = { 1, 1, set_inherit, YES_NO },
	[TYPE_ONLY] = { 1, 1, set_only, YES_NO },
	[TYPE_U32] = { 1, 1, set_u32, NUMBER },
	[TYPE_I32] = { 1, 1, set_i32, NUMBER },
	[TYPE_U64] = { 1, 1, set_u64, NUMBER },
	[TYPE_STRING] = { 1, 1, set_string, TEXT_OR_WORD },
	[TYPE_STRINGS] = { 1, UINT32_MAX, set_strings, "a command" },
	[TYPE_TEXT_EACH] = { 1, 1, set_text_each, TEXT_OR_WORD },
	[TYPE_SUFFIX] = { 1, 1, set_suffix, "a domain name" },
	[TYPE_NUMBERS] = { 1, UINT32_MAX, set_numbers, NUMBER },
	[TYPE_NUMBER_EACH] = { 1, 1, set_number_each, NUMBER },
	[TYPE_NETBLOCK] = { 2, 2, set_netblock,
		"a prefix length and a factor" },
	[TYPE_SERVER_CPU] = { 1, 1, set_server_cpu, NUMBER },
	[TYPE_LISTEN] = { 1, 1, set_interface, ADDRESS },
	[TYPE_INTERFACE] = { 1, 1, set_interface, ADDRESS },
	[TYPE_ACL] = { 2, 2, set_acl, KEY_OR_BLOCKED },
	[TYPE_ACL_PROVIDE] = { 2, 3, set_acl, KEY_OR_BLOCKED },
	[TYPE_ACL_REQUEST] = { 2, 3, set_acl, KEY_OR_NOKEY },
	[TYPE_ACL_NOTIFY] = { 2, 2, set_acl, KEY_OR_NOKEY },
	[TYPE_ACL_ADDRESS] = { 1, 1, set_acl, ADDRESS },
	[TYPE_ACL_UPDATE] = { 2, 2, set_acl_update, KEY_OR_BLOCKED },
	[TYPE_ACL_SPEC] = { 1, 1, set_acl, ADDRESS },
	[TYPE_POLICY] = { 2, UINT32_MAX, set_policy,
		"a key, a name and types" },
	[TYPE_NSID] = { 1, 1, set_nsid, "pairs of hex digits, or ascii_TEXT" },
	[TYPE_COOKIE] = { 1, 1, set_cookie, "32 hex digits" },
	[TYPE_LOG_FORMAT] = { 1, 1, set_log_format,
		"fields of the query log" },
	[TYPE_DOMAIN] = { 1, 1, set_domain, "a domain name" },
	[TYPE_ALGORITHM] = { 1, 1, set_algorithm, "hmac-md5, hmac-sha1,"
		" hmac-sha224, hmac-sha256, hmac-sha384 or hmac-sha512" },
	[TYPE_BASE64] = { 1, 1, set_string, "base64" },
	[TYPE_NAME] = { 1, 1, set_name, "a name" },
	[TYPE_RRL] = { 1, 1, set_rrl, "nxdomain, error, referral, any, rrsig,"
		" wildcard, nodata, dnskey, positive or all" },
	[TYPE_EXPIRE] = { 1, 1, set_expire, "an expire time in seconds or"
		" \"refresh+retry+1\"" },
	[TYPE_CATALOG] = { 1, 1, set_catalog, "consumer or producer" },
	[TYPE_EMPTY] = { 1, 1, set_word, "keep or delete" },
	[TYPE_SERIAL] = { 1, 1, set_word,
		"increment, unixtime or dateserial" },
	[TYPE_DNSSEC] = { 1, 1, set_word, "no, yes or if-signed" },
	[TYPE_UNCHECKED] = { 1, 1, set_word, "check or no-check" },
	[TYPE_INCLUDE] = { 1, 1, set_ignored, "the name of a pattern" },
};

const char *
value_expects(const struct conf_option *option)
{
	assert(option->type < TYPE_COUNT);
	return value_types[option->type].expects;
}

/* Counts the words behind the address that are sub-options of ip-address or
 * their values. */
static uint32_t
count_suboptions(const struct conf_word *word)
{
	uint32_t count = 0, taken;

	while (word != NULL && interface_is_suboption(word, &taken)) {
		count++;
		word = word->next;
		if (taken == 2 && word != NULL) {
			count++;
			word = word->next;
		}
	}
	return count;
}

void
value_word_count(const struct conf_option *option,
	const struct conf_word *words, uint32_t *least, uint32_t *most)
{
	*least = value_types[option->type].least;
	*most = value_types[option->type].most;
	if (words == NULL)
		return;
	if (option->type == TYPE_ACL_REQUEST && !words->quoted
		&& (strcasecmp(words->text, "AXFR") == 0
			|| strcasecmp(words->text, "UDP") == 0)) {
		++*least;
		++*most;
	} else if (option->type == TYPE_LISTEN) {
		*most += count_suboptions(words->next);
	}
}

bool
value_set(struct conf_parser *p, const struct conf_option *option,
	void *object, const struct conf_word *words, uint32_t count,
	uint32_t n)
{
	struct setting s = {
		.p = p, .option = option, .object = object,
		.field = (char *)object + option->offset,
		.words = words, .count = count, .n = n,
	};

	assert(option->type < TYPE_COUNT);
	assert(count > 0);
	if (!value_types[option->type].set(&s))
		return false;
	option_mark_set(option, object);
	return true;
}

/* Sets the default of the table. Its range is not checked: the default may
 * stand for "none". */
static void
set_initial(const struct conf_option *option, void *field)
{
	const char *text = option->initial;

	switch ((enum conf_type)option->type) {
	case TYPE_BOOL:
		*(bool *)field = text[0] == 'y';
		break;
	case TYPE_U32:
	case TYPE_EXPIRE:
		*(uint32_t *)field = (uint32_t)strtoul(text, NULL, 10);
		break;
	case TYPE_I32:
		*(int32_t *)field = (int32_t)strtol(text, NULL, 10);
		break;
	case TYPE_U64:
		*(uint64_t *)field = strtoull(text, NULL, 10);
		break;
	default:
		/* Texts of the table live as long as the program. */
		*(const char **)field = text;
		break;
	}
}

void
value_set_initial(enum conf_clause clause, void *object)
{
	size_t count, i;
	const struct conf_option *rows = option_rows(clause, &count);
	void *field;

	memset(object, 0, conf_clauses[clause].size);
	for (i = 0; i < count; i++) {
		field = (char *)object + rows[i].offset;
		if (rows[i].type == TYPE_INHERIT)
			*(uint8_t *)field = CONF_INHERIT;
		else if (rows[i].initial != NULL)
			set_initial(&rows[i], field);
	}
}
