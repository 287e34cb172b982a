/* Tests of the warning about options without effect. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reader.h"

static void
list_without_effect(const char *text, const char *said)
{
	static struct reader r;
	struct conf *conf = reader_load(&r, text);

	assert_non_null(conf);
	conf_list_without_effect(conf, NULL, &r.sink);
	assert_string_equal(r.said, said);
	assert_int_equal(r.sink.errors, 0);
	conf_destroy(conf);
}

#define NO_EFFECT " has no effect in this program"
/* Without rate limits (configure --disable-ratelimit) rrl-whitelist is the one
 * option of zones without effect; with them there is none. */
#define UNLIMITED(text) (RATELIMIT ? "" : (text))

static void
options_without_effect_are_listed_once_with_their_place(void **state)
{
	list_without_effect("server: port: 5 statistics: 0\n"
		"database: \"\" rrl-size: 1000000\n xdp-interface: x\n"
		"remote-control: control-enable: no\nverify: enable: yes\n"
		"zone: name: a zonefile: a verify-zone: yes\n"
		"verifier-timeout: 7\n"
		"zone: zonefile: b\nverify-zone: no allow-query: ::1 NOKEY\n"
		"name: b\n",
		"t:3: warning: server: xdp-interface" NO_EFFECT "\n");
	list_without_effect("zone: name: a zonefile: a rrl-whitelist: nxdomain\n"
		"zone: zonefile: b\nrrl-whitelist: error name: b\n",
		UNLIMITED("t:1: warning: zone a: rrl-whitelist" NO_EFFECT
			", nor has it in 1 more clause\n"));
	/* An option is told once for a pattern, not for zones that include it;
	 * the last value counts. */
	list_without_effect("server: xdp-bpffs-path: /var/x "
		"xdp-force-copy: yes\nxdp-force-copy: no\n",
		"t:1: warning: server: xdp-bpffs-path" NO_EFFECT "\n");
	list_without_effect("server:\n\n"
		"pattern:\nrrl-whitelist: any ixfr-size: 1048576 name: p\n"
		"zone: name: x include-pattern: p zonefile: a\n"
		"zone: name: y include-pattern: p zonefile: a\n"
		"allow-query: ::1 NOKEY",
		UNLIMITED("t:4: warning: pattern p: rrl-whitelist" NO_EFFECT
			"\n"));
	list_without_effect("key: name: k\nsecret: aGVs algorithm: sha1\n"
		"key: name: j secret: aGVs\n"
		"tls-auth: name: t auth-domain-name: a client-cert: b", "");
	list_without_effect("server:\nreuseport: yes",
		"t:2: warning: server: reuseport has no effect with "
		"server-count: 1\n");
	list_without_effect("server: reuseport: yes server-count: 2", "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			options_without_effect_are_listed_once_with_their_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
