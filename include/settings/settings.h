/*
 * settings.h - the configuration, compiled for those who read the store.
 *
 *   STORE_ROOT_SETTINGS -> settings -> settings_key, of each key
 *                                   -> settings_pattern (pattern.h), of each
 *   zone_entry                      -> settings_pattern -> settings_options
 *                                   -> settings_options -> settings_key
 *
 * All zones of a pattern share its options. To publish a new version, the
 * root is switched to it, and the reference in each entry whose options differ.
 * Nothing here is changed but the counts of holders; so what was read once
 * stays as it is until the reader is quiescent.
 *
 * Secrets of keys are not in the store (doc/decisions/0066): the settings have
 * the place of each in the key store, so that a key gets another secret from
 * one batch of queries to the next, and its reference stays.
 */
#ifndef SETTINGS_SETTINGS_H
#define SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/key_store.h"
#include "store/store.h"

/* ---- keys ---------------------------------------------------------------- */

/* A TSIG key. Two elements have the same key if their references are equal. */
struct settings_key {
	uint32_t refs;     /* holders; the writer's */
	uint8_t algorithm; /* enum mac_kind; SETTINGS_IDENTITY */
	uint8_t name_len;  /* with the root label */
	uint8_t name[];    /* wire name in lower case */
};

/* No key, but who has to be at the other end of TLS: name is the domain name of
 * the certificate, as text with its NUL. */
#define SETTINGS_IDENTITY 255u

static inline size_t
settings_key_size(const struct settings_key *key)
{
	return sizeof(*key) + key->name_len;
}

/* ---- options of zones ---------------------------------------------------- */

enum acl_kind { ACL_SINGLE, ACL_MASK, ACL_RANGE };

/* An element of a list (doc/surface.md 1.7). Addresses are in network order;
 * IPv4 has the first 4 octets, and zeros behind. */
struct acl_element {
	uint8_t family;    /* 4 or 6 */
	uint8_t kind;      /* enum acl_kind */
	uint8_t blocked;   /* BLOCKED */
	uint8_t needs_key; /* 0: unsigned messages match */
	uint16_t port;     /* 0: any */
	uint8_t axfr_only; /* of request-xfr: AXFR */
	uint8_t allow_udp; /* of request-xfr: UDP */
	store_ref key;     /* struct settings_key; none, with needs_key: an
			    * unknown key, so nothing matches */
	store_ref identity; /* struct settings_key with SETTINGS_IDENTITY:
			     * clients that have shown such a certificate, or a
			     * primary that has to; none: any */
	uint8_t address[16];
	uint8_t other[16]; /* mask, or last address of the range */
};

/* The lists of a zone, in the order in which they lie: first those of clients,
 * then the servers that xfrd asks and notifies, and our own addresses for that,
 * which are there if one of these two is. */
#define SETTINGS_LISTS(X)                                                    \
	X(ALLOW_QUERY, allow_query)                                          \
	X(PROVIDE_XFR, provide_xfr)                                          \
	X(ALLOW_NOTIFY, allow_notify)                                        \
	X(ALLOW_UPDATE, allow_update)                                        \
	X(UPDATE_FORWARD, update_forward)                                    \
	X(REQUEST_XFR, request_xfr)                                          \
	X(NOTIFY, notify)                                                    \
	X(OUTGOING_INTERFACE, outgoing_interface)
#define SETTINGS_CLIENT_LISTS ((unsigned)SETTINGS_REQUEST_XFR)

#define SETTINGS_LIST_ENUM(code, field) SETTINGS_##code,
enum settings_list { SETTINGS_LISTS(SETTINGS_LIST_ENUM) SETTINGS_LIST_COUNT };
#undef SETTINGS_LIST_ENUM

/* The timers of a secondary zone, and of NOTIFY. */
struct settings_xfr {
	uint32_t notify_tries; /* notify-retry */
	uint32_t refresh_min_sec, refresh_max_sec;
	uint32_t retry_min_sec, retry_max_sec;
	uint32_t expire_min_sec; /* or SETTINGS_EXPIRE_FROM_SOA */
	uint16_t axfr_fallback;  /* allow-axfr-fallback */
	uint16_t check_all;      /* multi-primary-check */
};

/* min-expire-time: refresh+retry+1, a value of expire_min_sec. */
#define SETTINGS_EXPIRE_FROM_SOA UINT32_MAX

/* The serial that an UPDATE gives to a zone (serial-policy). */
enum settings_serial { SETTINGS_SERIAL_INCREMENT, SETTINGS_SERIAL_UNIXTIME,
	SETTINGS_SERIAL_DATESERIAL };

/* The numbers of a zone. 0 is the default. */
struct settings_numbers {
	uint32_t rrl_whitelist;    /* enum answer_kind, or-ed */
	uint16_t serial_policy;    /* enum settings_serial */
	uint16_t update_unchecked; /* update-signed: no-check */
};

/* The options of a pattern, or of a zone by itself. A zone whose lists are all
 * empty and whose numbers are all 0 has no such object. */
struct settings_options {
	uint32_t refs; /* holders; the writer's */
	uint32_t len;  /* octets of this object */
	struct settings_numbers numbers;
	uint32_t ends[SETTINGS_LIST_COUNT]; /* elements before the end of each
					     * list; the next begins there */
	/* The place of the struct acl_index of each list, in octets from the
	 * start; 0: there is none. They lie behind the elements, at multiples
	 * of ACL_INDEX_ALIGN. */
	uint32_t index_at[SETTINGS_LIST_COUNT];
	/* The place of the struct settings_xfr, just behind the elements; 0:
	 * there are neither primaries nor targets of NOTIFY. */
	uint32_t xfr_at;
	/* The place of the struct update_policy (update_policy.h), behind the
	 * indexes; 0: there is no update-policy. */
	uint32_t policy_at;
	struct acl_element acl[];
};

static inline size_t
settings_options_size(const struct settings_options *options)
{
	return options->len;
}

/* The elements of a list; those that the index does not cover come first. Lent
 * until the reader is quiescent. */
static inline const struct acl_element *
settings_options_list(const struct settings_options *options,
	enum settings_list list, uint32_t *count)
{
	uint32_t first = list > 0 ? options->ends[list - 1] : 0;

	*count = options->ends[list] - first;
	return options->acl + first;
}

/* The options that xfrd has for the zone. NULL: none. Lent until the reader is
 * quiescent. */
static inline const struct settings_xfr *
settings_options_xfr(const struct settings_options *options)
{
	return options->xfr_at == 0 ? NULL
		: (const struct settings_xfr *)((const uint8_t *)options
			+ options->xfr_at);
}

/* True if clients may change the zone by UPDATE (allow-update, update-policy).
 * options may be NULL. nsd.conf refuses that for secondaries and catalogs. */
static inline bool
settings_options_take_updates(const struct settings_options *options)
{
	uint32_t count;

	if (options == NULL)
		return false;
	(void)settings_options_list(options, SETTINGS_ALLOW_UPDATE, &count);
	return count > 0 || options->policy_at != 0;
}

/* True if UPDATEs of the zone are passed on to its primaries
 * (update-forward). options may be NULL. */
static inline bool
settings_options_forward_updates(const struct settings_options *options)
{
	uint32_t forward, primaries;

	if (options == NULL)
		return false;
	(void)settings_options_list(options, SETTINGS_UPDATE_FORWARD,
		&forward);
	(void)settings_options_list(options, SETTINGS_REQUEST_XFR, &primaries);
	return forward > 0 && primaries > 0;
}

/* ---- options of the server ----------------------------------------------- */

/* Octets within a struct settings. */
struct settings_text {
	uint32_t at;  /* from its start; 0: there is no such text */
	uint32_t len;
};

/* The most netblocks with limits that a client is in. */
#define SETTINGS_NETBLOCKS_MAX 5u

/* The netblocks of a client whose answers are counted, narrowest first. */
struct settings_netblocks {
	uint32_t count;
	struct {
		uint32_t bits;   /* of the address, 0 to 32 or 64 */
		uint32_t factor; /* the limit is multiplied by this */
	} items[SETTINGS_NETBLOCKS_MAX];
};

/* The options of the server that shape answers (doc/surface.md 1.2). Behind
 * them: key_count references to keys, and pattern_count to patterns, both in
 * the order of the names in nsd.conf; the handles of the secrets of these keys;
 * then the octets of the texts. */
struct settings {
	uint32_t len;         /* octets of this object */
	uint16_t udp4_size;   /* ipv4-edns-size */
	uint16_t udp6_size;
	bool minimal_responses;
	bool round_robin;
	bool refuse_any;
	bool tls_auth_xfr_only;
	bool confine_to_zone;
	bool drop_updates;
	bool takes_updates; /* some zone or pattern takes or forwards UPDATEs */
	bool tcp_reject_overflow;
	uint32_t tcp_count;
	uint32_t tcp_query_count; /* 0: any number */
	uint32_t tcp_timeout_sec;
	/* Answers a second of a kind to a netblock; 0: any number. */
	uint32_t rrl_ratelimit;
	uint32_t rrl_whitelist_ratelimit;
	uint32_t rrl_slip; /* of so many limited answers one is sent, cut short;
			    * 0: none */
	bool answer_cookie;
	bool rssac002; /* figures of RSSAC002 are counted */
	/* The limit of the processor's time for a netblock over TCP, in
	 * microseconds a second; 0: any. */
	uint32_t tcp_cpu_limit;
	uint32_t rrl_size; /* buckets of all these limits together */
	struct settings_text tcp_cpu_whitelist; /* elements of a list, each an
						 * address; may be unaligned */
	struct settings_text allow_proxy; /* as tcp_cpu_whitelist; none: any
					   * address */
	struct settings_netblocks rrl_ip4;
	struct settings_netblocks rrl_ip6;
	struct settings_text identity; /* none: refuse (hide-identity) */
	struct settings_text version;  /* none: refuse (hide-version) */
	struct settings_text nsid;
	struct settings_text key_names; /* as written, each with its NUL, in the
					 * order of the keys */
	struct settings_text report_channel; /* edns-report-channel: a name in
					      * wire form; none: no agent */
	uint32_t key_count;
	uint32_t pattern_count;
	store_ref refs[];
};

/* Octets of settings without their texts. */
static inline size_t
settings_head_size(const struct settings *settings)
{
	return sizeof(*settings)
		+ ((size_t)settings->key_count + settings->pattern_count)
		* sizeof(settings->refs[0])
		+ (size_t)settings->key_count * sizeof(struct key_handle);
}

/* The published settings or, before the first publish, those of an empty
 * nsd.conf that hides who we are. Never NULL. Lent until the reader is
 * quiescent. */
const struct settings *settings_get(const struct store_view *view);

/* The octets of a text of these settings, or NULL. */
static inline const uint8_t *
settings_read_text(const struct settings *settings,
	const struct settings_text *text)
{
	return text->at != 0 ? (const uint8_t *)settings + text->at : NULL;
}

/* key_count references to struct settings_key. */
static inline const store_ref *
settings_keys(const struct settings *settings)
{
	return settings->refs;
}

/* pattern_count references to struct settings_pattern. */
static inline const store_ref *
settings_patterns(const struct settings *settings)
{
	return settings->refs + settings->key_count;
}

/* The places of the keys' secrets in the key store, in the order of the keys. A
 * handle without an id, or of an empty secret: the key has no secret, and
 * counts as unknown. */
static inline const struct key_handle *
settings_secrets(const struct settings *settings)
{
	return (const struct key_handle *)(settings_patterns(settings)
		+ settings->pattern_count);
}

#endif
