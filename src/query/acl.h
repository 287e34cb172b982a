/* acl.h - checks of the client of a request against access lists. */
#ifndef QUERY_ACL_H
#define QUERY_ACL_H

#include <stdbool.h>
#include <sys/socket.h>

#include "settings/acl.h"
#include "zone/zone.h"

/* True if the client may query a zone with these options. */
bool acl_options_allow_query(const struct settings_options *options,
	const struct acl_client *client, bool of_apex_soa);

/*
 * True if the client may query the zone. An empty allow-query lets every
 * client. A client that may have the whole zone may also ask for its SOA
 * (of_apex_soa).
 */
static inline bool
acl_allows_query(const struct store_view *view,
	const struct zone_entry *entry, const struct acl_client *client,
	bool of_apex_soa)
{
	store_ref ref = store_load_ref(&entry->options);

	return ref == STORE_NONE || acl_options_allow_query(
		store_get(view, ref), client, of_apex_soa);
}

/* True if the zone's provide-xfr lets the client have the zone. Without
 * provide-xfr no client may. */
bool acl_allows_transfer(const struct store_view *view,
	const struct zone_entry *entry, const struct acl_client *client);

/* True if the zone is a secondary one, and its allow-notify lets the client say
 * that it has changed. */
bool acl_allows_notify(const struct store_view *view,
	const struct zone_entry *entry, const struct acl_client *client);

/* True if a list of the zone has a BLOCKED element that matches: *block. */
bool acl_find_block(const struct store_view *view,
	const struct zone_entry *entry, enum settings_list list,
	const struct acl_client *client, struct acl_block *block);

#endif
