/*
 * xfrd_look.c - zones whose zone files are looked for, some hundred at a time:
 * only the file has the zone. The writer looks, as xfrd may not
 * (doc/decisions/0135).
 */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "dns/name.h"
#include "xfrd/xfrd.h"

bool
xfrd_look_is_full(const struct xfrd_look *look)
{
	return sizeof(look->apexes) - look->len < NAME_MAX_LEN;
}

void
xfrd_look_add(struct xfrd_look *look, const uint8_t *apex)
{
	size_t len = name_len(apex);

	assert(!xfrd_look_is_full(look));
	memcpy(look->apexes + look->len, apex, len);
	look->len += len;
}

void
xfrd_look_drop(struct xfrd_look *look, uint32_t count)
{
	size_t gone = 0;

	while (count-- > 0 && gone < look->len)
		gone += name_len(look->apexes + gone);
	assert(gone <= look->len); /* names are whole */
	look->len -= gone;
	memmove(look->apexes, look->apexes + gone, look->len);
}

enum nsd_err
xfrd_look_ask(const struct xfrd_look *look, struct requests *requests,
	request_on_end *on_end, void *ctx)
{
	struct ipc_find_files what;
	const struct link_message message = {
		.type = IPC_FIND_FILES,
		.payload = &what,
		.len = offsetof(struct ipc_find_files, apexes) + look->len,
	};

	assert(look->len > 0);
	memcpy(what.apexes, look->apexes, look->len);
	return requests_add(requests, &message, on_end, ctx);
}
