/*
 * xfrd_client_update_check.c - whether an UPDATE of a client is allowed. Its
 * worker has checked that; here it is checked again, by the options that are
 * published now, so a worker that was taken over cannot change a zone that
 * takes no updates. Other zones it can: it can say that a request is from any
 * address, and sign with keys whose secrets it has read.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dns/rrtype.h"
#include "dns/tsig.h"
#include "query/policy.h"
#include "settings/acl.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_client_updates.h"

/* A request may have waited so long since its worker looked at its time. */
#define WAITED_SEC 30u

/* A key that was used, ready to make MACs. */
struct xfrd_update_key {
	struct key_handle secret;
	struct tsig_key tsig;
};

static bool
check_refuse(struct client_update_end *end, enum rcode rcode, uint16_t ede,
	const char *why)
{
	end->rcode = rcode;
	end->ede = ede;
	snprintf(end->why, sizeof(end->why), "%s", why);
	return false;
}

/* ---- the message --------------------------------------------------------- */

bool
xfrd_client_update_read_zone(const uint8_t *message, size_t len,
	uint8_t apex[NAME_MAX_LEN])
{
	struct message_question zone;
	struct cursor c;

	cursor_init(&c, message, len);
	if (len > MESSAGE_MAX_LEN
		|| cursor_read_octets(&c, MESSAGE_HEADER_LEN) == NULL
		|| message_get_opcode(message) != OPCODE_UPDATE
		|| (message_get_flags(message) & MESSAGE_QR) != 0
		|| message_get_count(message, MESSAGE_QDCOUNT) != 1
		|| message_read_question(&c, &zone) != NSD_OK
		|| zone.type != TYPE_SOA || zone.rrclass != CLASS_IN)
		return false;
	memcpy(apex, zone.name.name, zone.name.len);
	return true;
}

/* Finds the TSIG of a message whose zone section was read. *at 0: there is
 * none. False: the message is not well-formed. */
static bool
check_find_tsig(const struct client_update *update, size_t *at)
{
	const uint8_t *message = update->message;
	struct message_question zone;
	struct message_rr rr;
	struct cursor c;
	uint32_t count;

	*at = 0;
	cursor_init(&c, message, update->len);
	if (cursor_read_octets(&c, MESSAGE_HEADER_LEN) == NULL
		|| message_read_question(&c, &zone) != NSD_OK)
		return false;
	count = (uint32_t)message_get_count(message, MESSAGE_ANCOUNT)
		+ message_get_count(message, MESSAGE_NSCOUNT)
		+ message_get_count(message, MESSAGE_ARCOUNT);
	for (uint32_t i = 0; i < count; i++) {
		if (message_read_rr(&c, &rr) != NSD_OK)
			return false;
		if (i + 1 == count && rr.type == TYPE_TSIG
			&& message_get_count(message, MESSAGE_ARCOUNT) > 0)
			*at = rr.owner_at;
	}
	return true;
}

/* ---- keys ---------------------------------------------------------------- */

static void
check_free_key(struct xfrd_update_key **place)
{
	if (*place != NULL)
		mac_destroy((*place)->tsig.mac);
	free(*place);
	*place = NULL;
}

void
xfrd_client_update_drop_keys(struct xfrd *xfrd)
{
	for (unsigned i = 0; i < XFRD_UPDATE_KEYS; i++)
		check_free_key(&xfrd->updates.keys[i]);
}

/* Makes a key ready in its place. False: its secret is gone, or there is no
 * memory. */
static bool
check_make_key(struct xfrd *xfrd, const struct settings_key *from,
	struct key_handle handle, struct xfrd_update_key **place)
{
	const struct key_store *store = xfrd->role.server->key_store;
	struct xfrd_update_key *key;
	const uint8_t *secret;
	size_t len;

	check_free_key(place);
	secret = key_store_get(store, handle, &len);
	key = secret != NULL ? calloc(1, sizeof(*key)) : NULL;
	if (key == NULL)
		return false;
	key->secret = handle;
	key->tsig.kind = (enum mac_kind)from->algorithm;
	memcpy(key->tsig.name, from->name, from->name_len);
	*place = key;
	/* Main may have overwritten the secret meanwhile. */
	if (mac_create(key->tsig.kind, secret, len, &key->tsig.mac) == NSD_OK
		&& key_store_get(store, handle, &len) != NULL)
		return true;
	check_free_key(place);
	return false;
}

/* Finds a key of the settings by its name. NULL: there is none, or it cannot be
 * used. *ref: of the settings. */
static const struct tsig_key *
check_find_key(struct xfrd *xfrd, const struct store_view *view,
	const struct message_name *name, store_ref *ref)
{
	const struct settings *settings = settings_get(view);
	const store_ref *keys = settings_keys(settings);
	const struct settings_key *key = NULL;
	struct xfrd_update_key **place;
	struct key_handle handle;
	uint32_t i;

	for (i = 0; i < settings->key_count; i++) {
		key = store_get(view, keys[i]);
		if (key->name_len == name->len
			&& memcmp(key->name, name->name, name->len) == 0)
			break;
	}
	if (i == settings->key_count)
		return NULL;
	*ref = keys[i];
	handle = settings_secrets(settings)[i];
	place = &xfrd->updates.keys[handle.id % XFRD_UPDATE_KEYS];
	if (*place != NULL && key_handle_is_same((*place)->secret, handle)
		&& (*place)->tsig.kind == (enum mac_kind)key->algorithm)
		return &(*place)->tsig;
	return check_make_key(xfrd, key, handle, place) ? &(*place)->tsig
							: NULL;
}

/* True if a key's holder has signed a message lately. */
static bool
check_signature(const struct tsig_key *key, const struct client_update *update,
	const struct tsig *tsig)
{
	uint64_t now = (uint64_t)time(NULL);
	struct tsig_chain chain;
	enum rcode rcode;

	tsig_begin(&chain, key);
	rcode = tsig_check(&chain, update->message, tsig, now);
	return rcode == RCODE_NOERROR
		|| (rcode == RCODE_BADTIME && now > tsig->time_sec
			&& now - tsig->time_sec
				<= (uint64_t)tsig->fudge_sec + WAITED_SEC);
}

/* Finds who has signed a request. False: it is not as it says. *key none: it is
 * not signed. */
static bool
check_signer(struct xfrd *xfrd, const struct store_view *view,
	struct client_update *update, store_ref *ref)
{
	const struct tsig_key *key;
	struct tsig tsig;
	size_t at;

	*ref = STORE_NONE;
	if (!check_find_tsig(update, &at))
		return false;
	if (at == 0)
		return true;
	if (tsig_read(update->message, update->len, at, &tsig) != NSD_OK)
		return false;
	key = check_find_key(xfrd, view, &tsig.key, ref);
	if (key == NULL || !check_signature(key, update, &tsig))
		return false;
	memcpy(update->key, tsig.key.name, tsig.key.len);
	return true;
}

/* ---- the zone ------------------------------------------------------------ */

static bool
check_by_policy(const struct update_policy *policy,
	const struct client_update *update, store_ref key)
{
	const struct policy_request request = {
		.message = update->message,
		.len = update->len,
		.apex = update->apex,
		.key = key,
	};
	struct policy_fault fault;
	unsigned searches;

	return policy_allows(policy, &request, &fault, &searches);
}

static bool
check_is_allowed(const struct xfrd_options *options,
	const struct client_update *update, store_ref key)
{
	const struct settings_options *lists = xfrd_options_lists(options);
	const struct acl_client client = {
		.peer = &update->from,
		.key = key,
		.view = options->view,
	};
	struct acl_list list = acl_list_get(lists, SETTINGS_ALLOW_UPDATE);
	struct acl_block block;

	if (acl_list_allows(&list, &client))
		return true;
	return !acl_list_find_block(&list, &client, &block)
		&& check_by_policy(update_policy_get(lists), update, key);
}

bool
xfrd_client_update_check(struct xfrd *xfrd,
	const struct xfrd_options *options, struct client_update *update,
	struct client_update_end *end)
{
	store_ref key;

	if (options->entry == NULL)
		return check_refuse(end, RCODE_NOTAUTH, EDE_NOT_AUTHORITATIVE,
			"the zone is not here any more");
	if (!xfrd_options_take_updates(options))
		return check_refuse(end, RCODE_REFUSED, EDE_PROHIBITED,
			"the zone takes no updates any more");
	if (!check_signer(xfrd, options->view, update, &key))
		return check_refuse(end, RCODE_REFUSED, EDE_PROHIBITED,
			"the signature is not right");
	if (!check_is_allowed(options, update, key))
		return check_refuse(end, RCODE_REFUSED, EDE_PROHIBITED,
			"neither allow-update nor update-policy allows it");
	return true;
}

bool
xfrd_client_update_check_forward(struct xfrd *xfrd,
	const struct xfrd_options *options, struct client_update *update,
	struct client_update_end *end)
{
	const struct settings_options *lists = xfrd_options_lists(options);
	struct acl_client client = {
		.peer = &update->from,
		.view = options->view,
	};
	struct acl_block block;
	struct acl_list list;

	if (options->entry == NULL)
		return check_refuse(end, RCODE_NOTAUTH, EDE_NOT_AUTHORITATIVE,
			"the zone is not here any more");
	if (!settings_options_forward_updates(lists))
		return check_refuse(end, RCODE_REFUSED, EDE_PROHIBITED,
			"updates of the zone are not passed on any more");
	list = acl_list_get(lists, SETTINGS_UPDATE_FORWARD);
	/* NOKEY: the primary knows the key, and this server need not. */
	if (!check_signer(xfrd, options->view, update, &client.key))
		client.key = STORE_NONE;
	if (acl_list_allows(&list, &client))
		return true;
	if (client.key != STORE_NONE
		&& !acl_list_find_block(&list, &client, &block)) {
		client.key = STORE_NONE;
		if (acl_list_allows(&list, &client))
			return true;
	}
	return check_refuse(end, RCODE_REFUSED, EDE_PROHIBITED,
		"update-forward does not allow it");
}
