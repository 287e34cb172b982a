/*
 * message.h - the one table of the messages between the processes.
 *
 * A row says: name, who sends, who receives, octets of payload (least and
 * most), how many descriptors travel with it at most, meaning. The channel
 * refuses to send or to receive what does not fit its row.
 */
#ifndef IPC_MESSAGE_H
#define IPC_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

enum ipc_role {
	ROLE_MAIN = 1,
	ROLE_LOADER = 2,
	ROLE_WORKER = 4,
	ROLE_XFRD = 8,
};

#define ROLE_CHILDREN (ROLE_LOADER | ROLE_WORKER | ROLE_XFRD)

/* How a pass over the zone files went. */
struct ipc_load_result {
	uint64_t zones;   /* looked at */
	uint64_t read;    /* published anew */
	uint64_t failed;  /* not read; an older version may be served */
};

/* Which worker's sockets a worker is lent, or gives back. */
struct ipc_adopt {
	uint32_t server;  /* whose sockets, counted from 0 */
	uint32_t tcp_map; /* bit i: the i-th descriptor is a TCP socket */
};

/* Changes of a zone, in the file that comes with the message. */
struct ipc_update {
	uint64_t ticket; /* comes back */
	uint64_t len;    /* octets of the file */
};

/* What became of an ipc_update. */
struct ipc_updated {
	uint64_t ticket;
	uint32_t err;    /* enum nsd_err; NSD_E_AGAIN: too many changes wait
			  * while the zone is compared with its file */
	uint32_t names;  /* nodes made anew */
	uint64_t added;  /* records */
	uint64_t removed;
};

/* A zone that comes or goes. The payload ends where the text ends. */
#define IPC_ZONE_TEXT_MAX 2032
struct ipc_zone {
	uint64_t ticket; /* comes back */
	uint32_t err;    /* of ZONE_CHANGED: enum nsd_err */
	uint32_t loaded; /* of ZONE_CHANGED: not 0: its file is served */
	/* The zone's name as it would be written and its pattern's name, each
	 * with a final NUL. An empty pattern: the zone goes. */
	char text[IPC_ZONE_TEXT_MAX];
};

#define IPC_NONE 0
#define IPC_ZONE_MIN (offsetof(struct ipc_zone, text) + 2)
#define IPC_FDS_MAX 30

/*   name, sender, receiver, payload least, most, descriptors, meaning */
#define IPC_MESSAGES(X)                                                      \
	X(LOG_REOPEN, ROLE_MAIN, ROLE_CHILDREN, IPC_NONE, IPC_NONE, 1,       \
		"write to this descriptor of the log file from now on")      \
	X(RELOAD, ROLE_MAIN, ROLE_LOADER, IPC_NONE, IPC_NONE, 0,             \
		"read the zone files that have changed")                     \
	X(LISTED, ROLE_LOADER, ROLE_MAIN, IPC_NONE, IPC_NONE, 0,             \
		"the names of all zones are published; what is not read "    \
		"yet answers SERVFAIL")                                      \
	X(LOADED, ROLE_LOADER, ROLE_MAIN, sizeof(struct ipc_load_result),    \
		sizeof(struct ipc_load_result), 0,                           \
		"the first pass over all zones is done")                     \
	X(RELOADED, ROLE_LOADER, ROLE_MAIN, sizeof(struct ipc_load_result),  \
		sizeof(struct ipc_load_result), 0,                           \
		"a RELOAD is done")                                          \
	X(DAMAGED, ROLE_LOADER, ROLE_MAIN, IPC_NONE, IPC_NONE, 0,            \
		"the store cannot be taken over: another is needed")         \
	X(DATABASE, ROLE_MAIN, ROLE_LOADER, IPC_NONE, IPC_NONE, 1,           \
		"leave what the store in memory holds in this file at the"   \
		" end: that of a damaged one")                               \
	X(UPDATE, ROLE_MAIN, ROLE_LOADER, sizeof(struct ipc_update),         \
		sizeof(struct ipc_update), 1,                                \
		"changes of a zone (load/load_update.h), to be published"    \
		" at once")                                                  \
	X(UPDATED, ROLE_LOADER, ROLE_MAIN, sizeof(struct ipc_updated),       \
		sizeof(struct ipc_updated), 0,                               \
		"what became of an UPDATE")                                  \
	X(CHANGE_ZONE, ROLE_MAIN, ROLE_LOADER, IPC_ZONE_MIN,                 \
		sizeof(struct ipc_zone), 0,                                  \
		"a zone with the options of a pattern is to be served, or"   \
		" is not to be any more")                                    \
	X(ZONE_CHANGED, ROLE_LOADER, ROLE_MAIN, IPC_ZONE_MIN,                \
		sizeof(struct ipc_zone), 0,                                  \
		"a CHANGE_ZONE is published, or has failed")                 \
	X(SERVING, ROLE_WORKER, ROLE_MAIN, IPC_NONE, IPC_NONE, 0,            \
		"the sockets are being read from now on")                    \
	X(STATISTICS, ROLE_MAIN, ROLE_WORKER | ROLE_LOADER, IPC_NONE,        \
		IPC_NONE, 0, "write the counters to the log")                \
	X(ADOPT, ROLE_MAIN, ROLE_WORKER, sizeof(struct ipc_adopt),           \
		sizeof(struct ipc_adopt), IPC_FDS_MAX,                       \
		"serve the sockets of a worker that is down, too")           \
	X(RELEASE, ROLE_MAIN, ROLE_WORKER, sizeof(struct ipc_adopt),         \
		sizeof(struct ipc_adopt), 0,                                 \
		"leave adopted sockets to their worker again")

#define IPC_ENUM(name, sender, receiver, least, most, fds, meaning) IPC_##name,
enum ipc_type { IPC_MESSAGES(IPC_ENUM) IPC_TYPE_COUNT };
#undef IPC_ENUM

#define IPC_PAYLOAD_MAX sizeof(struct ipc_zone)

struct ipc_row {
	const char *name;
	const char *meaning;
	uint8_t sender;   /* enum ipc_role, or-ed */
	uint8_t receiver;
	uint16_t payload_min;
	uint16_t payload_max;
	uint16_t fds_max;
};

extern const struct ipc_row ipc_rows[IPC_TYPE_COUNT];

#endif
