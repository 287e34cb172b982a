/* test_image.c - a configuration as octets is the same when it is read. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf/compare.h"
#include "conf/image.h"
#include "conf/parser.h"
#include "reader.h"

/* What stands in it comes in any order, and is shared in any way. */
static const char text[] =
	"server:\n"
	" ip-address: 192.0.2.1@5300 servers=\"1-2 4\" bindtodevice=yes\n"
	" ip-address: 2001:db8::1\n"
	" identity: \"id\" nsid: ascii_here version: v\n"
	" edns-report-channel: Agent.Example\n"
	" server-count: 4 cpu-affinity: 0 1 server-2-cpu-affinity: 1\n"
	" rrl-ipv4-wider: 16 4 rrl-ipv6-wider: 32 8\n"
	" tcp-cpu-whitelist: 192.0.2.0/24 proxy-protocol-port: 530\n"
	" proxy-protocol-port: 531 allow-proxy: 2001:db8::/32\n"
	" metrics-interface: 127.0.0.1 zonesdir: \"/z\" port: 5353\n"
	"remote-control:\n"
	" control-enable: yes control-interface: /run/nsd.sock\n"
	"verify:\n verifier: a \"b c\" d\n"
	"dnstap:\n dnstap-identity: tap\n"
	"key:\n name: Key. algorithm: sha256 secret: aGlkZGVu\n"
	"key:\n name: other algorithm: hmac-sha512 secret: b3RoZXI=\n"
	"tls-auth:\n name: auth auth-domain-name: a.example\n"
	" client-key-pw: \"p w\"\n"
	"pattern:\n name: one zonefile: \"%1/%s\" zonestats: \"%s\"\n"
	" request-xfr: AXFR 192.0.2.1@54 Key. auth\n"
	" request-xfr: UDP 192.0.2.2 NOKEY\n"
	" allow-notify: 192.0.2.0/24 other allow-notify: 10.0.0.1-10.0.0.9\n"
	" BLOCKED rrl-whitelist: nxdomain size-limit-xfr: 5\n"
	"pattern:\n name: two include-pattern: one\n"
	" allow-notify: 10.0.0.0&255.0.0.0 NOKEY notify: 192.0.2.9 other\n"
	"pattern:\n name: three include-pattern: two\n"
	" allow-notify: ::1 Key. outgoing-interface: 192.0.2.7\n"
	"zone:\n name: Z.example. include-pattern: two\n"
	"zone:\n name: a.example include-pattern: two zonefile: own\n"
	"zone:\n name: own.example zonefile: o include-pattern: three\n"
	" provide-xfr: 0.0.0.0/0 NOKEY min-expire-time: refresh+retry+1\n"
	"zone:\n name: . zonefile: root\n"
	"zone:\n name: plain.example\n";

static void
print(const struct conf *conf, char **out)
{
	size_t len;
	FILE *file = open_memstream(out, &len);

	assert_non_null(file);
	conf_print(conf, true, file);
	for (size_t i = 0; i < conf->zone_count; i++)
		fprintf(file, "%s %s %s:%u %u\n", conf->zones[i]->name,
			conf->zones[i]->zonefile, conf->zones[i]->file,
			(unsigned)conf->zones[i]->line,
			(unsigned)conf->zones[i]->index);
	fclose(file);
}

static int
write_image(struct conf *conf)
{
	int fd;

	conf_wipe_secrets(conf);
	assert_int_equal(conf_image_write(conf, CONF_IMAGE_ALL, &fd), NSD_OK);
	return fd;
}

static void
all_of_it_is_there_when_its_writer_is_gone(void **state)
{
	struct conf *conf = reader_accept(text), *again = NULL;
	char *before, *after;
	int fd;

	conf->keys[0]->place = (struct vault_place){7, 9};
	fd = write_image(conf);
	print(conf, &before);
	assert_int_equal(conf_image_read(fd, &again), NSD_OK);
	conf_destroy(conf); /* whoever points into it is found by sanitizers */
	print(again, &after);
	assert_string_equal(after, before);
	assert_int_equal(again->keys[0]->place.at, 7);
	assert_string_equal(again->keys[1]->algorithm_name, "hmac-sha512");
	assert_int_equal(again->server.nsid_len, 4);
	assert_memory_equal(again->server.nsid_data, "here", 4);
	assert_memory_equal(again->server.edns_report_channel_name,
		"\5agent\7example", 15);
	free(before);
	free(after);
	conf_destroy(again);
	close(fd);
}

static void
it_is_no_difference(void **state)
{
	struct conf *conf = reader_accept(text), *again = NULL;
	struct conf_difference d;
	int fd = write_image(conf);

	assert_int_equal(conf_image_read(fd, &again), NSD_OK);
	conf_compare(conf, again, &d);
	assert_false(conf_difference_is_live(&d));
	assert_int_equal(d.waiting, 0);
	assert_int_equal(again->secondary_count, conf->secondary_count);
	conf_destroy(conf);
	conf_destroy(again);
	close(fd);
}

/* Keys, tls-auths and patterns are those of the same configuration. */
static void
it_refers_to_its_own(void **state)
{
	struct conf *conf = reader_accept(text), *again = NULL;
	const struct conf_pattern *one, *two, *three;
	int fd = write_image(conf);

	assert_int_equal(conf_image_read(fd, &again), NSD_OK);
	conf_destroy(conf);
	one = conf_find_pattern(again, "one");
	two = conf_find_pattern(again, "two");
	three = conf_find_pattern(again, "three");
	assert_ptr_equal(one->request_xfr.items[0].key,
		conf_find_key(again, "Key."));
	assert_ptr_equal(one->request_xfr.items[0].tls_auth,
		conf_find_tls_auth(again, "auth"));
	assert_null(one->request_xfr.items[1].key);
	assert_ptr_equal(conf_find_zone_text(again, "z.example")->options, two);
	/* Items that lists share are there once. */
	assert_ptr_equal(one->request_xfr.items, two->request_xfr.items);
	assert_ptr_equal(two->allow_notify.items, three->allow_notify.items);
	assert_int_equal(one->allow_notify.count, 2);
	assert_int_equal(three->allow_notify.count, 4);
	conf_destroy(again);
	close(fd);
}

/* The reader has its own. */
static void
zones_that_were_added_are_left_out(void **state)
{
	struct conf *conf = reader_accept(text), *again = NULL;
	const struct conf_zone *added;
	int fd;

	assert_int_equal(conf_add_zone(conf, "added.example", "two", &added),
		NSD_OK);
	fd = write_image(conf);
	assert_int_equal(conf_image_read(fd, &again), NSD_OK);
	assert_int_equal(again->zone_count, conf->zone_count - 1);
	assert_null(conf_find_zone_text(again, "added.example"));
	/* They can be added, and go. */
	assert_int_equal(conf_add_zone(again, "added.example", "two", &added),
		NSD_OK);
	assert_int_equal(conf_remove_zone(again, conf->zones[0]->wire),
		NSD_OK);
	conf_destroy(conf);
	conf_destroy(again);
	close(fd);
}

static uint8_t *
map(int fd, size_t *len)
{
	struct stat st;
	uint8_t *octets;

	assert_int_equal(fstat(fd, &st), 0);
	*len = (size_t)st.st_size;
	octets = mmap(NULL, *len, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(octets, MAP_FAILED);
	return octets;
}

static void
no_secret_is_in_it_and_nobody_can_change_it(void **state)
{
	struct conf *conf = reader_accept(text);
	int fd = write_image(conf);
	size_t len;
	uint8_t *octets = map(fd, &len);

	assert_null(memmem(octets, len, "aGlkZGVu", 8));
	assert_null(memmem(octets, len, "hidden", 6));
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	munmap(octets, len);
	conf_destroy(conf);
	close(fd);
}

/* Wherever it is cut: refused, and nothing is lost or read beyond. */
static void
one_that_is_cut_is_refused(void **state)
{
	struct conf *conf = reader_accept(text), *again;
	int fd = write_image(conf), cut;
	size_t len;
	uint8_t *octets = map(fd, &len);

	for (size_t i = 0; i < len; i++) {
		cut = memfd_create("cut", MFD_CLOEXEC);
		assert_int_equal(write(cut, octets, i), i);
		again = NULL;
		assert_int_equal(conf_image_read(cut, &again), NSD_E_WIRE);
		assert_null(again);
		close(cut);
	}
	munmap(octets, len);
	conf_destroy(conf);
	close(fd);
}

/* It is written in many parts. */
static void
a_large_one_goes_over(void **state)
{
	char *large, *before, *after;
	size_t len;
	FILE *file = open_memstream(&large, &len);
	struct conf *conf, *again = NULL;
	int fd;

	assert_non_null(file);
	for (unsigned i = 0; i < 5000; i++)
		fprintf(file, "zone: name: z%u.example zonefile: f%u"
			" allow-query: 192.0.2.%u NOKEY\n", i, i, i % 256);
	fclose(file);
	conf = reader_accept(large);
	fd = write_image(conf);
	assert_int_equal(conf_image_read(fd, &again), NSD_OK);
	print(conf, &before);
	conf_destroy(conf);
	print(again, &after);
	assert_string_equal(after, before);
	free(large);
	free(before);
	free(after);
	conf_destroy(again);
	close(fd);
}

static void
an_empty_one_goes_over(void **state)
{
	struct conf *conf = reader_accept(""), *again = NULL;
	int fd = write_image(conf);
	char *before, *after;

	assert_int_equal(conf_image_read(fd, &again), NSD_OK);
	print(conf, &before);
	print(again, &after);
	assert_string_equal(after, before);
	free(before);
	free(after);
	conf_destroy(conf);
	conf_destroy(again);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_it_is_there_when_its_writer_is_gone),
		cmocka_unit_test(it_is_no_difference),
		cmocka_unit_test(it_refers_to_its_own),
		cmocka_unit_test(zones_that_were_added_are_left_out),
		cmocka_unit_test(no_secret_is_in_it_and_nobody_can_change_it),
		cmocka_unit_test(one_that_is_cut_is_refused),
		cmocka_unit_test(an_empty_one_goes_over),
		cmocka_unit_test(a_large_one_goes_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
