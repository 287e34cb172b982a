/* keys.c - finds the key of a signed request, and signs the reply. */
#include "query/keys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- keys -------------------------------------------------------------- */

/* returns NSD_OK; NSD_E_NOT_FOUND: the handle has no secret, or lost it
 * meanwhile; NSD_E_MEMORY. */
static enum nsd_err
mac_of_secret(const struct query_ctx *ctx, struct key_handle handle,
	enum mac_kind kind, struct mac **mac)
{
	size_t len;
	const uint8_t *secret = key_store_get(ctx->options.key_store, handle,
		&len);
	enum nsd_err err;

	if (secret == NULL)
		return NSD_E_NOT_FOUND;
	err = mac_create(kind, secret, len, mac);
	if (err != NSD_OK)
		return err;
	/* Main may have overwritten the secret meanwhile. */
	if (key_store_get(ctx->options.key_store, handle, &len) != NULL)
		return NSD_OK;
	mac_destroy(*mac);
	return NSD_E_NOT_FOUND;
}

static void
key_destroy(struct query_key *key)
{
	if (key == NULL)
		return;
	mac_destroy(key->tsig.mac);
	free(key);
}

void
keys_destroy(struct query_ctx *ctx)
{
	for (uint32_t i = 0; i < ctx->key_count; i++)
		key_destroy(ctx->keys[i]);
	free(ctx->keys);
	ctx->keys = NULL;
	ctx->key_count = 0;
}

/* Empties the table of opened keys if the settings are not those that it was
 * made for. New settings may lie at the address of old ones: key_open notices
 * that. False: no memory. */
static bool
keys_follow(struct query_ctx *ctx)
{
	if (ctx->keys != NULL && ctx->keys_of == ctx->settings
		&& ctx->key_count == ctx->settings->key_count)
		return true;
	keys_destroy(ctx);
	ctx->keys = calloc(ctx->settings->key_count, sizeof(*ctx->keys));
	if (ctx->keys == NULL)
		return false;
	ctx->key_count = ctx->settings->key_count;
	ctx->keys_of = ctx->settings;
	return true;
}

/*
 * Opens the key with this index in the settings of the batch. A key that was
 * opened before is used again if its secret has the same place in the key
 * store: no two secrets ever have one handle, so this holds even if other
 * settings lie at the same address by now.
 * returns NSD_OK; NSD_E_NOT_FOUND: the key has no secret; NSD_E_MEMORY.
 */
static enum nsd_err
key_open(struct query_ctx *ctx, uint32_t index, struct query_key **out)
{
	struct key_handle handle = settings_secrets(ctx->settings)[index];
	const struct settings_key *from = store_get(ctx->view,
		settings_keys(ctx->settings)[index]);
	struct query_key *key;
	enum nsd_err err;

	if (!keys_follow(ctx) || index >= ctx->key_count)
		return NSD_E_MEMORY;
	key = ctx->keys[index];
	*out = key;
	if (key != NULL && key_handle_is_same(key->secret, handle)
		&& key->tsig.kind == (enum mac_kind)from->algorithm)
		return NSD_OK;
	key_destroy(key);
	ctx->keys[index] = NULL;
	key = calloc(1, sizeof(*key));
	if (key == NULL)
		return NSD_E_MEMORY;
	key->secret = handle;
	key->tsig.kind = (enum mac_kind)from->algorithm;
	memcpy(key->tsig.name, from->name, from->name_len);
	err = mac_of_secret(ctx, handle, key->tsig.kind, &key->tsig.mac);
	if (err != NSD_OK) {
		free(key);
		return err;
	}
	*out = ctx->keys[index] = key;
	return NSD_OK;
}

/* Finds a key of the settings by its name. False: there is none. */
static bool
find_key(const struct query_ctx *ctx, const struct message_name *name,
	uint32_t *index)
{
	const store_ref *keys = settings_keys(ctx->settings);
	uint32_t count = ctx->settings->key_count;

	for (uint32_t i = 0; i < count; i++) {
		const struct settings_key *key = store_get(ctx->view, keys[i]);

		if (key->name_len == name->len
			&& memcmp(key->name, name->name, name->len) == 0) {
			*index = i;
			return true;
		}
	}
	return false;
}

bool
keys_copy(const struct query_ctx *ctx, const struct query *q,
	struct tsig_key *key)
{
	*key = *q->chain.key;
	return mac_of_secret(ctx, q->secret, key->kind, &key->mac) == NSD_OK;
}

/* ---- requests and replies ---------------------------------------------- */

/* Checks a TSIG with the key that it names. NOERROR and BADTIME: the holder of
 * the key has signed the request, and q->chain has its MAC. */
static enum rcode
check_with_key(struct query_ctx *ctx, struct query *q, const struct tsig *tsig)
{
	struct query_key *key;
	enum rcode rcode;
	enum nsd_err err;
	uint32_t index;

	if (!find_key(ctx, &tsig->key, &index))
		return RCODE_BADKEY;
	err = key_open(ctx, index, &key);
	if (err != NSD_OK)
		return err == NSD_E_NOT_FOUND ? RCODE_BADKEY : RCODE_SERVFAIL;
	q->secret = key->secret;
	tsig_begin(&q->chain, &key->tsig);
	rcode = tsig_check(&q->chain, q->exchange->request, tsig,
		ctx->now_sec);
	if (rcode == RCODE_NOERROR) {
		q->key = settings_keys(ctx->settings)[index];
		q->reply.limit -= (uint32_t)tsig_len(&key->tsig);
	}
	return rcode;
}

enum rcode
keys_check(struct query_ctx *ctx, struct query *q)
{
	const struct exchange *x = q->exchange;
	enum rcode rcode;
	struct tsig tsig;

	if (tsig_read(x->request, x->request_len, q->tsig_at, &tsig)
		!= NSD_OK)
		return RCODE_FORMERR;
	rcode = check_with_key(ctx, q, &tsig);
	switch (rcode) {
	case RCODE_NOERROR:
		q->tsig = QUERY_TSIG_SIGNED;
		break;
	case RCODE_BADTIME:
		q->tsig = QUERY_TSIG_SIGNED;
		q->tsig_error = rcode;
		break;
	case RCODE_BADKEY:
	case RCODE_BADSIG:
		q->tsig = QUERY_TSIG_REFUSED;
		q->tsig_error = rcode;
		break;
	default:
		break;
	}
	return rcode;
}

struct tsig_stamp
keys_stamp(const struct query_ctx *ctx)
{
	return (struct tsig_stamp){
		.time_sec = ctx->now_sec,
		.fudge_sec = TSIG_FUDGE_SEC,
		.error = RCODE_NOERROR,
	};
}

void
keys_sign(const struct query_ctx *ctx, struct query *q)
{
	const struct exchange *x = q->exchange;
	struct tsig_stamp stamp = keys_stamp(ctx);
	size_t len = q->reply.len;
	struct tsig tsig;
	enum nsd_err err;

	assert(q->tsig != QUERY_TSIG_NONE);
	if (tsig_read(x->request, x->request_len, q->tsig_at, &tsig)
		!= NSD_OK)
		return;
	if (q->tsig_error == RCODE_BADTIME) {
		/* RFC 8945 section 5.2.3 */
		stamp.time_sec = tsig.time_sec;
		stamp.fudge_sec = tsig.fudge_sec;
		stamp.error = RCODE_BADTIME;
		stamp.server_time = ctx->now_sec;
	}
	err = q->tsig == QUERY_TSIG_SIGNED
		? tsig_sign(&q->chain, q->reply.out, &len, x->reply_capacity,
			&stamp)
		: tsig_refuse(&tsig, q->tsig_error, q->reply.out, &len,
			x->reply_capacity);
	/* Without room or memory the reply has no TSIG, which the client
	 * sees. */
	if (err == NSD_OK)
		q->reply.len = (uint32_t)len;
}
