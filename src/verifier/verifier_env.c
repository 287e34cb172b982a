/* verifier_env.c - the environment of verifiers. */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "verifier/verifier_env.h"

/* An address with its port, as text. */
struct env_place {
	bool is_ip6;
	char address[INET6_ADDRSTRLEN];
	char port[6];
};

static bool
env_find_place(int fd, struct env_place *place)
{
	struct sockaddr_storage ss = {.ss_family = AF_UNSPEC};
	socklen_t len = sizeof(ss);
	const void *address = &((struct sockaddr_in *)&ss)->sin_addr;
	uint16_t port;

	if (getsockname(fd, (struct sockaddr *)&ss, &len) == -1)
		return false;
	port = ((struct sockaddr_in *)&ss)->sin_port;
	place->is_ip6 = ss.ss_family == AF_INET6;
	if (place->is_ip6) {
		address = &((struct sockaddr_in6 *)&ss)->sin6_addr;
		port = ((struct sockaddr_in6 *)&ss)->sin6_port;
	}
	snprintf(place->port, sizeof(place->port), "%u",
		(unsigned)ntohs(port));
	return inet_ntop(ss.ss_family, address, place->address,
		       sizeof(place->address))
		!= NULL;
}

/* Adds an address to the list of all. */
static bool
env_add_place(const struct env_place *place)
{
	static const char name[] = "VERIFY_IP_ADDRESSES";
	const char *before = getenv(name);
	size_t size = (before != NULL ? strlen(before) : 0)
		+ sizeof(place->address) + sizeof(place->port) + 3;
	char *all = malloc(size);
	bool is_set;

	if (all == NULL)
		return false;
	snprintf(all, size, "%s%s%s@%s", before != NULL ? before : "",
		before != NULL ? " " : "", place->address, place->port);
	is_set = setenv(name, all, 1) == 0;
	free(all);
	return is_set;
}

/* Sets the variables of the first address of a family; and those without a
 * family, of the first IPv6 address, else of the first one. */
static bool
env_set_place(const struct env_place *place)
{
	const char *address = place->is_ip6 ? "VERIFY_IPV6_ADDRESS"
					    : "VERIFY_IPV4_ADDRESS";
	bool is_first = getenv(address) == NULL;

	if (!is_first)
		return true;
	if (setenv(address, place->address, 1) == -1
		|| setenv(place->is_ip6 ? "VERIFY_IPV6_PORT"
					: "VERIFY_IPV4_PORT",
			   place->port, 1)
			== -1)
		return false;
	if (!place->is_ip6 && getenv("VERIFY_IP_ADDRESS") != NULL)
		return true;
	return setenv("VERIFY_IP_ADDRESS", place->address, 1) == 0
		&& setenv("VERIFY_PORT", place->port, 1) == 0;
}

/* Removes variables that the server's own environment may have, and those by
 * which a program could speak for the server. */
static void
env_clear(void)
{
	static const char *const names[] = {"NOTIFY_SOCKET", "WATCHDOG_PID",
		"WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID", "VERIFY_ZONE",
		"VERIFY_ZONE_ON_STDIN", "VERIFY_IP_ADDRESS", "VERIFY_PORT",
		"VERIFY_IP_ADDRESSES", "VERIFY_IPV4_ADDRESS",
		"VERIFY_IPV4_PORT", "VERIFY_IPV6_ADDRESS",
		"VERIFY_IPV6_PORT"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unsetenv(names[i]);
}

enum nsd_err
verifier_env_init(const struct listeners *listeners, unsigned server)
{
	env_clear();
	for (unsigned i = 0; i < listeners->count; i++) {
		const struct listener *listener = &listeners->items[i];
		struct env_place place;

		if (listener->server != server || listener->tcp
			|| !env_find_place(listener->fd, &place))
			continue;
		if (!env_add_place(&place) || !env_set_place(&place))
			return NSD_E_MEMORY;
	}
	return NSD_OK;
}

bool
verifier_env_set_zone(const char *zone, bool feed)
{
	return setenv("VERIFY_ZONE", zone, 1) == 0
		&& setenv("VERIFY_ZONE_ON_STDIN", feed ? "yes" : "no", 1) == 0;
}
