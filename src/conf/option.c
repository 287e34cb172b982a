/* option.c - the table of options of nsd.conf: one row says all about one. */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "conf/option.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define U16_MAX 65535
#define U32_MAX 4294967295
#define I32_MAX 2147483647

/* Short names of the flags, for the table only. */
#define NOEFF OPTION_NO_EFFECT
#define LIMIT (RATELIMIT ? 0 : OPTION_NO_EFFECT)
#define TAP (USE_DNSTAP ? 0 : OPTION_NO_EFFECT)
#define QUOTE OPTION_QUOTED
#define ALIAS OPTION_ALIAS
#define HIDE OPTION_NOT_PRINTED
#define PATH OPTION_PATH
#define DIR OPTION_DIRECTORY
#define IFSET OPTION_PRINT_IF_SET
#define OURS OPTION_OURS

/* 0 if the field has the C type that TYPE_x is kept as; else the row does not
 * compile. */
#define KEPT_IGNORED(f) _Generic(f, struct conf_set: 0)
#define KEPT_INCLUDE(f) KEPT_IGNORED(f)
#define KEPT_BOOL(f) _Generic(f, bool: 0)
#define KEPT_ONLY(f) KEPT_BOOL(f)
#define KEPT_INHERIT(f) _Generic(f, uint8_t: 0)
#define KEPT_CATALOG(f) KEPT_INHERIT(f)
#define KEPT_EMPTY(f) KEPT_BOOL(f)
#define KEPT_RRL(f) _Generic(f, uint16_t: 0)
#define KEPT_U32(f) _Generic(f, uint32_t: 0)
#define KEPT_EXPIRE(f) KEPT_U32(f)
#define KEPT_I32(f) _Generic(f, int32_t: 0)
#define KEPT_U64(f) _Generic(f, uint64_t: 0)
#define KEPT_STRING(f) _Generic(f, const char *: 0)
#define KEPT_NSID(f) KEPT_STRING(f)
#define KEPT_COOKIE(f) KEPT_STRING(f)
#define KEPT_LOG_FORMAT(f) KEPT_STRING(f)
#define KEPT_DOMAIN(f) KEPT_STRING(f)
#define KEPT_ALGORITHM(f) KEPT_STRING(f)
#define KEPT_BASE64(f) KEPT_STRING(f)
#define KEPT_NAME(f) KEPT_STRING(f)
#define KEPT_STRINGS(f) _Generic(f, struct conf_strings: 0)
#define KEPT_TEXT_EACH(f) KEPT_STRINGS(f)
#define KEPT_SUFFIX(f) KEPT_STRINGS(f)
#define KEPT_NUMBERS(f) _Generic(f, struct conf_numbers: 0)
#define KEPT_NUMBER_EACH(f) KEPT_NUMBERS(f)
#define KEPT_NETBLOCK(f) _Generic(f, struct conf_netblocks: 0)
#define KEPT_SERVER_CPU(f) _Generic(f, struct conf_server_cpus: 0)
#define KEPT_LISTEN(f) _Generic(f, struct conf_interfaces: 0)
#define KEPT_INTERFACE(f) KEPT_LISTEN(f)
#define KEPT_ACL(f) _Generic(f, struct conf_acls: 0)
#define KEPT_ACL_PROVIDE(f) KEPT_ACL(f)
#define KEPT_ACL_REQUEST(f) KEPT_ACL(f)
#define KEPT_ACL_NOTIFY(f) KEPT_ACL(f)
#define KEPT_ACL_ADDRESS(f) KEPT_ACL(f)
#define KEPT_ACL_UPDATE(f) KEPT_ACL(f)
#define KEPT_ACL_SPEC(f) KEPT_ACL(f)
#define KEPT_POLICY(f) _Generic(f, struct conf_policies: 0)
#define KEPT_SERIAL(f) KEPT_INHERIT(f)
#define KEPT_DNSSEC(f) KEPT_INHERIT(f)
#define KEPT_UNCHECKED(f) KEPT_BOOL(f)

/* ROW(clause, struct, field, name, type, default, min, max, flags) */
#define ROW(c, s, f, n, t, d, lo, hi, fl)                             \
	{ .name = n, .clause = CLAUSE_##c, .type = TYPE_##t,          \
		.flags = (fl),                                        \
		.offset = offsetof(struct s, f)                       \
			+ KEPT_##t(((struct s *)0)->f),               \
		.initial = d, .min = lo, .max = hi },
/* The condition for a change of an option while the server runs: it has effect
 * at once with a reconfig (NOW), or waits for the next start (RESTART). */
#define NOW OPTION_AT_ONCE
#define RESTART OPTION_RESTART
#define SERVER(n, f, t, d, lo, hi, fl) \
	ROW(SERVER, conf_server, f, n, t, d, lo, hi, RESTART | (fl))
#define SERVER_NOW(n, f, t, d, lo, hi, fl) \
	ROW(SERVER, conf_server, f, n, t, d, lo, hi, NOW | (fl))
#define CONTROL(n, f, t, d, lo, hi, fl) \
	ROW(REMOTE_CONTROL, conf_remote_control, f, n, t, d, lo, hi, NOW | (fl))
#define VERIFY(n, f, t, d, lo, hi, fl) \
	ROW(VERIFY, conf_verify, f, n, t, d, lo, hi, RESTART | (fl))
#define VERIFY_NOW(n, f, t, d, lo, hi, fl) \
	ROW(VERIFY, conf_verify, f, n, t, d, lo, hi, NOW | (fl))
#define DNSTAP(n, f, t, d, lo, hi, fl) \
	ROW(DNSTAP, conf_dnstap, f, n, t, d, lo, hi, NOW | (fl))
#define KEY(n, f, t, d, fl) ROW(KEY, conf_key, f, n, t, d, 0, 0, NOW | (fl))
#define TLSAUTH(n, f, t, fl) \
	ROW(TLS_AUTH, conf_tls_auth, f, n, t, NULL, 0, 0, NOW | (fl))
#define PATTERN(n, f, t, d, lo, hi, fl) \
	ROW(PATTERN, conf_pattern, f, n, t, d, lo, hi, NOW | (fl))

/*
 * The order is that of nsd-checkconf -v. The rows of a clause stand together,
 * and clauses stand in the order of enum conf_clause.
 */
const struct conf_option conf_options[] = {
	SERVER("debug-mode", debug_mode, BOOL, "no", 0, 0, 0)
	SERVER("ip-transparent", ip_transparent, BOOL, "no", 0, 0, 0)
	SERVER("ip-freebind", ip_freebind, BOOL, "no", 0, 0, 0)
	SERVER("reuseport", reuseport, BOOL, "no", 0, 0, 0)
	SERVER("reuseport-by-cpu", reuseport_by_cpu, BOOL, "no", 0, 0, IFSET | OURS)
	SERVER("do-ip4", do_ip4, BOOL, "yes", 0, 0, 0)
	SERVER("do-ip6", do_ip6, BOOL, "yes", 0, 0, 0)
	SERVER("ip4-only", do_ip6, ONLY, NULL, 0, 0, HIDE)
	SERVER("ip6-only", do_ip4, ONLY, NULL, 0, 0, HIDE)
	SERVER_NOW("send-buffer-size", send_buffer_size, U32, TEXT(CONF_SEND_BUFFER_SIZE), 0, I32_MAX, 0)
	SERVER_NOW("receive-buffer-size", receive_buffer_size, U32, TEXT(CONF_RECEIVE_BUFFER_SIZE), 0, I32_MAX, 0)
	SERVER_NOW("hide-version", hide_version, BOOL, "no", 0, 0, 0)
	SERVER_NOW("hide-identity", hide_identity, BOOL, "no", 0, 0, 0)
	SERVER_NOW("drop-updates", drop_updates, BOOL, "no", 0, 0, 0)
	SERVER_NOW("tcp-reject-overflow", tcp_reject_overflow, BOOL, "no", 0, 0, 0)
	SERVER("database", database, STRING, "", 0, 0, PATH)
	SERVER("difffile", set, IGNORED, NULL, 0, 0, HIDE)
	SERVER("use-systemd", set, IGNORED, NULL, 0, 0, HIDE)
	SERVER_NOW("identity", identity, STRING, NULL, 0, 0, 0)
	SERVER_NOW("version", version, STRING, NULL, 0, 0, 0)
	SERVER_NOW("nsid", nsid, NSID, NULL, 0, 0, 0)
	SERVER_NOW("edns-report-channel", edns_report_channel, DOMAIN, NULL, 0, 0, IFSET | OURS)
	SERVER_NOW("logfile", logfile, STRING, NULL, 0, 0, PATH)
	SERVER_NOW("log-only-syslog", log_only_syslog, BOOL, "no", 0, 0, 0)
	SERVER("server-count", server_count, U32, "1", 1, CONF_SERVERS_MAX, 0)
	SERVER("cpu-affinity", cpu_affinity, NUMBERS, NULL, 0, U16_MAX, 0)
	SERVER("server-N-cpu-affinity", server_cpu_affinity, SERVER_CPU, NULL, 0, U16_MAX, 0)
	SERVER_NOW("xfrd-cpu-affinity", xfrd_cpu_affinity, I32, "-1", 0, U16_MAX, IFSET)
	SERVER_NOW("tcp-count", tcp_count, U32, "100", 1, I32_MAX, 0)
	SERVER_NOW("tcp-query-count", tcp_query_count, U32, "0", 0, I32_MAX, 0)
	SERVER_NOW("tcp-timeout", tcp_timeout, U32, TEXT(TCP_TIMEOUT), 0, I32_MAX, 0)
	SERVER_NOW("tcp-mss", tcp_mss, U32, "0", 0, U16_MAX, 0)
	SERVER_NOW("outgoing-tcp-mss", outgoing_tcp_mss, U32, "0", 0, U16_MAX, 0)
	SERVER_NOW("tcp-listen-queue", tcp_listen_queue, I32, "-1", -I32_MAX, I32_MAX, IFSET)
	SERVER_NOW("xfrd-tcp-max", xfrd_tcp_max, U32, "128", 0, I32_MAX, 0)
	SERVER_NOW("xfrd-tcp-pipeline", xfrd_tcp_pipeline, U32, "128", 0, 65536, 0)
	SERVER_NOW("ipv4-edns-size", ipv4_edns_size, U32, "1232", 0, U16_MAX, 0)
	SERVER_NOW("ipv6-edns-size", ipv6_edns_size, U32, "1232", 0, U16_MAX, 0)
	SERVER("pidfile", pidfile, STRING, PIDFILE, 0, 0, PATH)
	SERVER("port", port, U32, "53", 0, U16_MAX, QUOTE)
	SERVER_NOW("statistics", statistics, U32, "0", 0, I32_MAX, 0)
	SERVER_NOW("rssac002", rssac002, BOOL, "no", 0, 0, IFSET | OURS)
	SERVER_NOW("query-log", query_log, STRING, NULL, 0, 0, PATH | IFSET | OURS)
	SERVER_NOW("query-log-format", query_log_format, LOG_FORMAT, NULL, 0, 0, IFSET | OURS)
	SERVER_NOW("replace-hung", replace_hung, BOOL, "yes", 0, 0, IFSET | OURS)
	SERVER("chroot", chroot, STRING, sizeof(CHROOTDIR) > 1 ? CHROOTDIR : NULL, 0, 0, DIR)
	SERVER("username", username, STRING, NSD_USER, 0, 0, 0)
	SERVER("worker-username", worker_username, STRING, NULL, 0, 0, IFSET | OURS)
	SERVER("sandbox", sandbox, BOOL, "yes", 0, 0, IFSET | OURS)
	SERVER("zonesdir", zonesdir, STRING, ZONESDIR, 0, 0, PATH | DIR)
	SERVER("xfrdfile", xfrdfile, STRING, XFRDFILE, 0, 0, PATH)
	SERVER("zonelistfile", zonelistfile, STRING, ZONELISTFILE, 0, 0, PATH)
	SERVER_NOW("xfrdir", xfrdir, STRING, XFRDIR, 0, 0, PATH | DIR)
	SERVER_NOW("xfrd-reload-timeout", xfrd_reload_timeout, U32, "1", 0, I32_MAX, NOEFF)
	SERVER_NOW("reload-config", reload_config, BOOL, "no", 0, 0, 0)
	SERVER_NOW("log-time-ascii", log_time_ascii, BOOL, "yes", 0, 0, 0)
	SERVER_NOW("log-time-iso", log_time_iso, BOOL, "no", 0, 0, 0)
	SERVER_NOW("round-robin", round_robin, BOOL, "no", 0, 0, 0)
	SERVER_NOW("minimal-responses", minimal_responses, BOOL, "no", 0, 0, 0)
	SERVER_NOW("confine-to-zone", confine_to_zone, BOOL, "no", 0, 0, 0)
	SERVER_NOW("refuse-any", refuse_any, BOOL, "no", 0, 0, 0)
	SERVER_NOW("nsec3-max-iterations", nsec3_max_iterations, U32, "2500", 1, U16_MAX, IFSET | OURS)
	SERVER_NOW("max-records-per-type", max_records_per_type, U32, "10000", 0, I32_MAX, IFSET | OURS)
	SERVER_NOW("max-types-per-name", max_types_per_name, U32, "1000", 0, I32_MAX, IFSET | OURS)
	SERVER_NOW("verbosity", verbosity, U32, "0", 0, I32_MAX, 0)
	SERVER("ip-address", ip_address, LISTEN, NULL, 0, 0, 0)
	SERVER("interface", ip_address, LISTEN, NULL, 0, 0, ALIAS)
	SERVER_NOW("rrl-size", rrl_size, U32, "1000000", 1, I32_MAX, LIMIT)
	SERVER_NOW("rrl-ratelimit", rrl_ratelimit, U32, TEXT(RRL_RATELIMIT), 0, I32_MAX, LIMIT)
	SERVER_NOW("rrl-slip", rrl_slip, U32, "2", 0, I32_MAX, LIMIT)
	SERVER_NOW("rrl-ipv4-prefix-length", rrl_ipv4_prefix_length, U32, "24", 0, 32, LIMIT)
	SERVER_NOW("rrl-ipv6-prefix-length", rrl_ipv6_prefix_length, U32, "64", 0, 64, LIMIT)
	SERVER_NOW("rrl-whitelist-ratelimit", rrl_whitelist_ratelimit, U32, TEXT(RRL_WHITELIST_RATELIMIT), 0, I32_MAX, LIMIT)
	SERVER_NOW("rrl-ipv4-wider", rrl_ipv4_wider, NETBLOCK, NULL, 0, 32, LIMIT | IFSET | OURS)
	SERVER_NOW("rrl-ipv6-wider", rrl_ipv6_wider, NETBLOCK, NULL, 0, 64, LIMIT | IFSET | OURS)
	SERVER_NOW("tcp-cpu-limit", tcp_cpu_limit, U32, "0", 0, I32_MAX, LIMIT | IFSET | OURS)
	SERVER_NOW("tcp-cpu-whitelist", tcp_cpu_whitelist, ACL_SPEC, NULL, 0, 0, LIMIT | IFSET | OURS)
	SERVER_NOW("zonefiles-check", zonefiles_check, BOOL, "yes", 0, 0, 0)
	SERVER_NOW("zonefiles-write", zonefiles_write, U32, "3600", 0, I32_MAX, 0)
	SERVER_NOW("tls-service-key", tls_service_key, STRING, NULL, 0, 0, 0)
	SERVER_NOW("tls-service-pem", tls_service_pem, STRING, NULL, 0, 0, 0)
	SERVER_NOW("tls-service-ocsp", tls_service_ocsp, STRING, NULL, 0, 0, 0)
	SERVER("tls-port", tls_port, U32, "853", 0, U16_MAX, QUOTE)
	SERVER("tls-auth-port", tls_auth_port, U32, "0", 1, U16_MAX, IFSET | QUOTE)
	SERVER_NOW("tls-auth-xfr-only", tls_auth_xfr_only, BOOL, "no", 0, 0, 0)
	SERVER_NOW("tls-cert-bundle", tls_cert_bundle, STRING, NULL, 0, 0, 0)
	SERVER_NOW("answer-cookie", answer_cookie, BOOL, "no", 0, 0, 0)
	SERVER_NOW("cookie-secret", cookie_secret, COOKIE, NULL, 0, 0, IFSET)
	SERVER_NOW("cookie-staging-secret", cookie_staging_secret, COOKIE, NULL, 0, 0, IFSET)
	SERVER_NOW("cookie-secret-file", cookie_secret_file, STRING, COOKIESECRETSFILE, 0, 0, 0)
	SERVER("proxy-protocol-port", proxy_protocol_port, NUMBER_EACH, NULL, 1, U16_MAX, 0)
	SERVER_NOW("allow-proxy", allow_proxy, ACL_SPEC, NULL, 0, 0, 0)
	SERVER_NOW("metrics-enable", metrics_enable, BOOL, "no", 0, 0, 0)
	SERVER_NOW("metrics-interface", metrics_interface, INTERFACE, NULL, 0, 0, 0)
	SERVER_NOW("metrics-port", metrics_port, U32, "9100", 0, U16_MAX, 0)
	SERVER_NOW("metrics-path", metrics_path, STRING, "/metrics", 0, 0, 0)
	SERVER("xdp-interface", xdp_interface, STRING, NULL, 0, 0, NOEFF | IFSET)
	SERVER("xdp-program-path", xdp_program_path, STRING, SHAREDFILESDIR "/xdp-dns-redirect_kern.o", 0, 0, NOEFF)
	SERVER("xdp-program-load", xdp_program_load, BOOL, "yes", 0, 0, NOEFF)
	SERVER("xdp-bpffs-path", xdp_bpffs_path, STRING, "/sys/fs/bpf", 0, 0, NOEFF)
	SERVER("xdp-force-copy", xdp_force_copy, BOOL, "no", 0, 0, NOEFF)

	DNSTAP("dnstap-enable", dnstap_enable, BOOL, "no", 0, 0, TAP)
	DNSTAP("dnstap-socket-path", dnstap_socket_path, STRING, DNSTAP_SOCKET_PATH, 0, 0, TAP)
	DNSTAP("dnstap-ip", dnstap_ip, STRING, "", 0, 0, TAP)
	DNSTAP("dnstap-tls", dnstap_tls, BOOL, "yes", 0, 0, TAP)
	DNSTAP("dnstap-tls-server-name", dnstap_tls_server_name, STRING, NULL, 0, 0, TAP)
	DNSTAP("dnstap-tls-cert-bundle", dnstap_tls_cert_bundle, STRING, NULL, 0, 0, TAP)
	DNSTAP("dnstap-tls-client-key-file", dnstap_tls_client_key_file, STRING, NULL, 0, 0, TAP)
	DNSTAP("dnstap-tls-client-cert-file", dnstap_tls_client_cert_file, STRING, NULL, 0, 0, TAP)
	DNSTAP("dnstap-send-identity", dnstap_send_identity, BOOL, "no", 0, 0, TAP)
	DNSTAP("dnstap-send-version", dnstap_send_version, BOOL, "no", 0, 0, TAP)
	DNSTAP("dnstap-identity", dnstap_identity, STRING, NULL, 0, 0, TAP)
	DNSTAP("dnstap-version", dnstap_version, STRING, NULL, 0, 0, TAP)
	DNSTAP("dnstap-log-auth-query-messages", dnstap_log_auth_query_messages, BOOL, "no", 0, 0, TAP)
	DNSTAP("dnstap-log-auth-response-messages", dnstap_log_auth_response_messages, BOOL, "no", 0, 0, TAP)
	DNSTAP("dnstap-log-update-messages", dnstap_log_update_messages, BOOL, "no", 0, 0, TAP | IFSET | OURS)
	DNSTAP("dnstap-log-notify-messages", dnstap_log_notify_messages, BOOL, "no", 0, 0, TAP | IFSET | OURS)
	DNSTAP("dnstap-sample", dnstap_sample, U32, "1", 1, I32_MAX, IFSET | OURS)
	DNSTAP("dnstap-zones", dnstap_zones, SUFFIX, NULL, 0, 0, IFSET | OURS)

	CONTROL("control-enable", control_enable, BOOL, CONTROL_ENABLE, 0, 0, 0)
	CONTROL("control-interface", control_interface, INTERFACE, NULL, 0, 0, 0)
	CONTROL("control-port", control_port, U32, "8952", 1, U16_MAX, 0)
	CONTROL("server-key-file", server_key_file, STRING, CONFIGDIR "/nsd_server.key", 0, 0, 0)
	CONTROL("server-cert-file", server_cert_file, STRING, CONFIGDIR "/nsd_server.pem", 0, 0, 0)
	CONTROL("control-key-file", control_key_file, STRING, CONFIGDIR "/nsd_control.key", 0, 0, 0)
	CONTROL("control-cert-file", control_cert_file, STRING, CONFIGDIR "/nsd_control.pem", 0, 0, 0)

	VERIFY("enable", enable, BOOL, "no", 0, 0, 0)
	VERIFY("ip-address", ip_address, INTERFACE, NULL, 0, 0, 0)
	VERIFY("port", port, U32, "5347", 0, U16_MAX, 0)
	VERIFY_NOW("verify-zones", verify_zones, BOOL, "yes", 0, 0, 0)
	VERIFY_NOW("verifier", verifier, STRINGS, NULL, 0, 0, 0)
	VERIFY_NOW("verifier-count", verifier_count, U32, "1", 0, I32_MAX, 0)
	VERIFY_NOW("verifier-feed-zone", verifier_feed_zone, BOOL, "yes", 0, 0, 0)
	VERIFY_NOW("verifier-timeout", verifier_timeout, U32, "0", 0, I32_MAX, 0)

	KEY("name", name, NAME, NULL, 0)
	KEY("algorithm", algorithm, ALGORITHM, "sha256", 0)
	KEY("secret", secret, BASE64, NULL, 0)

	TLSAUTH("name", name, NAME, 0)
	TLSAUTH("auth-domain-name", auth_domain_name, STRING, 0)
	TLSAUTH("client-cert", client_cert, STRING, 0)
	TLSAUTH("client-key", client_key, STRING, 0)
	TLSAUTH("client-key-pw", client_key_pw, STRING, 0)

	PATTERN("name", name, NAME, NULL, 0, 0, 0)
	PATTERN("include-pattern", set, INCLUDE, NULL, 0, 0, HIDE)
	PATTERN("zonefile", zonefile, STRING, NULL, 0, 0, PATH)
	PATTERN("rrl-whitelist", rrl_whitelist, RRL, NULL, 0, 0, LIMIT)
	PATTERN("allow-query", allow_query, ACL, NULL, 0, 0, 0)
	PATTERN("allow-notify", allow_notify, ACL, NULL, 0, 0, 0)
	PATTERN("request-xfr", request_xfr, ACL_REQUEST, NULL, 0, 0, 0)
	PATTERN("multi-primary-check", multi_primary_check, BOOL, "no", 0, 0, 0)
	PATTERN("multi-master-check", multi_primary_check, BOOL, "no", 0, 0, ALIAS)
	PATTERN("notify-retry", notify_retry, U32, "5", 0, I32_MAX, 0)
	PATTERN("notify", notify, ACL_NOTIFY, NULL, 0, 0, 0)
	PATTERN("provide-xfr", provide_xfr, ACL_PROVIDE, NULL, 0, 0, 0)
	PATTERN("zonestats", zonestats, STRING, NULL, 0, 0, 0)
	PATTERN("outgoing-interface", outgoing_interface, ACL_ADDRESS, NULL, 0, 0, 0)
	PATTERN("allow-axfr-fallback", allow_axfr_fallback, BOOL, "yes", 0, 0, 0)
	PATTERN("max-refresh-time", max_refresh_time, U32, "2419200", 0, U32_MAX, 0)
	PATTERN("min-refresh-time", min_refresh_time, U32, "0", 0, U32_MAX, 0)
	PATTERN("max-retry-time", max_retry_time, U32, "1209600", 0, U32_MAX, 0)
	PATTERN("min-retry-time", min_retry_time, U32, "0", 0, U32_MAX, 0)
	PATTERN("min-expire-time", min_expire_time, EXPIRE, "0", 0, U32_MAX - 1, 0)
	PATTERN("size-limit-xfr", size_limit_xfr, U64, "0", 0, INT64_MAX, 0)
	PATTERN("store-ixfr", store_ixfr, BOOL, "no", 0, 0, 0)
	PATTERN("ixfr-number", ixfr_number, U32, "5", 0, U32_MAX, 0)
	PATTERN("ixfr-size", ixfr_size, U64, "1048576", 0, INT64_MAX, 0)
	PATTERN("create-ixfr", create_ixfr, BOOL, "no", 0, 0, 0)
	PATTERN("zonemd-verify", zonemd_verify, BOOL, "no", 0, 0, IFSET | OURS)
	PATTERN("dnssec-verify", dnssec_verify, DNSSEC, NULL, 0, 0, IFSET | OURS)
	PATTERN("dnssec-verify-margin", dnssec_verify_margin, U32, "0", 0, I32_MAX, IFSET | OURS)
	PATTERN("dnssec-verify-anchor", dnssec_verify_anchor, STRING, NULL, 0, 0, PATH | IFSET | OURS)
	PATTERN("xfr-max-change", xfr_max_change, U32, "100", 1, 100, IFSET | OURS)
	PATTERN("allow-update", allow_update, ACL_UPDATE, NULL, 0, 0, IFSET | OURS)
	PATTERN("update-policy", update_policy, POLICY, NULL, 0, 0, IFSET | OURS)
	PATTERN("update-forward", update_forward, ACL, NULL, 0, 0, IFSET | OURS)
	PATTERN("serial-policy", serial_policy, SERIAL, NULL, 0, 0, IFSET | OURS)
	PATTERN("update-signed", update_unchecked, UNCHECKED, NULL, 0, 0, IFSET | OURS)
	PATTERN("verify-zone", verify_zone, INHERIT, NULL, 0, 0, 0)
	PATTERN("verifier", verifier, STRINGS, NULL, 0, 0, 0)
	PATTERN("verifier-feed-zone", verifier_feed_zone, INHERIT, NULL, 0, 0, 0)
	PATTERN("verifier-timeout", verifier_timeout, U32, "4294967295", 0, I32_MAX, 0)
	PATTERN("catalog", catalog, CATALOG, NULL, 0, 0, 0)
	PATTERN("catalog-member-pattern", catalog_member_pattern, STRING, NULL, 0, 0, 0)
	PATTERN("catalog-group-pattern", catalog_group_pattern, TEXT_EACH, NULL, 0, 0, IFSET)
	PATTERN("catalog-producer-zone", catalog_producer_zone, STRING, NULL, 0, 0, OPTION_PATTERN_ONLY)
	PATTERN("catalog-allow", catalog_allow, SUFFIX, NULL, 0, 0, IFSET | OURS)
	PATTERN("catalog-max", catalog_max, U32, "0", 0, I32_MAX, IFSET | OURS)
	PATTERN("catalog-empty", catalog_empty_deletes, EMPTY, NULL, 0, 0, IFSET | OURS)
	PATTERN("zone-directory", zone_directory, STRING, NULL, 0, 0, PATH | IFSET | OPTION_PATTERN_ONLY | OPTION_NOT_INCLUDED | OURS)
};
const size_t conf_option_count =
	sizeof(conf_options) / sizeof(conf_options[0]);

#define CLAUSE(n, s, o, one) \
	{ .name = n, .size = sizeof(struct s), .offset = o, .single = one }

const struct conf_clause_info conf_clauses[CLAUSE_COUNT] = {
	[CLAUSE_SERVER] = CLAUSE("server", conf_server,
		offsetof(struct conf, server), true),
	[CLAUSE_DNSTAP] = CLAUSE("dnstap", conf_dnstap,
		offsetof(struct conf, dnstap), true),
	[CLAUSE_REMOTE_CONTROL] = CLAUSE("remote-control",
		conf_remote_control, offsetof(struct conf, remote_control),
		true),
	[CLAUSE_VERIFY] = CLAUSE("verify", conf_verify,
		offsetof(struct conf, verify), true),
	[CLAUSE_KEY] = CLAUSE("key", conf_key, 0, false),
	[CLAUSE_TLS_AUTH] = CLAUSE("tls-auth", conf_tls_auth, 0, false),
	[CLAUSE_PATTERN] = CLAUSE("pattern", conf_pattern, 0, false),
	[CLAUSE_ZONE] = CLAUSE("zone", conf_pattern, 0, false),
};

#define RRL_NAME(code, bit, name) { name, bit },
const struct conf_rrl_name conf_rrl_names[] = {
	ANSWER_KINDS(RRL_NAME)
	{ "all", ANSWER_ALL }, { NULL, 0 },
};

static const char *const words_empty[] = {"keep", "delete", NULL};
static const char *const words_unchecked[] = {"check", "no-check", NULL};
static const char *const words_serial[] = {
	[CONF_SERIAL_INCREMENT] = "increment",
	[CONF_SERIAL_UNIXTIME] = "unixtime",
	[CONF_SERIAL_DATESERIAL] = "dateserial", NULL,
};
static const char *const words_dnssec[] = {
	[CONF_DNSSEC_NO] = "no",
	[CONF_DNSSEC_YES] = "yes",
	[CONF_DNSSEC_IF_SIGNED] = "if-signed", NULL,
};

const char *const *
option_words(enum conf_type type)
{
	switch (type) {
	case TYPE_EMPTY:
		return words_empty;
	case TYPE_UNCHECKED:
		return words_unchecked;
	case TYPE_SERIAL:
		return words_serial;
	case TYPE_DNSSEC:
		return words_dnssec;
	default:
		return NULL;
	}
}

/* A zone's options have the rows of a pattern's. */
static enum conf_clause
clause_of_rows(enum conf_clause clause)
{
	return clause == CLAUSE_ZONE ? CLAUSE_PATTERN : clause;
}

/* The first row of this clause or of one behind it. A binary search, because
 * this is asked for each option of each zone. */
static size_t
row_of_clause(unsigned clause)
{
	size_t low = 0, high = conf_option_count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (conf_options[middle].clause < clause)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct conf_option *
option_rows(enum conf_clause clause, size_t *count)
{
	size_t first;

	clause = clause_of_rows(clause);
	first = row_of_clause((unsigned)clause);
	*count = row_of_clause((unsigned)clause + 1) - first;
	return &conf_options[first];
}

const struct conf_option *
option_find(enum conf_clause clause, const char *name)
{
	size_t count, i;
	const struct conf_option *rows = option_rows(clause, &count);

	for (i = 0; i < count; i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		if (clause == CLAUSE_ZONE
			&& (rows[i].flags & OPTION_PATTERN_ONLY) != 0)
			return NULL;
		return &rows[i];
	}
	return NULL;
}

unsigned
option_index(const struct conf_option *option)
{
	size_t count;
	const struct conf_option *rows = option_rows(option->clause, &count);

	if ((option->flags & OPTION_ALIAS) != 0)
		option--;
	assert(option >= rows && option < rows + count);
	return (unsigned)(option - rows);
}

/* The set bits are the first field of each clause's struct. */
bool
option_is_set(const struct conf_option *option, const void *object)
{
	const struct conf_set *set = object;
	unsigned i = option_index(option);

	return (set->bits[i / 64] >> (i % 64) & 1) != 0;
}

void
option_mark_set(const struct conf_option *option, void *object)
{
	struct conf_set *set = object;
	unsigned i = option_index(option);

	set->bits[i / 64] |= (uint64_t)1 << (i % 64);
}

size_t
option_field_size(enum conf_type type)
{
	switch (type) {
	case TYPE_IGNORED:
	case TYPE_INCLUDE:
		return 0;
	case TYPE_COUNT:
		break;
	case TYPE_BOOL:
	case TYPE_ONLY:
	case TYPE_EMPTY:
	case TYPE_UNCHECKED:
		return sizeof(bool);
	case TYPE_INHERIT:
	case TYPE_CATALOG:
	case TYPE_SERIAL:
	case TYPE_DNSSEC:
		return sizeof(uint8_t);
	case TYPE_RRL:
		return sizeof(uint16_t);
	case TYPE_U32:
	case TYPE_I32:
	case TYPE_EXPIRE:
		return sizeof(uint32_t);
	case TYPE_U64:
		return sizeof(uint64_t);
	case TYPE_STRING:
	case TYPE_NSID:
	case TYPE_COOKIE:
	case TYPE_LOG_FORMAT:
	case TYPE_DOMAIN:
	case TYPE_ALGORITHM:
	case TYPE_BASE64:
	case TYPE_NAME:
		return sizeof(const char *);
	case TYPE_STRINGS:
	case TYPE_TEXT_EACH:
	case TYPE_SUFFIX:
	case TYPE_NUMBERS:
	case TYPE_NUMBER_EACH:
	case TYPE_NETBLOCK:
	case TYPE_SERVER_CPU:
	case TYPE_LISTEN:
	case TYPE_INTERFACE:
	case TYPE_ACL:
	case TYPE_ACL_PROVIDE:
	case TYPE_ACL_REQUEST:
	case TYPE_ACL_NOTIFY:
	case TYPE_ACL_ADDRESS:
	case TYPE_ACL_UPDATE:
	case TYPE_ACL_SPEC:
	case TYPE_POLICY:
		return sizeof(struct conf_list);
	}
	assert(!"a type of option");
	return 0;
}

size_t
option_item_size(enum conf_type type)
{
	if (option_is_acl(type))
		return sizeof(struct conf_acl);
	switch (type) {
	case TYPE_STRINGS:
	case TYPE_TEXT_EACH:
	case TYPE_SUFFIX:
		return sizeof(const char *);
	case TYPE_NUMBERS:
	case TYPE_NUMBER_EACH:
		return sizeof(uint32_t);
	case TYPE_POLICY:
		return sizeof(struct conf_policy);
	case TYPE_NETBLOCK:
		return sizeof(struct conf_netblock);
	case TYPE_SERVER_CPU:
		return sizeof(struct conf_server_cpu);
	case TYPE_LISTEN:
	case TYPE_INTERFACE:
		return sizeof(struct conf_interface);
	default:
		return 0;
	}
}
