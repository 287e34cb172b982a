/* sink.h - payloads of the messages between main and the collector. */
#ifndef IPC_SINK_H
#define IPC_SINK_H

#include <stdint.h>

/* The places that the collector writes to. */
enum ipc_sink_which {
	SINK_DNSTAP,    /* the receiver of dnstap */
	SINK_QUERY_LOG, /* the file of the query log */
	SINK_COUNT
};

/* A WANT_SINK: which. */
struct ipc_want_sink {
	uint32_t which; /* enum ipc_sink_which */
	uint32_t unused;
};

/* A SINK: the descriptor comes along, unless there is an error. A socket may
 * still be connecting. */
struct ipc_sink {
	uint32_t which;
	uint32_t error;     /* errno; 0: none; EALREADY: asked too soon */
	uint32_t is_syslog; /* not 0: of the query log, a socket of syslog */
	uint32_t is_stream; /* not 0: which has a NUL behind each line */
};

#endif
