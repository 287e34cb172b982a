/* sandbox_calls.c - the one table of system calls: which role may make which,
 * with which arguments, and what for. */
#include "config.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "ipc/message.h"
#include "process/sandbox_calls.h"

/* For the table only. */
#define LOADER ROLE_LOADER
#define WORKER ROLE_WORKER
#define XFRD ROLE_XFRD
#define WRITER ROLE_WRITER
/* The verifier is in none: its programs would be confined, too. */
#define COLLECTOR ROLE_COLLECTOR
#define ALL (LOADER | WORKER | XFRD | WRITER | COLLECTOR)
#define MAY SANDBOX_ALLOW
#define KILL SANDBOX_KILL
#define IF(...) {__VA_ARGS__}
#define ANY {{SANDBOX_NO_CONDITION, 0, 0, 0}}
#define IS(argument, value) {SANDBOX_IS, argument, 0, value}
#define NONE_OF(argument, mask) {SANDBOX_BITS, argument, mask, 0}
#define ALL_OF(argument, mask) {SANDBOX_BITS, argument, mask, mask}
#define BITS(argument, mask, value) {SANDBOX_BITS, argument, mask, value}
#define SELF(argument) {SANDBOX_SELF, argument, 0, 0}

/* The flags of a new process or thread come second on one machine. */
#ifdef __s390__
#define CLONE_FLAGS 1
#else
#define CLONE_FLAGS 0
#endif
/* Flags of open that could alter the file, or make it. */
#define ALTERS (O_ACCMODE | O_CREAT | O_TRUNC)
/* Constants that some headers lack. */
#define EMPTY_PATH 0x1000 /* AT_EMPTY_PATH */
#define KIND_OF_MAP 0x0f  /* MAP_TYPE */

/*
 * A row lets a call through, or kills the process that makes it. A row without
 * a condition costs next to nothing: the kernel keeps a bitmap of such calls
 * (since Linux 5.11). Calls for each batch of queries should have none.
 *
 * C libraries differ in the call that they make for a function. All such calls
 * are listed: of glibc from 2.31 on and of musl, on all machines.
 */
const struct sandbox_call sandbox_calls[] = {
	/* The event loop. */
	{"epoll_wait", ALL, MAY, ANY, "waits for what comes"},
	{"epoll_pwait", ALL, MAY, ANY, "the same, elsewhere"},
	{"epoll_pwait2", ALL, MAY, ANY, "the same, of a newer libevent"},
	{"epoll_ctl", ALL, MAY, ANY, "what is waited for"},
	{"read", ALL, MAY, ANY, "events; the loader: files"},
	{"close", ALL, MAY, ANY, "connections, files"},
	{"restart_syscall", ALL, MAY, ANY, "waits on after a SIGSTOP"},
	{"clock_gettime", ALL, MAY, ANY, "time used; where there is no vDSO"},
	{"clock_gettime64", ALL, MAY, ANY, "the same, elsewhere"},
	{"gettimeofday", ALL, MAY, ANY, "the same, elsewhere"},
	{"time", ALL, MAY, ANY, "the same, elsewhere"},

	/* Queries. */
	{"recvmmsg", WORKER, MAY, ANY, "reads a batch"},
	{"recvmmsg_time64", WORKER, MAY, ANY, "the same, elsewhere"},
	{"sendmmsg", WORKER, MAY, ANY, "answers a batch"},
	{"accept4", WORKER, MAY, ANY, "TCP; whoever asks by the lifeline"},
	{"recvfrom", WORKER, MAY, ANY, "TCP"},
	/* SHUT_WR only: the sockets are main's too, and outlast us. */
	{"shutdown", WORKER | XFRD | COLLECTOR, MAY, IF(IS(1, SHUT_WR)),
		"ends a TCP connection"},
	/* Sockets that a worker is lent. */
	{"epoll_create1", WORKER, MAY, ANY, "for their connections"},
	{"getsockname", WORKER, MAY, ANY, "is it the address of all? a port of proxies?"},
	{"getsockopt", WORKER, MAY, ANY, "family, losses; whose the peer is"},
	{"setsockopt", WORKER, MAY, IF(IS(1, SOL_IP), IS(2, IP_MTU_DISCOVER)), "DF"},
	{"setsockopt", WORKER, MAY, IF(IS(1, SOL_IP), IS(2, IP_PKTINFO)), "our address"},
	{"setsockopt", WORKER, MAY, IF(IS(1, SOL_IPV6), IS(2, IPV6_RECVPKTINFO)), "our address"},
	{"geteuid", WORKER, MAY, ANY, "is the one at the lifeline ours?"},
	{"prctl", WORKER, MAY, IF(IS(0, PR_SET_NAME)),
		"stands by no more: its name"},

	/* An UPDATE that is longer than a message to xfrd. */
	{"memfd_create", WORKER, MAY, IF(IS(1, MFD_CLOEXEC)), "a file for it"},

	/* Messages between the processes. */
	{"recvmsg", ALL, MAY, ANY, "from main and other roles"},
	{"sendmsg", ALL, MAY, ANY, "to main and other roles; replies over TCP"},
	{"dup", ALL, MAY, ANY, "keeps a descriptor of a message"},
	{"dup3", ALL, MAY, ANY, "puts another log file in place"},
	{"fcntl", ALL, MAY, IF(IS(1, F_DUPFD_CLOEXEC)), "keeps a descriptor"},
	{"fcntl64", ALL, MAY, IF(IS(1, F_DUPFD_CLOEXEC)), "the same, elsewhere"},
	{"fcntl", ALL, MAY, IF(IS(1, F_GETFL)), "of libraries"},
	{"fcntl64", ALL, MAY, IF(IS(1, F_GETFL)), "the same, elsewhere"},
	{"fcntl", ALL, MAY, IF(IS(1, F_SETFD)), "musl's F_DUPFD_CLOEXEC"},
	{"fcntl64", ALL, MAY, IF(IS(1, F_SETFD)), "the same, elsewhere"},

	/* The log. */
	{"write", ALL, MAY, ANY, "the log; events of threads"},
	{"poll", ALL, MAY, ANY, "has it room? Has a UDP socket of a worker?"},
	{"ppoll", ALL, MAY, ANY, "the same, elsewhere"},
	{"ppoll_time64", ALL, MAY, ANY, "the same, elsewhere"},
	{"writev", ALL, MAY, ANY, "what the C library says before it aborts"},
	{"sendto", ALL, MAY, ANY, "syslog, on the socket from before; has a"
		" client of nsd-control gone?"},
	{"fstat", ALL, MAY, ANY, "is it a pipe? The loader: files"},
	{"fstat64", ALL, MAY, ANY, "the same, elsewhere"},
	{"newfstatat", ALL, MAY, IF(ALL_OF(3, EMPTY_PATH)), "the same"},
	{"fstatat64", ALL, MAY, IF(ALL_OF(3, EMPTY_PATH)), "the same, elsewhere"},
	{"getpid", ALL, MAY, ANY, "in each line"},

	/* Memory. Nothing that can be run; what is shared, was before. */
	{"mmap", ALL, MAY, IF(NONE_OF(2, PROT_EXEC), BITS(3, KIND_OF_MAP, MAP_PRIVATE)), "memory"},
	{"mmap2", ALL, MAY, IF(NONE_OF(2, PROT_EXEC), BITS(3, KIND_OF_MAP, MAP_PRIVATE)), "memory"},
	{"mmap", LOADER, MAY, IF(NONE_OF(2, PROT_EXEC), BITS(3, KIND_OF_MAP, MAP_SHARED)), "the store"},
	{"mmap2", LOADER, MAY, IF(NONE_OF(2, PROT_EXEC), BITS(3, KIND_OF_MAP, MAP_SHARED)), "the store"},
	{"mprotect", ALL, MAY, IF(NONE_OF(2, PROT_EXEC)), "malloc; stacks of threads"},
	{"munmap", ALL, MAY, ANY, "memory"},
	{"mremap", ALL, MAY, ANY, "realloc"},
	{"brk", ALL, MAY, ANY, "malloc"},
	{"madvise", ALL, MAY, ANY, "gives memory back; huge pages"},
	{"futex", ALL, MAY, ANY, "locks"},
	{"futex_time64", ALL, MAY, ANY, "the same, elsewhere"},
	{"getrandom", ALL, MAY, ANY, "malloc; keys of hashes"},

	/* The end. */
	{"exit_group", ALL, MAY, ANY, "ends"},
	{"exit", ALL, MAY, ANY, "ends a thread"},
	{"gettid", ALL, MAY, ANY, "abort"},
	{"tgkill", ALL, MAY, IF(SELF(0)), "abort: a signal to nobody else"},
	{"tkill", ALL, MAY, IF(SELF(0)), "the same, musl's"},
	{"rt_sigaction", ALL, MAY, ANY, "abort"},
	{"rt_sigprocmask", ALL, MAY, ANY, "abort; new threads"},
	{"rt_sigreturn", ALL, MAY, ANY, "the end of a signal's handler"},
	{"sigreturn", ALL, MAY, ANY, "the same, elsewhere"},

	/* Connections of xfrd to other servers. */
	{"socket", XFRD, MAY, IF(IS(0, AF_INET)), "to a primary"},
	{"socket", XFRD, MAY, IF(IS(0, AF_INET6)), "to a primary"},
	{"connect", XFRD, MAY, ANY, "to a primary"},
	{"bind", XFRD, MAY, ANY, "outgoing-interface"},
	{"setsockopt", XFRD, MAY, IF(IS(1, IPPROTO_TCP), IS(2, TCP_MAXSEG)), "outgoing-tcp-mss"},
	{"setsockopt", XFRD, MAY, IF(IS(1, SOL_SOCKET), IS(2, SO_REUSEADDR)), "outgoing-interface"},
	{"getsockopt", XFRD | COLLECTOR, MAY, IF(IS(1, SOL_SOCKET), IS(2, SO_ERROR)), "is it connected?"},
	{"getsockopt", XFRD, MAY, IF(IS(1, SOL_SOCKET), IS(2, SO_PEERCRED)), "whose is a command?"},
	{"ioctl", XFRD | COLLECTOR, MAY, IF(IS(1, FIONREAD)), "libevent: how much has come?"},
	{"readv", XFRD | COLLECTOR, MAY, ANY, "libevent: messages over TCP"},
	{"recvfrom", XFRD, MAY, ANY, "messages over UDP"},

	/* The control channel, whose listeners main has opened. */
	{"accept4", XFRD, MAY, ANY, "whoever controls us, or wants metrics"},

	/* The journal, in folders of its own (landlock). */
	{"openat", XFRD, MAY, ANY, "its files"},
	{"open", XFRD, MAY, ANY, "the same, musl's"},
	{"unlink", XFRD, MAY, ANY, "what is not needed any more"},
	{"unlinkat", XFRD, MAY, ANY, "the same, elsewhere"},
	{"rename", XFRD, MAY, ANY, "what is whole"},
	{"renameat", XFRD, MAY, ANY, "the same, elsewhere"},
	{"renameat2", XFRD, MAY, ANY, "the same, elsewhere"},
	{"pread64", XFRD, MAY, ANY, "its files"},
	{"pwrite64", XFRD, MAY, ANY, "its files"},
	{"fdatasync", XFRD, MAY, ANY, "before it is served"},
	{"fsync", XFRD, MAY, ANY, "the same"},
	{"clone", XFRD, MAY, IF(ALL_OF(CLONE_FLAGS, CLONE_THREAD)), "a thread, no process"},
	{"set_robust_list", XFRD, MAY, ANY, "a new thread"},
	{"rseq", XFRD, MAY, ANY, "a new thread"},

	/* Zone files that are written, in folders of their own (landlock): made
	 * anew and renamed. Existing files are not opened. */
	{"openat", WRITER, MAY, IF(ALL_OF(2, O_CREAT | O_EXCL | O_NOFOLLOW)), "FILE~"},
	{"open", WRITER, MAY, IF(ALL_OF(1, O_CREAT | O_EXCL | O_NOFOLLOW)), "the same, musl's"},
	{"openat", WRITER, MAY, IF(BITS(2, O_ACCMODE | O_DIRECTORY, O_DIRECTORY)), "a folder, to flush it"},
	{"open", WRITER, MAY, IF(BITS(1, O_ACCMODE | O_DIRECTORY, O_DIRECTORY)), "the same, musl's"},
	{"unlink", WRITER, MAY, ANY, "what was left there"},
	{"unlinkat", WRITER, MAY, ANY, "the same, elsewhere"},
	{"rename", WRITER, MAY, ANY, "what is whole"},
	{"renameat", WRITER, MAY, ANY, "the same, elsewhere"},
	{"renameat2", WRITER, MAY, ANY, "the same, elsewhere"},
	{"mkdir", WRITER, MAY, ANY, "folders of the path"},
	{"mkdirat", WRITER, MAY, ANY, "the same, elsewhere"},
	{"fsync", WRITER, MAY, ANY, "before it is renamed"},

	/* A fact for workers' answers. */
	{"uname", LOADER, MAY, ANY, "the host's name, for id.server"},

	/* Zone files. Nothing may be made, altered or removed by its path. */
	{"openat", LOADER, MAY, IF(NONE_OF(2, ALTERS)), "reads zone files"},
	{"open", LOADER, MAY, IF(NONE_OF(1, ALTERS)), "the same, musl's"},
	{"newfstatat", LOADER | WRITER | XFRD, MAY, ANY, "has the file changed?"},
	{"fstatat64", LOADER | WRITER | XFRD, MAY, ANY, "the same, elsewhere"},
	{"stat", LOADER | WRITER | XFRD, MAY, ANY, "the same, musl's"},
	{"stat64", LOADER | WRITER | XFRD, MAY, ANY, "the same, elsewhere"},
	{"lstat", LOADER, MAY, ANY, "the same, musl's"},
	{"lstat64", LOADER, MAY, ANY, "the same, elsewhere"},
	{"statx", LOADER | WRITER | XFRD, MAY, ANY, "the same, elsewhere"},
	{"getdents64", LOADER, MAY, ANY, "the folder of the journal"},
	{"getdents64", XFRD, MAY, ANY, "folders of zone files"},
	{"inotify_init1", XFRD, MAY, ANY, "the same: what changes there"},
	{"inotify_add_watch", XFRD, MAY, ANY, "the same"},
	{"inotify_rm_watch", XFRD, MAY, ANY, "the same"},
	{"pread64", LOADER, MAY, ANY, "pieces of a file; updates"},
	{"fcntl", LOADER, MAY, IF(IS(1, F_SETFL)), "waits for a stream"},
	{"fcntl64", LOADER, MAY, IF(IS(1, F_SETFL)), "the same, elsewhere"},
	{"ioctl", LOADER, MAY, IF(IS(1, TCGETS)), "is it a terminal?"},
	{"ioctl", LOADER, MAY, IF(IS(1, TIOCGWINSZ)), "the same, musl's"},
	{"nanosleep", LOADER, MAY, ANY, "waits for a lease, for readers"},
	{"clock_nanosleep", LOADER, MAY, ANY, "the same"},
	{"clock_nanosleep_time64", LOADER, MAY, ANY, "the same, elsewhere"},

	/* The store, which main has opened. */
	{"ftruncate", LOADER, MAY, ANY, "its file grows"},
	{"ftruncate64", LOADER, MAY, ANY, "the same, elsewhere"},
	{"fallocate", LOADER, MAY, ANY, "takes pages of it, and gives them back"},
	{"pwrite64", LOADER, MAY, ANY, "closes it, or writes it to a file"},
	{"fsync", LOADER, MAY, ANY, "before it is called clean"},
	{"fstatfs", LOADER, MAY, ANY, "what it has run out of"},
	{"fstatfs64", LOADER, MAY, ANY, "the same, elsewhere"},
	{"fstatfs", XFRD, MAY, ANY, "has the journal room for a large zone?"},
	{"fstatfs64", XFRD, MAY, ANY, "the same, elsewhere"},
	{"prlimit64", LOADER, MAY, IF(IS(0, 0), IS(2, 0)), "its own limits: which was met?"},
	{"getrlimit", LOADER, MAY, ANY, "the same, elsewhere"},
	{"ugetrlimit", LOADER, MAY, ANY, "the same, elsewhere"},

	/* Threads of the loader. clone3 hides its flags from us; without it C
	 * libraries take clone. */
	{"clone", LOADER, MAY, IF(ALL_OF(CLONE_FLAGS, CLONE_THREAD)), "a thread, no process"},
	{"set_robust_list", LOADER, MAY, ANY, "a new thread"},
	{"rseq", LOADER, MAY, ANY, "a new thread"},
	{"eventfd2", LOADER, MAY, ANY, "threads wake the loop"},
	{"sched_yield", LOADER, MAY, ANY, "waits for a lock"},
	{"sched_getaffinity", LOADER, MAY, ANY, "how many threads to start"},
	{"sched_getscheduler", LOADER, MAY, IF(IS(0, 0)), "its own priority"},
	{"sched_setattr", LOADER, MAY, IF(IS(0, 0)), "its own priority"},
	{"getpriority", LOADER, MAY, IF(IS(0, PRIO_PROCESS), IS(1, 0)), "its own priority"},
	{"sysinfo", LOADER, MAY, ANY, "glibc's qsort: how much memory is there?"},

	/* Calls that no library makes on its own. */
	{"execve", ALL, KILL, ANY, "another program"},
	{"execveat", ALL, KILL, ANY, "another program"},
	{"clone", ALL, KILL, IF(NONE_OF(CLONE_FLAGS, CLONE_THREAD)), "another process"},
	{"fork", ALL, KILL, ANY, "another process"},
	{"vfork", ALL, KILL, ANY, "another process"},
	{"ptrace", ALL, KILL, ANY, "looks into another process"},
	{"process_vm_readv", ALL, KILL, ANY, "looks into another process"},
	{"process_vm_writev", ALL, KILL, ANY, "writes into another process"},
	{"pidfd_getfd", ALL, KILL, ANY, "takes another's descriptor"},
	{"setuid", ALL, KILL, ANY, "another user"},
	{"setgid", ALL, KILL, ANY, "another user"},
	{"setreuid", ALL, KILL, ANY, "another user"},
	{"setregid", ALL, KILL, ANY, "another user"},
	{"setresuid", ALL, KILL, ANY, "another user"},
	{"setresgid", ALL, KILL, ANY, "another user"},
	{"setgroups", ALL, KILL, ANY, "another user"},
	{"setns", ALL, KILL, ANY, "another name space"},
	{"unshare", ALL, KILL, ANY, "another name space"},
	{"mount", ALL, KILL, ANY, "another file system"},
	{"pivot_root", ALL, KILL, ANY, "another file system"},
	{"chroot", ALL, KILL, ANY, "another file system"},
	{"open_by_handle_at", ALL, KILL, ANY, "a file without its path"},
	{"bpf", ALL, KILL, ANY, "a program in the kernel"},
	{"init_module", ALL, KILL, ANY, "a program in the kernel"},
	{"finit_module", ALL, KILL, ANY, "a program in the kernel"},
	{"kexec_load", ALL, KILL, ANY, "another kernel"},
	{"kexec_file_load", ALL, KILL, ANY, "another kernel"},
	{NULL, 0, MAY, ANY, NULL},
};
