/* control_keys.c - TSIG keys. */
#include "config.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "dns/name.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"

/* Printed in a turn. */
#define TURN_KEYS 16u

/* An answer on its way. */
struct control_keys {
	const struct server *server;
	size_t next; /* of conf.keys */
	bool found;
};

/* A secret in base64. free() it. *len: its octets.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_NOT_FOUND: it is another one by now, or
 * there is none. */
static enum nsd_err
keys_print_secret(const struct server *server, const struct conf_key *key,
	char **text, size_t *len)
{
	size_t octets, again;
	const uint8_t *secret = vault_get(server->vault, key->place, &octets);

	if (secret == NULL)
		return NSD_E_NOT_FOUND;
	*len = (octets + 2) / 3 * 4;
	*text = calloc(1, *len + 1);
	if (*text == NULL)
		return NSD_E_MEMORY;
	EVP_EncodeBlock((unsigned char *)*text, secret, (int)octets);
	/* Main may have overwritten it meanwhile. */
	if (vault_get(server->vault, key->place, &again) == secret)
		return NSD_OK;
	explicit_bzero(*text, *len);
	free(*text);
	return NSD_E_NOT_FOUND;
}

static enum nsd_err
keys_print(const struct server *server, const struct conf_key *key,
	struct ctl_call *call)
{
	char *text;
	size_t len;
	enum nsd_err err = keys_print_secret(server, key, &text, &len);

	if (err != NSD_OK)
		return err;
	ctl_printf(call, "key: name: \"%s\" secret: \"", key->name);
	ctl_write_secret(call, text, len);
	ctl_printf(call, "\" algorithm: %s\n", key->algorithm_name);
	explicit_bzero(text, len);
	free(text);
	return NSD_OK;
}

static void
keys_end(struct control_keys *keys, struct ctl_call *call)
{
	free(keys);
	ctl_end(call);
}

static void
keys_on_room(struct ctl_call *call)
{
	struct control_keys *keys = ctl_hooks(call)->ctx;
	const struct conf *conf = keys->server->conf;
	const char *name = ctl_argument(call, 0);

	for (unsigned i = 0; i < TURN_KEYS; i++) {
		const struct conf_key *key;
		enum nsd_err err;

		if (keys->next == conf->key_count) {
			if (name != NULL && !keys->found)
				ctl_printf(call, "error: no such key with"
						 " name: %s\n", name);
			keys_end(keys, call);
			return;
		}
		key = conf->keys[keys->next++];
		if (name != NULL && strcmp(key->name, name) != 0)
			continue;
		keys->found = true;
		err = keys_print(keys->server, key, call);
		if (err != NSD_OK) {
			ctl_printf(call, err == NSD_E_MEMORY
				? "error out of memory\n"
				: "error keys have been replaced meanwhile:"
				  " try again\n");
			keys_end(keys, call);
			return;
		}
	}
}

static void
keys_on_gone(struct ctl_call *call)
{
	keys_end(ctl_hooks(call)->ctx, call);
}

void
control_on_print_tsig(struct xfrd *xfrd, struct ctl_call *call)
{
	struct control_keys *keys = calloc(1, sizeof(*keys));

	if (keys == NULL) {
		ctl_printf(call, "error out of memory\n");
		ctl_end(call);
		return;
	}
	keys->server = xfrd->role.server;
	ctl_hooks(call)->ctx = keys;
	ctl_hooks(call)->on_gone = keys_on_gone;
	ctl_stream(call, keys_on_room);
}
