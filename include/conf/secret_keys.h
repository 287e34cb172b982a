/* secret_keys.h - moves the secrets of TSIG keys from the configuration to a
 * key store. Of main. */
#ifndef CONF_SECRET_KEYS_H
#define CONF_SECRET_KEYS_H

#include "base/err.h"
#include "base/key_store.h"
#include "conf/conf.h"

/* Makes a key store with room for the secrets of all keys, and more.
 * returns NSD_OK and gives *key_store; NSD_E_MEMORY. */
enum nsd_err secret_keys_create(const struct conf *conf,
	struct key_store **key_store)
	MUST_USE;

/*
 * Moves the secret of each key to the key store, and wipes it in conf. A key
 * that old has with the same secret gets the handle that it has there; old may
 * be NULL.
 * returns NSD_OK; NSD_E_LIMIT: there is no room, nothing has changed in the
 * key store, and conf is of no use.
 */
enum nsd_err secret_keys_move(struct conf *conf, const struct conf *old,
	struct key_store *key_store) MUST_USE;

/* Removes the secrets of conf that old does not have. */
void secret_keys_remove(const struct conf *conf, const struct conf *old,
	struct key_store *key_store);

/* Removes all secrets but those of conf. */
void secret_keys_sweep(const struct conf *conf, struct key_store *key_store);

#endif
