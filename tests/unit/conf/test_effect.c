/* Tests of the warning about options without effect. */
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

static void
options_without_effect_are_listed_once_with_their_place(void **state)
{
	list_without_effect("server: port: 5 statistics: 0\n"
		"database: \"\" rrl-size: 1000000\n xdp-interface: x\n"
		"remote-control: control-enable: no\nverify: enable: yes\n"
		"zone: name: a zonefile: a verify-zone: yes\n"
		"verifier-timeout: 7\n"
		"zone: zonefile: b\nverify-zone: no rrl-whitelist: error\n"
		"allow-query: ::1 NOKEY name: b\n",
		"t:3: warning: server: xdp-interface" NO_EFFECT "\n"
		"t:5: warning: verify: enable" NO_EFFECT "\n"
		"t:6: warning: zone a: verify-zone" NO_EFFECT
		", nor has it in 1 more clause\n"
		"t:7: warning: zone a: verifier-timeout" NO_EFFECT "\n");
	/* An option is told once for a pattern, not for zones that include it;
	 * the last value counts. */
	list_without_effect("server: xdp-bpffs-path: /var/x "
		"xdp-force-copy: yes\nxdp-force-copy: no\n"
		"pattern:\nverify-zone: yes ixfr-size: 1048576 name: p\n"
		"zone: name: x include-pattern: p zonefile: a\n"
		"zone: name: y include-pattern: p zonefile: a\n"
		"allow-query: ::1 NOKEY",
		"t:1: warning: server: xdp-bpffs-path" NO_EFFECT "\n"
		"t:4: warning: pattern p: verify-zone" NO_EFFECT "\n");
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
