/* server.h - the state that main sets up before the first fork, for every role
 * to inherit. */
#ifndef PROCESS_SERVER_H
#define PROCESS_SERVER_H

#include <limits.h>
#include <sys/types.h>
#include <time.h>

#include "base/key_store.h"
#include "conf/conf.h"
#include "dns/name.h"
#include "process/admin_listeners.h"
#include "process/control_listeners.h"
#include "process/privilege.h"
#include "process/sandbox.h"
#include "process/sockets.h"

struct conf_commands;
struct counts;
struct role_hooks;

/* Octets of the lines about options that wait for a restart. */
#define SERVER_WAITING_MAX 2000

/* A zone that was given a key at run time (conf/key_edit.h). */
struct server_assoc {
	struct server_assoc *next;
	uint8_t wire[NAME_MAX_LEN]; /* the zone, in lower case */
	char *key;
	char zone[]; /* names of zone and key, each with a NUL */
};

struct server {
	struct conf *conf;        /* with the flags folded in; of main: without
				   * zones (loader/conf_zones.h) */
	struct conf_commands *commands; /* conf/command.h; NULL: none */
	int zones;                /* main's image of the zones of nsd.conf, for
				   * the loader alone; 0: none */
	struct server_assoc *assocs; /* for the next loader */
	bool may_write;           /* zones may have to be written before the
				   * server ends */
	uint64_t conf_number;     /* of main: the count of configurations
				   * before */
	const struct role_hooks *hooks; /* of a test program; NULL: none */
	const char *chroot;       /* the chroot of this process; NULL: none */
	struct listeners listeners;
	bool forces_buffers;      /* main could set buffers of any size when
				   * they were opened */
	struct proxies *proxies;  /* of workers (worker/proxies.h) */
	struct admin_listeners metrics;   /* of xfrd alone */
	struct counts *counts;    /* shared memory where the roles count */
	struct control_listeners control; /* of xfrd alone */
	struct admin_files files; /* of both, as main has made them */
	/* The secrets of conf.keys. Main's; roles without need leave it. */
	struct key_store *key_store;
	struct secrets *tls;      /* tls_texts.h: of workers alone; NULL: none
				   */
	struct secrets *tls_clients; /* keys and certificates of xfrd alone */
	struct privilege_user worker_user;
	const struct privilege_user *user_to_be; /* the user that main changes
						  * to, before it has; NULL
						  * after */
	struct sandbox sandbox;
	int lifeline;             /* see lifeline.h; -1: none */
	int list;                 /* zonelistfile, opened before root is given
				   * up: xfrd writes it, loader and main read it
				   * if they may not open it any more; -1: it
				   * was not there */
	char waiting[SERVER_WAITING_MAX + 1]; /* of main: options of nsd.conf
					       * that wait for a restart; lines,
					       * and a NUL */
	/* Without xfrdfile: the folder of the journal until main ends
	 * (main/private_folder.h); empty: the journal is elsewhere, or there is
	 * none. */
	char private_folder[PATH_MAX];
	bool list_was_cut;        /* the zone list was cut short at the start:
				   * it may have had more zones */
	pid_t main_pid;
	time_t boot;              /* when main started */
	int64_t boot_usec;        /* of clock.h */
};

/* In a role that needs no secrets: gives back this process's part of the
 * secrets of TSIG keys, of TLS and of the control channel, and closes its
 * listeners. */
void server_leave_secrets(struct server *server);

/* Finds the journal's folder: beside xfrdfile, or without that the private one.
 * False: its name is too long, or it could not be made. */
bool server_find_journal(const struct server *server, char *out,
	size_t size);
/* Finds a file of messages that a dead process had in hand (main/inhand.h):
 * beside xfrdfile, else beside zonelistfile, else in xfrdir; numbers are those
 * of inhand.h. False: its name is too long. */
bool server_find_in_hand(const struct server *server, unsigned number,
	char *out, size_t size);
/* The prefix of paths in the chroot for people's eyes: the folder of the chroot
 * without a slash at its end, in root; "" without a chroot. */
const char *server_find_root(const struct server *server,
	char root[PATH_MAX]);

#endif
