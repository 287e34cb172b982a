/*
 * client_updates.h - a worker's way to xfrd for UPDATEs of clients that are
 * allowed (RFC 2136).
 */
#ifndef WORKER_CLIENT_UPDATES_H
#define WORKER_CLIENT_UPDATES_H

struct ipc_message;
struct role;

/* Takes what became of an UPDATE. */
void client_updates_on_updated(struct role *role, const struct ipc_message *m);

#endif
