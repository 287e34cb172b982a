/* control_keys.c - TSIG keys. */
#include "config.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "dns/name.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"

/* Of a secret: more is told to be so. */
#define SECRET_MAX 1024u

static void
keys_print(const struct server *server, const struct conf_key *key,
	struct ctl_call *call)
{
	uint8_t owner[NAME_MAX_LEN];
	size_t index, owner_len = name_len(key->wire);
	unsigned char text[SECRET_MAX * 4 / 3 + 8] = "";
	const uint8_t *secret;
	size_t len;

	memcpy(owner, key->wire, owner_len);
	name_lower(owner);
	if (secrets_find(server->secrets,
		    (struct secrets_octets){owner, owner_len}, &index)) {
		secret = secrets_get(server->secrets, index, &len);
		if (len <= SECRET_MAX)
			EVP_EncodeBlock(text, secret, (int)len);
	}
	ctl_printf(call, "key: name: \"%s\" secret: \"%s\" algorithm: %s\n",
		key->name, (const char *)text, key->algorithm_name);
	explicit_bzero(text, sizeof(text));
}

void
control_on_print_tsig(struct xfrd *xfrd, struct ctl_call *call)
{
	const struct server *server = xfrd->role.server;
	const char *name = ctl_argument(call, 0);
	bool found = false;

	for (size_t i = 0; i < server->conf->key_count; i++) {
		if (name != NULL
			&& strcmp(server->conf->keys[i]->name, name) != 0)
			continue;
		keys_print(server, server->conf->keys[i], call);
		found = true;
	}
	if (name != NULL && !found)
		ctl_printf(call, "error: no such key with name: %s\n", name);
	ctl_end(call);
}
