/* zone_names.c - name, file and more of a zone, as nsd.conf has them. */
#include <string.h>

#include "settings/pattern.h"
#include "zone/zone.h"

const char *
zone_own_name(const struct zone_own *own)
{
	return own != NULL && own->has_name ? own->octets : NULL;
}

const char *
zone_own_file(const struct zone_own *own)
{
	const char *file;

	if (own == NULL)
		return NULL;
	file = own->octets + (own->has_name ? strlen(own->octets) + 1 : 0);
	return file < (const char *)own + own->len ? file : NULL;
}

static const struct zone_own *
entry_get_own(const struct store_view *view, const struct zone_entry *entry)
{
	store_ref own = store_load_ref(&entry->own);

	return own == STORE_NONE ? NULL : store_get(view, own);
}

const char *
zone_entry_name(const struct store_view *view, const struct zone_entry *entry,
	char out[NAME_TEXT_MAX])
{
	const char *name = zone_own_name(entry_get_own(view, entry));
	size_t len;

	if (name != NULL)
		return name;
	len = name_print_text(entry->name, out);
	if ((__atomic_load_n(&entry->flags, __ATOMIC_RELAXED) & ZONE_ENTRY_DOT)
		== 0)
		out[len - 1] = '\0';
	return out;
}

static const struct settings_pattern *
entry_get_pattern(const struct store_view *view,
	const struct zone_entry *entry)
{
	store_ref pattern = store_load_ref(&entry->pattern);

	return pattern == STORE_NONE ? NULL : store_get(view, pattern);
}

const char *
zone_entry_file(const struct store_view *view, const struct zone_entry *entry)
{
	const char *file = zone_own_file(entry_get_own(view, entry));
	const struct settings_pattern *pattern = entry_get_pattern(view,
		entry);

	return file != NULL || pattern == NULL ? file
		: settings_pattern_text(pattern, pattern->file_at);
}

const struct settings_storing *
zone_entry_storing(const struct store_view *view,
	const struct zone_entry *entry)
{
	const struct settings_pattern *pattern = entry_get_pattern(view,
		entry);

	return pattern == NULL ? NULL : &pattern->storing;
}
