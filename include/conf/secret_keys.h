/* secret_keys.h - the secrets of TSIG keys leave the configuration. */
#ifndef CONF_SECRET_KEYS_H
#define CONF_SECRET_KEYS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/secrets.h"
#include "conf/conf.h"

/* Moves them to a place of their own, sealed, and wipes those of conf. Gives
 * *secrets (secrets_drop). NSD_E_MEMORY: said in the log. */
enum nsd_err secret_keys_move(struct conf *conf, struct secrets **secrets)
	MUST_USE;

/* True if the keys of conf have the same secrets in both, and there are no
 * others. */
bool secret_keys_are_same(const struct conf *conf, const struct secrets *a,
	const struct secrets *b);

#endif
