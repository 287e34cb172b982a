/*
 * xfrd_client_update.h - UPDATEs of clients (RFC 2136). A worker has checked
 * the sender, and that it may; but a worker may have been taken over.
 */
#ifndef XFRD_XFRD_CLIENT_UPDATE_H
#define XFRD_XFRD_CLIENT_UPDATE_H

struct ipc_message;
struct xfrd;

/* Takes a CLIENT_UPDATE, and answers it, now or later. */
void xfrd_client_update_take(struct xfrd *xfrd, const struct ipc_message *m);

#endif
