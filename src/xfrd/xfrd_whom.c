/* xfrd_whom.c - the server that a question goes to, and our address for it. */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "net/socket.h"
#include "xfrd/xfrd.h"

#define DNS_PORT 53
#define TLS_PORT 853 /* RFC 9103 section 7.3 */

void
xfrd_whom_make_address(uint8_t family, const uint8_t *octets, uint16_t port,
	struct sockaddr_storage *address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;

	memset(address, 0, sizeof(*address));
	if (family == 4) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, octets, 4);
	} else {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		memcpy(&v6->sin6_addr, octets, 16);
	}
}

uint16_t
xfrd_whom_get_port(uint16_t port, bool tls)
{
	return port != 0 ? port : tls ? TLS_PORT : DNS_PORT;
}

static void
job_get_address(const struct xfrd_job *job, struct sockaddr_storage *address)
{
	bool tls = job->action.act != XFR_NOTIFY
		&& job->whom.tls_auth_name != NULL;

	xfrd_whom_make_address(job->whom.family, job->whom.address,
		xfrd_whom_get_port(job->whom.port, tls), address);
}

bool
xfrd_job_get_server(const struct xfrd_job *job, bool tcp, unsigned nth,
	struct xfrd_ask_server *server)
{
	memset(server, 0, sizeof(*server));
	server->tcp = tcp;
	if (tcp && job->whom.tls_auth_name != NULL)
		server->tls = xfrd_tls_find(&job->xfrd->tls,
			job->whom.tls_auth_name);
	job_get_address(job, &server->to);
	if (nth >= job->ours_count)
		return nth == 0;
	xfrd_whom_make_address(job->whom.family, job->ours[nth].address,
		job->ours[nth].port, &server->from);
	return true;
}

const char *
xfrd_job_print_server(const struct xfrd_job *job, char *text)
{
	struct sockaddr_storage address;

	job_get_address(job, &address);
	net_print_address(&address, true, text);
	return text;
}
