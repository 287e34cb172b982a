/*
 * svc_param.h - the keys of SVCB and HTTPS (RFC 9460 section 14.3.2), a row for
 * each key, and how their values are written.
 */
#ifndef DNS_SVC_PARAM_H
#define DNS_SVC_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dns/text.h"

enum svc_key {
	SVC_MANDATORY = 0,
	SVC_ALPN = 1,
	SVC_NO_DEFAULT_ALPN = 2,
	SVC_INVALID = 65535,
};

/* A set of keys, or of other numbers of 16 bits. */
struct svc_keys {
	uint8_t bits[8192];
};

static inline void
svc_keys_init(struct svc_keys *keys)
{
	memset(keys->bits, 0, sizeof(keys->bits));
}

static inline bool
svc_keys_has(const struct svc_keys *keys, uint16_t key)
{
	return (keys->bits[key / 8] >> key % 8 & 1) != 0;
}

/* False if the key was there already. */
static inline bool
svc_keys_add(struct svc_keys *keys, uint16_t key)
{
	bool was_there = svc_keys_has(keys, key);

	keys->bits[key / 8] |= (uint8_t)(1u << key % 8);
	return !was_there;
}

/* A value of presentation format, with escapes of RFC 1035 undone. */
struct svc_value {
	const uint8_t *octets;
	size_t len;
	bool escaped; /* the text had a backslash in it */
};

/* A value on the wire under construction. */
struct svc_out {
	uint8_t *at;
	size_t room;
	const char *doubt; /* set by a parse that takes what it doubts: what
			    * was expected */
};

/*
 * A form of values. parse reads text and check reads octets on the wire; both
 * return NULL, or what was expected. print writes "=VALUE", or nothing if the
 * value is empty.
 */
struct svc_form {
	const char *(*parse)(const struct svc_value *value,
		struct svc_out *out);
	const char *(*check)(const uint8_t *octets, size_t len);
	void (*print)(const uint8_t *octets, size_t len,
		struct text *t);
	bool is_strict; /* bad octets as keyN are an error, no doubt */
	bool says_all;  /* text of the form can say any octets */
};

/* The form of a key's values, never NULL. The values of a key that is not
 * registered are opaque octets. */
const struct svc_form *svc_form_get(uint16_t key);

/* A key in text. */
struct svc_key_text {
	uint16_t key;
	bool generic; /* written as "key65280", not as "alpn" */
	bool doubt;   /* "key01" or "key65535" */
};

/* False if the text is no key. */
bool svc_key_parse(const char *text, size_t len, struct svc_key_text *key);
void svc_key_print(uint16_t key, struct text *t);

#endif
