/* proxies.h - the proxies that may send requests for clients, and the ports for
 * them: proxy-protocol-port and allow-proxy of nsd.conf. Main makes it, for the
 * workers that it forks; each takes the list from the settings. */
#ifndef WORKER_PROXIES_H
#define WORKER_PROXIES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"
#include "conf/conf.h"
#include "settings/acl.h"
#include "settings/settings.h"
#include "worker/limit_log.h"

struct proxies {
	uint32_t port_count;
	uint16_t *ports;
	struct acl_list allow; /* without an element: anybody may */
};

/* Copies the ports, which wait for the next start: it is never released.
 * returns NSD_OK with *proxies; NSD_E_MEMORY. */
enum nsd_err proxies_create(const struct conf_server *options,
	struct proxies **proxies) MUST_USE;

/* In a worker: takes allow-proxy from settings. returns NSD_OK; NSD_E_MEMORY:
 * the list is as it was. */
enum nsd_err proxies_set(struct proxies *proxies,
	const struct settings *settings) MUST_USE;

/* True if a bound socket is for proxies. Cost: a system call. */
bool proxies_has_port(const struct proxies *proxies, int fd);

/* True if a proxy at this address may name its clients; else the attempt is
 * logged. Cost: as acl_list_allows. */
bool proxies_allow(const struct proxies *proxies,
	const struct sockaddr_storage *peer, struct limit_log *log);

#endif
