/* test_values.c - values of options: numbers, addresses, ACLs, keys. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conf/option.h"
#include "reader.h"

static void
numbers_keep_to_their_range(void **state)
{
	struct conf *conf = reader_accept("server: port: 65535 "
		"tcp-listen-queue: -5 verbosity: 2147483647 "
		"xfrd-cpu-affinity: 0 ipv4-edns-size: 000512\n"
		"pattern: name: p size-limit-xfr: 9223372036854775807");

	assert_int_equal(conf->server.port, 65535);
	assert_int_equal(conf->server.tcp_listen_queue, -5);
	assert_int_equal(conf->server.verbosity, 2147483647);
	assert_int_equal(conf->server.xfrd_cpu_affinity, 0);
	assert_int_equal(conf->server.ipv4_edns_size, 512);
	assert_true(conf->patterns[0]->size_limit_xfr == INT64_MAX);
	conf_destroy(conf);
	conf = reader_accept("server: max-records-per-type: 0");
	assert_int_equal(conf->server.max_records_per_type, 0);
	assert_int_equal(conf->server.max_types_per_name, 1000);
	conf_destroy(conf);
	reader_refuse("server: max-records-per-type: 2147483648 "
		"max-types-per-name: many",
		"t:1: error: max-records-per-type: '2147483648' is out of "
		"range [0..2147483647]\n"
		"t:1: error: expected a number for max-types-per-name, "
		"got 'many'\n");
	reader_refuse("server: port: 99999", "t:1: error: port: '99999' is "
		"out of range [0..65535]\n");
	reader_refuse("server: port: 65536", "t:1: error: port: '65536' is "
		"out of range [0..65535]\n");
	reader_refuse("server: port: -1 tcp-count: 0 statistics: 0x1 "
		"verbosity: \"\" tcp-mss: 1.5 tcp-timeout: +1",
		"t:1: error: expected a number for port, got '-1'\n"
		"t:1: error: expected a number greater than zero for "
		"tcp-count, got '0'\n"
		"t:1: error: expected a number for statistics, got '0x1'\n"
		"t:1: error: expected a number for verbosity, got ''\n"
		"t:1: error: expected a number for tcp-mss, got '1.5'\n"
		"t:1: error: expected a number for tcp-timeout, got '+1'\n");
	/* no number wraps round to a good one: 2^64 + 5 */
	reader_refuse("server: port: 18446744073709551621", "t:1: error: "
		"port: '18446744073709551621' is out of range [0..65535]\n");
	reader_refuse("pattern: name: p size-limit-xfr: "
		"99999999999999999999999999",
		"t:1: error: size-limit-xfr: '99999999999999999999999999' "
		"is out of range [0..9223372036854775807]\n");
}

static void
ip4_only_turns_the_other_family_off(void **state)
{
	struct conf *conf = reader_accept("server: do-ip4: no ip4-only: yes");

	assert_true(conf->server.do_ip4);
	assert_false(conf->server.do_ip6);
	conf_destroy(conf);
	conf = reader_accept("server: ip6-only: yes");
	assert_false(conf->server.do_ip4);
	assert_true(conf->server.do_ip6);
	conf_destroy(conf);
	conf = reader_accept("server: ip6-only: no ip4-only: no");
	assert_true(conf->server.do_ip4);
	assert_true(conf->server.do_ip6);
	conf_destroy(conf);
}

static void
nsid_is_hex_or_ascii(void **state)
{
	struct conf *conf = reader_accept("server: nsid: ascii_ns1");

	assert_int_equal(conf->server.nsid_len, 3);
	assert_memory_equal(conf->server.nsid_data, "ns1", 3);
	conf_destroy(conf);
	conf = reader_accept("server: nsid: 00fFA1");
	assert_int_equal(conf->server.nsid_len, 3);
	assert_memory_equal(conf->server.nsid_data, "\x00\xff\xa1", 3);
	conf_destroy(conf);
	reader_refuse("server: nsid: 012", "t:1: error: the NSID must be a "
		"hex string of an even length. Expected pairs of hex digits, "
		"or ascii_TEXT, got '012'\n");
	reader_refuse("server: nsid: 0g", "t:1: error: hex string cannot be "
		"parsed in NSID. Expected pairs of hex digits, or ascii_TEXT, "
		"got '0g'\n");
}

static void
cpu_lists_are_words_or_one_word(void **state)
{
	struct conf *conf = reader_accept("server: cpu-affinity: 0 1 2\n"
		"server-2-cpu-affinity: 7\nserver-2-cpu-affinity: 1\n"
		"server-1-cpu-affinity: 0\n");

	assert_int_equal(conf->server.cpu_affinity.count, 3);
	assert_int_equal(conf->server.cpu_affinity.items[2], 2);
	assert_int_equal(conf->server.server_cpu_affinity.count, 2);
	assert_int_equal(conf->server.server_cpu_affinity.items[0].server, 2);
	assert_int_equal(conf->server.server_cpu_affinity.items[0].cpu, 1);
	conf_destroy(conf);
	conf = reader_accept("server: cpu-affinity: 9 cpu-affinity: \"3  4\"");
	assert_int_equal(conf->server.cpu_affinity.count, 2);
	assert_int_equal(conf->server.cpu_affinity.items[1], 4);
	conf_destroy(conf);
	reader_refuse("server: cpu-affinity: 0 x",
		"t:1: error: expected a number for cpu-affinity, got 'x'\n");
	reader_refuse("server: cpu-affinity: \" \"",
		"t:1: error: expected a number for cpu-affinity, got ' '\n");
}

static void
listen_address_has_its_words(void **state)
{
	struct conf *conf = reader_accept("server:\n"
		"ip-address: 192.0.2.1\n"
		"interface: 2001:db8::1@5353 servers=3\n"
		"ip-address: eth0@54 servers=\"1 5-3\" bindtodevice=yes "
		"setfib=2\n"
		"ip-address: ::0 servers=1 servers=2\n");
	const struct conf_interface *i = conf->server.ip_address.items;
	const uint8_t v4[4] = { 192, 0, 2, 1 };
	const uint8_t v6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 };

	assert_int_equal(conf->server.ip_address.count, 4);
	assert_int_equal(i[0].family, 4);
	assert_memory_equal(i[0].address, v4, 4);
	assert_int_equal(i[0].port, 0);
	assert_int_equal(i[0].setfib, -1);
	assert_false(i[0].bindtodevice);
	assert_int_equal(i[0].servers.count, 0);
	assert_int_equal(i[1].family, 6);
	assert_memory_equal(i[1].address, v6, 16);
	assert_int_equal(i[1].port, 5353);
	assert_string_equal(i[1].text, "2001:db8::1@5353");
	assert_string_equal(i[1].host, "2001:db8::1");
	assert_int_equal(i[1].servers.items[0].first, 3);
	assert_int_equal(i[1].servers.items[0].last, 3);
	assert_int_equal(i[2].family, 0);
	assert_string_equal(i[2].host, "eth0");
	assert_int_equal(i[2].port, 54);
	assert_int_equal(i[2].servers.count, 2);
	assert_int_equal(i[2].servers.items[1].first, 3);
	assert_int_equal(i[2].servers.items[1].last, 5);
	assert_true(i[2].bindtodevice);
	assert_int_equal(i[2].setfib, 2);
	assert_int_equal(i[3].servers.count, 1);
	assert_int_equal(i[3].servers.items[0].first, 2);
	conf_destroy(conf);
}

#define SUCH_AS ", expected such as 1-3"

static void
listen_address_that_is_wrong_is_refused(void **state)
{
	static const struct {
		const char *value, *said;
	} rows[] = {
		{ "::1@99999", "port number 99999 is out of range "
			"[1..65535]" },
		{ "::1@", "expected port number after '@', got ''" },
		{ "::1@0", "expected port number after '@', got '0'" },
		{ "\"\"", "expected an address or an interface "
			"name, got ''" },
		{ "::1 servers=0", "invalid server range '0'"
			SUCH_AS },
		{ "::1 servers=1-", "invalid server range '1-'"
			SUCH_AS },
		{ "::1 servers=\"\"", "invalid server range ''"
			SUCH_AS },
		{ "::1 servers=\"1,2\"", "invalid server range "
			"'1,2'" SUCH_AS },
		{ "::1 servers=", "servers= needs a value" },
		{ "::1 bindtodevice=x", "expected yes or no for bindtodevice, "
			"got 'x'" },
		{ "::1 setfib=-1", "expected a number for setfib, got '-1'" },
		{ "::1 setfib=99999999999", "expected a number for setfib, "
			"got '99999999999'" },
	};
	char text[128], said[256];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), "server: ip-address: %s",
			rows[i].value);
		snprintf(said, sizeof(said), "t:1: error: %s\n", rows[i].said);
		reader_refuse(text, said);
	}
	reader_refuse("server: ip-address: ::1 foo=1 servers=1",
		"t:1: at 'foo=1': error: syntax error, expected nothing more "
		"behind ip-address:\n");
	reader_refuse("remote-control: control-interface: ::1 servers=1",
		"t:1: at 'servers=1': error: syntax error, expected nothing "
		"more behind control-interface:\n");
}

static void
control_interface_may_be_a_path(void **state)
{
	struct conf *conf = reader_accept("remote-control:\n"
		"control-interface: /run/a@b.ctl\ncontrol-interface: ::1@5");
	const struct conf_interface *i =
		conf->remote_control.control_interface.items;

	assert_int_equal(i[0].family, 0);
	assert_string_equal(i[0].host, "/run/a@b.ctl");
	assert_int_equal(i[1].port, 5);
	conf_destroy(conf);
}

static void
acl_element_is_parsed_into_its_parts(void **state)
{
	static const struct {
		const char *spec;
		uint8_t family, kind;
		uint16_t port;
		const char *address, *other;
	} rows[] = {
		{ "192.0.2.1", 4, CONF_ACL_SINGLE, 0, "192.0.2.1", NULL },
		{ "192.0.2.1@53", 4, CONF_ACL_SINGLE, 53, "192.0.2.1", NULL },
		/* bits outside the mask become 0 */
		{ "192.0.2.77/28@65535", 4, CONF_ACL_SUBNET, 65535,
			"192.0.2.64", "255.255.255.240" },
		{ "192.0.2.1/0", 4, CONF_ACL_SUBNET, 0, "0.0.0.0",
			"0.0.0.0" },
		{ "192.0.2.1/32", 4, CONF_ACL_SUBNET, 0, "192.0.2.1",
			"255.255.255.255" },
		{ "192.0.2.1&255.0.255.0", 4, CONF_ACL_MASK, 0, "192.0.2.0",
			"255.0.255.0" },
		{ "192.0.2.1-192.0.3.4@1", 4, CONF_ACL_RANGE, 1, "192.0.2.1",
			"192.0.3.4" },
		{ "2001:db8::1", 6, CONF_ACL_SINGLE, 0, "2001:db8::1", NULL },
		{ "2001:db8::ff/121", 6, CONF_ACL_SUBNET, 0, "2001:db8::80",
			"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ff80" },
		{ "::1&::ffff@9", 6, CONF_ACL_MASK, 9, "::1", "::ffff" },
		{ "::1-::2", 6, CONF_ACL_RANGE, 0, "::1", "::2" },
		{ "::ffff:192.0.2.1", 6, CONF_ACL_SINGLE, 0,
			"::ffff:192.0.2.1", NULL },
	};
	const struct conf_acl *acl;
	uint8_t address[16];
	struct conf *conf;
	char text[128];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int family = rows[i].family == 4 ? AF_INET : AF_INET6;

		snprintf(text, sizeof(text),
			"pattern: name: p\n allow-query: %s NOKEY",
			rows[i].spec);
		conf = reader_accept(text);
		assert_int_equal(conf->patterns[0]->allow_query.count, 1);
		acl = conf->patterns[0]->allow_query.items;
		assert_string_equal(acl->spec, rows[i].spec);
		assert_int_equal(acl->family, rows[i].family);
		assert_int_equal(acl->kind, rows[i].kind);
		assert_int_equal(acl->port, rows[i].port);
		assert_int_equal(acl->line, 2);
		assert_true(acl->nokey && !acl->blocked);
		memset(address, 0, sizeof(address));
		inet_pton(family, rows[i].address, address);
		assert_memory_equal(acl->address, address, 16);
		memset(address, 0, sizeof(address));
		if (rows[i].other != NULL)
			inet_pton(family, rows[i].other, address);
		assert_memory_equal(acl->other, address, 16);
		conf_destroy(conf);
	}
}

#define ADDRESS ", expected an IPv4 or IPv6 address"

static void
acl_element_that_is_wrong_is_refused(void **state)
{
	static const struct {
		const char *option, *said;
	} rows[] = {
		{ "allow-query: 1.2.3 NOKEY", "Bad ip4 address '1.2.3'"
			ADDRESS },
		{ "allow-query: \"\" NOKEY", "Bad ip4 address ''" ADDRESS },
		{ "allow-query: 1.2.3.256 NOKEY",
			"Bad ip4 address '1.2.3.256'" ADDRESS },
		{ "allow-query: 1::2::3 NOKEY", "Bad ip6 address '1::2::3'"
			ADDRESS },
		{ "allow-query: 1.2.3.4/33 NOKEY",
			"subnet of 33 bits out of range [0..32]" },
		{ "allow-query: ::/129 NOKEY",
			"subnet of 129 bits out of range [0..128]" },
		{ "allow-query: 1.2.3.4/ NOKEY", "bad subnet range '', "
			"expected a number in [0..32]" },
		{ "allow-query: 1.2.3.4/-1 NOKEY", "bad subnet range '-1', "
			"expected a number in [0..32]" },
		{ "allow-query: 1.2.3.4&1.2 NOKEY",
			"Bad ip4 address mask '1.2', expected an IPv4 "
			"address" },
		{ "allow-query: 1.2.3.4-1.2 NOKEY",
			"Bad ip4 address mask '1.2', expected an IPv4 "
			"address" },
		{ "allow-query: 1.2.3.4@99999 NOKEY",
			"port number 99999 is out of range [1..65535]" },
		{ "allow-query: 1.2.3.4@x NOKEY",
			"expected port number after '@', got 'x'" },
		{ "request-xfr: 1.2.3.4/24 NOKEY",
			"address range used for request-xfr, expected one "
			"address, got '1.2.3.4/24'" },
		{ "request-xfr: 1.2.3.4 BLOCKED",
			"blocked address used for request-xfr, expected a key "
			"or NOKEY behind '1.2.3.4'" },
		{ "notify: 1.2.3.4-1.2.3.5 NOKEY",
			"address range used for notify, expected one address, "
			"got '1.2.3.4-1.2.3.5'" },
		{ "notify: 1.2.3.4 BLOCKED",
			"blocked address used for notify, expected a key or "
			"NOKEY behind '1.2.3.4'" },
		{ "outgoing-interface: 1.2.3.4/8",
			"address range used for outgoing-interface, expected "
			"one address, got '1.2.3.4/8'" },
		{ "outgoing-interface: eth0", "Bad ip4 address 'eth0'"
			ADDRESS },
		{ "catalog: foo", "expected consumer or producer for "
			"catalog, got 'foo'" },
		{ "min-expire-time: foo", "expected an expire time in seconds "
			"or \"refresh+retry+1\" for min-expire-time, got "
			"'foo'" },
		{ "verify-zone: 1", "expected yes or no for verify-zone, got "
			"'1'" },
	};
	char text[256], said[256];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), "pattern: name: p %s",
			rows[i].option);
		snprintf(said, sizeof(said), "t:1: error: %s\n", rows[i].said);
		reader_refuse(text, said);
	}
}

static void
acl_element_with_too_few_or_too_many_words_is_refused(void **state)
{
	reader_refuse("pattern: name: p notify: ::1",
		"t:1: at 'notify:': error: syntax error, expected an address "
		"and a key or NOKEY behind it\n");
	reader_refuse("pattern: name: p request-xfr: AXFR ::1",
		"t:1: at 'request-xfr:': error: syntax error, expected an "
		"address and a key or NOKEY behind it\n");
	reader_refuse("pattern: name: p allow-query: ::1 NOKEY x",
		"t:1: at 'x': error: syntax error, expected nothing more "
		"behind allow-query:\n");
	reader_refuse("pattern: name: p notify: ::1 NOKEY x",
		"t:1: at 'x': error: syntax error, expected nothing more "
		"behind notify:\n");
	reader_refuse("tls-auth: name: t auth-domain-name: a\npattern: "
		"name: p request-xfr: AXFR ::1 NOKEY t x",
		"t:2: at 'x': error: syntax error, expected nothing more "
		"behind request-xfr:\n");
}

static void
range_that_ends_before_it_starts_is_a_warning(void **state)
{
	static struct reader r;
	struct conf *conf = reader_load(&r, "pattern: name: p "
		"allow-query: 1.2.3.4-1.2.3.1 NOKEY");

	assert_non_null(conf);
	assert_string_equal(r.said, "t:1: warning: address range "
		"'1.2.3.4-1.2.3.1' matches nothing: it ends before it "
		"starts\n");
	conf_destroy(conf);
}

static void
acl_words_refer_to_keys_and_tls_auths_anywhere(void **state)
{
	struct conf *conf = reader_accept("zone: name: x\n"
		"request-xfr: AXFR 1.2.3.4 k t\nrequest-xfr: UDP ::1 NOKEY\n"
		"request-xfr: 1.2.3.5 k\nprovide-xfr: 1.2.3.4 BLOCKED\n"
		"key: name: k secret: aGVsbG8=\n"
		"tls-auth: name: t auth-domain-name: a.b");
	const struct conf_acl *acl = conf->zones[0]->options->request_xfr.items;

	assert_true(acl[0].axfr_only && !acl[0].allow_udp && !acl[0].nokey);
	assert_ptr_equal(acl[0].key, conf_find_key(conf, "k"));
	assert_non_null(acl[0].key);
	assert_ptr_equal(acl[0].tls_auth, conf_find_tls_auth(conf, "t"));
	assert_true(!acl[1].axfr_only && acl[1].allow_udp && acl[1].nokey);
	assert_null(acl[1].key);
	assert_true(!acl[2].axfr_only && !acl[2].allow_udp);
	assert_string_equal(acl[2].key_name, "k");
	assert_null(acl[2].tls_auth);
	acl = conf->zones[0]->options->provide_xfr.items;
	assert_true(acl[0].blocked && !acl[0].nokey);
	conf_destroy(conf);
}

static void
key_has_its_octets_and_its_full_algorithm(void **state)
{
	static const struct {
		const char *text, *name;
	} rows[] = {
		{ "md5", "hmac-md5" }, { "hmac-md5", "hmac-md5" },
		{ "hmac-md5.sig-alg.reg.int", "hmac-md5" },
		{ "sha1", "hmac-sha1" }, { "SHA224", "hmac-sha224" },
		{ "hmac-sha256", "hmac-sha256" }, { "sha384", "hmac-sha384" },
		{ "HMAC-SHA512", "hmac-sha512" },
	};
	const struct conf_key *key;
	struct conf *conf;
	char text[128];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), "key: name: K.x algorithm: %s "
			"secret: \"aGVs bG8h\n/w==\"", rows[i].text);
		conf = reader_accept(text);
		key = conf_find_key(conf, "K.x");
		assert_string_equal(key->algorithm, rows[i].text);
		assert_string_equal(key->algorithm_name, rows[i].name);
		assert_int_equal(key->secret_len, 7);
		assert_memory_equal(key->secret_data, "hello!\xff", 7);
		assert_memory_equal(key->wire, "\1K\1x", 5);
		conf_destroy(conf);
	}
	conf = reader_accept("key: name: a secret: aA==");
	assert_string_equal(conf->keys[0]->algorithm_name, "hmac-sha256");
	assert_int_equal(conf->keys[0]->secret_len, 1);
	assert_null(conf_find_key(conf, "A"));
	conf_destroy(conf);
}

static void
cookie_secrets_are_32_hex_digits(void **state)
{
	struct conf *conf = reader_accept("server: "
		"cookie-secret: 000102030405060708090a0B0c0d0e0f\n"
		"cookie-staging-secret: f00102030405060708090a0b0c0d0e0f");

	assert_non_null(conf->server.cookie_staging_secret);
	conf_destroy(conf);
	reader_refuse("server: cookie-secret: 0001", "t:1: error: "
		"cookie-secret must be 32 hex digits, got 4\n");
	reader_refuse("server: cookie-secret: "
		"000102030405060708090a0b0c0d0e0g", "t:1: error: "
		"cookie-secret must be 32 hex digits, got 31 and something "
		"else behind them\n");
	reader_refuse("server: cookie-secret: "
		"000102030405060708090a0b0c0d0e0f0", "t:1: error: "
		"cookie-secret must be 32 hex digits, got 33\n");
}

static void
lists_of_ports_and_proxies_recur(void **state)
{
	struct conf *conf = reader_accept("server: proxy-protocol-port: 54\n"
		"proxy-protocol-port: 8854 allow-proxy: 10.0.0.0/8\n"
		"allow-proxy: ::1 metrics-interface: ::1@5");

	assert_int_equal(conf->server.proxy_protocol_port.count, 2);
	assert_int_equal(conf->server.proxy_protocol_port.items[1], 8854);
	assert_int_equal(conf->server.allow_proxy.count, 2);
	assert_int_equal(conf->server.allow_proxy.items[0].kind,
		CONF_ACL_SUBNET);
	assert_int_equal(conf->server.metrics_interface.items[0].port, 5);
	conf_destroy(conf);
	reader_refuse("server: proxy-protocol-port: 70000", "t:1: error: "
		"proxy-protocol-port: '70000' is out of range [1..65535]\n");
}

/* ---- the table --------------------------------------------------------- */

/* A value that each type takes, other than its default. */
static const char *
sample_value(const struct conf_option *option)
{
	switch ((enum conf_type)option->type) {
	case TYPE_BOOL:
		return option->initial[0] == 'y' ? "no" : "yes";
	case TYPE_ONLY:
	case TYPE_INHERIT:
		return "yes";
	case TYPE_U32:
	case TYPE_I32:
	case TYPE_U64:
	case TYPE_EXPIRE:
	case TYPE_NUMBERS:
	case TYPE_NUMBER_EACH:
	case TYPE_SERVER_CPU:
		return "17";
	case TYPE_NETBLOCK:
		return "17 2";
	case TYPE_LISTEN:
	case TYPE_INTERFACE:
	case TYPE_ACL_ADDRESS:
	case TYPE_ACL_SPEC:
		return "192.0.2.1";
	case TYPE_ACL:
	case TYPE_ACL_PROVIDE:
	case TYPE_ACL_REQUEST:
	case TYPE_ACL_NOTIFY:
	case TYPE_ACL_UPDATE:
		return "192.0.2.1 NOKEY";
	case TYPE_NSID:
		return "abcd";
	case TYPE_COOKIE:
		return "000102030405060708090a0b0c0d0e0f";
	case TYPE_ALGORITHM:
		return "sha1";
	case TYPE_BASE64:
		return "aGVs";
	case TYPE_RRL:
		return "all";
	case TYPE_POLICY:
		return "k *";
	case TYPE_SERIAL:
		return "unixtime";
	case TYPE_DNSSEC:
		return "if-signed";
	case TYPE_UNCHECKED:
		return "no-check";
	case TYPE_CATALOG:
		return "consumer";
	case TYPE_EMPTY:
		return "delete";
	case TYPE_LOG_FORMAT:
		return "json";
	case TYPE_INCLUDE:
		return "before";
	default:
		return "text";
	}
}

/* A configuration with one option in a clause that is complete. */
static void
write_option(const struct conf_option *option, char *text, size_t size)
{
	static const char *const complete[CLAUSE_COUNT] = {
		[CLAUSE_KEY] = "name: k secret: aGVs",
		[CLAUSE_TLS_AUTH] = "name: t auth-domain-name: a",
		[CLAUSE_PATTERN] = "name: p",
	};
	const char *name = option->type == TYPE_SERVER_CPU
		? "server-3-cpu-affinity" : option->name;
	const char *head = option->flags & OPTION_PATTERN_ONLY
		? "zone: name: text catalog: producer\n"
		: option->type == TYPE_POLICY ? "key: name: k secret: aGVs\n"
					      : "";
	const char *before = complete[option->clause];

	if (strcmp(name, "tls-auth-xfr-only") == 0)
		before = "tls-auth-port: 5";
	else if (strcmp(name, "cookie-staging-secret") == 0)
		before = "cookie-secret: 000102030405060708090a0b0c0d0e0f";
	snprintf(text, size, "pattern: name: before\n%s%s: %s\n%s: %s\n",
		head, conf_clauses[option->clause].name,
		before != NULL ? before : "", name, sample_value(option));
}

static const void *
find_object(const struct conf *conf, const struct conf_option *option)
{
	switch ((enum conf_clause)option->clause) {
	case CLAUSE_KEY:
		return conf->keys[0];
	case CLAUSE_TLS_AUTH:
		return conf->tls_auths[0];
	case CLAUSE_PATTERN:
		return conf->patterns[conf->pattern_count - 1];
	default:
		return (const char *)conf +
			conf_clauses[option->clause].offset;
	}
}

static void
each_row_can_be_set_and_shows_it(void **state)
{
	const struct conf_option *option;
	struct conf *conf;
	char text[256];
	size_t i;

	for (i = 0; i < conf_option_count; i++) {
		option = &conf_options[i];
		write_option(option, text, sizeof(text));
		conf = reader_accept(text);
		/* An option that is set in no bit: what it stands for is. */
		if (option->type != TYPE_INCLUDE)
			assert_true(option_is_set(option,
				find_object(conf, option)));
		conf_destroy(conf);
	}
}

static void
names_are_unique_and_clauses_stand_together(void **state)
{
	size_t i, k;

	for (i = 0; i < conf_option_count; i++) {
		assert_true(i == 0 || conf_options[i].clause >=
			conf_options[i - 1].clause);
		for (k = 0; k < i; k++)
			assert_true(conf_options[i].clause !=
				conf_options[k].clause
				|| strcmp(conf_options[i].name,
					conf_options[k].name) != 0);
		if ((conf_options[i].flags & OPTION_ALIAS) != 0)
			assert_int_equal(conf_options[i].offset,
				conf_options[i - 1].offset);
		assert_true(option_index(&conf_options[i]) < 128);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_keep_to_their_range),
		cmocka_unit_test(ip4_only_turns_the_other_family_off),
		cmocka_unit_test(nsid_is_hex_or_ascii),
		cmocka_unit_test(cpu_lists_are_words_or_one_word),
		cmocka_unit_test(listen_address_has_its_words),
		cmocka_unit_test(listen_address_that_is_wrong_is_refused),
		cmocka_unit_test(control_interface_may_be_a_path),
		cmocka_unit_test(acl_element_is_parsed_into_its_parts),
		cmocka_unit_test(acl_element_that_is_wrong_is_refused),
		cmocka_unit_test(
			acl_element_with_too_few_or_too_many_words_is_refused),
		cmocka_unit_test(
			range_that_ends_before_it_starts_is_a_warning),
		cmocka_unit_test(
			acl_words_refer_to_keys_and_tls_auths_anywhere),
		cmocka_unit_test(key_has_its_octets_and_its_full_algorithm),
		cmocka_unit_test(cookie_secrets_are_32_hex_digits),
		cmocka_unit_test(lists_of_ports_and_proxies_recur),
		cmocka_unit_test(each_row_can_be_set_and_shows_it),
		cmocka_unit_test(
			names_are_unique_and_clauses_stand_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
