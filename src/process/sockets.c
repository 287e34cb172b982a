/* sockets.c - the listening sockets that nsd.conf asks for. */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/fs.h"
#include "base/grow.h"
#include "base/log.h"
#include "conf/families.h"
#include "net/socket.h"
#include "process/affinity.h"
#include "process/again.h"
#include "process/sockets.h"
#include "process/tls_texts.h"

/* An address to listen on. */
struct place {
	struct sockaddr_storage address;
	const struct conf_interface *interface; /* NULL: the wildcard */
	char device[IFNAMSIZ];                  /* "": any */
	bool tls;    /* there is TCP alone, and connections begin with TLS, */
	bool mutual; /* and clients show a certificate */
};

struct places {
	struct place *items;
	unsigned count;
	size_t room;
};

static enum nsd_err
places_add(struct places *places, const struct place *place)
{
	struct place *items = grow_array(places->items, places->count,
		&places->room, sizeof(*items));

	if (items == NULL)
		return NSD_E_MEMORY;
	places->items = items;
	items[places->count++] = *place;
	return NSD_OK;
}

static bool
sockets_wants_family(const struct conf_server *options, int family)
{
	return family == AF_INET ? conf_server_has_ip4(options)
				 : WITH_IPV6 && conf_server_has_ip6(options);
}

/* Any address of a family. */
static void
sockets_fill_any(struct sockaddr_storage *out, int family, uint16_t port)
{
	memset(out, 0, sizeof(*out));
	out->ss_family = (sa_family_t)family;
	if (family == AF_INET)
		((struct sockaddr_in *)out)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)out)->sin6_port = htons(port);
}

/* A port of TLS has no UDP (RFC 7858 section 3.1). */
static void
place_set_tls(struct place *place, const struct conf_server *options,
	uint16_t port)
{
	place->mutual = options->tls_auth_port != 0
		&& port == options->tls_auth_port;
	place->tls = tls_texts_are_wanted(options)
		&& (place->mutual || port == options->tls_port);
	place->mutual &= place->tls;
}

/* Plans sockets without ip-address: every address of the families that the
 * machine has. */
static enum nsd_err
sockets_plan_wildcard(const struct conf_server *options,
	struct places *places)
{
	static const int families[] = {AF_INET, AF_INET6};

	for (int i = 0; i < 2; i++) {
		struct place place = {.interface = NULL};
		int probe;

		if (!sockets_wants_family(options, families[i]))
			continue;
		probe = socket(families[i], SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (probe == -1 && errno == EAFNOSUPPORT) {
			log_warning("this system has no IPv%d",
				families[i] == AF_INET ? 4 : 6);
			continue;
		}
		if (probe != -1)
			close(probe);
		sockets_fill_any(&place.address, families[i],
			(uint16_t)options->port);
		place_set_tls(&place, options, (uint16_t)options->port);
		if (places_add(places, &place) != NSD_OK)
			return NSD_E_MEMORY;
	}
	return NSD_OK;
}

static bool
sockets_same_host(const struct sockaddr *a, const struct sockaddr_storage *b)
{
	if (a->sa_family != b->ss_family)
		return false;
	if (a->sa_family == AF_INET)
		return memcmp(&((const struct sockaddr_in *)a)->sin_addr,
			       &((const struct sockaddr_in *)b)->sin_addr, 4)
			== 0;
	return memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
		       &((const struct sockaddr_in6 *)b)->sin6_addr, 16)
		== 0;
}

/* The addresses of a network device. */
static enum nsd_err
sockets_plan_device(const struct conf_server *options,
	const struct conf_interface *interface, uint16_t port,
	const struct ifaddrs *all, struct places *places)
{
	struct place model = {.interface = interface};
	bool found = false;

	place_set_tls(&model, options, port);
	for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
		struct place place = model;
		int family = i->ifa_addr == NULL ? AF_UNSPEC
						 : i->ifa_addr->sa_family;

		if (strcmp(i->ifa_name, interface->host) != 0
			|| (family != AF_INET && family != AF_INET6))
			continue;
		found = true;
		if (!sockets_wants_family(options, family))
			continue;
		/* With the scope that a link-local address has here. */
		memcpy(&place.address, i->ifa_addr,
			family == AF_INET ? sizeof(struct sockaddr_in)
					  : sizeof(struct sockaddr_in6));
		if (family == AF_INET)
			((struct sockaddr_in *)&place.address)->sin_port =
				htons(port);
		else
			((struct sockaddr_in6 *)&place.address)->sin6_port =
				htons(port);
		if (interface->bindtodevice)
			snprintf(place.device, sizeof(place.device), "%s",
				i->ifa_name);
		if (places_add(places, &place) != NSD_OK)
			return NSD_E_MEMORY;
	}
	if (found)
		return NSD_OK;
	log_error("cannot parse address '%s': it is neither an address nor a"
		  " network interface with one",
		interface->text);
	return NSD_E_SYNTAX;
}

static enum nsd_err
sockets_plan_address(const struct conf_server *options,
	const struct conf_interface *interface, uint16_t port,
	const struct ifaddrs *all, struct places *places)
{
	int family = interface->family == 4 ? AF_INET : AF_INET6;
	struct place place = {.interface = interface};
	const struct ifaddrs *i = all;

	place_set_tls(&place, options, port);
	if (!sockets_wants_family(options, family))
		return NSD_OK;
	if (net_parse_address(interface->host, port, &place.address)
		!= NSD_OK) {
		log_error("cannot parse address '%s': there is no such network"
			  " interface", interface->text);
		return NSD_E_SYNTAX;
	}
	if (!interface->bindtodevice)
		return places_add(places, &place);
	while (i != NULL
		&& (i->ifa_addr == NULL
			|| !sockets_same_host(i->ifa_addr, &place.address)))
		i = i->ifa_next;
	if (i == NULL) {
		log_error("ip-address: no network interface has %s, which"
			  " bindtodevice needs",
			interface->host);
		return NSD_E_SYNTAX;
	}
	snprintf(place.device, sizeof(place.device), "%s", i->ifa_name);
	return places_add(places, &place);
}

static enum nsd_err
sockets_plan(const struct conf_server *options, struct places *places)
{
	struct ifaddrs *all = NULL;
	enum nsd_err err = NSD_OK;

	if (!options->do_ip4 && !options->do_ip6)
		log_warning("do-ip4 and do-ip6 are both no, which leaves"
			    " nothing to listen on: both are taken");
	if (options->ip_address.count == 0)
		return sockets_plan_wildcard(options, places);
	if (getifaddrs(&all) == -1) {
		log_error("cannot list the network interfaces: %s",
			strerror(errno));
		return NSD_E_SYSTEM;
	}
	for (uint32_t i = 0; i < options->ip_address.count && err == NSD_OK;
		i++) {
		const struct conf_interface *interface =
			&options->ip_address.items[i];
		uint16_t port = interface->port != 0
			? interface->port
			: (uint16_t)options->port;

		if (interface->setfib >= 0)
			log_warning("setfib is not of this system, ignored");
		if (interface->family == 0)
			err = sockets_plan_device(options, interface, port,
				all, places);
		else
			err = sockets_plan_address(options, interface, port,
				all, places);
	}
	freeifaddrs(all);
	return err;
}

/* True if a worker (from 0) listens there. */
static bool
place_has_server(const struct place *place, unsigned server)
{
	const struct conf_ranges *ranges;

	if (place->interface == NULL || place->interface->servers.count == 0)
		return true;
	ranges = &place->interface->servers;
	for (uint32_t i = 0; i < ranges->count; i++)
		if (server + 1 >= ranges->items[i].first
			&& server + 1 <= ranges->items[i].last)
			return true;
	return false;
}

static enum nsd_err
sockets_check_ranges(const struct conf_server *options)
{
	for (uint32_t i = 0; i < options->ip_address.count; i++) {
		const struct conf_interface *p = &options->ip_address.items[i];

		for (uint32_t j = 0; j < p->servers.count; j++) {
			if (p->servers.items[j].first >= 1
				&& p->servers.items[j].last
					<= options->server_count)
				continue;
			log_error("server %u specified for ip-address %s"
				  " exceeds number of servers configured in"
				  " server-count: %u",
				(unsigned)p->servers.items[j].last, p->text,
				(unsigned)options->server_count);
			return NSD_E_SYNTAX;
		}
	}
	return NSD_OK;
}

/* Prints "*", or ranges such as "1-3 5". */
static void
place_print_servers(const struct place *place, unsigned server_count,
	char *out, size_t size)
{
	size_t len = 0;
	unsigned first = 0, listed = 0;

	*out = '\0';
	for (unsigned i = 0; i <= server_count; i++) {
		bool in = i < server_count && place_has_server(place, i);

		if (in) {
			listed++;
			first = first == 0 ? i + 1 : first;
		} else if (first != 0 && len < size) {
			len += (size_t)snprintf(out + len, size - len,
				first == i ? "%s%u" : "%s%u-%u",
				len > 0 ? " " : "", first, i);
			first = 0;
		}
	}
	if (listed == server_count)
		snprintf(out, size, "*");
}

static void
place_log(const struct place *place, unsigned server_count)
{
	char address[NET_ADDRESS_TEXT_MAX], servers[1024];

	net_print_address(&place->address, true, address);
	place_print_servers(place, server_count, servers, sizeof(servers));
	if (!place->tls)
		log_notice("listen on ip-address %s (udp) with server(s): %s",
			address, servers);
	log_notice("listen on ip-address %s (tcp) with server(s): %s", address,
		servers);
}

/* Waits until the address is free, at most until until_msec; then logs an error
 * and fails. Tries without SO_REUSEPORT, which would share it with the sockets
 * that are to be closed, or with those of another server that is to stay. */
static enum nsd_err
sockets_wait_free(const struct net_listen *listen, int64_t until_msec)
{
	struct diag_sink sink = {.on_diag = log_diag};

	return again_probe(listen, until_msec, &sink);
}

/* The options of sockets that a reconfiguration can change. */
static struct net_listen
sockets_listen(const struct conf_server *options)
{
	return (struct net_listen){
		.send_buffer = (int)(options->send_buffer_size != 0
				? options->send_buffer_size
				: CONF_SEND_BUFFER_SIZE),
		.receive_buffer = (int)(options->receive_buffer_size != 0
				? options->receive_buffer_size
				: CONF_RECEIVE_BUFFER_SIZE),
		.tcp_mss = (int)options->tcp_mss,
		.tcp_backlog = options->tcp_listen_queue,
	};
}

/* Returns how to listen at a place, for UDP and without SO_REUSEPORT. Borrows
 * the place. */
static struct net_listen
place_listen(const struct place *place, const struct conf_server *options)
{
	struct net_listen listen = sockets_listen(options);

	listen.address = place->address;
	listen.transparent = options->ip_transparent;
	listen.freebind = options->ip_freebind;
	listen.device = place->device[0] != '\0' ? place->device : NULL;
	listen.tcp_fastopen = TCP_FASTOPEN_QUEUE;
	return listen;
}

/* Waits for all places before any is opened: a place where we listen ourselves
 * would not be free. */
static enum nsd_err
places_wait_free(const struct places *places,
	const struct conf_server *options, int64_t until_msec)
{
	for (unsigned i = 0; i < places->count; i++) {
		struct net_listen listen =
			place_listen(&places->items[i], options);
		enum nsd_err err = NSD_OK;

		if (!places->items[i].tls)
			err = sockets_wait_free(&listen, until_msec);
		listen.tcp = true;
		if (err == NSD_OK)
			err = sockets_wait_free(&listen, until_msec);
		if (err != NSD_OK)
			return err;
	}
	return NSD_OK;
}

/* Lists the processors of the workers that listen at a place, in order. False:
 * a worker is bound to none, or to that of another. */
static bool
place_list_cpus(const struct place *place, const struct conf_server *options,
	uint32_t *cpus, unsigned *count)
{
	*count = 0;
	for (unsigned i = 0; i < options->server_count; i++) {
		uint32_t *cpu = &cpus[*count];

		if (!place_has_server(place, i))
			continue;
		if (!affinity_find_cpu(options, i, cpu))
			return false;
		for (unsigned j = 0; j < *count; j++)
			if (cpus[j] == *cpu)
				return false;
		++*count;
	}
	return true;
}

/* Follows reuseport-by-cpu at a place whose sockets are open: the UDP and the
 * TCP socket of its first worker, or with TLS that of TCP. Goes on without it
 * if it must. */
static void
place_steer(const struct place *place, const struct conf_server *options,
	const struct listener *first)
{
	uint32_t *cpus = calloc(options->server_count, sizeof(*cpus));
	char address[NET_ADDRESS_TEXT_MAX];
	unsigned count;
	enum nsd_err err = NSD_OK;

	net_print_address(&place->address, true, address);
	if (cpus == NULL)
		err = NSD_E_MEMORY;
	else if (!place_list_cpus(place, options, cpus, &count))
		log_warning("reuseport-by-cpu has no effect on %s: not every"
			    " server there has a server-N-cpu-affinity of its"
			    " own",
			address);
	else
		for (int i = 0; i < 2 - place->tls && err == NSD_OK; i++)
			err = net_steer_by_cpu(first[i].fd, cpus, count);
	if (err != NSD_OK)
		log_warning("reuseport-by-cpu has no effect on %s: %s",
			address, err_reason(err));
	free(cpus);
}

/* Opens the sockets of one place, UDP and TCP for each of its workers. */
static enum nsd_err
place_open(const struct place *place, const struct conf_server *options,
	struct listeners *listeners)
{
	struct diag_sink sink = {.on_diag = log_diag};
	struct net_listen listen = place_listen(place, options);
	unsigned servers = 0, first = listeners->count;

	for (unsigned i = 0; i < options->server_count; i++)
		servers += place_has_server(place, i);
	listen.reuseport = servers > 1;
	for (unsigned i = 0; i < options->server_count; i++) {
		if (!place_has_server(place, i))
			continue;
		for (int tcp = place->tls; tcp < 2; tcp++) {
			struct listener *l =
				&listeners->items[listeners->count];

			listen.tcp = tcp != 0;
			if (net_listen(&listen, &sink, &l->fd) != NSD_OK)
				return NSD_E_SYSTEM;
			l->tcp = listen.tcp;
			l->tls = place->tls;
			l->mutual = place->mutual;
			l->server = i;
			listeners->count++;
		}
	}
	if (options->reuseport_by_cpu && listen.reuseport)
		place_steer(place, options, &listeners->items[first]);
	place_log(place, options->server_count);
	return NSD_OK;
}

enum nsd_err
sockets_open(const struct conf_server *options, int64_t until_msec,
	struct listeners *listeners)
{
	struct places places = {.items = NULL};
	enum nsd_err err = sockets_check_ranges(options);

	*listeners = (struct listeners){NULL, 0};
	if (err == NSD_OK)
		err = sockets_plan(options, &places);
	if (err == NSD_OK && places.count == 0) {
		log_error("there is no address to listen on");
		err = NSD_E_SYNTAX;
	}
	if (err == NSD_OK) {
		listeners->items = calloc(
			(size_t)places.count * options->server_count * 2,
			sizeof(*listeners->items));
		if (listeners->items == NULL)
			err = NSD_E_MEMORY;
	}
	if (err == NSD_OK)
		err = places_wait_free(&places, options, until_msec);
	for (unsigned i = 0; i < places.count && err == NSD_OK; i++)
		err = place_open(&places.items[i], options, listeners);
	free(places.items);
	if (err != NSD_OK)
		sockets_close(listeners);
	return err;
}

void
sockets_close(struct listeners *listeners)
{
	for (unsigned i = 0; i < listeners->count; i++)
		close(listeners->items[i].fd);
	free(listeners->items);
	*listeners = (struct listeners){NULL, 0};
}

/* ---- other options ------------------------------------------------------- */

/* Makes the options of a socket, with a size of 0 for buffers that are to stay:
 * without the right that main had at the start they could only become
 * smaller. */
static struct net_listen
sockets_listen_again(const struct conf_server *before,
	const struct conf_server *options)
{
	struct net_listen listen = sockets_listen(options);

	if (options->send_buffer_size == before->send_buffer_size)
		listen.send_buffer = 0;
	if (options->receive_buffer_size == before->receive_buffer_size)
		listen.receive_buffer = 0;
	return listen;
}

static bool
sockets_differ(const struct conf_server *a, const struct conf_server *b)
{
	return a->send_buffer_size != b->send_buffer_size
		|| a->receive_buffer_size != b->receive_buffer_size
		|| a->tcp_mss != b->tcp_mss
		|| a->tcp_listen_queue != b->tcp_listen_queue;
}

void
sockets_follow(const struct listeners *listeners,
	const struct conf_server *before, const struct conf_server *options)
{
	struct diag_sink sink = {.on_diag = log_diag};
	struct net_listen listen = sockets_listen_again(before, options);

	if (!sockets_differ(before, options))
		return;
	for (unsigned i = 0; i < listeners->count; i++) {
		const struct listener *l = &listeners->items[i];
		socklen_t len = sizeof(listen.address);

		memset(&listen.address, 0, sizeof(listen.address));
		(void)getsockname(l->fd, (struct sockaddr *)&listen.address,
			&len);
		listen.tcp = l->tcp;
		net_listen_again(l->fd, &listen, &sink);
	}
}

bool
sockets_buffers_fit(const struct conf_server *before,
	const struct conf_server *options)
{
	const struct net_listen listen = sockets_listen_again(before, options);

	return net_buffers_fit(listen.send_buffer, listen.receive_buffer);
}

void
sockets_keep(const struct listeners *listeners, unsigned server,
	const int *others, unsigned count)
{
	int *keep = calloc(listeners->count + count + LOG_FDS_MAX,
		sizeof(*keep));

	if (keep == NULL)
		return;
	for (unsigned i = 0; i < count; i++)
		keep[i] = others[i];
	count += log_list_fds(keep + count);
	for (unsigned i = 0; i < listeners->count; i++)
		if (listeners->items[i].server == server)
			keep[count++] = listeners->items[i].fd;
	fs_close_all_but(keep, count);
	free(keep);
}
