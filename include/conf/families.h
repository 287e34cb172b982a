/* families.h - the families of addresses that a configuration has. */
#ifndef CONF_FAMILIES_H
#define CONF_FAMILIES_H

#include <stdbool.h>

#include "conf/conf.h"

/* True if the server listens on addresses of the family. With neither do-ip4
 * nor do-ip6 it has both, as NSD has for queries. */
static inline bool
conf_server_has_ip4(const struct conf_server *server)
{
	return server->do_ip4 || !server->do_ip6;
}

static inline bool
conf_server_has_ip6(const struct conf_server *server)
{
	return server->do_ip6 || !server->do_ip4;
}

#endif
