/* client.c - the sender of a command. */
#include "config.h"

#include <arpa/inet.h>
#include <event2/bufferevent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "ctl/inside.h"

/* Finds the user of a client on this machine. False: it cannot be found. */
static bool
client_find_user(const struct ctl_call *call, unsigned long *uid)
{
#ifdef SO_PEERCRED
	struct ucred cred = {.uid = 0};
	socklen_t len = sizeof(cred);

	if (call->stream == NULL || getsockopt(
			bufferevent_getfd(call->stream), SOL_SOCKET,
			SO_PEERCRED, &cred, &len)
			!= 0)
		return false;
	*uid = cred.uid;
	return true;
#else
	return false;
#endif
}

const char *
ctl_print_client(const struct ctl_call *call, char *out, size_t size)
{
	char address[INET6_ADDRSTRLEN] = "?";
	const struct sockaddr *peer = (const void *)&call->peer;
	unsigned long uid;

	if (peer->sa_family == AF_INET || peer->sa_family == AF_INET6) {
		const void *octets = peer->sa_family == AF_INET
			? (const void *)&((const struct sockaddr_in *)
				(const void *)peer)->sin_addr
			: &((const struct sockaddr_in6 *)
				(const void *)peer)->sin6_addr;

		(void)inet_ntop(peer->sa_family, octets, address,
			sizeof(address));
		snprintf(out, size, "%s", address);
	} else if (client_find_user(call, &uid)) {
		snprintf(out, size, "uid %lu", uid);
	} else {
		snprintf(out, size, "a local user");
	}
	return out;
}
