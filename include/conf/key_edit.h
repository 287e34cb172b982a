/*
 * key_edit.h - changes of a configuration's TSIG keys while the server runs.
 * Main and the loader each apply the same changes.
 */
#ifndef CONF_KEY_EDIT_H
#define CONF_KEY_EDIT_H

#include "base/err.h"
#include "base/key_store.h"
#include "conf/conf.h"

enum key_edit_what {
	KEY_EDIT_ADD,    /* a new key with this algorithm; no other key has the
			  * same name in DNS. Elements that name a key of this
			  * name, which was removed, have this one */
	KEY_EDIT_SECRET, /* another secret for a key */
	KEY_EDIT_REMOVE, /* removes a key that no zone uses */
	KEY_EDIT_ASSOC,  /* all elements of the lists notify, allow-notify,
			  * provide-xfr and request-xfr of a zone get the key */
	KEY_EDIT_COUNT
};

/* An edit of keys. Texts are borrowed; fields that `what` has no use for are
 * not looked at. */
struct key_edit {
	enum key_edit_what what;
	const char *key;
	const char *algorithm;    /* as in nsd.conf */
	const char *zone;
	struct key_handle handle; /* of the secret */
};

/*
 * Changes the configuration.
 * returns NSD_OK; NSD_E_NOT_FOUND: there is no such key; NSD_E_ZONE: no such
 *     zone; NSD_E_DENIED: the key to add is there, or the one to remove is used
 *     by a zone (key_edit_find_user); NSD_E_SYNTAX: its name is no domain name;
 *     NSD_E_LIMIT: there is no such algorithm; NSD_E_MEMORY. Without NSD_OK
 *     nothing has changed.
 * cost: ADD and REMOVE: linear in the keys and patterns; REMOVE also in zones.
 * Octets that other threads read of a zone stay valid: its new options are at
 * another place. Zones that are given the same key share these, if they had the
 * same options before.
 */
enum nsd_err key_edit_apply(struct conf *conf, const struct key_edit *edit)
	MUST_USE;

/* As key_edit_apply, but changes nothing. */
enum nsd_err key_edit_check(const struct conf *conf,
	const struct key_edit *edit) MUST_USE;

/* The first zone whose lists have the key, or the next one after a zone (NULL:
 * none); NULL: there is none. */
const struct conf_zone *key_edit_find_user(const struct conf *conf,
	const struct conf_key *key, const struct conf_zone *after);

/* True if a key was given to the zone by KEY_EDIT_ASSOC. Linear in such keys
 * and in the different options that their zones had before. */
bool key_edit_is_assoc(const struct conf *conf, const struct conf_zone *zone);

/* True if a key may have this algorithm, in the words of nsd.conf. */
bool key_edit_has_algorithm(const char *name);

/* Decodes a secret in base64. The octets are the caller's: to wipe and free.
 * NULL: the text is no base64, or is empty, or there is no memory. */
uint8_t *key_edit_decode(const char *text, uint32_t *len);

#endif
