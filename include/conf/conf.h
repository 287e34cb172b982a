/*
 * conf.h - the configuration of the server: nsd.conf read, checked and
 * resolved (doc/surface.md section 1).
 *
 * A configuration is an arena, and one of its zones. Everything that the
 * structs below point to belongs to it and is lent until conf_destroy; zones
 * until conf_drop_zones, too. After conf_load, only conf_add_zone,
 * conf_change_zone, conf_remove_zone, conf_drop_zones, image.h and key_edit.h
 * change it. Fields are named like their options, with underscores. Strings are
 * as written between the quotes; NULL: not given.
 */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/err.h"
#include "base/key_store.h"

/* Used where send-buffer-size and receive-buffer-size are 0. */
#define CONF_SEND_BUFFER_SIZE 4194304
#define CONF_RECEIVE_BUFFER_SIZE 1048576

/* The highest server-count. */
#define CONF_SERVERS_MAX 65535

/* Options that the file sets, by row of the option table. For this layer
 * only. */
struct conf_set {
	uint64_t bits[2];
};

/* ---- lists: one layout for all, capacity is for this layer only --------- */

struct conf_strings {
	const char **items;
	uint32_t count;
	uint32_t capacity;
};

struct conf_numbers {
	uint32_t *items;
	uint32_t count;
	uint32_t capacity;
};

/* rrl-ipv4-wider, rrl-ipv6-wider */
struct conf_netblock {
	uint32_t bits;   /* of an address, 0 to 32 or 64 */
	uint32_t factor; /* of the limit, at least 1 */
};

#define CONF_NETBLOCKS_MAX 4u

struct conf_netblocks {
	struct conf_netblock *items; /* up to CONF_NETBLOCKS_MAX */
	uint32_t count;
	uint32_t capacity;
};

/* First and last number of a range, 1-based and inclusive; first <= last. */
struct conf_range {
	uint32_t first;
	uint32_t last;
};

struct conf_ranges {
	struct conf_range *items;
	uint32_t count;
	uint32_t capacity;
};

/* server-N-cpu-affinity */
struct conf_server_cpu {
	uint32_t server; /* N, from 1 */
	uint32_t cpu;
};

struct conf_server_cpus {
	struct conf_server_cpu *items;
	uint32_t count;
	uint32_t capacity;
};

/* Where to listen: ip-address, control-interface, metrics-interface. */
struct conf_interface {
	const char *text;   /* as written: ADDR[@port], interface name, path */
	const char *host;   /* text without @port; the scope of an IPv6
			     * address stands in it alone */
	uint8_t family;     /* 4 or 6; 0: host is a device name or a path */
	uint8_t address[16];/* network order; IPv4 in the first 4 octets */
	uint16_t port;      /* 0: the clause's port option */
	bool bindtodevice;
	int32_t setfib;     /* -1: not given */
	/* servers=: which query processes listen there; none: all */
	struct conf_ranges servers;
};

struct conf_interfaces {
	struct conf_interface *items;
	uint32_t count;
	uint32_t capacity;
};

enum conf_acl_kind {
	CONF_ACL_SINGLE,
	CONF_ACL_MASK,   /* A&mask: other is the mask */
	CONF_ACL_SUBNET, /* A/len: `other` is the mask, too */
	CONF_ACL_RANGE   /* A-B: `other` is B */
};

/* An ACL element, a primary, a notify target or a source address. */
struct conf_acl {
	const char *spec;   /* the address part as written */
	const char *key_name; /* NULL: NOKEY or BLOCKED */
	const struct conf_key *key; /* resolved; NULL without key_name */
	const char *tls_auth_name;  /* NULL: none */
	const struct conf_tls_auth *tls_auth;
	const char *file;   /* where it stands */
	uint32_t line;
	uint16_t port;      /* 0: any, or the default one */
	uint8_t family;     /* 4 or 6 */
	uint8_t kind;       /* enum conf_acl_kind */
	bool blocked;
	bool nokey;
	bool axfr_only;     /* request-xfr: AXFR */
	bool allow_udp;     /* request-xfr: UDP */
	bool inherited;     /* copied from a pattern; for this layer only */
	/* Network order, IPv4 in the first 4 octets. With a mask the octets
	 * of address that the mask leaves out are 0. */
	uint8_t address[16];
	uint8_t other[16];
};

struct conf_acls {
	struct conf_acl *items;
	uint32_t count;
	uint32_t capacity;
};

enum conf_policy_kind {
	CONF_POLICY_NAME,   /* NAME: this name */
	CONF_POLICY_BELOW,  /* *.NAME: names below NAME */
	CONF_POLICY_LABELS, /* LABELS.*: names that begin with LABELS */
	CONF_POLICY_ANY,    /* *: names of the zone */
	CONF_POLICY_SELF    /* self: the key's name */
};

/* A line of update-policy. */
struct conf_policy {
	const char *key_name;
	const struct conf_key *key; /* resolved; without a name: there is no
				     * such key, which was an error */
	const char *text;       /* the name as written */
	const uint8_t *name;    /* wire form, lower case; LABELS: with a root
				 * label behind; ANY and SELF: the root */
	const uint16_t *types;  /* as written; ANY is one */
	uint32_t type_count;    /* 0: no type is written */
	uint32_t line;
	const char *file;       /* where it stands */
	uint8_t kind;           /* enum conf_policy_kind */
	bool inherited;         /* as of struct conf_acl */
};

struct conf_policies {
	struct conf_policy *items;
	uint32_t count;
	uint32_t capacity;
};

/* ---- clauses ----------------------------------------------------------- */

struct conf_server {
	struct conf_set set;
	struct conf_interfaces ip_address; /* none: wildcard, all servers */
	uint32_t port;
	uint32_t server_count;
	struct conf_numbers cpu_affinity;
	struct conf_server_cpus server_cpu_affinity; /* server-N-cpu-affinity */
	int32_t xfrd_cpu_affinity; /* -1: all of cpu_affinity */
	bool ip_transparent;
	bool ip_freebind;
	bool reuseport;
	bool reuseport_by_cpu;
	bool rssac002;
	bool sandbox;
	bool replace_hung;
	bool debug_mode;
	bool do_ip4;     /* do-ip4 with ip4-only and ip6-only taken in */
	bool do_ip6;
	bool hide_version;
	bool hide_identity;
	bool drop_updates;
	bool log_only_syslog;
	bool log_time_ascii;
	bool log_time_iso;
	bool tcp_reject_overflow;
	bool reload_config;
	bool zonefiles_check;
	bool round_robin;
	bool minimal_responses;
	bool confine_to_zone;
	bool refuse_any;
	bool answer_cookie;
	bool tls_auth_xfr_only;
	bool metrics_enable;
	bool xdp_program_load;
	bool xdp_force_copy;
	uint32_t send_buffer_size;    /* 0: CONF_SEND_BUFFER_SIZE */
	uint32_t receive_buffer_size; /* 0: CONF_RECEIVE_BUFFER_SIZE */
	const char *identity;  /* NULL: the host name */
	const char *version;   /* NULL: PACKAGE_STRING */
	const char *nsid;      /* hex or ascii_TEXT as written; see nsid_data */
	const uint8_t *nsid_data;
	uint32_t nsid_len;     /* octets of nsid_data */
	const char *edns_report_channel; /* a name as written; see below */
	const uint8_t *edns_report_channel_name; /* in wire form, lower case;
				* NULL: none, or the root */
	const char *logfile;   /* NULL: stderr and syslog */
	uint32_t nsec3_max_iterations;
	uint32_t max_records_per_type; /* 0: any number */
	uint32_t max_types_per_name;   /* 0: any number */
	uint32_t verbosity;
	uint32_t tcp_count;
	uint32_t tcp_query_count;
	uint32_t tcp_timeout;
	uint32_t tcp_mss;
	uint32_t outgoing_tcp_mss;
	int32_t tcp_listen_queue; /* -1: the system's most */
	uint32_t xfrd_tcp_max;
	uint32_t xfrd_tcp_pipeline;
	uint32_t ipv4_edns_size;
	uint32_t ipv6_edns_size;
	const char *pidfile;   /* "": none */
	uint32_t statistics;
	const char *query_log; /* FILE or "syslog:"; NULL, "": none */
	const char *query_log_format; /* dns/log_field.h; NULL: default */
	const char *chroot;    /* NULL or "": none */
	const char *username;  /* "": stay */
	const char *worker_username; /* NULL or "": as username */
	const char *zonesdir;  /* "": do not change */
	const char *database;  /* "": memory only */
	const char *zonelistfile;
	const char *xfrdfile;
	const char *xfrdir;
	uint32_t xfrd_reload_timeout;
	uint32_t zonefiles_write;
	uint32_t rrl_size;
	uint32_t rrl_ratelimit;
	uint32_t rrl_slip;
	uint32_t rrl_ipv4_prefix_length;
	uint32_t rrl_ipv6_prefix_length;
	uint32_t rrl_whitelist_ratelimit;
	struct conf_netblocks rrl_ipv4_wider;
	struct conf_netblocks rrl_ipv6_wider;
	uint32_t tcp_cpu_limit; /* microseconds a second; 0: none */
	struct conf_acls tcp_cpu_whitelist;
	const char *cookie_secret;
	const char *cookie_staging_secret;
	const char *cookie_secret_file; /* "": none */
	const char *tls_service_key;
	const char *tls_service_pem;
	const char *tls_service_ocsp;
	uint32_t tls_port;
	uint32_t tls_auth_port; /* 0: none */
	const char *tls_cert_bundle;
	struct conf_numbers proxy_protocol_port;
	struct conf_acls allow_proxy;
	struct conf_interfaces metrics_interface;
	uint32_t metrics_port;
	const char *metrics_path;
	const char *xdp_interface;
	const char *xdp_program_path;
	const char *xdp_bpffs_path;
};

struct conf_remote_control {
	struct conf_set set;
	bool control_enable;
	struct conf_interfaces control_interface; /* none: localhost */
	uint32_t control_port;
	const char *server_key_file;
	const char *server_cert_file;
	const char *control_key_file;
	const char *control_cert_file;
};

struct conf_verify {
	struct conf_set set;
	bool enable;
	bool verify_zones;
	bool verifier_feed_zone;
	struct conf_interfaces ip_address; /* none: localhost */
	uint32_t port;
	struct conf_strings verifier; /* command and arguments */
	uint32_t verifier_count;
	uint32_t verifier_timeout;
};

struct conf_dnstap {
	struct conf_set set;
	bool dnstap_enable;
	bool dnstap_tls;
	bool dnstap_send_identity;
	bool dnstap_send_version;
	bool dnstap_log_auth_query_messages;
	bool dnstap_log_auth_response_messages;
	bool dnstap_log_update_messages;
	bool dnstap_log_notify_messages;
	uint32_t dnstap_sample; /* one of so many queries; 1: all */
	const char *dnstap_socket_path;
	const char *dnstap_ip;
	const char *dnstap_tls_server_name;
	const char *dnstap_tls_cert_bundle;
	const char *dnstap_tls_client_key_file;
	const char *dnstap_tls_client_cert_file;
	const char *dnstap_identity;
	const char *dnstap_version;
	struct conf_strings dnstap_zones; /* domain names; none: all */
};

struct conf_key {
	struct conf_set set;
	const char *name;      /* as written */
	const uint8_t *wire;   /* wire form, case kept */
	const char *algorithm; /* as written, e.g. "hmac-sha256", "sha256" */
	const char *algorithm_name; /* in full, lower case: "hmac-sha256" */
	const char *secret;    /* base64 */
	const uint8_t *secret_data;
	uint32_t secret_len;   /* octets of secret_data */
	struct key_handle handle; /* of the secret, once it has been moved
				   * (secret_keys.h) */
	const char *file;      /* where its clause stands; NULL: it was added
				* by key_edit_apply */
	uint32_t line;
};

struct conf_tls_auth {
	struct conf_set set;
	const char *name;
	const char *auth_domain_name;
	const char *client_cert;
	const char *client_key;
	const char *client_key_pw;
	const char *file;      /* where its clause stands */
	uint32_t line;
};

/* serial-policy, in the order of enum settings_serial. */
enum conf_serial { CONF_SERIAL_INCREMENT, CONF_SERIAL_UNIXTIME,
	CONF_SERIAL_DATESERIAL };

enum conf_catalog { CONF_CATALOG_NONE, CONF_CATALOG_CONSUMER,
	CONF_CATALOG_PRODUCER };

/* min-expire-time: refresh+retry+1, a value of min_expire_time. */
#define CONF_EXPIRE_FROM_SOA UINT32_MAX
/* The most elements of a list. The rest of a longer list is left out, with a
 * warning. */
#define CONF_REQUEST_XFR_MAX 64u
#define CONF_NOTIFY_MAX 1024u
/* Values of a zone's verify options that stand for those of the verify:
 * clause. */
#define CONF_INHERIT 2u
#define CONF_INHERIT_TIMEOUT UINT32_MAX

enum conf_dnssec_verify { CONF_DNSSEC_NO, CONF_DNSSEC_YES,
	CONF_DNSSEC_IF_SIGNED };

/* The options of a pattern, or of a zone with its patterns resolved. */
struct conf_pattern {
	struct conf_set set;
	const char *name;      /* pattern name; a zone's own: _implicit_NAME */
	const char *zonefile;  /* as written, % and all; of a zone: see
				* struct conf_zone */
	const char *file;      /* where its clause stands */
	uint32_t line;
	bool implicit;
	bool allow_axfr_fallback;
	bool multi_primary_check;
	bool store_ixfr;
	bool create_ixfr;
	bool zonemd_verify;
	uint8_t verify_zone;        /* 0, 1 or CONF_INHERIT */
	uint8_t verifier_feed_zone; /* 0, 1 or CONF_INHERIT */
	uint8_t catalog;            /* enum conf_catalog */
	bool catalog_empty_deletes;
	bool update_unchecked;      /* update-signed: no-check */
	uint8_t serial_policy;      /* enum conf_serial */
	uint8_t dnssec_verify;      /* enum conf_dnssec_verify */
	uint32_t dnssec_verify_margin; /* seconds */
	const char *dnssec_verify_anchor; /* a file; NULL, "": none */
	uint32_t xfr_max_change;    /* per cent of the records; 100: any */
	uint16_t rrl_whitelist;     /* enum answer_kind, or-ed */
	uint64_t size_limit_xfr;
	uint64_t ixfr_size;
	uint32_t ixfr_number;
	uint32_t notify_retry;
	uint32_t max_refresh_time, min_refresh_time;
	uint32_t max_retry_time;
	uint32_t min_retry_time;
	uint32_t min_expire_time;   /* or CONF_EXPIRE_FROM_SOA */
	uint32_t verifier_timeout;  /* or CONF_INHERIT_TIMEOUT */
	uint32_t catalog_max;       /* members; 0: any number */
	struct conf_strings verifier; /* none: the verify: clause's */
	struct conf_acls allow_query;
	struct conf_acls allow_notify;
	struct conf_acls request_xfr;
	struct conf_acls notify;
	struct conf_acls provide_xfr;
	struct conf_acls outgoing_interface;
	struct conf_acls allow_update;
	struct conf_acls update_forward;
	struct conf_policies update_policy;
	const char *zonestats;
	const char *catalog_member_pattern;
	struct conf_strings catalog_group_pattern;
	const char *catalog_producer_zone;
	struct conf_strings catalog_allow; /* domain names; none: all */
	const char *zone_directory; /* as written, never empty; of a pattern */
};

/* True if clients may change a zone with these options by UPDATE. */
static inline bool
conf_takes_updates(const struct conf_pattern *options)
{
	return options->allow_update.count > 0
		|| options->update_policy.count > 0;
}

/* True if versions of a zone with these options come from xfrd, which keeps
 * them in the journal: transferred from primaries, or made here, as those of a
 * catalog's producer are, and of a zone that takes UPDATEs. Its file is
 * written, and read only at a start. */
static inline bool
conf_is_from_xfrd(const struct conf_pattern *options)
{
	return options->request_xfr.count > 0
		|| options->catalog == CONF_CATALOG_PRODUCER
		|| conf_takes_updates(options);
}

struct conf_zone {
	const char *name;     /* as written, for log lines */
	const uint8_t *wire;  /* wire form, lower case */
	/* The options in effect. Zones of the same pattern share them, so the
	 * zone file is in the next field and not here. */
	const struct conf_pattern *options;
	const char *zonefile; /* as written, % and all; NULL: none */
	/* Set by conf_add_zone, NULL for zones of the file. */
	const char *pattern_name;
	/* Where its clause stands; NULL and 0: made by conf_add_zone. Of a
	 * configuration that is refused, NULL: the clause has errors. */
	const char *file;
	uint32_t line;
	uint32_t index;       /* the zone's place in conf.zones */
	bool was_from_xfrd;   /* not conf_is_from_xfrd, and was so since the
			       * start: conf_change_zone, conf_keep_roles */
	bool is_added;        /* the zone has memory of its own; for this layer
			       * only */
};

struct conf {
	const char *file;     /* as given to conf_load */
	struct conf_server server;
	struct conf_remote_control remote_control;
	struct conf_verify verify;
	struct conf_dnstap dnstap;
	struct conf_key **keys;          /* in the order of their names */
	size_t key_count;
	struct conf_tls_auth **tls_auths;
	size_t tls_auth_count;
	struct conf_pattern **patterns; /* by name; not the implicit ones */
	size_t pattern_count;
	/* Zones in canonical order, until conf_add_zone or conf_remove_zone
	 * changes it. */
	struct conf_zone **zones;
	size_t zone_count;
	size_t secondary_count; /* zones with request-xfr */
};

/* ---- reading ----------------------------------------------------------- */

/* The root and folder that files of a configuration are read from. */
struct conf_origin {
	/* The folder that this process is chrooted to, or NULL. Names of files
	 * begin with it, and are opened without it. */
	const char *chroot;
	/* The folder of names that do not begin with /; NULL: the current
	 * folder of this process. */
	const char *folder;
};

/*
 * Reads and checks a configuration. The whole text is read, whatever is wrong
 * with it. Each error is given to the sink with its file and line: those of the
 * option, or of the clause that lacks one. If there are any, so are those of
 * conf_check. The last one has no file: `read FILE failed: N errors in
 * configuration file`. The text of a syntax error starts with
 * `at 'TOKEN': error: `; see conf_print_diag.
 * in: path, borrowed; origin: of path and the names behind include:, borrowed;
 *     NULL: neither chroot nor folder.
 * returns NSD_OK and gives *conf (release with conf_destroy);
 *     NSD_E_SYNTAX: there are errors in the text, or an included file cannot
 *     be read; NSD_E_SYSTEM: the file at path cannot be read, which the sink
 *     was told too; NSD_E_MEMORY: there is no memory.
 *     *conf is set only on success.
 * cost: linear in the size of the files. Any role; blocks on files.
 */
enum nsd_err conf_load(const char *path, const struct conf_origin *origin,
	struct diag_sink *sink, struct conf **conf) MUST_USE;

/*
 * As conf_load, for text in memory, which is borrowed. name is that of the file
 * in messages. files: include: may read files; else it is an error.
 * returns as conf_load, but never NSD_E_SYSTEM.
 */
enum nsd_err conf_load_text(const char *name, const char *text, size_t len,
	bool files, struct diag_sink *sink, struct conf **conf) MUST_USE;

/* Takes conf with all that belongs to it. NULL is fine. */
void conf_destroy(struct conf *conf);

/* Forgets all zones, those of nsd.conf and others, with the objects that they
 * alone point at, and gives back their memory. The rest stays where it is. */
void conf_drop_zones(struct conf *conf);

/* Overwrites the secrets of all keys. From then on they are empty. */
void conf_wipe_secrets(struct conf *conf);

/* Prints a finding of conf_load as the line that people know:
 * `FILE:LINE: error: MESSAGE` or `FILE:LINE: at 'TOKEN': error: syntax error`,
 * without a newline. Control characters become \ooo. The line is cut to size,
 * its NUL counted; size is not 0. Returns its length without the NUL. */
size_t conf_print_diag(const struct diag *d, char *out, size_t size);

/* Prints `FILE:LINE: ` as conf_print_diag does. FILE is cut to size, which is
 * at least CONF_PLACE_MIN. */
#define CONF_PLACE_MIN 16u
void conf_print_place(const char *file, uint32_t line, char *out,
	size_t size);

/* Octets that the configuration takes in memory. */
size_t conf_memory_size(const struct conf *conf);

/* ---- finding: constant time; NULL: absent; lent ------------------------- */

const struct conf_zone *conf_find_zone(const struct conf *conf,
	const uint8_t *wire); /* without regard to case */
/* Finds a zone by a name in lower case that is likely to be the one at *near in
 * conf.zones; *near is then the place behind it. For a walk of two
 * configurations side by side, in which most zones are found without a
 * search. */
const struct conf_zone *conf_find_zone_near(const struct conf *conf,
	const uint8_t *wire, size_t *near);
const struct conf_zone *conf_find_zone_text(const struct conf *conf,
	const char *name); /* trailing dot optional */
/* Parses the name of a zone, with or without a trailing dot, to wire form in
 * lower case; wire has room for NAME_MAX_LEN octets. False: it is no name. */
bool conf_parse_zone_name(const char *name, uint8_t *wire) MUST_USE;
/* By their names; implicit patterns are not found. */
const struct conf_pattern *conf_find_pattern(const struct conf *conf,
	const char *name);
const struct conf_key *conf_find_key(const struct conf *conf,
	const char *name);
const struct conf_tls_auth *conf_find_tls_auth(const struct conf *conf,
	const char *name);

/*
 * Adds a zone at run time (addzone, the zone list, a catalog) with the options
 * of a pattern. Borrows the strings. Constant time.
 * returns NSD_OK and lends *zone until it is removed; NSD_E_NOT_FOUND: there is
 *     no such pattern; NSD_E_SYNTAX: name is no domain name; NSD_E_ZONE: the
 *     zone is there already; NSD_E_MEMORY: there is no memory. Without NSD_OK
 *     nothing has changed.
 */
enum nsd_err conf_add_zone(struct conf *conf, const char *name,
	const char *pattern, const struct conf_zone **zone) MUST_USE;

/*
 * Gives a zone of conf_add_zone the options of another pattern instead, at its
 * place. Constant time.
 * returns NSD_OK; NSD_E_NOT_FOUND: there is no such zone or pattern;
 *     NSD_E_DENIED: it is a zone of the file. Without NSD_OK nothing has
 *     changed.
 */
enum nsd_err conf_change_zone(struct conf *conf, const uint8_t *wire,
	const char *pattern) MUST_USE;

/* Adds the zones of the zone list of another configuration, but for those that
 * this one has. on_missing is called for each zone whose pattern this one has
 * not. NSD_E_MEMORY; NSD_E_LIMIT. */
enum nsd_err conf_add_listed(struct conf *conf, const struct conf *from,
	void (*on_missing)(void *ctx, const struct conf_zone *zone),
	void *ctx) MUST_USE;

/* Sets was_from_xfrd of the zones of conf whose versions do not come from xfrd
 * any more, but did under the configuration before it. */
void conf_keep_roles(struct conf *conf, const struct conf *before);
/* Sets was_from_xfrd of a zone in conf. */
void conf_note_role(struct conf *conf, const struct conf_zone *zone);

/*
 * Removes a zone. A zone of conf_add_zone is gone with that; the memory of
 * others stays until conf_destroy. The last zone of conf.zones gets its place
 * and index. Constant time.
 * returns NSD_OK; NSD_E_NOT_FOUND: there is no such zone.
 */
enum nsd_err conf_remove_zone(struct conf *conf, const uint8_t *wire) MUST_USE;

/* ---- names of files ---------------------------------------------------- */

/*
 * Writes the name of a zone's file with its parts expanded, ended by a NUL.
 * text is the zonefile of nsd.conf, name the zone's as written there, wire its
 * apex. %s is that name. %1 %2 %3 are its first, second and third character. %z
 * %y %x are its last, second-to-last and third-to-last label, in lower case (%z
 * is the top-level domain). A part that the name has not is ".". A `/` that
 * comes from the name becomes \047. Other percent signs stay.
 * returns NSD_OK and *len (octets without the NUL); NSD_E_LIMIT: the name does
 *     not fit size octets.
 */
enum nsd_err conf_expand_name(const char *text, const char *name,
	const uint8_t *wire, char *out, size_t size, size_t *len) MUST_USE;
/* Writes the name of the file of a zone, as conf_expand_name. NSD_E_NOT_FOUND:
 * it has no file. */
enum nsd_err conf_zone_file_name(const struct conf_zone *zone, char *out,
	size_t size, size_t *len) MUST_USE;

/* Writes the name of a zone's group of counters (zonestats), as
 * conf_expand_name. NSD_E_NOT_FOUND: it is in no group. */
enum nsd_err conf_zone_group_name(const struct conf_zone *zone, char *out,
	size_t size, size_t *len) MUST_USE;

/* ---- checks that are no errors of the file ----------------------------- */

/*
 * Gives each semantic error to the sink, with the place of the option; without
 * a line if it does not stand in the file. Errors are: a primary zone without
 * zonefile, allow-notify without request-xfr, texts that are too long, paths
 * outside of the chroot, port 0. A provide-xfr with tls-auth is a warning if
 * there is no tls-auth-port, and so is what can match nothing of update-policy
 * and allow-update. Returns the count of errors. sink may be NULL.
 */
unsigned conf_check(const struct conf *conf, struct diag_sink *sink);

/* Checks texts that no server can start with, as conf_check: an identity or a
 * version that is longer than a string of a TXT record. sink is not NULL. */
unsigned conf_check_texts(const struct conf *conf, struct diag_sink *sink);

/* ---- printing ---------------------------------------------------------- */

/* Prints all of the configuration in effect, as text that can be read again.
 * acl_comments: each ACL element is followed by a comment with its parts. The
 * caller looks at the stream's error indicator. */
void conf_print(const struct conf *conf, bool acl_comments, FILE *out);

/*
 * Prints the value of an option, whose name has - or _. ACL elements and
 * addresses have a line each, other values one line. full_paths: the chroot
 * stands in front of paths. conf_print_option is for the clauses that are there
 * once. conf_print_zone_option also knows `pattern` and `part_of_config`.
 * returns NSD_OK; NSD_E_NOT_FOUND: there is no such option, and nothing is
 *     printed.
 */
enum nsd_err conf_print_option(const struct conf *conf, const char *option,
	bool full_paths, FILE *out) MUST_USE;
enum nsd_err conf_print_pattern_option(const struct conf *conf,
	const struct conf_pattern *pattern, const char *option,
	bool full_paths, FILE *out) MUST_USE;
enum nsd_err conf_print_zone_option(const struct conf *conf,
	const struct conf_zone *zone, const char *option, bool full_paths,
	FILE *out) MUST_USE;

/* ---- the option table -------------------------------------------------- */

/*
 * Gives a warning to the sink for each option that has no effect in this
 * program and has another value than its default: `CLAUSE NAME: OPTION has no
 * effect in this program`. An option has one warning, with the place where it
 * is set first and the count of other clauses that set it.
 *
 * before: the configuration that the server runs with, NULL: none yet. An
 * option that is set there in the same way has no warning: in a clause that is
 * there once, with the same value; in others, by as many clauses, the same one
 * first.
 */
void conf_list_without_effect(const struct conf *conf,
	const struct conf *before, struct diag_sink *sink);

#endif
