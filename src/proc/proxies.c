/* proxies.c - who may speak for others, and where. */
#include "config.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "load/load_settings.h"
#include "proc/proxies.h"

/* The list as an array in the order that its index wants; NULL: no memory. */
static struct acl_element *
proxies_make_list(const struct conf_acls *from)
{
	struct acl_element *made = calloc(from->count + 1u, sizeof(*made));
	struct acl_element *list = calloc(from->count + 1u, sizeof(*list));

	for (uint32_t i = 0; made != NULL && i < from->count; i++)
		load_settings_element(&from->items[i], &made[i]);
	if (made != NULL && list != NULL)
		(void)acl_index_copy(made, from->count, list);
	if (made == NULL) {
		free(list);
		list = NULL;
	}
	free(made);
	return list;
}

enum nsd_err
proxies_create(const struct conf_server *options, struct proxies **out)
{
	const struct conf_acls *allow = &options->allow_proxy;
	const struct conf_numbers *ports = &options->proxy_protocol_port;
	struct proxies *proxies = calloc(1, sizeof(*proxies));
	struct acl_element *elements = proxies_make_list(allow);
	struct acl_index *index = calloc(1, acl_index_size_max(allow->count));

	if (proxies != NULL)
		proxies->ports = calloc(ports->count + 1u,
			sizeof(proxies->ports[0]));
	if (proxies == NULL || proxies->ports == NULL || elements == NULL
		|| index == NULL) {
		if (proxies != NULL)
			free(proxies->ports);
		free(proxies);
		free(elements);
		free(index);
		return NSD_E_MEMORY;
	}
	for (uint32_t i = 0; i < ports->count; i++)
		proxies->ports[proxies->port_count++] =
			(uint16_t)ports->items[i];
	proxies->allow.elements = elements;
	proxies->allow.count = allow->count;
	proxies->allow.index = index;
	acl_index_make(elements, proxies->allow.count, index);
	*out = proxies;
	return NSD_OK;
}

bool
proxies_has_port(const struct proxies *proxies, int fd)
{
	struct sockaddr_storage own;
	socklen_t len = sizeof(own);
	uint16_t port;

	if (proxies->port_count == 0
		|| getsockname(fd, (struct sockaddr *)&own, &len) != 0)
		return false;
	port = own.ss_family == AF_INET6
		? ((const struct sockaddr_in6 *)&own)->sin6_port
		: ((const struct sockaddr_in *)&own)->sin_port;
	for (uint32_t i = 0; i < proxies->port_count; i++)
		if (proxies->ports[i] == ntohs(port))
			return true;
	return false;
}

bool
proxies_allow(const struct proxies *proxies,
	const struct sockaddr_storage *peer)
{
	const struct acl_client client = {.peer = peer};

	return proxies->allow.count == 0
		|| acl_list_allows(&proxies->allow, &client);
}
