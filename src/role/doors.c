/* doors.c - listening TCP sockets for operators. */
#include "config.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/log.h"
#include "net/socket.h"
#include "role/doors.h"

/* Connections that wait to be taken. */
#define BACKLOG 128

static enum nsd_err
doors_add(struct doors *doors, int fd)
{
	int *fds = grow_array(doors->fds, doors->count, &doors->room,
		sizeof(*fds));

	if (fds == NULL) {
		close(fd);
		return NSD_E_MEMORY;
	}
	doors->fds = fds;
	fds[doors->count++] = fd;
	return NSD_OK;
}

static enum nsd_err
doors_open_address(const struct sockaddr_storage *address,
	struct diag_sink *sink, struct doors *doors)
{
	const struct net_listen options = {
		.address = *address,
		.tcp = true,
		.tcp_backlog = BACKLOG,
	};
	int fd;
	enum nsd_err err = net_listen(&options, sink, &fd);

	return err == NSD_OK ? doors_add(doors, fd) : err;
}

static void
doors_set_port(struct sockaddr_storage *address, uint16_t port)
{
	if (address->ss_family == AF_INET)
		((struct sockaddr_in *)address)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)address)->sin6_port = htons(port);
}

static enum nsd_err
doors_open_device(const struct doors_wish *wish, const char *name,
	uint16_t port, struct doors *doors)
{
	struct diag_sink sink = {.on_diag = log_diag};
	struct ifaddrs *all = NULL;
	enum nsd_err err = NSD_OK;
	bool found = false;

	if (getifaddrs(&all) == -1) {
		log_error("cannot list the network interfaces: %s",
			strerror(errno));
		return NSD_E_SYSTEM;
	}
	for (const struct ifaddrs *i = all; i != NULL && err == NSD_OK;
		i = i->ifa_next) {
		struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
		int family = i->ifa_addr != NULL ? i->ifa_addr->sa_family
						 : AF_UNSPEC;

		if (strcmp(i->ifa_name, name) != 0
			|| (family != AF_INET && family != AF_INET6))
			continue;
		found = true;
		memcpy(&address, i->ifa_addr, family == AF_INET
				? sizeof(struct sockaddr_in)
				: sizeof(struct sockaddr_in6));
		doors_set_port(&address, port);
		err = doors_open_address(&address, &sink, doors);
	}
	freeifaddrs(all);
	if (found || err != NSD_OK)
		return err;
	log_error("%s: '%s' is neither an address nor a network interface"
		  " with one%s", wish->option, name,
		wish->or_path ? ", nor an absolute path" : "");
	return NSD_E_SYNTAX;
}

enum nsd_err
doors_open_one(const struct doors_wish *wish, const struct conf_interface *one,
	struct doors *doors)
{
	struct diag_sink sink = {.on_diag = log_diag};
	uint16_t port = one->port != 0 ? one->port : wish->port;
	struct sockaddr_storage address;

	if (one->family == 0)
		return doors_open_device(wish, one->host, port, doors);
	if (net_parse_address(one->host, port, &address) != NSD_OK) {
		log_error("%s: cannot parse address '%s'", wish->option,
			one->text);
		return NSD_E_SYNTAX;
	}
	return doors_open_address(&address, &sink, doors);
}

enum nsd_err
doors_open_local(const struct doors_wish *wish, struct doors *doors)
{
	static const char *const hosts[] = {"127.0.0.1", "::1"};
	struct diag_sink sink = {.on_diag = log_diag};

	for (int i = 0; i < 2; i++) {
		bool wanted = i == 0 ? wish->ip4 : WITH_IPV6 && wish->ip6;
		struct sockaddr_storage address;
		enum nsd_err err;

		if (!wanted || net_parse_address(hosts[i], wish->port,
			    &address) != NSD_OK)
			continue;
		err = doors_open_address(&address, NULL, doors);
		if (err == NSD_E_SYSTEM
			&& (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL))
			continue;
		/* Once more, to say why. */
		if (err == NSD_E_SYSTEM)
			err = doors_open_address(&address, &sink, doors);
		if (err != NSD_OK)
			return err;
	}
	if (doors->count > 0)
		return NSD_OK;
	log_error("%s: this machine has neither 127.0.0.1 nor ::1",
		wish->option);
	return NSD_E_SYSTEM;
}

enum nsd_err
doors_open(const struct doors_wish *wish,
	const struct conf_interfaces *interfaces, struct doors *doors)
{
	enum nsd_err err = NSD_OK;

	*doors = (struct doors){.fds = NULL};
	if (interfaces->count == 0)
		err = doors_open_local(wish, doors);
	for (uint32_t i = 0; i < interfaces->count && err == NSD_OK; i++)
		err = doors_open_one(wish, &interfaces->items[i], doors);
	if (err != NSD_OK)
		doors_leave(doors);
	return err;
}

void
doors_leave(struct doors *doors)
{
	for (unsigned i = 0; i < doors->count; i++)
		close(doors->fds[i]);
	free(doors->fds);
	*doors = (struct doors){.fds = NULL};
}
