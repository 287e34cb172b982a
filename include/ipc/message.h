/*
 * message.h - the one table of the messages between the processes.
 *
 * A row has: name, sender, receiver, octets of payload (least and most), the
 * most descriptors that travel with it, credits, answer, meaning. The channel
 * refuses to send or to receive a message that does not fit its row.
 *
 * Credits (credits.h): messages of this kind that one side may have sent and
 * the other is not done with; 0: any number. Messages of workers to other
 * children have credits, and so have requests.
 *
 * Answer: the message with the result, which bears the ticket of the request.
 */
#ifndef IPC_MESSAGE_H
#define IPC_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/trial.h"
#include "ipc/command.h"
#include "ipc/request.h"
#include "ipc/sink.h"
#include "ipc/verify.h"

enum ipc_role {
	ROLE_MAIN = 1,
	ROLE_LOADER = 2,
	ROLE_WORKER = 4,
	ROLE_XFRD = 8,
	ROLE_WRITER = 16,
	ROLE_VERIFIER = 32,
	ROLE_COLLECTOR = 64,
};

#define ROLE_CHILDREN                                                        \
	(ROLE_LOADER | ROLE_WORKER | ROLE_XFRD | ROLE_WRITER | ROLE_VERIFIER   \
		| ROLE_COLLECTOR)

/* The result of a pass over the zone files. */
struct ipc_load_result {
	uint64_t zones;   /* looked at */
	uint64_t read;    /* published anew */
	uint64_t failed;  /* not read; an older version may be served */
};

/* The result of the first pass over the zones of a configuration. The payload
 * ends where the text ends. */
#define IPC_REASONS_MAX 2000
struct ipc_loaded {
	struct ipc_load_result result;
	uint64_t conf;   /* the number of the configuration that it was over */
	uint32_t unread; /* zones that are not as their files say, and had not
			  * failed so before: in a pass for another nsd.conf */
	char reasons[IPC_REASONS_MAX]; /* lines about them; no final NUL */
};

/* Another configuration. The first descriptor is the image of its options. For
 * the loader the second one is the image of its zones; for xfrd the descriptors
 * behind the first are listening sockets of operators, with a bit in each map,
 * from bit 0 on. */
struct ipc_configure {
	uint64_t number;      /* of server.conf_number */
	uint32_t control_map; /* sockets of the control channel, not of
			       * metrics */
	uint32_t plain_map;   /* sockets without TLS */
	uint32_t more;        /* 1: another such message has more sockets */
	uint32_t unused;      /* 0 */
};

/* Sockets that a worker is lent by another, or gives back. */
struct ipc_adopt {
	uint32_t server;  /* the owner of the sockets, counted from 0 */
	uint32_t tcp_map; /* bit i: the i-th descriptor is a TCP socket */
	uint32_t tls_map; /* connections begin with TLS */
	uint32_t mutual_map; /* and clients show a certificate */
};

/* Keys and certificates, one behind the other in the file that comes with the
 * message. */
#define IPC_TLS_TEXT_COUNT 5
struct ipc_tls_texts {
	uint32_t len[IPC_TLS_TEXT_COUNT]; /* octets, by enum tls_server_text,
					   * of xfrd by enum control_pem */
};

/* The checks of a version before it is served, in their order; bits. */
enum ipc_check {
	IPC_CHECK_CHANGE = 1,   /* xfr-max-change */
	IPC_CHECK_DIGEST = 2,   /* zonemd-verify */
	IPC_CHECK_SIGNED = 4,   /* dnssec-verify */
	IPC_CHECK_VERIFIER = 8, /* verifier */
	IPC_CHECK_ALL = 15,
};

/* Changes of a zone, in the file that comes with the message. */
struct ipc_update {
	struct ipc_request request;
	uint64_t offset; /* begin of the changes in the file */
	uint64_t len;    /* octets */
	uint64_t is_back; /* not 0: a whole zone that may be older than the
			   * served one. When it comes again, a newer served
			   * version does not show that it was published */
	uint64_t accepted; /* enum ipc_check, or-ed: an operator takes the
			    * version without these checks */
	uint64_t has_sums; /* not 0: the octets lie in the journal, with its
			    * sums behind them, and may be older than this
			    * xfrd: they are checked as they are read */
};

/* The result of an ipc_update. The payload ends where the text ends. */
#define IPC_WHY_MAX 400
struct ipc_updated {
	uint64_t ticket;
	uint32_t err;    /* enum nsd_err, see loader/load_update.h; NSD_E_AGAIN:
			  * too many changes wait while the zone is compared
			  * with its file or built; NSD_E_INEXACT: differences
			  * do not fit what is served; NSD_E_LIMIT: they are
			  * too many. Ask for the whole zone after either */
	uint32_t names;  /* nodes made anew */
	uint64_t added;  /* records; 0 if they were there before */
	uint64_t removed;
	uint32_t serial; /* of the zone afterwards, if it is loaded */
	uint32_t loaded; /* not 0: the zone has a version */
	uint32_t lacks_file; /* not 0: the zone takes updates, and its file is
			      * not (any more) what these lead on from */
	uint32_t refused; /* enum ipc_check that was not passed; 0: none */
	uint32_t refused_serial;  /* of the version that it has judged */
	uint32_t unused;
	char why[IPC_WHY_MAX]; /* the fault of that; no final NUL */
};

/* The time when a zone expires. May be sent again at any time. */
#define IPC_EXPIRY_NEVER UINT64_MAX
struct ipc_expiry {
	uint64_t left_msec; /* from now; 0: it has expired;
			     * IPC_EXPIRY_NEVER */
	uint8_t apex[255];  /* wire name; the payload ends where it ends */
};

/* The result of reading the file of a zone that was added or has another
 * pattern. */
enum ipc_zone_file {
	IPC_ZONE_NO_FILE, /* no file was to be read, or there is none yet */
	IPC_ZONE_SERVED,  /* the contents of the file are served */
	IPC_ZONE_BROKEN,  /* the file is not served; the reasons say why */
	IPC_ZONE_LATER,   /* the file takes long: READ says when it is done */
};

/* Zones that are added or removed, or get another pattern. The payload ends
 * where the text ends. */
#define IPC_ZONE_TEXT_MAX 2028
struct ipc_zone {
	struct ipc_request request;
	/* CHANGE_ZONE: 1: others follow that may be published with these;
	 * ZONE_CHANGED: 1: changes are made, and are not published yet. */
	uint32_t more;
	/* Changes, one behind the other (process/zone_message.h). A change is:
	 * an octet with an enum nsd_err and one with an enum ipc_zone_file,
	 * both set in ZONE_CHANGED; an octet that is 1 if a zone that is there
	 * gets the pattern instead of its own; the zone's name as it would be
	 * written; its pattern's name, empty if the zone is removed; and
	 * reasons, in lines, as many as there is room for. Each text ends with
	 * a NUL. */
	char text[IPC_ZONE_TEXT_MAX];
};

/* A NOTIFY of a client that is allowed to send it. The payload ends where the
 * client's message ends; it has the beginning of a longer one. */
#define IPC_NOTIFY_MAX 2020
struct ipc_notify {
	uint8_t address[28]; /* of the client: struct sockaddr_in or _in6 */
	uint8_t message[IPC_NOTIFY_MAX];
};

/* An UPDATE of a client (RFC 2136) that is allowed to send it. The payload ends
 * where the client's message ends. A message that has no room here is in the
 * file that comes along, and none of it is here. */
#define IPC_CLIENT_UPDATE_MAX 2000
struct ipc_client_update {
	struct ipc_request request;
	uint8_t address[28]; /* of the client: struct sockaddr_in6 or _in */
	uint8_t message[IPC_CLIENT_UPDATE_MAX];
};

/* The result of an UPDATE of a client. The payload ends where the text ends. */
#define IPC_CLIENT_UPDATED_MAX 2000
struct ipc_client_updated {
	uint64_t ticket;
	uint16_t rcode;    /* enum rcode */
	uint16_t ede;      /* enum ede_code */
	uint32_t is_reply; /* not 0: the text is the message of a primary that
			    * is to be sent to the client as it is, and the
			    * two fields before do not count */
	uint8_t text[IPC_CLIENT_UPDATED_MAX]; /* for the client; no final NUL */
};

/* Commands that all processes carry out. */
enum ipc_broadcast_what {
	BROADCAST_LOG_REOPEN, /* write to the log file that has the name now */
	BROADCAST_VERBOSITY,  /* value: from now on */
	BROADCAST_TAP,        /* value: 0: write no records of queries; 1: those
			       * that nsd.conf chooses, also with
			       * dnstap-enable: no */
	BROADCAST_SETTINGS,   /* not the operator's: new settings are published;
			   * those of connections are to be read, and keys made
			   * of former secrets to be dropped. value: not 0:
			   * zones may have changed, too */
	BROADCAST_SAVE,      /* nor this, to xfrd alone: nsd.conf is about to be
			      * read, so zones that take UPDATEs are to be
			      * written to their files. UPDATEs wait until: */
	BROADCAST_SAVED,     /* nsd.conf has been read. value: not 0: zones may
			      * go once xfrd follows it, and UPDATEs wait until
			      * then */
};

/* A broadcast on its way to main, and from there to each child. */
struct ipc_broadcast {
	struct ipc_request request;
	uint32_t what; /* enum ipc_broadcast_what */
	uint32_t value;
};

/* The result of a broadcast. */
struct ipc_broadcast_done {
	uint64_t ticket;
	uint32_t err;    /* enum nsd_err; NSD_E_AGAIN: a child has not
			  * answered; NSD_E_SYSTEM: main cannot, and error
			  * says why */
	uint32_t error;  /* errno */
	uint32_t role;   /* a child that has not answered */
	uint32_t index;
	uint32_t what;   /* of the broadcast */
	uint32_t unused;
};

/* A file as its writer has left it. */
struct ipc_file_stamp {
	int64_t mtime_sec, ctime_sec;
	uint64_t size, inode, device;
	uint32_t mtime_nsec, ctime_nsec;
};

/* A zone file that was written. The payload ends where the name ends. */
struct ipc_file_written {
	struct ipc_request request;
	struct ipc_file_stamp stamp;
	uint32_t serial;   /* of the version in it */
	uint8_t apex[255]; /* wire name in lower case */
};

struct ipc_file_noted {
	uint64_t ticket;
};

/* Zone files to be read, if they have changed. The payload ends where the apex
 * ends. */
struct ipc_read {
	struct ipc_request request;
	uint32_t accepts; /* not 0: an operator takes the file of the zone as
			   * it is: it is read, and not judged */
	uint8_t apex[255]; /* wire name in lower case; empty: all zones */
};

/* The result of an ipc_read. The payload ends where the text ends. */
struct ipc_read_done {
	uint64_t ticket;
	uint32_t err;    /* enum nsd_err: NSD_E_ZONE: a file to be read is not
			  * served; NSD_E_NOT_FOUND: there is no such zone;
			  * NSD_E_MEMORY */
	uint32_t failed; /* zones */
	uint32_t before; /* zones that had failed before, and whose files are
			  * as they were; with NSD_OK or NSD_E_ZONE */
	uint32_t failed_len; /* octets of reasons of zones that failed; the rest
			      * is about zones that had failed before */
	char reasons[IPC_REASONS_MAX]; /* lines; no final NUL */
};

/* A zone to be written: the served version, to the file that nsd.conf names. */
#define IPC_RECEIVED_MAX 1400
enum ipc_write_flag {
	IPC_WRITE_COPY = 1, /* if the file cannot be written: write to the
			     * folder xfrdir */
	IPC_WRITE_HAS_COPY = 2, /* once the file is written: remove the copy
				 * from the folder xfrdir */
	IPC_WRITE_CHANGESETS = 4, /* not the zone: the differences of its
			      * versions, beside its file; the zone has no
			      * primaries */
	IPC_WRITE_UNSURE = 8, /* with CHANGESETS: the files may be current:
			       * leave them if they are newer than the zone
			       * file */
};
struct ipc_write {
	struct ipc_request request;
	uint32_t serial; /* of the version that the comment is about */
	uint32_t flags;  /* enum ipc_write_flag, or-ed */
	uint8_t apex[255]; /* wire name */
	/* A comment for the file, with a final NUL; empty: none. The payload
	 * ends there. */
	char received[IPC_RECEIVED_MAX];
};

/* The file that a zone was written to. */
enum ipc_written_to {
	IPC_WRITTEN_NOWHERE,
	IPC_WRITTEN_FILE, /* the zone file */
	IPC_WRITTEN_COPY, /* in the folder xfrdir, as the zone file could not be
			   * written */
};

/* The result of an ipc_write. */
struct ipc_written {
	uint64_t ticket;
	uint32_t err;    /* enum nsd_err, of the zone file: NSD_E_NOT_FOUND: no
			  * such zone, it has no file, or it is not loaded;
			  * NSD_E_AGAIN: the comment is about another version
			  * than the served one, or only the next writer may be
			  * let into the folder, and this one ends; NSD_E_LIMIT:
			  * the path is too long; NSD_E_SYSTEM; NSD_E_MEMORY */
	uint32_t error;  /* errno, with NSD_E_SYSTEM */
	uint32_t serial; /* of the written version */
	uint32_t to;     /* enum ipc_written_to */
	struct ipc_file_stamp stamp; /* of the zone file */
};

/* Zones whose files are to be looked for. */
#define IPC_FIND_FILES_MAX 2000
struct ipc_find_files {
	struct ipc_request request;
	/* Wire names, one behind the other; the payload ends where they do. */
	uint8_t apexes[IPC_FIND_FILES_MAX];
};

/* The result of an ipc_find_files. */
struct ipc_files_found {
	uint64_t ticket;
	uint32_t err;    /* enum nsd_err; NSD_E_WIRE: the octets behind the
			  * counted zones are no name */
	uint32_t count;  /* zones from the first on whose files are there. If
			  * there is a zone behind these, its file is missing */
};

/* A reader that keeps old versions in the store beyond its bounds. Epochs and
 * ages are those of the store's writer. */
struct ipc_holder {
	uint64_t slot;     /* of the reader in the store */
	uint64_t oldest;   /* epoch of the oldest version that it keeps */
	uint64_t too_old;  /* epochs up to this one are too old to be kept; 0:
			    * none is */
	uint64_t ended;    /* the last epoch that has ended, if the reader keeps
			    * too much; 0: it does not */
	uint64_t look;     /* the number of the look at all readers */
	uint64_t octets;
	uint64_t age_msec; /* of the oldest */
};

/* Has a reader let go of versions up to an epoch. */
struct ipc_let_go {
	uint64_t epoch;
};

/* A channel between two children, as main tells each of them. */
struct ipc_peer {
	uint64_t id;    /* of the channel; never 0, never used again */
	uint16_t role;  /* of the other side */
	uint16_t unused; /* 0 */
	uint32_t index; /* of the other side, among the workers */
};

/* Credits for more messages of a kind. */
struct ipc_credit {
	uint32_t type;  /* enum ipc_type */
	uint32_t count;
};

/* The end of a struct whose last field is a text: the compiler may pad the
 * struct. */
#define IPC_TEXT_END(type, field)                                            \
	(offsetof(struct type, field) + sizeof(((struct type *)0)->field))

#define IPC_NONE 0
#define IPC_ZONE_MIN offsetof(struct ipc_zone, text)
#define IPC_LOADED_MIN offsetof(struct ipc_loaded, reasons)
#define IPC_LOADED_MAX IPC_TEXT_END(ipc_loaded, reasons)
#define IPC_UPDATED_MIN offsetof(struct ipc_updated, why)
#define IPC_UPDATED_MAX IPC_TEXT_END(ipc_updated, why)
#define IPC_EXPIRY_MIN (offsetof(struct ipc_expiry, apex) + 1)
#define IPC_EXPIRY_MAX (offsetof(struct ipc_expiry, apex) + 255)
#define IPC_NOTIFY_MIN (offsetof(struct ipc_notify, message) + 12)
#define IPC_CLIENT_UPDATE_MIN offsetof(struct ipc_client_update, message)
#define IPC_CLIENT_UPDATE_END IPC_TEXT_END(ipc_client_update, message)
#define IPC_CLIENT_UPDATED_MIN offsetof(struct ipc_client_updated, text)
#define IPC_CLIENT_UPDATED_END IPC_TEXT_END(ipc_client_updated, text)
#define IPC_FILE_WRITTEN_MIN (offsetof(struct ipc_file_written, apex) + 1)
#define IPC_FILE_WRITTEN_MAX (offsetof(struct ipc_file_written, apex) + 255)
#define IPC_READ_MIN offsetof(struct ipc_read, apex)
#define IPC_READ_MAX (offsetof(struct ipc_read, apex) + 255)
#define IPC_READ_DONE_MIN offsetof(struct ipc_read_done, reasons)
#define IPC_WRITE_MIN (offsetof(struct ipc_write, received) + 1)
#define IPC_WRITE_MAX IPC_TEXT_END(ipc_write, received)
#define IPC_FIND_FILES_MIN (offsetof(struct ipc_find_files, apexes) + 1)
#define IPC_FIND_FILES_END IPC_TEXT_END(ipc_find_files, apexes)
#define IPC_KEY_MIN (offsetof(struct ipc_key, text) + 3)
#define IPC_RECONFIGURED_MIN offsetof(struct ipc_reconfigured, text)
#define IPC_RECONFIGURED_MAX IPC_TEXT_END(ipc_reconfigured, text)
#define IPC_VERIFY_MIN (offsetof(struct ipc_verify, apex) + 1)
#define IPC_VERIFY_END (offsetof(struct ipc_verify, apex) + 255)
#define IPC_FDS_MAX 30

/*   name, sender, receiver, payload least, most, descriptors, credits,
 *   answer, meaning */
#define IPC_MESSAGES(X)                                                      \
	X(LOG, ROLE_MAIN, ROLE_CHILDREN, sizeof(struct log_share),           \
		sizeof(struct log_share), LOG_FDS_MAX, 0, NO_ANSWER,         \
		"write the log like this, to these descriptors, from now "   \
		"on")                                                        \
	X(PEER, ROLE_MAIN, ROLE_CHILDREN, sizeof(struct ipc_peer),           \
		sizeof(struct ipc_peer), 1, 0, NO_ANSWER,                    \
		"this descriptor is a channel to another child")             \
	X(PEER_GONE, ROLE_MAIN, ROLE_CHILDREN, sizeof(struct ipc_peer),      \
		sizeof(struct ipc_peer), 0, 0, NO_ANSWER,                    \
		"the child at the other end of this channel has died")       \
	X(CREDIT, ROLE_MAIN | ROLE_CHILDREN, ROLE_CHILDREN,                  \
		sizeof(struct ipc_credit), sizeof(struct ipc_credit), 0, 0,  \
		NO_ANSWER,                                                   \
		"so many messages of this kind more may be sent")            \
	X(RELOAD, ROLE_MAIN, ROLE_LOADER, IPC_NONE, IPC_NONE, 0, 0,          \
		NO_ANSWER,                                                   \
		"read the zone files that have changed")                     \
	X(LISTED, ROLE_LOADER, ROLE_MAIN, IPC_NONE, IPC_NONE, 0, 0,          \
		NO_ANSWER,                                                   \
		"the names of all zones are published; what is not read "    \
		"yet answers SERVFAIL")                                      \
	X(LOADED, ROLE_LOADER, ROLE_MAIN, IPC_LOADED_MIN, IPC_LOADED_MAX, 0, \
		0, NO_ANSWER,                                                \
		"the first pass over the zones of a configuration is done")  \
	X(RELOADED, ROLE_LOADER, ROLE_MAIN, sizeof(struct ipc_load_result),  \
		sizeof(struct ipc_load_result), 0, 0, NO_ANSWER,             \
		"a RELOAD is done")                                          \
	X(SERVED, ROLE_LOADER, ROLE_XFRD, IPC_NONE, IPC_NONE, 0, 0,          \
		NO_ANSWER,                                                   \
		"zone files have been looked at: what is served may have "   \
		"changed")                                                   \
	X(DAMAGED, ROLE_LOADER, ROLE_MAIN, IPC_NONE, IPC_NONE, 0, 0,         \
		NO_ANSWER,                                                   \
		"the store cannot be taken over: another is needed")         \
	X(CROWDED, ROLE_LOADER, ROLE_MAIN, IPC_NONE, IPC_NONE, 0, 0,         \
		NO_ANSWER,                                                   \
		"a new version of a zone has no room in the store beside "   \
		"the old one: another store might have")                     \
	X(ALTERED, ROLE_LOADER, ROLE_MAIN, IPC_NONE, IPC_NONE, 0, 0,         \
		NO_ANSWER,                                                   \
		"an UPDATE has changed a zone: zone files alone do not "     \
		"say any more what is in this store")                        \
	X(DATABASE, ROLE_MAIN, ROLE_LOADER, IPC_NONE, IPC_NONE, 1, 0,        \
		NO_ANSWER,                                                   \
		"leave what the store in memory holds in this file at the "  \
		"end: that of a damaged one")                                \
	X(CONFIGURE, ROLE_MAIN, ROLE_LOADER | ROLE_XFRD,                     \
		sizeof(struct ipc_configure), sizeof(struct ipc_configure),  \
		IPC_FDS_MAX, 0, NO_ANSWER,                                   \
		"go on with this configuration (conf/image.h): of the "      \
		"loader LOADED says when all of it is published; xfrd gets " \
		"options of the server, and the sockets of operators")       \
	X(UPDATE, ROLE_XFRD, ROLE_LOADER, sizeof(struct ipc_update),         \
		sizeof(struct ipc_update), 1, 128, UPDATED,                  \
		"changes of a zone (loader/load_update.h), to be published "   \
		"at once")                                                   \
	X(UPDATED, ROLE_LOADER, ROLE_XFRD, IPC_UPDATED_MIN, IPC_UPDATED_MAX, \
		0, 0, NO_ANSWER,                                             \
		"what became of an UPDATE")                                  \
	X(UPDATE_WAITS, ROLE_LOADER, ROLE_XFRD, sizeof(uint64_t),            \
		sizeof(uint64_t), 0, 0, NO_ANSWER,                           \
		"the UPDATE with this ticket waits for a verifier, and does "\
		"not count among those under way")                           \
	X(EXPIRY, ROLE_XFRD, ROLE_LOADER, IPC_EXPIRY_MIN, IPC_EXPIRY_MAX, 0, \
		256, NO_ANSWER,                                              \
		"a zone is answered from for so long, and then no more "     \
		"until the next one; to be said again to the next loader")   \
	X(CHANGE_ZONE, ROLE_XFRD, ROLE_LOADER, IPC_ZONE_MIN,                 \
		sizeof(struct ipc_zone), 0, 128, ZONE_CHANGED,               \
		"zones with the options of a pattern are to be served, or "  \
		"are not to be any more")                                    \
	X(ZONE_CHANGED, ROLE_LOADER, ROLE_XFRD, IPC_ZONE_MIN,                \
		sizeof(struct ipc_zone), 0, 0, NO_ANSWER,                    \
		"what became of the changes of a CHANGE_ZONE, or of the "    \
		"first ones of them")                                        \
	X(READ, ROLE_XFRD, ROLE_LOADER, IPC_READ_MIN, IPC_READ_MAX, 0, 16,   \
		READ_DONE,                                                   \
		"read the file of a zone, or of all, if it has changed")     \
	X(READ_DONE, ROLE_LOADER, ROLE_XFRD, IPC_READ_DONE_MIN,              \
		sizeof(struct ipc_read_done), 0, 0, NO_ANSWER,               \
		"what came of a READ; what it has brought is served")        \
	X(FILE_WRITTEN, ROLE_XFRD, ROLE_LOADER, IPC_FILE_WRITTEN_MIN,        \
		IPC_FILE_WRITTEN_MAX, 0, 16, FILE_NOTED,                     \
		"the writer has written the file of a zone: it need not be " \
		"read")                                                      \
	X(FILE_NOTED, ROLE_LOADER, ROLE_XFRD, sizeof(struct ipc_file_noted), \
		sizeof(struct ipc_file_noted), 0, 0, NO_ANSWER,              \
		"a FILE_WRITTEN was taken")                                  \
	X(STOP, ROLE_XFRD, ROLE_MAIN, IPC_NONE, IPC_NONE, 0, 0, NO_ANSWER,   \
		"the operator wants the server to end")                      \
	X(BROADCAST, ROLE_XFRD, ROLE_MAIN, sizeof(struct ipc_broadcast),     \
		sizeof(struct ipc_broadcast), 0, 1, BROADCAST_DONE,          \
		"the operator wants this of all processes")                  \
	X(BROADCAST_DONE, ROLE_MAIN, ROLE_XFRD,                              \
		sizeof(struct ipc_broadcast_done),                           \
		sizeof(struct ipc_broadcast_done), 0, 0, NO_ANSWER,          \
		"what became of a BROADCAST")                                \
	X(OBEY, ROLE_MAIN, ROLE_CHILDREN, sizeof(struct ipc_broadcast),      \
		sizeof(struct ipc_broadcast), 0, 0, OBEYED,                  \
		"do this, and say OBEYED; LOG_REOPEN: LOG has come before")  \
	X(OBEYED, ROLE_CHILDREN, ROLE_MAIN, sizeof(uint64_t),                \
		sizeof(uint64_t), 0, 0, NO_ANSWER,                           \
		"the OBEY with this ticket, which is main's, is done")       \
	X(WANT_WRITER, ROLE_XFRD, ROLE_MAIN, IPC_NONE, IPC_NONE, 0, 0,       \
		NO_ANSWER,                                                   \
		"zone files are to be written: have a writer, soon")         \
	X(WRITE_ZONE, ROLE_XFRD, ROLE_WRITER, IPC_WRITE_MIN, IPC_WRITE_MAX,  \
		0, 8, ZONE_WRITTEN,                                          \
		"write what is served of a zone to its file")                \
	X(ZONE_WRITTEN, ROLE_WRITER, ROLE_XFRD, sizeof(struct ipc_written),  \
		sizeof(struct ipc_written), 0, 0, NO_ANSWER,                 \
		"what became of a WRITE_ZONE: it is on the disk, or the "    \
		"old file is as it was")                                     \
	X(FIND_FILES, ROLE_XFRD, ROLE_WRITER, IPC_FIND_FILES_MIN,            \
		IPC_FIND_FILES_END, 0, 8, FILES_FOUND,                       \
		"look which of these zones have no zone file")               \
	X(FILES_FOUND, ROLE_WRITER, ROLE_XFRD,                               \
		sizeof(struct ipc_files_found),                              \
		sizeof(struct ipc_files_found), 0, 0, NO_ANSWER,             \
		"what came of a FIND_FILES")                                 \
	X(WANT_VERIFIER, ROLE_LOADER, ROLE_MAIN, IPC_NONE, IPC_NONE, 0, 0,   \
		NO_ANSWER,                                                   \
		"zones are to be verified: have a verifier of this store")   \
	X(VERIFY, ROLE_LOADER, ROLE_VERIFIER, IPC_VERIFY_MIN,                \
		IPC_VERIFY_END, 0, 64, VERIFIED,                             \
		"run the program that judges the candidate of a zone")       \
	X(VERIFY_STOP, ROLE_LOADER, ROLE_VERIFIER,                           \
		sizeof(struct ipc_verify_stop),                              \
		sizeof(struct ipc_verify_stop), 0, 0, NO_ANSWER,             \
		"the VERIFY with this ticket is not wanted any more")        \
	X(VERIFIED, ROLE_VERIFIER, ROLE_LOADER, sizeof(struct ipc_verified), \
		sizeof(struct ipc_verified), 0, 0, NO_ANSWER,                \
		"the verdict on a VERIFY")                                   \
	X(NOTIFY, ROLE_WORKER, ROLE_XFRD, IPC_NOTIFY_MIN,                    \
		sizeof(struct ipc_notify), 0, 64, NO_ANSWER,                 \
		"a client has sent a NOTIFY, and may")                       \
	X(CLIENT_UPDATE, ROLE_WORKER, ROLE_XFRD, IPC_CLIENT_UPDATE_MIN,      \
		IPC_CLIENT_UPDATE_END, 1, 256, CLIENT_UPDATED,               \
		"a client has sent an UPDATE, and may")                      \
	X(CLIENT_UPDATED, ROLE_XFRD, ROLE_WORKER, IPC_CLIENT_UPDATED_MIN,    \
		IPC_CLIENT_UPDATED_END, 0, 0, NO_ANSWER,                     \
		"what became of a CLIENT_UPDATE: it is durable and served, " \
		"or refused")                                                \
	X(RECONFIG, ROLE_XFRD, ROLE_MAIN, sizeof(struct ipc_reconfig),       \
		sizeof(struct ipc_reconfig), 0, 1, RECONFIGURED,             \
		"the operator wants nsd.conf to be read")                    \
	X(RECONFIGURED, ROLE_MAIN, ROLE_XFRD, IPC_RECONFIGURED_MIN,          \
		IPC_RECONFIGURED_MAX, 0, 0, NO_ANSWER,                       \
		"what came of a RECONFIG")                                   \
	X(KEY, ROLE_XFRD, ROLE_MAIN, IPC_KEY_MIN, sizeof(struct ipc_key), 0, \
		1, KEY_DONE,                                                 \
		"the operator wants a key of TSIG to come, go or change")    \
	X(CHANGE_KEY, ROLE_MAIN, ROLE_LOADER, IPC_KEY_MIN,                   \
		sizeof(struct ipc_key), 0, 0, KEY_DONE,                      \
		"do so, and publish it; the next loader knows it from "      \
		"main; of REMOVE and ASSOC also: say what is wrong")         \
	X(KEY_DONE, ROLE_LOADER | ROLE_MAIN, ROLE_MAIN | ROLE_XFRD,          \
		IPC_KEY_MIN, sizeof(struct ipc_key), 0, 0, NO_ANSWER,        \
		"a CHANGE_KEY, or KEY, is published or has failed; to "      \
		"main also: a zone has lost a key that it was given")        \
	X(COOKIES, ROLE_XFRD, ROLE_MAIN, sizeof(struct ipc_cookies),         \
		sizeof(struct ipc_cookies), 0, 1, COOKIES_DONE,              \
		"the operator wants this of the secrets of cookies")         \
	X(COOKIES_DONE, ROLE_MAIN, ROLE_XFRD,                                \
		sizeof(struct ipc_cookies_done),                             \
		sizeof(struct ipc_cookies_done), 0, 0, NO_ANSWER,            \
		"what became of a COOKIES; workers have them by now")        \
	X(SERVING, ROLE_WORKER, ROLE_MAIN, IPC_NONE, IPC_NONE, 0, 0,         \
		NO_ANSWER,                                                   \
		"the sockets are being read from now on")                    \
	X(SERVE, ROLE_MAIN, ROLE_WORKER, IPC_NONE, IPC_NONE, 0, 0,           \
		NO_ANSWER,                                                   \
		"stand by no more: read the sockets")                        \
	X(STATISTICS, ROLE_MAIN, ROLE_WORKER | ROLE_LOADER, IPC_NONE,        \
		IPC_NONE, 0, 0, NO_ANSWER,                                   \
		"write the counters to the log")                             \
	X(TLS_TEXTS, ROLE_MAIN, ROLE_WORKER | ROLE_XFRD,                     \
		sizeof(struct ipc_tls_texts), sizeof(struct ipc_tls_texts),  \
		2, 0, NO_ANSWER,                                             \
		"connections that come from now on are shown other "         \
		"certificates; with a second descriptor they are tried, and "\
		"how they are goes into it")                                 \
	X(TLS_CLIENTS, ROLE_MAIN, ROLE_XFRD, IPC_NONE, IPC_NONE, 1, 0,       \
		NO_ANSWER,                                                   \
		"ask primaries over TLS with these keys and certificates "   \
		"from now on")                                               \
	X(TLS_TRIED, ROLE_WORKER | ROLE_XFRD, ROLE_MAIN,                     \
		sizeof(struct trial_report), sizeof(struct trial_report), 0, \
		0, NO_ANSWER,                                                \
		"how the keys and certificates are that this process has "   \
		"from its start")                                            \
	X(ADOPT, ROLE_MAIN, ROLE_WORKER, sizeof(struct ipc_adopt),           \
		sizeof(struct ipc_adopt), IPC_FDS_MAX, 0, NO_ANSWER,         \
		"serve the sockets of a worker that is down, too")           \
	X(RELEASE, ROLE_MAIN, ROLE_WORKER, sizeof(struct ipc_adopt),         \
		sizeof(struct ipc_adopt), 0, 0, NO_ANSWER,                   \
		"leave adopted sockets to their worker again")               \
	X(HOLDER, ROLE_LOADER, ROLE_MAIN, sizeof(struct ipc_holder),         \
		sizeof(struct ipc_holder), 0, 0, NO_ANSWER,                  \
		"a reader keeps old versions beyond its bounds; said again " \
		"each second while it does")                                 \
	X(LET_GO, ROLE_MAIN,                                                 \
		ROLE_WORKER | ROLE_XFRD | ROLE_WRITER | ROLE_VERIFIER,       \
		sizeof(struct ipc_let_go), sizeof(struct ipc_let_go), 0, 0,  \
		NO_ANSWER,                                                   \
		"end what pins versions up to this epoch")                   \
	X(WANT_SINK, ROLE_COLLECTOR, ROLE_MAIN,                              \
		sizeof(struct ipc_want_sink), sizeof(struct ipc_want_sink),  \
		0, 0, NO_ANSWER,                                             \
		"connect to the receiver, or open the file, and say SINK")   \
	X(SINK, ROLE_MAIN, ROLE_COLLECTOR, sizeof(struct ipc_sink),          \
		sizeof(struct ipc_sink), 1, 0, NO_ANSWER,                    \
		"write to this from now on; a file may come unasked")

#define IPC_ENUM(name, sender, receiver, least, most, fds, credits, answer,  \
	meaning)                                                             \
	IPC_##name,
enum ipc_type {
	IPC_MESSAGES(IPC_ENUM)
	IPC_TYPE_COUNT,
	IPC_NO_ANSWER = IPC_TYPE_COUNT
};
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
	uint16_t credits;
	uint8_t answer;   /* enum ipc_type, or IPC_NO_ANSWER */
};

extern const struct ipc_row ipc_rows[IPC_TYPE_COUNT];

#endif
