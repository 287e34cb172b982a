/* keys.c - finds the key of a signed request, and signs the reply. */
#include "query/keys.h"

#include <stdlib.h>
#include <string.h>

/* ---- keys -------------------------------------------------------------- */

static enum nsd_err
mac_of_secret(const struct query_ctx *ctx, size_t index, enum mac_kind kind,
	struct mac **mac)
{
	size_t len;
	const uint8_t *secret = secrets_get(ctx->options.secrets, index, &len);

	return mac_create(kind, secret, len, mac);
}

static void
key_destroy(struct query_key *key)
{
	if (key == NULL)
		return;
	mac_destroy(key->tsig.mac);
	free(key);
}

/* Returns the key whose secret is at index, as the settings have it now: they
 * may be published anew, and their references mean something else then. NULL:
 * there is no memory. */
static struct query_key *
key_open(struct query_ctx *ctx, size_t index, const struct settings_key *from)
{
	struct query_key *key = ctx->keys[index];

	if (key != NULL && key->tsig.kind == (enum mac_kind)from->algorithm)
		return key;
	key_destroy(key);
	ctx->keys[index] = NULL;
	key = calloc(1, sizeof(*key));
	if (key == NULL)
		return NULL;
	key->tsig.kind = (enum mac_kind)from->algorithm;
	memcpy(key->tsig.name, from->name, from->name_len);
	if (mac_of_secret(ctx, index, key->tsig.kind, &key->tsig.mac)
		!= NSD_OK) {
		free(key);
		return NULL;
	}
	ctx->keys[index] = key;
	return key;
}

/* Finds a key of the settings by its name. STORE_NONE: there is none. */
static store_ref
find_key(const struct query_ctx *ctx, const struct message_name *name)
{
	const store_ref *keys = settings_keys(ctx->settings);
	uint32_t count = ctx->settings->key_count;

	for (uint32_t i = 0; i < count; i++) {
		const struct settings_key *key = store_get(ctx->view, keys[i]);

		if (key->name_len == name->len
			&& memcmp(key->name, name->name, name->len) == 0)
			return keys[i];
	}
	return STORE_NONE;
}

/* Finds the secret of a key; its index does not change, whatever becomes of the
 * settings. False: it is newer than this process. */
static bool
find_secret(const struct query_ctx *ctx, const struct settings_key *key,
	size_t *index)
{
	return secrets_find(ctx->options.secrets,
		(struct secrets_octets){key->name, key->name_len}, index);
}

bool
keys_copy(const struct query_ctx *ctx, const struct query *q,
	struct tsig_key *key)
{
	*key = *q->chain.key;
	return mac_of_secret(ctx, q->key_index, key->kind, &key->mac)
		== NSD_OK;
}

void
keys_destroy(struct query_ctx *ctx)
{
	for (size_t i = 0; i < secrets_count(ctx->options.secrets); i++)
		key_destroy(ctx->keys[i]);
	free(ctx->keys);
}

/* ---- requests and replies ---------------------------------------------- */

enum rcode
keys_check(struct query_ctx *ctx, struct query *q)
{
	const struct exchange *x = q->exchange;
	const struct settings_key *from;
	struct query_key *key;
	struct tsig tsig;
	enum rcode rcode;
	store_ref ref;

	if (tsig_read(x->request, x->request_len, q->tsig_at, &tsig)
		!= NSD_OK)
		return RCODE_FORMERR;
	ref = find_key(ctx, &tsig.key);
	if (ref == STORE_NONE)
		return RCODE_BADKEY;
	from = store_get(ctx->view, ref);
	if (!find_secret(ctx, from, &q->key_index))
		return RCODE_BADKEY;
	key = key_open(ctx, q->key_index, from);
	if (key == NULL)
		return RCODE_SERVFAIL;
	tsig_begin(&q->chain, &key->tsig);
	rcode = tsig_check(&q->chain, x->request, &tsig, ctx->now_sec);
	if (rcode != RCODE_NOERROR)
		return rcode;
	q->key = ref;
	q->reply.limit -= (uint32_t)tsig_len(&key->tsig);
	return RCODE_NOERROR;
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
	err = q->tsig_error == RCODE_NOERROR || q->tsig_error == RCODE_BADTIME
		? tsig_sign(&q->chain, q->reply.out, &len, x->reply_capacity,
			&stamp)
		: tsig_refuse(&tsig, q->tsig_error, q->reply.out, &len,
			x->reply_capacity);
	/* Without room, or memory, the client sees that it is not signed. */
	if (err == NSD_OK)
		q->reply.len = (uint32_t)len;
}
