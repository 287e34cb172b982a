/* verify_sockets.c - the sockets of the verify server. */
#include "config.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "process/verify_sockets.h"

/* True if this system has the IPv6 address ::1. */
static bool
localhost_has_ip6(void)
{
	const struct sockaddr_in6 localhost = {
		.sin6_family = AF_INET6,
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool has = fd != -1 && bind(fd, (const struct sockaddr *)&localhost,
				       sizeof(localhost))
			== 0;

	if (fd != -1)
		close(fd);
	return has;
}

/* The options of the server, as far as sockets go, with addresses of the
 * clause verify:; localhost, if it has none. */
static struct conf_server
verify_make_options(const struct conf *conf,
	struct conf_interface localhost[2])
{
	struct conf_server options = conf->server;

	options.ip_address = conf->verify.ip_address;
	options.port = conf->verify.port;
	options.server_count = 1;
	options.reuseport_by_cpu = false;
	/* Programs ask in plain. */
	options.tls_port = options.tls_auth_port = 0;
	/* The server's sockets have brought the warning that both are taken. */
	if (!options.do_ip4 && !options.do_ip6)
		options.do_ip4 = options.do_ip6 = true;
	if (options.ip_address.count > 0)
		return options;
	localhost[0] = (struct conf_interface){
		.text = "127.0.0.1",
		.host = "127.0.0.1",
		.family = 4,
		.setfib = -1,
	};
	localhost[1] = (struct conf_interface){
		.text = "::1",
		.host = "::1",
		.family = 6,
		.setfib = -1,
	};
	options.ip_address = (struct conf_interfaces){
		.items = localhost,
		.count = localhost_has_ip6() ? 2 : 1,
	};
	return options;
}

/* Puts the sockets behind the others. */
static enum nsd_err
verify_append(struct listeners *listeners, const struct listeners *more,
	unsigned server)
{
	size_t count = (size_t)listeners->count + more->count;
	struct listener *items = realloc(listeners->items,
		count * sizeof(*items));

	if (items == NULL)
		return NSD_E_MEMORY;
	memcpy(items + listeners->count, more->items,
		more->count * sizeof(*items));
	for (size_t i = listeners->count; i < count; i++)
		items[i].server = server;
	listeners->items = items;
	listeners->count = (unsigned)count;
	return NSD_OK;
}

enum nsd_err
verify_sockets_open(const struct conf *conf, int64_t until_msec,
	struct listeners *listeners)
{
	struct conf_interface localhost[2];
	struct conf_server options;
	struct listeners opened;
	enum nsd_err err;

	if (!conf->verify.enable)
		return NSD_OK;
	options = verify_make_options(conf, localhost);
	log_notice("verify: listening for programs that judge new versions");
	err = sockets_open(&options, until_msec, &opened);
	if (err != NSD_OK)
		return err;
	err = verify_append(listeners, &opened, conf->server.server_count);
	if (err == NSD_OK)
		free(opened.items);
	else
		sockets_close(&opened);
	return err;
}
