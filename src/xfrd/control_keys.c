/* control_keys.c - TSIG keys. */
#include "config.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "dns/tsig.h"
#include "settings/settings.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"

/* Keys that are printed in a turn. */
#define TURN_KEYS 16u

/* An answer on its way. */
struct control_keys {
	struct xfrd *xfrd;
	uint32_t next; /* of the keys that are published */
	bool found;
};

/* A key that is published. */
struct keys_key {
	const char *name; /* as written */
	const struct settings_key *key;
	struct key_handle handle;
};

/* Prints a secret in base64. free() it. *len: its octets.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_NOT_FOUND: it is another one by now, or
 * there is none. */
static enum nsd_err
keys_print_secret(const struct key_store *key_store, struct key_handle handle,
	char **text, size_t *len)
{
	size_t octets, again;
	const uint8_t *secret = key_store_get(key_store, handle, &octets);

	if (secret == NULL)
		return NSD_E_NOT_FOUND;
	*len = (octets + 2) / 3 * 4;
	*text = calloc(1, *len + 1);
	if (*text == NULL)
		return NSD_E_MEMORY;
	EVP_EncodeBlock((unsigned char *)*text, secret, (int)octets);
	/* Main may have overwritten the secret meanwhile. */
	if (key_store_get(key_store, handle, &again) == secret)
		return NSD_OK;
	explicit_bzero(*text, *len);
	free(*text);
	return NSD_E_NOT_FOUND;
}

static enum nsd_err
keys_print(const struct key_store *key_store, const struct keys_key *key,
	struct ctl_call *call)
{
	/* The first label of the name is what nsd.conf calls the algorithm. */
	const uint8_t *algorithm = tsig_algorithm_name(
		(enum mac_kind)key->key->algorithm);
	char *text;
	size_t len;
	enum nsd_err err = keys_print_secret(key_store, key->handle, &text,
		&len);

	if (err != NSD_OK)
		return err;
	ctl_printf(call, "key: name: \"%s\" secret: \"", key->name);
	ctl_write_secret(call, text, len);
	ctl_printf(call, "\" algorithm: %.*s\n", (int)*algorithm,
		(const char *)algorithm + 1);
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

/* Prints the keys of a turn. True: there are more. */
static bool
keys_print_some(struct control_keys *keys, const struct store_view *view,
	struct ctl_call *call, enum nsd_err *err)
{
	const struct settings *settings = settings_get(view);
	const char *name = (const char *)settings_read_text(settings,
		&settings->key_names), *wanted = ctl_argument(call, 0);
	uint32_t from = keys->next;

	for (uint32_t i = 0; i < settings->key_count; i++) {
		const struct keys_key key = {
			.name = name,
			.key = store_get(view, settings_keys(settings)[i]),
			.handle = settings_secrets(settings)[i],
		};

		name += strlen(name) + 1;
		if (i < from)
			continue;
		if (i - from == TURN_KEYS)
			return true;
		keys->next++;
		if (wanted != NULL && strcmp(key.name, wanted) != 0)
			continue;
		keys->found = true;
		*err = keys_print(keys->xfrd->role.server->key_store, &key,
			call);
		if (*err != NSD_OK)
			return false;
	}
	return false;
}

static void
keys_on_room(struct ctl_call *call)
{
	struct control_keys *keys = ctl_hooks(call)->ctx;
	enum nsd_err err = NSD_OK;
	bool more = keys_print_some(keys, xfrd_read_begin(keys->xfrd), call,
		&err);

	xfrd_read_end(keys->xfrd);
	if (more)
		return;
	if (err != NSD_OK)
		ctl_printf(call, err == NSD_E_MEMORY
			? "error out of memory\n"
			: "error keys have been replaced meanwhile:"
			  " try again\n");
	else if (ctl_argument(call, 0) != NULL && !keys->found)
		ctl_printf(call, "error: no such key with name: %s\n",
			ctl_argument(call, 0));
	keys_end(keys, call);
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
	keys->xfrd = xfrd;
	ctl_hooks(call)->ctx = keys;
	ctl_hooks(call)->on_gone = keys_on_gone;
	ctl_stream(call, keys_on_room);
}
