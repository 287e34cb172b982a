/* proxies.c - the proxies that may send requests for clients, and the ports for
 * them. */
#include "config.h"

#include <netinet/in.h>
#include <stdlib.h>

#include "base/clock.h"
#include "worker/proxies.h"

enum nsd_err
proxies_create(const struct conf_server *options, struct proxies **out)
{
	const struct conf_numbers *ports = &options->proxy_protocol_port;
	struct proxies *proxies = calloc(1, sizeof(*proxies));

	if (proxies == NULL)
		return NSD_E_MEMORY;
	proxies->ports = calloc(ports->count + 1u, sizeof(proxies->ports[0]));
	if (proxies->ports == NULL) {
		free(proxies);
		return NSD_E_MEMORY;
	}
	for (uint32_t i = 0; i < ports->count; i++)
		proxies->ports[proxies->port_count++] =
			(uint16_t)ports->items[i];
	*out = proxies;
	return NSD_OK;
}

enum nsd_err
proxies_set(struct proxies *proxies, const struct settings *settings)
{
	const struct settings_text *text = &settings->allow_proxy;
	struct acl_list list = {.index = NULL};
	enum nsd_err err = acl_list_make(settings_read_text(settings, text),
		text->len / (uint32_t)sizeof(struct acl_element), &list);

	if (err != NSD_OK)
		return err;
	acl_list_free(&proxies->allow);
	proxies->allow = list;
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
	const struct sockaddr_storage *peer, struct limit_log *log)
{
	const struct acl_client client = {.peer = peer};

	if (proxies->allow.count == 0
		|| acl_list_allows(&proxies->allow, &client))
		return true;
	limit_log_write_proxy(log, peer, clock_coarse_msec() / 1000);
	return false;
}
