/* acl.c - applies the lists of a zone to a query. */
#include "query/acl.h"

bool
acl_options_allow_query(const struct settings_options *options,
	const struct acl_client *client, bool of_apex_soa)
{
	struct acl_list list = acl_list_get(options, SETTINGS_ALLOW_QUERY);

	if (list.count == 0 || acl_list_allows(&list, client))
		return true;
	/* A proxy that allow-query blocks is let in by no other list. */
	if (!of_apex_soa || acl_list_blocks_proxy(&list, client))
		return false;
	list = acl_list_get(options, SETTINGS_PROVIDE_XFR);
	return acl_list_allows(&list, client);
}

bool
acl_allows_transfer(const struct store_view *view,
	const struct zone_entry *entry, const struct acl_client *client)
{
	store_ref ref = store_load_ref(&entry->options);
	struct acl_list list;

	if (ref == STORE_NONE)
		return false;
	list = acl_list_get(store_get(view, ref), SETTINGS_PROVIDE_XFR);
	return acl_list_allows(&list, client);
}

bool
acl_allows_notify(const struct store_view *view,
	const struct zone_entry *entry, const struct acl_client *client)
{
	store_ref ref = store_load_ref(&entry->options);
	const struct settings_options *options;
	struct acl_list list;
	uint32_t count;

	if (ref == STORE_NONE)
		return false;
	options = store_get(view, ref);
	(void)settings_options_list(options, SETTINGS_REQUEST_XFR, &count);
	if (count == 0)
		return false;
	list = acl_list_get(options, SETTINGS_ALLOW_NOTIFY);
	return acl_list_allows(&list, client);
}

bool
acl_find_block(const struct store_view *view, const struct zone_entry *entry,
	enum settings_list list, const struct acl_client *client,
	struct acl_block *block)
{
	store_ref ref = store_load_ref(&entry->options);
	struct acl_list acl;

	if (ref == STORE_NONE)
		return false;
	acl = acl_list_get(store_get(view, ref), list);
	return acl_list_find_block(&acl, client, block);
}
