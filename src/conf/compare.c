/* compare.c - whether values are the same, by the type of their row. */
#include <string.h>

#include "conf/options.h"

static bool
text_equal(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a, b) == 0;
}

static bool
acl_equal(const struct conf_acl *a, const struct conf_acl *b)
{
	return text_equal(a->spec, b->spec) &&
		text_equal(a->key_name, b->key_name) &&
		text_equal(a->tls_auth_name, b->tls_auth_name) &&
		a->blocked == b->blocked && a->nokey == b->nokey &&
		a->axfr_only == b->axfr_only && a->allow_udp == b->allow_udp;
}

static bool
interface_equal(const struct conf_interface *a,
	const struct conf_interface *b)
{
	uint32_t i;

	if (!text_equal(a->text, b->text) ||
		a->bindtodevice != b->bindtodevice ||
		a->setfib != b->setfib ||
		a->servers.count != b->servers.count)
		return false;
	for (i = 0; i < a->servers.count; i++)
		if (a->servers.items[i].first != b->servers.items[i].first ||
			a->servers.items[i].last != b->servers.items[i].last)
			return false;
	return true;
}

static bool
item_equal(enum conf_type type, const void *a, const void *b)
{
	if (option_is_acl(type))
		return acl_equal(a, b);
	switch (type) {
	case TYPE_STRINGS:
		return text_equal(*(const char *const *)a,
			*(const char *const *)b);
	case TYPE_LISTEN:
	case TYPE_INTERFACE:
		return interface_equal(a, b);
	default:
		/* Numbers, and pairs of them without a gap. */
		return memcmp(a, b, option_item_size(type)) == 0;
	}
}

static bool
list_equal(enum conf_type type, const struct conf_list *a,
	const struct conf_list *b)
{
	size_t size = option_item_size(type);
	uint32_t i;

	if (a->count != b->count)
		return false;
	for (i = 0; i < a->count; i++)
		if (!item_equal(type, (const char *)a->items + i * size,
			(const char *)b->items + i * size))
			return false;
	return true;
}

bool
option_is_equal(const struct conf_option *option, const void *object,
	const void *other)
{
	const void *a = (const char *)object + option->offset;
	const void *b = (const char *)other + option->offset;

	if (option_item_size(option->type) > 0)
		return list_equal(option->type, a, b);
	switch ((enum conf_type)option->type) {
	case TYPE_STRING:
	case TYPE_NSID:
	case TYPE_COOKIE:
	case TYPE_ALGORITHM:
	case TYPE_BASE64:
	case TYPE_NAME:
		return text_equal(*(const char *const *)a,
			*(const char *const *)b);
	default:
		return memcmp(a, b, option_field_size(option->type)) == 0;
	}
}

void
conf_list_changes(const struct conf *before, const struct conf *after,
	void (*on_option)(void *ctx, const char *clause, const char *option),
	void *ctx)
{
	const struct conf_option *option;
	size_t i, offset;

	for (i = 0; i < conf_option_count; i++) {
		option = &conf_options[i];
		/* ip4-only and the like stand for options of their own. */
		if (!conf_clauses[option->clause].single ||
			option->change != CHANGE_RESTART ||
			(option->flags & OPTION_ALIAS) != 0 ||
			option->type == TYPE_ONLY)
			continue;
		offset = conf_clauses[option->clause].offset;
		if (!option_is_equal(option, (const char *)before + offset,
			(const char *)after + offset))
			on_option(ctx, conf_clauses[option->clause].name,
				option->name);
	}
}
