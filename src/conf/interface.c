/* interface.c - where to listen: an address or a device and its sub-options. */
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "conf/parser.h"

static bool
interface_starts_with(const struct conf_word *word, const char *name)
{
	return !word->quoted && strncasecmp(word->text, name,
		strlen(name)) == 0;
}

/* A value in quotes is a word of its own, behind the word NAME=. */
bool
interface_is_suboption(const struct conf_word *word, uint32_t *words)
{
	if (!interface_starts_with(word, "servers=")
		&& !interface_starts_with(word, "bindtodevice=")
		&& !interface_starts_with(word, "setfib="))
		return false;
	*words = word->text[word->len - 1] == '=' ? 2 : 1;
	return true;
}

/* Adds "3" or "1-3". The larger number may come first. */
static bool
servers_add(struct conf_parser *p, struct conf_interface *item,
	const struct conf_word *word, char *text)
{
	char *dash = strchr(text, '-');
	struct conf_range *range;
	uint64_t first, last;

	if (dash != NULL)
		*dash = '\0';
	if (!decode_number(text, &first)
		|| !decode_number(dash != NULL ? dash + 1 : text, &last)
		|| first == 0 || last == 0 || first > 65535 || last > 65535) {
		if (dash != NULL)
			*dash = '-';
		error_at(p, word->file, word->line,
			"invalid server range '%s', expected such as 1-3",
			text);
		return false;
	}
	range = list_add_item(p, (struct conf_list *)&item->servers,
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
		error_memory(p);
		return false;
	}
	memset(&item->servers, 0, sizeof(item->servers));
	for (part = strtok_r(text, " \t\r\n", &rest); part != NULL;
		part = strtok_r(NULL, " \t\r\n", &rest))
		if (!servers_add(p, item, word, part))
			return false;
	if (item->servers.count == 0)
		error_at(p, word->file, word->line,
			"invalid server range '%s', expected such as 1-3",
			value);
	return item->servers.count > 0;
}

/* Sets a sub-option: servers=, bindtodevice= or setfib=. */
static bool
suboption_set(struct conf_parser *p, struct conf_interface *item,
	const struct conf_word *word, const char *value)
{
	uint64_t number;

	if (interface_starts_with(word, "servers="))
		return servers_set(p, item, word, value);
	if (interface_starts_with(word, "bindtodevice=")) {
		item->bindtodevice = strcmp(value, "yes") == 0;
		if (item->bindtodevice || strcmp(value, "no") == 0)
			return true;
		error_at(p, word->file, word->line,
			"expected yes or no for bindtodevice, got '%.200s'",
			value);
		return false;
	}
	if (!decode_number(value, &number) || number > INT32_MAX) {
		error_at(p, word->file, word->line,
			"expected a number for setfib, got '%.200s'", value);
		return false;
	}
	item->setfib = (int32_t)number;
	return true;
}

/* An IPv6 address, perhaps with a scope such as %eth0 behind it: whether there
 * is such a device shows when the server listens. */
static bool
interface_parse_ip6(const char *host, uint8_t address[16])
{
	const char *percent = strchr(host, '%');
	size_t len = percent != NULL ? (size_t)(percent - host) : strlen(host);
	char text[INET6_ADDRSTRLEN];

	if (len >= sizeof(text) || (percent != NULL && percent[1] == '\0'))
		return false;
	memcpy(text, host, len);
	text[len] = '\0';
	return address_parse(6, text, address);
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
		error_memory(p);
		return false;
	}
	item->host = host;
	item->setfib = -1;
	if (word->len == 0) {
		error_at(p, word->file, word->line,
			"expected an address or an interface name, got ''");
		return false;
	}
	if (host[0] == '/')
		return true;
	if (!address_cut_port(p, word, host, &item->port))
		return false;
	if (address_parse(4, host, item->address))
		item->family = 4;
	else if (interface_parse_ip6(host, item->address))
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
			error_at(p, word->file, word->line,
				"%s needs a value", word->text);
			return false;
		}
		value = taken == 2 ? word->next->text
			: strchr(word->text, '=') + 1;
		if (!suboption_set(p, &item, word, value))
			return false;
		word = taken == 2 ? word->next->next : word->next;
	}
	added = list_add_item(p, (struct conf_list *)list, sizeof(item));
	if (added != NULL)
		*added = item;
	return added != NULL;
}
