/* acl.c - applies the lists of a zone to a query. */
#include "query/acl.h"

bool
acl_options_allow_query(const struct settings_options *options,
	const struct sockaddr_storage *peer, bool of_apex_soa)
{
	const struct acl_element *list;
	uint32_t count;

	list = settings_options_list(options, SETTINGS_ALLOW_QUERY, &count);
	if (count == 0 || acl_allows(list, count, peer))
		return true;
	list = settings_options_list(options, SETTINGS_PROVIDE_XFR, &count);
	return of_apex_soa && acl_allows(list, count, peer);
}
