/* proxies.c - who may speak for others, and where. */
#include "config.h"

#include <netinet/in.h>
#include <stdlib.h>

#include "load/load_settings.h"
#include "proc/proxies.h"

/* Copies the list of the addresses that may. */
static enum nsd_err
proxies_make_list(const struct conf_acls *from, struct acl_list *list)
{
	struct acl_element *elements = calloc(from->count + 1u,
		sizeof(*elements));
	enum nsd_err err = NSD_E_MEMORY;

	for (uint32_t i = 0; elements != NULL && i < from->count; i++)
		load_settings_element(&from->items[i], &elements[i]);
	if (elements != NULL)
		err = acl_list_make(elements, from->count, list);
	free(elements);
	return err;
}

enum nsd_err
proxies_create(const struct conf_server *options, struct proxies **out)
{
	const struct conf_numbers *ports = &options->proxy_protocol_port;
	struct proxies *proxies = calloc(1, sizeof(*proxies));

	if (proxies == NULL)
		return NSD_E_MEMORY;
	proxies->ports = calloc(ports->count + 1u, sizeof(proxies->ports[0]));
	if (proxies->ports == NULL
		|| proxies_make_list(&options->allow_proxy, &proxies->allow)
			!= NSD_OK) {
		free(proxies->ports);
		free(proxies);
		return NSD_E_MEMORY;
	}
	for (uint32_t i = 0; i < ports->count; i++)
		proxies->ports[proxies->port_count++] =
			(uint16_t)ports->items[i];
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
