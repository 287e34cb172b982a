/* failing_socket.h - sendmsg and recvmsg that fail when a test says so; for
 * programs that are linked with WRAP_SOCKET. */
#ifndef LIB_FAILING_SOCKET_H
#define LIB_FAILING_SOCKET_H

/* Not 0: each call fails with this errno, and does nothing. */
extern int failing_sendmsg, failing_recvmsg;

#endif
