/* xfrd_loader.c - requests and reports of xfrd to the loader. */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "dns/name.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_write.h"

enum nsd_err
xfrd_loader_update(struct xfrd *xfrd, const struct load_text *text,
	request_on_end *on_end, void *ctx)
{
	const struct ipc_update update = {
		.offset = text->offset,
		.len = text->len,
		.is_back = text->is_back,
		.accepted = text->accepted,
		.has_sums = text->has_sums,
	};
	const struct link_message outgoing = {
		.type = IPC_UPDATE,
		.payload = &update,
		.len = sizeof(update),
		.fds = &text->fd,
		.fd_count = 1,
	};

	assert(text->fd != -1);
	return requests_add(&xfrd->requests, &outgoing, on_end, ctx);
}

enum nsd_err
xfrd_loader_expire(struct xfrd *xfrd, const uint8_t *apex, uint64_t left_msec)
{
	struct peer *loader = peers_find_role(&xfrd->role.peers, ROLE_LOADER);
	struct ipc_expiry expiry = {.left_msec = left_msec};
	size_t len = name_len(apex);
	const struct link_message outgoing = {
		.type = IPC_EXPIRY,
		.payload = &expiry,
		.len = offsetof(struct ipc_expiry, apex) + len,
	};

	if (loader == NULL)
		return NSD_E_AGAIN;
	memcpy(expiry.apex, apex, len);
	return link_send(&loader->link, &outgoing);
}

static enum nsd_err
loader_ask_read(struct xfrd *xfrd, const uint8_t *apex, bool accepts,
	request_on_end *on_end, void *ctx)
{
	struct ipc_read read = {.accepts = accepts};
	size_t len = apex != NULL ? name_len(apex) : 0;
	const struct link_message outgoing = {
		.type = IPC_READ,
		.payload = &read,
		.len = offsetof(struct ipc_read, apex) + len,
	};

	if (apex != NULL)
		memcpy(read.apex, apex, len);
	return requests_add(&xfrd->requests, &outgoing, on_end, ctx);
}

enum nsd_err
xfrd_loader_read(struct xfrd *xfrd, const uint8_t *apex, request_on_end *on_end,
	void *ctx)
{
	return loader_ask_read(xfrd, apex, false, on_end, ctx);
}

enum nsd_err
xfrd_loader_accept_file(struct xfrd *xfrd, const uint8_t *apex,
	request_on_end *on_end, void *ctx)
{
	return loader_ask_read(xfrd, apex, true, on_end, ctx);
}

enum nsd_err
xfrd_loader_note_file(struct xfrd *xfrd, const uint8_t *apex,
	const struct ipc_written *written, request_on_end *on_end, void *ctx)
{
	struct ipc_file_written file = {
		.stamp = written->stamp,
		.serial = written->serial,
	};
	size_t len = name_len(apex);
	const struct link_message outgoing = {
		.type = IPC_FILE_WRITTEN,
		.payload = &file,
		.len = offsetof(struct ipc_file_written, apex) + len,
	};

	memcpy(file.apex, apex, len);
	return requests_add(&xfrd->requests, &outgoing, on_end, ctx);
}

enum nsd_err
xfrd_loader_change_zones(struct xfrd *xfrd, const struct zone_message *message,
	request_on_end *on_end, void *ctx)
{
	const struct link_message outgoing = {
		.type = IPC_CHANGE_ZONE,
		.payload = &message->payload,
		.len = message->len,
	};

	assert(message->len >= IPC_ZONE_MIN);
	return requests_add(&xfrd->requests, &outgoing, on_end, ctx);
}
