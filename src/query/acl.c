/* acl.c - applies the lists of a zone to a query. */
#include "query/acl.h"

bool
acl_options_allow_query(const struct settings_options *options,
	const struct acl_client *client, bool of_apex_soa)
{
	const struct acl_element *list;
	uint32_t count;

	list = settings_options_list(options, SETTINGS_ALLOW_QUERY, &count);
	if (count == 0 || acl_allows(list, count, client))
		return true;
	list = settings_options_list(options, SETTINGS_PROVIDE_XFR, &count);
	return of_apex_soa && acl_allows(list, count, client);
}

bool
acl_allows_transfer(const struct store_view *view,
	const struct zone_entry *entry, const struct acl_client *client)
{
	store_ref ref = store_load_ref(&entry->options);
	const struct acl_element *list;
	uint32_t count;

	if (ref == STORE_NONE)
		return false;
	list = settings_options_list(store_get(view, ref),
		SETTINGS_PROVIDE_XFR, &count);
	return acl_allows(list, count, client);
}

bool
acl_allows_notify(const struct store_view *view,
	const struct zone_entry *entry, const struct acl_client *client)
{
	store_ref ref = store_load_ref(&entry->options);
	const struct settings_options *options;
	const struct acl_element *list;
	uint32_t count;

	if (ref == STORE_NONE)
		return false;
	options = store_get(view, ref);
	(void)settings_options_list(options, SETTINGS_REQUEST_XFR, &count);
	if (count == 0)
		return false;
	list = settings_options_list(options, SETTINGS_ALLOW_NOTIFY, &count);
	return acl_allows(list, count, client);
}
