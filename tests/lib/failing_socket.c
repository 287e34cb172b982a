/* failing_socket.c - sendmsg and recvmsg that fail when a test says so. */
#include "config.h"

#include <errno.h>
#include <sys/socket.h>

#include "lib/failing_socket.h"

int failing_sendmsg, failing_recvmsg;

ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __real_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags);

ssize_t
__wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	if (failing_sendmsg == 0)
		return __real_sendmsg(fd, msg, flags);
	errno = failing_sendmsg;
	return -1;
}

ssize_t
__wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
	if (failing_recvmsg == 0)
		return __real_recvmsg(fd, msg, flags);
	errno = failing_recvmsg;
	return -1;
}
