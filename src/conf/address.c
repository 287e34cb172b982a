/* address.c - addresses in nsd.conf: ACL elements and where to listen. */
#include <arpa/inet.h>
#include <string.h>

#include "conf/parser.h"

#define ADDRESS_TEXT_MAX 128u

/* Cuts "@port" off text; 0: none. */
static bool
address_cut_port(struct conf_parser *p, const struct conf_word *word,
	char *text, uint16_t *port)
{
	char *at = strchr(text, '@');
	uint64_t number;

	*port = 0;
	if (at == NULL)
		return true;
	if (!value_parse_number(at + 1, &number) || number == 0) {
		conf_error(p, word->file, word->line,
			"expected port number after '@'");
		return false;
	}
	if (number > 65535) {
		conf_error(p, word->file, word->line,
			"port number %s is out of range [1..65535]", at + 1);
		return false;
	}
	*at = '\0';
	*port = (uint16_t)number;
	return true;
}

static bool
address_parse(uint8_t family, const char *text, uint8_t address[16])
{
	return inet_pton(family == 4 ? AF_INET : AF_INET6, text, address) == 1;
}

/* "A/len": the mask of that many ones. */
static bool
acl_parse_subnet(struct conf_parser *p, const struct conf_word *word,
	const char *text, struct conf_acl *acl)
{
	unsigned most = acl->family == 4 ? 32 : 128, i;
	uint64_t bits;

	if (!value_parse_number(text, &bits)) {
		conf_error(p, word->file, word->line,
			"bad subnet range '%s'", text);
		return false;
	}
	if (bits > most) {
		conf_error(p, word->file, word->line,
			"subnet of %s bits out of range [0..%u]", text, most);
		return false;
	}
	for (i = 0; i < bits; i++)
		acl->other[i / 8] |= (uint8_t)(0x80u >> (i % 8));
	return true;
}

static bool
acl_parse_other(struct conf_parser *p, const struct conf_word *word,
	const char *text, struct conf_acl *acl)
{
	unsigned i;

	if (acl->kind == CONF_ACL_SUBNET) {
		if (!acl_parse_subnet(p, word, text, acl))
			return false;
	} else if (!address_parse(acl->family, text, acl->other)) {
		conf_error(p, word->file, word->line,
			"Bad ip%u address mask '%s'", acl->family, text);
		return false;
	}
	if (acl->kind != CONF_ACL_RANGE) {
		for (i = 0; i < 16; i++)
			acl->address[i] &= acl->other[i];
	} else if (memcmp(acl->address, acl->other, 16) > 0) {
		diag_emit(p->sink, DIAG_WARNING, word->file, word->line, 0,
			"address range '%s' matches nothing: it ends before "
			"it starts", word->text);
	}
	return true;
}

/* "A", "A/len", "A&mask", "A-B", each with "@port" behind it. */
static bool
acl_parse_spec(struct conf_parser *p, const struct conf_word *word,
	struct conf_acl *acl)
{
	char text[ADDRESS_TEXT_MAX], *other;

	acl->family = strchr(word->text, ':') != NULL ? 6 : 4;
	if (word->len >= sizeof(text)) {
		conf_error(p, word->file, word->line, "Bad ip%u address '%s'",
			acl->family, word->text);
		return false;
	}
	memcpy(text, word->text, word->len + 1);
	if (!address_cut_port(p, word, text, &acl->port))
		return false;
	other = strpbrk(text, "&/-");
	acl->kind = CONF_ACL_SINGLE;
	if (other != NULL) {
		acl->kind = *other == '&' ? CONF_ACL_MASK
			: *other == '/' ? CONF_ACL_SUBNET : CONF_ACL_RANGE;
		*other++ = '\0';
	}
	if (!address_parse(acl->family, text, acl->address)) {
		conf_error(p, word->file, word->line, "Bad ip%u address '%s'",
			acl->family, text);
		return false;
	}
	return other == NULL || acl_parse_other(p, word, other, acl);
}

/* A list of words is walked; one that takes no key ends before it. */
static bool
acl_parse_words(struct conf_parser *p, const struct conf_option *option,
	struct conf_acl *acl, const struct conf_word *word, uint32_t count)
{
	struct arena *arena = &p->owner->arena;

	if (option->type == TYPE_ACL_REQUEST && count > 2 &&
		(strcmp(word->text, "AXFR") == 0 ||
			strcmp(word->text, "UDP") == 0)) {
		acl->axfr_only = word->text[0] == 'A';
		acl->allow_udp = word->text[0] == 'U';
		word = word->next;
		count--;
	}
	if (!acl_parse_spec(p, word, acl))
		return false;
	acl->spec = arena_copy_text(arena, word->text, word->len);
	acl->file = word->file;
	acl->line = word->line;
	if (count > 1) {
		word = word->next;
		acl->nokey = strcmp(word->text, "NOKEY") == 0;
		acl->blocked = strcmp(word->text, "BLOCKED") == 0;
		if (!acl->nokey && !acl->blocked) {
			acl->key_name = arena_copy_text(arena, word->text,
				word->len);
			if (acl->key_name == NULL)
				acl->spec = NULL;
		}
	}
	if (count > 2) {
		word = word->next;
		acl->tls_auth_name = arena_copy_text(arena, word->text,
			word->len);
		if (acl->tls_auth_name == NULL)
			acl->spec = NULL;
	}
	if (acl->spec == NULL)
		conf_no_memory(p);
	return acl->spec != NULL;
}

bool
acl_set(struct conf_parser *p, const struct conf_option *option,
	struct conf_acls *list, const struct conf_word *words, uint32_t count)
{
	bool single = option->type == TYPE_ACL_REQUEST ||
		option->type == TYPE_ACL_NOTIFY ||
		option->type == TYPE_ACL_ADDRESS;
	struct conf_acl acl, *item;

	memset(&acl, 0, sizeof(acl));
	if (!acl_parse_words(p, option, &acl, words, count))
		return false;
	if (single && acl.kind != CONF_ACL_SINGLE) {
		conf_error(p, acl.file, acl.line,
			"address range used for %s", option->name);
		return false;
	}
	if (single && acl.blocked) {
		conf_error(p, acl.file, acl.line,
			"blocked address used for %s", option->name);
		return false;
	}
	item = list_add(p, (struct conf_list *)list, sizeof(acl));
	if (item != NULL)
		*item = acl;
	return item != NULL;
}

/* ---- where to listen --------------------------------------------------- */

static bool
interface_starts_with(const struct conf_word *word, const char *name)
{
	return !word->quoted && strncmp(word->text, name, strlen(name)) == 0;
}

/* A value in quotes is a word of its own. */
bool
interface_is_suboption(const struct conf_word *word, uint32_t *words)
{
	if (!interface_starts_with(word, "servers=") &&
		!interface_starts_with(word, "bindtodevice=") &&
		!interface_starts_with(word, "setfib="))
		return false;
	*words = word->text[word->len - 1] == '=' ? 2 : 1;
	return true;
}

/* "3" or "1-3"; the ends may be the wrong way round. */
static bool
servers_add(struct conf_parser *p, struct conf_interface *item,
	const struct conf_word *word, char *text)
{
	char *dash = strchr(text, '-');
	struct conf_range *range;
	uint64_t first, last;

	if (dash != NULL)
		*dash = '\0';
	if (!value_parse_number(text, &first) ||
		!value_parse_number(dash != NULL ? dash + 1 : text, &last) ||
		first == 0 || last == 0 || first > 65535 || last > 65535) {
		if (dash != NULL)
			*dash = '-';
		conf_error(p, word->file, word->line,
			"invalid server range '%s'", text);
		return false;
	}
	range = list_add(p, (struct conf_list *)&item->servers,
		sizeof(*range));
	if (range == NULL)
		return false;
	range->first = (uint32_t)(first < last ? first : last);
	range->last = (uint32_t)(first < last ? last : first);
	return true;
}

static bool
servers_set(struct conf_parser *p, struct conf_interface *item,
	const struct conf_word *word, const char *value)
{
	char *text = arena_copy_text(&p->scratch, value, strlen(value));
	char *part, *rest;

	if (text == NULL) {
		conf_no_memory(p);
		return false;
	}
	memset(&item->servers, 0, sizeof(item->servers));
	for (part = strtok_r(text, " \t\r\n", &rest); part != NULL;
		part = strtok_r(NULL, " \t\r\n", &rest))
		if (!servers_add(p, item, word, part))
			return false;
	if (item->servers.count == 0)
		conf_error(p, word->file, word->line,
			"invalid server range '%s'", value);
	return item->servers.count > 0;
}

/* One of servers=, bindtodevice=, setfib=. */
static bool
suboption_set(struct conf_parser *p, struct conf_interface *item,
	const struct conf_word *word, const char *value)
{
	uint64_t number;

	if (word->text[0] == 's' && word->text[2] == 'r')
		return servers_set(p, item, word, value);
	if (word->text[0] == 'b') {
		item->bindtodevice = strcmp(value, "yes") == 0;
		if (item->bindtodevice || strcmp(value, "no") == 0)
			return true;
		conf_error(p, word->file, word->line, "expected yes or no");
		return false;
	}
	if (!value_parse_number(value, &number) || number > INT32_MAX) {
		conf_error(p, word->file, word->line, "expected a number");
		return false;
	}
	item->setfib = (int32_t)number;
	return true;
}

static bool
interface_parse_host(struct conf_parser *p, const struct conf_word *word,
	struct conf_interface *item)
{
	struct arena *arena = &p->owner->arena;
	char *host;

	item->text = arena_copy_text(arena, word->text, word->len);
	host = arena_copy_text(arena, word->text, word->len);
	if (item->text == NULL || host == NULL) {
		conf_no_memory(p);
		return false;
	}
	item->host = host;
	item->setfib = -1;
	if (word->len == 0) {
		conf_error(p, word->file, word->line,
			"expected an address or an interface name");
		return false;
	}
	if (host[0] == '/')
		return true;
	if (!address_cut_port(p, word, host, &item->port))
		return false;
	if (address_parse(4, host, item->address))
		item->family = 4;
	else if (address_parse(6, host, item->address))
		item->family = 6;
	return true;
}

bool
interface_set(struct conf_parser *p, const struct conf_option *option,
	struct conf_interfaces *list, const struct conf_word *words,
	uint32_t count)
{
	struct conf_interface item, *added;
	const struct conf_word *word = words->next;
	const char *value;
	uint32_t taken;

	memset(&item, 0, sizeof(item));
	if (!interface_parse_host(p, words, &item))
		return false;
	for (count--; count > 0; count -= taken) {
		if (!interface_is_suboption(word, &taken) || taken > count) {
			conf_error(p, word->file, word->line,
				"%s needs a value", word->text);
			return false;
		}
		value = taken == 2 ? word->next->text
			: strchr(word->text, '=') + 1;
		if (!suboption_set(p, &item, word, value))
			return false;
		word = taken == 2 ? word->next->next : word->next;
	}
	added = list_add(p, (struct conf_list *)list, sizeof(item));
	if (added != NULL)
		*added = item;
	return added != NULL;
}
