/* xfrd_whom.c - whom a question goes to, and from which of our addresses. */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "net/socket.h"
#include "xfrd/xfrd.h"

#define DNS_PORT 53
#define TLS_PORT 853 /* RFC 9103 section 7.3 */

static void
job_make_address(const struct conf_acl *from, uint16_t port,
	struct sockaddr_storage *address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;

	memset(address, 0, sizeof(*address));
	if (from->port != 0)
		port = from->port;
	if (from->family == 4) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, from->address, 4);
	} else {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		memcpy(&v6->sin6_addr, from->address, 16);
	}
}

static uint16_t
job_find_port(const struct xfrd_job *job)
{
	return job->action.act != XFR_NOTIFY
			&& job->server->tls_auth_name != NULL
		? TLS_PORT
		: DNS_PORT;
}

bool
xfrd_job_get_server(const struct xfrd_job *job, bool tcp, unsigned nth,
	struct xfrd_ask_server *server)
{
	unsigned count = 0;
	const struct conf_acls *ours = &job->zone->options->outgoing_interface;

	memset(server, 0, sizeof(*server));
	server->tcp = tcp;
	if (tcp && job->server->tls_auth_name != NULL)
		server->tls = xfrd_tls_find(&job->xfrd->tls,
			job->xfrd->role.server->conf, job->server->tls_auth);
	job_make_address(job->server, job_find_port(job), &server->to);
	for (uint32_t i = 0; i < ours->count; i++)
		if (ours->items[i].family == job->server->family
			&& count++ == nth) {
			job_make_address(&ours->items[i], 0, &server->from);
			return true;
		}
	return nth == 0;
}

const char *
xfrd_job_print_server(const struct xfrd_job *job, char *text)
{
	struct sockaddr_storage address;

	job_make_address(job->server, job_find_port(job), &address);
	net_print_address(&address, true, text);
	return text;
}
