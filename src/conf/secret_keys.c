/* secret_keys.c - the secrets of TSIG keys leave the configuration. */
#include "config.h"

#include <string.h>

#include "conf/secret_keys.h"

enum nsd_err
secret_keys_create(const struct conf *conf, struct vault **vault)
{
	size_t octets = 0;

	for (size_t i = 0; i < conf->key_count; i++)
		octets += conf->keys[i]->secret_len;
	return vault_create(conf->key_count, octets, vault);
}

/* Finds the place of the secret of a key of this name. */
static struct vault_place
key_find_place(const struct conf *conf, const char *name)
{
	const struct conf_key *key = conf == NULL ? NULL
						  : conf_find_key(conf, name);

	return key != NULL ? key->place : (struct vault_place){0, 0};
}

/* True if a key has the secret at a place. */
static bool
key_has_secret(const struct conf_key *key, const struct vault *vault,
	struct vault_place place)
{
	size_t len;
	const uint8_t *secret = vault_get(vault, place, &len);

	return secret != NULL && len == key->secret_len
		&& memcmp(secret, key->secret_data, len) == 0;
}

enum nsd_err
secret_keys_move(struct conf *conf, const struct conf *old,
	struct vault *vault)
{
	enum nsd_err err = NSD_OK;

	for (size_t i = 0; i < conf->key_count && err == NSD_OK; i++) {
		struct conf_key *key = conf->keys[i];
		struct vault_place place = key_find_place(old, key->name);

		if (!key_has_secret(key, vault, place))
			err = vault_add(vault, key->secret_data,
				key->secret_len, &place);
		if (err == NSD_OK)
			key->place = place;
	}
	conf_wipe_secrets(conf);
	if (err != NSD_OK)
		secret_keys_remove(conf, old, vault);
	return err;
}

void
secret_keys_remove(const struct conf *conf, const struct conf *old,
	struct vault *vault)
{
	for (size_t i = 0; i < conf->key_count; i++) {
		const struct conf_key *key = conf->keys[i];

		if (!vault_place_is_same(key->place,
			    key_find_place(old, key->name)))
			vault_remove(vault, key->place);
	}
}

void
secret_keys_sweep(const struct conf *conf, struct vault *vault)
{
	for (size_t i = 0; i < conf->key_count; i++)
		vault_mark(vault, conf->keys[i]->place);
	vault_sweep(vault);
}
