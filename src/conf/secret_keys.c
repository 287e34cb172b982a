/* secret_keys.c - the secrets of TSIG keys leave the configuration. */
#include "config.h"

#include <string.h>

#include "conf/secret_keys.h"

enum nsd_err
secret_keys_create(const struct conf *conf, struct key_store **key_store)
{
	size_t octets = 0;

	for (size_t i = 0; i < conf->key_count; i++)
		octets += conf->keys[i]->secret_len;
	return key_store_create(conf->key_count, octets, key_store);
}

/* Finds the place of the secret of a key of this name. */
static struct key_handle
key_find_handle(const struct conf *conf, const char *name)
{
	const struct conf_key *key = conf == NULL ? NULL
						  : conf_find_key(conf, name);

	return key != NULL ? key->handle : (struct key_handle){0, 0};
}

/* True if a key has the secret at a place. */
static bool
key_has_secret(const struct conf_key *key, const struct key_store *key_store,
	struct key_handle handle)
{
	size_t len;
	const uint8_t *secret = key_store_get(key_store, handle, &len);

	return secret != NULL && len == key->secret_len
		&& memcmp(secret, key->secret_data, len) == 0;
}

enum nsd_err
secret_keys_move(struct conf *conf, const struct conf *old,
	struct key_store *key_store)
{
	enum nsd_err err = NSD_OK;

	for (size_t i = 0; i < conf->key_count && err == NSD_OK; i++) {
		struct conf_key *key = conf->keys[i];
		struct key_handle handle = key_find_handle(old, key->name);

		if (!key_has_secret(key, key_store, handle))
			err = key_store_add(key_store, key->secret_data,
				key->secret_len, &handle);
		if (err == NSD_OK)
			key->handle = handle;
	}
	conf_wipe_secrets(conf);
	if (err != NSD_OK)
		secret_keys_remove(conf, old, key_store);
	return err;
}

void
secret_keys_remove(const struct conf *conf, const struct conf *old,
	struct key_store *key_store)
{
	for (size_t i = 0; i < conf->key_count; i++) {
		const struct conf_key *key = conf->keys[i];

		if (!key_handle_is_same(key->handle,
			    key_find_handle(old, key->name)))
			key_store_remove(key_store, key->handle);
	}
}

void
secret_keys_sweep(const struct conf *conf, struct key_store *key_store)
{
	for (size_t i = 0; i < conf->key_count; i++)
		key_store_mark(key_store, conf->keys[i]->handle);
	key_store_sweep(key_store);
}
