/*
 * steer.c - which of the sockets on an address gets a packet; see
 * doc/decisions/0055.
 */
#include "config.h"

#include "net/socket.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>

/* No socket has this number: the kernel chooses by the packet's hash. */
#define NO_SOCKET UINT32_MAX

enum nsd_err
net_steer_by_cpu(int fd, const uint32_t *cpus, unsigned count)
{
	/* Load the processor's number; for each socket compare and return its
	 * index; return none. */
	size_t len = 2 * (size_t)count + 2, at = 0;
	struct sock_filter *code;
	struct sock_fprog program;
	int failed, error;

	if (count == 0 || len > BPF_MAXINSNS)
		return NSD_E_LIMIT;
	code = calloc(len, sizeof(*code));
	if (code == NULL)
		return NSD_E_MEMORY;
	code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		(uint32_t)(SKF_AD_OFF + SKF_AD_CPU));
	for (unsigned i = 0; i < count; i++) {
		code[at++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, cpus[i], 0, 1);
		code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, i);
	}
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, NO_SOCKET);
	program = (struct sock_fprog){ .len = (unsigned short)at,
		.filter = code };
	failed = setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF,
		&program, sizeof(program));
	error = errno;
	free(code);
	errno = error;
	return failed == 0 ? NSD_OK : NSD_E_SYSTEM;
}
