/* secret_keys.h - moves the secrets of TSIG keys from the configuration to a
 * vault. Of main. */
#ifndef CONF_SECRET_KEYS_H
#define CONF_SECRET_KEYS_H

#include "base/err.h"
#include "base/vault.h"
#include "conf/conf.h"

/* Makes a vault with room for the secrets of all keys, and more.
 * returns NSD_OK and gives *vault; NSD_E_MEMORY. */
enum nsd_err secret_keys_create(const struct conf *conf, struct vault **vault)
	MUST_USE;

/*
 * Moves the secret of each key to the vault, and wipes it in conf. A key that
 * old has with the same secret gets the place that it has there; old may be
 * NULL.
 * returns NSD_OK; NSD_E_LIMIT: there is no room, nothing has changed in the
 * vault, and conf is of no use.
 */
enum nsd_err secret_keys_move(struct conf *conf, const struct conf *old,
	struct vault *vault) MUST_USE;

/* Removes the secrets of conf that old does not have. */
void secret_keys_remove(const struct conf *conf, const struct conf *old,
	struct vault *vault);

/* Removes all secrets but those of conf. */
void secret_keys_sweep(const struct conf *conf, struct vault *vault);

#endif
