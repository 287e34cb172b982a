/* test_syntax.c - words, clauses and errors of nsd.conf: doc/surface.md 1.1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reader.h"

static void
words_are_separated_by_space_tab_or_newline(void **state)
{
	struct conf *conf = reader_accept("server: port: 5 identity: a\n"
		"hide-version: yes\r\n zone:\nname:\n x\nzonefile:\ty");

	assert_int_equal(conf->server.port, 5);
	assert_string_equal(conf->server.identity, "a");
	assert_true(conf->server.hide_version);
	assert_int_equal(conf->zone_count, 1);
	assert_string_equal(conf->zones[0]->zonefile, "y");
	conf_destroy(conf);
}

static void
comment_starts_a_word(void **state)
{
	struct conf *conf = reader_accept("# x\nserver: #port: 3\n"
		"identity: a#b #c\nversion: \"#d\"# e");

	assert_string_equal(conf->server.identity, "a#b");
	assert_string_equal(conf->server.version, "#d");
	assert_int_equal(conf->server.port, 53);
	conf_destroy(conf);
}

static void
quoted_text_keeps_all_between_its_quotes(void **state)
{
	struct conf *conf = reader_accept("server:\nidentity: \"a\nb\tport: "
		"3 \\\" \\\\\"\nversion: a\\ b\nchroot: \"\"\n"
		"logfile: \"port:\" username: a\\\"b");

	assert_string_equal(conf->server.identity,
		"a\nb\tport: 3 \\\" \\\\");
	assert_string_equal(conf->server.version, "a\\ b");
	assert_string_equal(conf->server.chroot, "");
	assert_string_equal(conf->server.logfile, "port:");
	assert_string_equal(conf->server.username, "a\\\"b");
	conf_destroy(conf);
}

static void
clauses_recur_and_add_up(void **state)
{
	struct conf *conf = reader_accept("server: port: 5 tcp-count: 7\n"
		"ip-address: 192.0.2.1\nzone: name: x zonefile: y\n"
		"server: port: 6 ip-address: 192.0.2.2\n"
		"remote-control: control-port: 5\nverify: enable: yes\n"
		"remote-control: control-enable: yes\n");

	assert_int_equal(conf->server.port, 6);
	assert_int_equal(conf->server.tcp_count, 7);
	assert_int_equal(conf->server.ip_address.count, 2);
	assert_int_equal(conf->remote_control.control_port, 5);
	assert_true(conf->remote_control.control_enable);
	assert_true(conf->verify.enable);
	conf_destroy(conf);
}

static void
empty_text_is_a_configuration(void **state)
{
	struct conf *conf = reader_accept("");

	assert_int_equal(conf->zone_count, 0);
	conf_destroy(conf);
	conf_destroy(NULL);
}

/* Names of options are read in any case, as in NSD; values as they are. */
static void
names_are_read_in_any_case(void **state)
{
	struct conf *conf = reader_accept("SERVER:\n Port: 54\n"
		"Server-2-CPU-Affinity: 0\n"
		"ip-address: ::1 Servers=2 BindToDevice=yes SETFIB=3\n"
		"Zone: NAME: X.example\n"
		"\tzonefile: Y\n\trequest-xfr: axfr 127.0.0.1 NOKEY\n"
		"\tallow-notify: 127.0.0.1 NOKEY\n");

	assert_int_equal(conf->server.port, 54);
	assert_int_equal(conf->server.ip_address.items[0].servers.count, 1);
	assert_true(conf->server.ip_address.items[0].bindtodevice);
	assert_int_equal(conf->server.ip_address.items[0].setfib, 3);
	assert_int_equal(conf->zone_count, 1);
	conf_destroy(conf);
}

#define BAD_SECRET "t:2: error: cannot base64 decode tsig secret x, expected " \
	"letters, digits, + and /, filled up with = to a multiple of 4\n"

static const struct {
	const char *text;
	const char *said;
} refused[] = {
	/* unknown words, and words in the wrong place */
	{ "server:\n foo: 3\n", "t:2: at 'foo:': error: syntax error, "
		"expected a clause or an option of server:\n" },
	{ "foo\n", "t:1: at 'foo': error: syntax error, expected a clause "
		"such as server: or zone:\n" },
	{ "port: 3\n", "t:1: at 'port:': error: syntax error, expected it "
		"in server: or verify:\n" },
	{ "server: port:4\n", "t:1: at 'port:4': error: syntax error, "
		"expected 'port:' and a blank behind it\n" },
	{ "server: port : 4\n", "t:1: at 'port': error: syntax error, "
		"expected 'port:'\n" },
	{ "server: zonefile: x\n", "t:1: at 'zonefile:': error: syntax "
		"error, expected it in pattern: or zone:\n" },
	{ "zone: name: x zonefile: y catalog-producer-zone: z\n",
		"t:1: at 'catalog-producer-zone:': error: syntax error, "
		"expected it in pattern:\n" },
	{ "server: port: 3 4\n", "t:1: at '4': error: syntax error, "
		"expected nothing more behind port:\n" },
	{ "server: port: 3 4 5 foo: 6\n", "t:1: at '4': error: syntax "
		"error, expected nothing more behind port:\n"
		"t:1: at 'foo:': error: syntax error, expected a clause or "
		"an option of server:\n" },
	/* a name that is near is told: a letter wrong, missing, too many, or
	 * two in the wrong order; short names are all near to each other */
	{ "server: sever-count: 2\nprot: 3\npord: 4\nverbossity: 5\n"
		"cout: 6\ntcp-timeotu: 7\nsone: 8\nzonefile-check: no\n",
		"t:1: at 'sever-count:': error: syntax error, expected a "
		"clause or an option of server:, perhaps 'server-count:'\n"
		"t:2: at 'prot:': error: syntax error, expected a clause or "
		"an option of server:\n"
		"t:3: at 'pord:': error: syntax error, expected a clause or "
		"an option of server:, perhaps 'port:'\n"
		"t:4: at 'verbossity:': error: syntax error, expected a "
		"clause or an option of server:, perhaps 'verbosity:'\n"
		"t:5: at 'cout:': error: syntax error, expected a clause or "
		"an option of server:\n"
		"t:6: at 'tcp-timeotu:': error: syntax error, expected a "
		"clause or an option of server:, perhaps 'tcp-timeout:'\n"
		"t:7: at 'sone:': error: syntax error, expected a clause or "
		"an option of server:, perhaps 'zone:'\n"
		"t:8: at 'zonefile-check:': error: syntax error, expected a "
		"clause or an option of server:, perhaps "
		"'zonefiles-check:'\n" },
	{ "srever: port: 5\n", "t:1: at 'srever:': error: syntax error, "
		"expected a clause such as server: or zone:, perhaps "
		"'server:'\n"
		"t:1: at 'port:': error: syntax error, expected it in "
		"server: or verify:\n" },
	/* a value that is missing is told where its option stands */
	{ "server: port: \n", "t:1: at 'port:': error: syntax error, "
		"expected a number behind it\n" },
	{ "server: port:", "t:1: at 'port:': error: syntax error, expected a "
		"number behind it\n" },
	{ "server: port: port: 5", "t:1: at 'port:': error: syntax error, "
		"expected a number behind it\n" },
	{ "server:\nport:\nzone:\nname: x zonefile: y",
		"t:2: at 'port:': error: syntax error, expected a number "
		"behind it\n" },
	{ "server: server-0-cpu-affinity: 1 ",
		"t:1: at 'server-0-cpu-affinity:': error: syntax error, "
		"expected a clause or an option of server:\n" },
	{ "server: server-N-cpu-affinity: 1 ",
		"t:1: at 'server-N-cpu-affinity:': error: syntax error, "
		"expected a clause or an option of server:\n" },
	{ "server: server-99999999999-cpu-affinity: 1 ",
		"t:1: at 'server-99999999999-cpu-affinity:': error: "
		"syntax error, expected a clause or an option of server:\n" },
	{ "server: identity: a\"b\"", "t:1: at 'b': error: syntax error, "
		"expected nothing more behind identity:\n" },
	/* all errors are reported */
	{ "server:\n foo: 3\n port: x\nbar: 4\nbaz: 5\nport: 9 a\n",
		"t:2: at 'foo:': error: syntax error, expected a clause or an "
		"option of server:\n"
		"t:3: error: expected a number for port, got 'x'\n"
		"t:4: at 'bar:': error: syntax error, expected a clause or an "
		"option of server:\n"
		"t:5: at 'baz:': error: syntax error, expected a clause or an "
		"option of server:\n"
		"t:6: at 'a': error: syntax error, expected nothing more "
		"behind port:\n" },
	{ "server: do-ip4: Yes\ndo-ip6: 1\n",
		"t:1: error: expected yes or no for do-ip4, got 'Yes'\n"
		"t:2: error: expected yes or no for do-ip6, got '1'\n" },
	/* also what is wrong with the whole, but not what comes of an error */
	{ "server: do-ip4: Yes\nport: 0\nzone: name: x\n"
		"zone: name: y zonefil: z",
		"t:1: error: expected yes or no for do-ip4, got 'Yes'\n"
		"t:4: at 'zonefil:': error: syntax error, expected a clause "
		"or an option of zone:, perhaps 'zonefile:'\n"
		"t:3: error: zone x is a primary zone but has no zonefile. "
		"Where can the data come from?\n"
		"t:2: error: port number '0' is not a positive number.\n" },
	/* lines inside of quotes count, a word has the line where it starts;
	 * what is quoted stays on its line */
	{ "server: identity: \"a\n\nb\"\nport: \"x\ny\" tcp-count: z",
		"t:4: error: expected a number for port, got 'x\\012y'\n"
		"t:5: error: expected a number for tcp-count, got 'z'\n" },
	/* lexer */
	{ "server: identity: \"a\nb", "t:1: error: EOF inside quoted "
		"string, expected a '\"' behind 'a...'\n" },
	{ "server: identity: \"a\\", "t:1: error: EOF inside quoted "
		"string, expected a '\"' behind 'a\\'\n" },
	{ "server: identity: a\\\n", "t:1: error: backslash at the end of the "
		"line, expected a character behind it\n" },
	{ "server: include:", "t:1: error: EOF inside include directive, "
		"expected the name of a file\n" },
	/* clauses */
	{ "zone: zonefile: x", "t:1: error: zone has no name\n" },
	{ "\npattern: zonefile: x", "t:2: error: pattern has no name\n" },
	{ "key: secret: aGVs", "t:1: error: tsig key has no name\n" },
	{ "key: name: x", "t:1: error: tsig key x has no secret blob\n" },
	{ "key: name: x\nsecret: \"\"",
		"t:2: error: tsig key x has no secret blob\n" },
	{ "key: name: x\nsecret: aGV", BAD_SECRET },
	{ "key: name: x\nsecret: a=Vs", BAD_SECRET },
	/* the key is there, whatever is wrong with it */
	{ "key: name: x\nsecret: aGV\n"
		"zone: name: y zonefile: z notify: ::1 x", BAD_SECRET },
	{ "key: name: x algorithm: md4 secret: aGVs",
		"t:1: error: bad tsig key algorithm md4, expected hmac-md5, "
		"hmac-sha1, hmac-sha224, hmac-sha256, hmac-sha384 or "
		"hmac-sha512\n" },
	{ "tls-auth: name: x",
		"t:1: error: tls-auth x has no auth-domain-name\n" },
	{ "tls-auth: name: x\nauth-domain-name: \"\"",
		"t:2: error: tls-auth x has an empty auth-domain-name, "
		"expected the name in the other side's certificate\n" },
	{ "tls-auth: auth-domain-name: x",
		"t:1: error: tls-auth has no name\n" },
	{ "pattern: name: \"a b\"",
		"t:1: error: space is not allowed in pattern name: 'a b'\n" },
	/* duplicates */
	{ "zone: name: x zonefile: y\nzone: zonefile: y\nname: X.",
		"t:3: error: duplicate zone X., the first one is at t:1\n" },
	{ "zone: name: a.b zonefile: y\nzone: name: a.\\098 zonefile: y",
		"t:2: error: duplicate zone a.\\098, the first one is at "
		"t:1\n" },
	{ "pattern: name: x\npattern:\nname: x",
		"t:3: error: duplicate pattern x, the first one is at t:1\n" },
	{ "key: name: x secret: aGVs\nkey: secret: aGVs\nname: x",
		"t:3: error: duplicate tsig key x, the first one is at "
		"t:1\n" },
	{ "tls-auth: name: x auth-domain-name: a\n"
		"tls-auth: name: x auth-domain-name: a\n",
		"t:2: error: duplicate tls-auth x, the first one is at t:1\n" },
	/* references */
	{ "pattern: name: x include-pattern: x",
		"t:1: error: could not find pattern x, expected one that "
		"stands above\n" },
	{ "pattern: name: x include-pattern: y\n"
		"pattern: name: y include-pattern: x",
		"t:1: error: could not find pattern y, expected one that "
		"stands above\n" },
	{ "zone: name: x\n provide-xfr: 192.0.2.1 k\nzonefile: y",
		"t:2: error: key k in pattern _implicit_x could not be "
		"found\n" },
	{ "pattern: name: p zonefile: f\n provide-xfr: 192.0.2.1 NOKEY t\n"
		"server: tls-auth-port: 5 zone: name: x include-pattern: p\n"
		"zone: name: y include-pattern: p notify: 192.0.2.1 k\n"
		"zone: name: z notify: 192.0.2.1 NOKEY include-pattern: p\n"
		/* copied elements are not reported again */
		"zone: name: w provide-xfr: ::1 NOKEY include-pattern: p\n",
		"t:2: error: tls-auth t in pattern p could not be found\n"
		"t:4: error: key k in pattern _implicit_y could not be "
		"found\n" },
	{ "server:\ncookie-staging-secret: 000102030405060708090a0b0c0d0e0f\n"
		"port: 5", "t:2: error: a cookie-staging-secret cannot be "
		"configured without also providing a cookie-secret\n" },
	{ "pattern: name: p\ncatalog-producer-zone: c\n"
		"zone: name: c zonefile: c",
		"t:2: error: catalog-producer-zone c in pattern p is not a "
		"catalog producer zone\n" },
	/* nor is this */
	{ "pattern: name: p\ncatalog-producer-zone: c\n"
		"pattern: name: q\ninclude-pattern: p",
		"t:2: error: catalog-producer-zone c in pattern p is not a "
		"catalog producer zone\n" },
	{ "zone: name: c catalog: producer\nrequest-xfr: 192.0.2.1 NOKEY",
		"t:2: error: zone c is a catalog producer and has "
		"request-xfr\n" },
	{ "server: tls-auth-xfr-only: yes tls-auth-port: 8853",
		"t:1: error: tls-auth-xfr-only must stand after "
		"tls-auth-port\n" },
};

/* Fault 74. */
static void
errors_name_file_and_line_and_all_are_told(void **state)
{
	size_t i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		reader_refuse(refused[i].text, refused[i].said);
}

static void
zone_name_that_is_none_is_refused(void **state)
{
	static const char *const names[] = { "a..b", "\"\"", ".a", "a\\999",
		"0123456789012345678901234567890123456789012345678901234567"
		"890123" };
	static struct reader r;
	char text[256];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(text, sizeof(text), "\nzone: zonefile: x name: %s",
			names[i]);
		assert_null(reader_load(&r, text));
		assert_non_null(strstr(r.said,
			"t:2: error: cannot parse zone name '"));
	}
}

/* Fault 74. */
static void
nul_octet_is_an_error_and_the_rest_is_still_read(void **state)
{
	static const char text[] = "server:\n port: 1\0\0\n port: x";
	static struct reader r;

	assert_null(reader_load_size(&r, text, sizeof(text) - 1));
	assert_string_equal(r.said, "t:2: error: NUL octet in the text\n"
		"t:3: error: expected a number for port, got 'x'\n"
		"read t failed: 2 errors in configuration file\n");
}

/* Fault 74. A word of a million octets is a value like any other. */
static void
very_long_words_are_fine(void **state)
{
	static const char head[] = "server: identity: ";
	size_t len = 1000000;
	char *text = malloc(len + 1);
	struct conf *conf;
	static struct reader r;

	memset(text, 'a', len);
	text[len] = '\0';
	memcpy(text, head, sizeof(head) - 1);
	conf = reader_accept(text);
	assert_int_equal(strlen(conf->server.identity),
		len - (sizeof(head) - 1));
	conf_destroy(conf);
	/* and as an unknown name it is named in part */
	memset(text, ' ', sizeof(head) - 1);
	assert_null(reader_load(&r, text));
	assert_true(strlen(r.said) < 1000);
	free(text);
}

/* A text cut at any length is read within its end, and refused with a message
 * only. */
static void
text_cut_at_each_length_is_read_or_refused(void **state)
{
	static const char text[] = "server:\n ip-address: 192.0.2.1@5 "
		"servers=\"1 3-5\" bindtodevice=yes setfib=3\n"
		" nsid: ascii_x cpu-affinity: 0 1 server-1-cpu-affinity: 1\n"
		"key: name: k. algorithm: sha1 secret: \"aGVsbG8=\"\n"
		"tls-auth: name: t auth-domain-name: \"a.b\"\n"
		"pattern: name: p notify: ::1@3 k. allow-query: 1.2.3.4/8 "
		"BLOCKED\n request-xfr: AXFR 1.2.3.4@54 k. t\n"
		"verify: verifier: a \"b c\"\n"
		"zone: name: \"a\\.b\" include-pattern: p zonefile: %s\n";
	static struct reader r;
	struct conf *conf;
	char *copy;
	size_t len;

	for (len = 0; len < sizeof(text); len++) {
		/* A block of exact size, for the sanitizers. */
		copy = malloc(len + 1);
		memcpy(copy, text, len);
		conf = reader_load_size(&r, copy, len);
		free(copy);
		if (conf != NULL)
			assert_int_equal(r.sink.errors, 0);
		conf_destroy(conf);
	}
	conf = reader_accept(text);
	conf_destroy(conf);
	/* and one octet too many at its end */
	for (len = 1; len < 256; len++) {
		copy = malloc(sizeof(text));
		memcpy(copy, text, sizeof(text));
		copy[sizeof(text) - 2] = (char)len;
		conf_destroy(reader_load_size(&r, copy, sizeof(text) - 1));
		free(copy);
	}
}

/* RFC 9567 section 5: the root is no agent. */
static void
report_channel_is_a_name(void **state)
{
	struct conf *conf = reader_accept("server: edns-report-channel: "
		"Agent.Example");

	assert_memory_equal(conf->server.edns_report_channel_name,
		"\5agent\7example", 15);
	conf_destroy(conf);
	conf = reader_accept("server: edns-report-channel: a. "
		"edns-report-channel: .");
	assert_null(conf->server.edns_report_channel_name);
	conf_destroy(conf);
	conf = reader_accept("server: edns-report-channel: \"\"");
	assert_null(conf->server.edns_report_channel_name);
	conf_destroy(conf);
	reader_refuse("server: edns-report-channel: a..b", "t:1: error: "
		"edns-report-channel: bad domain name 'a..b': expected "
		"a name without empty labels\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_read_in_any_case),
		cmocka_unit_test(words_are_separated_by_space_tab_or_newline),
		cmocka_unit_test(comment_starts_a_word),
		cmocka_unit_test(quoted_text_keeps_all_between_its_quotes),
		cmocka_unit_test(clauses_recur_and_add_up),
		cmocka_unit_test(empty_text_is_a_configuration),
		cmocka_unit_test(errors_name_file_and_line_and_all_are_told),
		cmocka_unit_test(zone_name_that_is_none_is_refused),
		cmocka_unit_test(
			nul_octet_is_an_error_and_the_rest_is_still_read),
		cmocka_unit_test(very_long_words_are_fine),
		cmocka_unit_test(text_cut_at_each_length_is_read_or_refused),
		cmocka_unit_test(report_channel_is_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
