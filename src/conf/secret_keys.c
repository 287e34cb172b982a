/* secret_keys.c - the secrets of TSIG keys leave the configuration. */
#include "config.h"

#include <string.h>

#include "base/log.h"
#include "dns/name.h"
#include "conf/secret_keys.h"

/* The name that the secret of a key has, in lower case. */
static struct secrets_octets
key_owner(const struct conf_key *key, uint8_t name[NAME_MAX_LEN])
{
	size_t len = name_len(key->wire);

	memcpy(name, key->wire, len);
	name_lower(name);
	return (struct secrets_octets){name, len};
}

enum nsd_err
secret_keys_move(struct conf *conf, struct secrets **secrets)
{
	uint8_t name[NAME_MAX_LEN];
	size_t octets = 0;

	for (size_t i = 0; i < conf->key_count; i++)
		octets += conf->keys[i]->secret_len
			+ name_len(conf->keys[i]->wire);
	if (secrets_create(conf->key_count, octets, secrets) != NSD_OK) {
		log_error("out of memory for the secrets of keys");
		return NSD_E_MEMORY;
	}
	for (size_t i = 0; i < conf->key_count; i++) {
		const struct conf_key *key = conf->keys[i];

		secrets_add(*secrets, key_owner(key, name),
			(struct secrets_octets){key->secret_data,
				key->secret_len});
	}
	secrets_seal(*secrets);
	conf_wipe_secrets(conf);
	return NSD_OK;
}

static bool
secret_is_same(struct secrets_octets owner, const struct secrets *a,
	const struct secrets *b)
{
	size_t i, j, len_a, len_b;
	const uint8_t *of_a, *of_b;

	if (!secrets_find(a, owner, &i) || !secrets_find(b, owner, &j))
		return false;
	of_a = secrets_get(a, i, &len_a);
	of_b = secrets_get(b, j, &len_b);
	return len_a == len_b && memcmp(of_a, of_b, len_a) == 0;
}

bool
secret_keys_are_same(const struct conf *conf, const struct secrets *a,
	const struct secrets *b)
{
	bool same = secrets_count(a) == secrets_count(b);
	uint8_t name[NAME_MAX_LEN];

	for (size_t i = 0; same && i < conf->key_count; i++)
		same = secret_is_same(key_owner(conf->keys[i], name), a, b);
	return same;
}
