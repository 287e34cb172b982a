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

/* A secret in base64; NULL: no memory. free() it. *len: its octets. */
static char *
keys_print_secret(const struct server *server, const struct conf_key *key,
	size_t *len)
{
	size_t octets = 0;
	const uint8_t *secret = vault_get(server->vault, key->place, &octets);
	char *text;

	*len = (octets + 2) / 3 * 4;
	text = calloc(1, *len + 1);
	if (text != NULL && octets > 0)
		EVP_EncodeBlock((unsigned char *)text, secret, (int)octets);
	return text;
}

/* False: no memory. */
static bool
keys_print(const struct server *server, const struct conf_key *key,
	struct ctl_call *call)
{
	size_t len;
	char *text = keys_print_secret(server, key, &len);

	if (text == NULL)
		return false;
	ctl_printf(call, "key: name: \"%s\" secret: \"%s\" algorithm: %s\n",
		key->name, text, key->algorithm_name);
	explicit_bzero(text, len);
	free(text);
	return true;
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
		if (!keys_print(keys->server, key, call)) {
			ctl_printf(call, "error out of memory\n");
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
