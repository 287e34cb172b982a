/* admin_listeners.c - listening sockets for operators. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/log.h"
#include "net/socket.h"
#include "process/admin_listeners.h"
#include "process/again.h"

enum nsd_err
admin_listeners_add(struct admin_listeners *listeners, int fd)
{
	int *fds = grow_array(listeners->fds, listeners->count,
		&listeners->room, sizeof(*fds));

	if (fds == NULL) {
		close(fd);
		return NSD_E_MEMORY;
	}
	listeners->fds = fds;
	fds[listeners->count++] = fd;
	return NSD_OK;
}

/* ---- present sockets ----------------------------------------------------- */

static bool
admin_listeners_is_same(const struct sockaddr_storage *a,
	const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)b;
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)a;
	const struct sockaddr_in *b4 = (const struct sockaddr_in *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_port == b4->sin_port
			&& a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a->ss_family == AF_INET6 && a6->sin6_port == b6->sin6_port
		&& memcmp(&a6->sin6_addr, &b6->sin6_addr,
			   sizeof(a6->sin6_addr)) == 0
		&& a6->sin6_scope_id == b6->sin6_scope_id;
}

/* A descriptor more of the socket with this address; -1: there is none. */
static int
admin_listeners_find(const struct admin_listeners *there,
	const struct sockaddr_storage *address)
{
	for (unsigned i = 0; there != NULL && i < there->count; i++) {
		struct sockaddr_storage own = {.ss_family = AF_UNSPEC};
		socklen_t len = sizeof(own);

		if (getsockname(there->fds[i], (struct sockaddr *)&own, &len)
				== 0
			&& admin_listeners_is_same(&own, address))
			return fcntl(there->fds[i], F_DUPFD_CLOEXEC, 0);
	}
	return -1;
}

/* ---- opening ------------------------------------------------------------- */

/* sink: NULL if it is no error. */
static enum nsd_err
admin_listeners_open_address(const struct admin_params *params,
	const struct sockaddr_storage *address, struct diag_sink *sink,
	struct admin_listeners *listeners)
{
	const struct net_listen options = {
		.address = *address,
		.tcp = true,
		.tcp_backlog = ADMIN_BACKLOG,
	};
	int fd = admin_listeners_find(params->terms.there, address);
	enum nsd_err err = NSD_OK;

	if (fd == -1) {
		if (params->terms.until_msec != 0)
			(void)!again_probe(&options, params->terms.until_msec,
				NULL);
		err = net_listen(&options, sink, &fd);
	}
	return err == NSD_OK ? admin_listeners_add(listeners, fd) : err;
}

static void
admin_listeners_set_port(struct sockaddr_storage *address, uint16_t port)
{
	if (address->ss_family == AF_INET)
		((struct sockaddr_in *)address)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)address)->sin6_port = htons(port);
}

static enum nsd_err
admin_listeners_open_device(const struct admin_params *params, const char *name,
	uint16_t port, struct admin_listeners *listeners)
{
	struct ifaddrs *all = NULL;
	enum nsd_err err = NSD_OK;
	bool found = false;

	if (getifaddrs(&all) == -1) {
		diag_emit(params->terms.sink, DIAG_ERROR, NULL, 0, 0,
			"cannot list the network interfaces: %s",
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
		admin_listeners_set_port(&address, port);
		err = admin_listeners_open_address(params, &address,
			params->terms.sink,
			listeners);
	}
	freeifaddrs(all);
	if (found || err != NSD_OK)
		return err;
	diag_emit(params->terms.sink, DIAG_ERROR, NULL, 0, 0,
		"%s: '%s' is neither an address nor a network interface with"
		" one, nor an absolute path", params->option, name);
	return NSD_E_SYNTAX;
}

static uint16_t
interface_port(const struct admin_params *params,
	const struct conf_interface *one)
{
	return one->port != 0 ? one->port : params->port;
}

bool
admin_listeners_is_again(const struct admin_params *params,
	const struct conf_interfaces *all, uint32_t at)
{
	const struct conf_interface *one = &all->items[at];

	for (uint32_t i = 0; i < at; i++)
		if (strcmp(all->items[i].host, one->host) == 0
			&& interface_port(params, &all->items[i])
				== interface_port(params, one)) {
			log_warning("%s %s is there more than once",
				params->option, one->text);
			return true;
		}
	return false;
}

enum nsd_err
admin_listeners_open_one(const struct admin_params *params,
	const struct conf_interface *one,
	struct admin_listeners *listeners)
{
	uint16_t port = interface_port(params, one);
	struct sockaddr_storage address;

	if (one->host[0] == '/') {
		int fd;
		enum nsd_err err = admin_path_open(params, one->host, &fd);

		return err == NSD_OK ? admin_listeners_add(listeners, fd) : err;
	}
	if (one->family == 0)
		return admin_listeners_open_device(params, one->host, port,
			listeners);
	if (net_parse_address(one->host, port, &address) != NSD_OK) {
		diag_emit(params->terms.sink, DIAG_ERROR, NULL, 0, 0,
			"%s: cannot parse address '%s'", params->option,
			one->text);
		return NSD_E_SYNTAX;
	}
	return admin_listeners_open_address(params, &address,
		params->terms.sink, listeners);
}

enum nsd_err
admin_listeners_open_local(const struct admin_params *params,
	struct admin_listeners *listeners)
{
	static const char *const hosts[] = {"127.0.0.1", "::1"};

	for (int i = 0; i < 2; i++) {
		bool wanted = i == 0 ? params->ip4 : WITH_IPV6 && params->ip6;
		struct sockaddr_storage address;
		enum nsd_err err;

		if (!wanted || net_parse_address(hosts[i], params->port,
			    &address) != NSD_OK)
			continue;
		err = admin_listeners_open_address(params, &address, NULL,
			listeners);
		if (err == NSD_E_SYSTEM
			&& (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL))
			continue;
		/* Once more, to say why. */
		if (err == NSD_E_SYSTEM)
			err = admin_listeners_open_address(params, &address,
				params->terms.sink, listeners);
		if (err != NSD_OK)
			return err;
	}
	if (listeners->count > 0)
		return NSD_OK;
	diag_emit(params->terms.sink, DIAG_ERROR, NULL, 0, 0,
		"%s: this machine has neither 127.0.0.1 nor ::1",
		params->option);
	return NSD_E_SYSTEM;
}

enum nsd_err
admin_listeners_open_metrics(const struct conf_server *options,
	const struct admin_terms *terms, struct admin_listeners *listeners)
{
	const struct conf_interfaces *all = &options->metrics_interface;
	const struct admin_params params = {
		.option = "metrics-interface",
		.port = (uint16_t)options->metrics_port,
		.ip4 = options->do_ip4,
		.ip6 = options->do_ip6,
		.terms = *terms,
	};
	enum nsd_err err = NSD_OK;

	*listeners = (struct admin_listeners){.fds = NULL};
	if (!options->metrics_enable)
		return NSD_OK;
	/* Figures are for anybody of this machine: no address is added that
	 * NSD does not have. */
	if (all->count == 0 && !params.ip4 && !params.ip6) {
		log_warning("metrics-enable: do-ip4 and do-ip6 are both no:"
			    " metrics are nowhere without a metrics-interface");
		return NSD_OK;
	}
	if (all->count == 0)
		err = admin_listeners_open_local(&params, listeners);
	for (uint32_t i = 0; i < all->count && err == NSD_OK; i++)
		if (!admin_listeners_is_again(&params, all, i))
			err = admin_listeners_open_one(&params, &all->items[i],
				listeners);
	if (err != NSD_OK)
		admin_listeners_leave(listeners);
	return err;
}

void
admin_listeners_leave(struct admin_listeners *listeners)
{
	for (unsigned i = 0; i < listeners->count; i++)
		close(listeners->fds[i]);
	free(listeners->fds);
	*listeners = (struct admin_listeners){.fds = NULL};
}
