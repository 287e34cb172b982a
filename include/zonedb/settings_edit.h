/*
 * settings_edit.h - makes settings in the store (settings/settings.h), and
 * publishes them. The loader's.
 *
 * An edit makes keys, options and patterns. Equal contents are one object:
 * objects of the published settings are used again, so unchanged settings keep
 * their references.
 */
#ifndef ZONEDB_SETTINGS_EDIT_H
#define ZONEDB_SETTINGS_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mac.h"
#include "settings/pattern.h"
#include "settings/update_policy.h"

struct store_writer;

/* An edit of settings. There is one at a time, in the thread of the writer. */
struct settings_edit;

/* Begins an edit.
 * out: *edit, the caller's until settings_edit_end. returns NSD_OK,
 * NSD_E_MEMORY. Cost: a look at all objects of the published settings. */
enum nsd_err settings_edit_begin(struct store_writer *writer,
	struct settings_edit **edit) MUST_USE;

/* Ends an edit: lets go of objects that have no other holder by now. NULL is
 * fine. */
void settings_edit_end(struct settings_edit *edit);

/* Makes or finds a key by its wire name, in any case.
 * out: *key, lent until the end of the edit; an object that keeps it is a
 * holder by then. returns NSD_OK, NSD_E_MEMORY. */
enum nsd_err settings_edit_key(struct settings_edit *edit,
	const uint8_t *name, enum mac_kind algorithm, store_ref *key)
	MUST_USE;

/* Makes or finds the identity of a TLS peer: the domain name of its
 * certificate, at most 253 octets. Returned as a key is. NSD_E_LIMIT: it is
 * longer. */
enum nsd_err settings_edit_identity(struct settings_edit *edit,
	const char *domain, store_ref *identity) MUST_USE;

/* The lists and numbers of a pattern or zone. Octets of elements that mean
 * nothing, such as the mask of a single address, are zero. */
struct settings_lists {
	const struct acl_element *lists[SETTINGS_LIST_COUNT];
	uint32_t counts[SETTINGS_LIST_COUNT];
	struct settings_numbers numbers;
	const struct update_policy_line *policies; /* policy_count lines; keys
						    * are of the edit */
	uint32_t policy_count;
	const struct settings_xfr *xfr; /* kept only with primaries or targets
					 * of NOTIFY; NULL: none */
};

/* Makes or finds options with these lists, whose keys are of this edit.
 * out: *options, lent as a key; none if all lists are empty and all numbers 0.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_LIMIT: a list is too long for an
 * object. */
enum nsd_err settings_edit_options(struct settings_edit *edit,
	const struct settings_lists *lists, store_ref *options) MUST_USE;

/* The catalog options of a pattern or zone; names as settings_catalog has
 * them. */
struct settings_catalog_setup {
	const char *member_pattern; /* NULL: none */
	const char *folder;         /* the same */
	const uint8_t *producer;    /* the same */
	const char *const *groups;  /* group_count texts */
	uint32_t group_count;
	const uint8_t *suffixes;    /* suffix_count names */
	uint32_t suffix_count;
	uint32_t max;
	uint16_t role;
	bool empty_deletes;
};

/* The texts of a pattern or zone, and its options. All is borrowed. */
struct settings_pattern_setup {
	const char *name;  /* NULL: the options of a zone in nsd.conf */
	const char *file;  /* zonefile; NULL: none */
	store_ref options; /* made in this edit; or none */
	struct settings_storing storing;
	struct settings_catalog_setup catalog;
	/* The texts of the elements of the lists behind SETTINGS_CLIENT_LISTS;
	 * counts has the length of each list. */
	const struct settings_texts *texts;
	uint32_t counts[SETTINGS_LIST_COUNT - SETTINGS_CLIENT_LISTS];
};

/* Makes or finds a pattern with these texts.
 * out: *pattern, lent as a key.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_LIMIT: the texts are too long for an
 * object. */
enum nsd_err settings_edit_pattern(struct settings_edit *edit,
	const struct settings_pattern_setup *setup, store_ref *pattern)
	MUST_USE;

/* The server's options. All is borrowed. */
struct settings_setup {
	const char *identity;    /* NULL: none */
	const char *version;
	const uint8_t *nsid;
	uint16_t nsid_len;
	const uint8_t *report_channel; /* a name in wire form; NULL: none */
	uint16_t udp4_size;
	uint16_t udp6_size;
	bool minimal_responses;
	bool round_robin;
	bool refuse_any;
	bool tls_auth_xfr_only;
	bool confine_to_zone;
	bool drop_updates;
	bool takes_updates;
	bool tcp_reject_overflow;
	uint32_t tcp_count;
	uint32_t tcp_query_count;
	uint32_t tcp_timeout_sec;
	uint32_t rrl_ratelimit;
	uint32_t rrl_whitelist_ratelimit;
	uint32_t rrl_slip;
	struct settings_netblocks rrl_ip4;
	struct settings_netblocks rrl_ip6;
	bool answer_cookie;
	bool rssac002;
	uint32_t tcp_cpu_limit;
	uint32_t rrl_size;
	const struct acl_element *tcp_cpu_whitelist;
	uint32_t tcp_cpu_whitelist_count;
	const struct acl_element *allow_proxy;
	uint32_t allow_proxy_count;
	const store_ref *keys;     /* of the edit */
	const struct key_handle *secrets; /* of the keys, in their order; NULL:
				    * they have none */
	const char *key_names; /* names, each with its NUL; NULL: none */
	uint32_t key_names_len;
	uint32_t key_count;
	const store_ref *patterns; /* of the edit */
	uint32_t pattern_count;
};

/* Publishes settings in place of the published ones, and lets go of these.
 * returns NSD_OK; NSD_E_MEMORY, NSD_E_LIMIT: all is as it was. */
enum nsd_err settings_edit_publish(struct settings_edit *edit,
	const struct settings_setup *setup) MUST_USE;

#endif
