/*
 * xfrd_client_update_repeat.c - repeats of an UPDATE that is under way: a
 * client that hears nothing for a while sends its datagram again (RFC 2136
 * section 5.1). It is carried out once, and each of them is answered.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "xfrd/xfrd.h"
#include "xfrd/xfrd_client_updates.h"

/* A repeat, which is answered as the request that came first. */
struct client_update_repeat {
	struct client_update_repeat *next;
	uint64_t channel;
	uint64_t ticket;
};

static struct cds_list_head *
repeat_get_list(struct xfrd *xfrd, const uint8_t *message)
{
	return &xfrd->updates.under_way[message_get_id(message)
		% XFRD_UPDATE_LISTS];
}

void
xfrd_client_update_repeats_init(struct xfrd *xfrd)
{
	for (unsigned i = 0; i < XFRD_UPDATE_LISTS; i++)
		CDS_INIT_LIST_HEAD(&xfrd->updates.under_way[i]);
}

void
xfrd_client_update_repeats_add(struct xfrd *xfrd, struct client_update *update)
{
	cds_list_add(&update->id_node, repeat_get_list(xfrd, update->message));
}

struct client_update *
xfrd_client_update_repeats_find(struct xfrd *xfrd,
	const struct sockaddr_storage *from, const uint8_t *message, size_t len)
{
	struct client_update *update;

	cds_list_for_each_entry(update, repeat_get_list(xfrd, message),
		id_node)
		if (update->len == len
			&& memcmp(&update->from, from, sizeof(*from)) == 0
			&& memcmp(update->message, message, len) == 0)
			return update;
	return NULL;
}

enum nsd_err
xfrd_client_update_repeats_note(struct client_update *update, uint64_t channel,
	uint64_t ticket)
{
	struct client_update_repeat *repeat = malloc(sizeof(*repeat));

	if (repeat == NULL)
		return NSD_E_MEMORY;
	repeat->channel = channel;
	repeat->ticket = ticket;
	repeat->next = update->repeats;
	update->repeats = repeat;
	return NSD_OK;
}

bool
xfrd_client_update_repeats_take(struct client_update *update, uint64_t *channel,
	uint64_t *ticket)
{
	struct client_update_repeat *repeat = update->repeats;

	if (repeat == NULL)
		return false;
	*channel = repeat->channel;
	*ticket = repeat->ticket;
	update->repeats = repeat->next;
	free(repeat);
	return true;
}
