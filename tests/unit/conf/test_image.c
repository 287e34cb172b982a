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
#include "conf/key_edit.h"
#include "conf/parser.h"
#include "reader.h"

/* A configuration with clauses in any order, and options shared in many
 * ways. */
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
	" provide-xfr: 192.0.2.4 NOKEY provide-xfr: 192.0.2.5 other\n"
	" provide-xfr: 192.0.2.6 NOKEY\n"
	"pattern:\n name: two include-pattern: one\n"
	" allow-notify: 10.0.0.0&255.0.0.0 NOKEY notify: 192.0.2.9 other\n"
	"pattern:\n name: three include-pattern: two\n"
	" allow-notify: ::1 Key. outgoing-interface: 192.0.2.7\n"
	"zone:\n name: Z.example. include-pattern: two\n"
	"zone:\n name: a.example include-pattern: two zonefile: own\n"
	"zone:\n name: own.example zonefile: o include-pattern: three\n"
	" provide-xfr: 0.0.0.0/0 NOKEY min-expire-time: refresh+retry+1\n"
	"pattern:\n name: updated zonefile: u update-policy: other self A MX\n"
	" update-policy: Key. _a.* allow-update: ::1 Key.\n"
	"zone:\n name: u.example include-pattern: updated\n"
	" update-policy: other *.u.example\n"
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

struct images {
	int options, zones;
};

static struct images
write_images(struct conf *conf)
{
	struct images images;

	conf_wipe_secrets(conf);
	assert_int_equal(conf_image_write(conf, &images.options), NSD_OK);
	assert_int_equal(conf_image_write_zones(conf, &images.zones), NSD_OK);
	return images;
}

static struct conf *
read_images(struct images images)
{
	struct conf *conf = NULL;

	assert_int_equal(conf_image_read(images.options, &conf), NSD_OK);
	assert_int_equal(conf->zone_count, 0);
	assert_int_equal(conf_image_read_zones(images.zones, conf), NSD_OK);
	return conf;
}

static void
close_images(struct images images)
{
	close(images.options);
	close(images.zones);
}

static void
all_of_it_is_there_when_its_writer_is_gone(void **state)
{
	struct conf *conf = reader_accept(text), *again;
	char *before, *after;
	struct images images;

	conf->keys[0]->handle = (struct key_handle){7, 9};
	images = write_images(conf);
	print(conf, &before);
	again = read_images(images);
	conf_destroy(conf); /* pointers into it are found by sanitizers */
	print(again, &after);
	assert_string_equal(after, before);
	assert_int_equal(again->keys[0]->handle.at, 7);
	assert_string_equal(again->keys[1]->algorithm_name, "hmac-sha512");
	assert_int_equal(again->server.nsid_len, 4);
	assert_memory_equal(again->server.nsid_data, "here", 4);
	assert_memory_equal(again->server.edns_report_channel_name,
		"\5agent\7example", 15);
	free(before);
	free(after);
	conf_destroy(again);
	close_images(images);
}

static void
it_is_no_difference(void **state)
{
	struct conf *conf = reader_accept(text), *again;
	struct conf_difference d;
	struct images images = write_images(conf);

	again = read_images(images);
	conf_compare(conf, again, &d);
	assert_false(conf_difference_is_live(&d));
	assert_int_equal(d.waiting, 0);
	assert_int_equal(again->secondary_count, conf->secondary_count);
	conf_destroy(conf);
	conf_destroy(again);
	close_images(images);
}

/* Keys, tls-auths and patterns are those of the same configuration. */
static void
it_refers_to_its_own(void **state)
{
	struct conf *conf = reader_accept(text), *again;
	const struct conf_pattern *one, *two, *three;
	struct images images = write_images(conf);

	again = read_images(images);
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
	close_images(images);
}

/* The reader has its own. */
static void
zones_that_were_added_are_left_out(void **state)
{
	struct conf *conf = reader_accept(text), *again;
	const struct conf_zone *added;
	struct images images;

	assert_int_equal(conf_add_zone(conf, "added.example", "two", &added),
		NSD_OK);
	images = write_images(conf);
	again = read_images(images);
	assert_int_equal(again->zone_count, conf->zone_count - 1);
	assert_null(conf_find_zone_text(again, "added.example"));
	/* Zones can be added to what was read, and removed. */
	assert_int_equal(conf_add_zone(again, "added.example", "two", &added),
		NSD_OK);
	assert_int_equal(conf_remove_zone(again, conf->zones[0]->wire),
		NSD_OK);
	conf_destroy(conf);
	conf_destroy(again);
	close_images(images);
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

/* Holds for both images: the one of options and the one of zones. */
static void
no_secret_is_in_it_and_nobody_can_change_it(void **state)
{
	struct conf *conf = reader_accept(text);
	struct images images = write_images(conf);
	const int fds[] = {images.options, images.zones};

	for (size_t i = 0; i < 2; i++) {
		size_t len;
		uint8_t *octets = map(fds[i], &len);

		assert_null(memmem(octets, len, "aGlkZGVu", 8));
		assert_null(memmem(octets, len, "hidden", 6));
		assert_int_equal(pwrite(fds[i], "x", 1, 0), -1);
		munmap(octets, len);
	}
	conf_destroy(conf);
	close_images(images);
}

/* Wherever it is cut: refused, and nothing is lost or read beyond. */
static void
one_that_is_cut_is_refused(void **state)
{
	struct conf *conf = reader_accept(text), *again;
	struct images images = write_images(conf);
	size_t len;
	uint8_t *octets = map(images.options, &len);

	for (size_t i = 0; i < len; i++) {
		int cut = memfd_create("cut", MFD_CLOEXEC);

		assert_int_equal(write(cut, octets, i), i);
		again = NULL;
		assert_int_equal(conf_image_read(cut, &again), NSD_E_WIRE);
		assert_null(again);
		close(cut);
	}
	munmap(octets, len);
	octets = map(images.zones, &len);
	for (size_t i = 0; i < len; i++) {
		int cut = memfd_create("cut", MFD_CLOEXEC);

		assert_int_equal(write(cut, octets, i), i);
		assert_int_equal(conf_image_read(images.options, &again),
			NSD_OK);
		assert_int_equal(conf_image_read_zones(cut, again),
			NSD_E_WIRE);
		conf_destroy(again);
		close(cut);
	}
	munmap(octets, len);
	conf_destroy(conf);
	close_images(images);
}

/* An image of zones is not read as one of options, nor the other way. */
static void
one_of_another_kind_is_refused(void **state)
{
	struct conf *conf = reader_accept(text), *again = NULL;
	struct images images = write_images(conf);

	assert_int_equal(conf_image_read(images.zones, &again), NSD_E_WIRE);
	assert_null(again);
	conf_drop_zones(conf);
	assert_int_equal(conf_image_read_zones(images.options, conf),
		NSD_E_WIRE);
	conf_destroy(conf);
	close_images(images);
}

/* The configuration without its zones refers to none of their lists: the last
 * zone has added to a list of a pattern that had room. */
static void
zones_go_and_come_back_to_the_same_options(void **state)
{
	struct conf *conf = reader_accept(text), *again;
	const struct conf_zone *added;
	struct images images = write_images(conf), rest;
	char *before, *after;

	print(conf, &before);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(conf_add_zone(conf, "added.example", "two",
			&added), NSD_OK);
		conf_drop_zones(conf);
		assert_int_equal(conf->zone_count, 0);
		assert_int_equal(conf->secondary_count, 0);
		assert_null(conf_find_zone_text(conf, "a.example"));
		rest = write_images(conf);
		conf_destroy(read_images(rest));
		close_images(rest);
		assert_int_equal(conf_image_read_zones(images.zones, conf),
			NSD_OK);
		print(conf, &after);
		assert_string_equal(after, before);
		free(after);
	}
	again = read_images(images);
	assert_int_equal(again->secondary_count, conf->secondary_count);
	free(before);
	conf_destroy(again);
	conf_destroy(conf);
	close_images(images);
}

static void
count_diag(struct diag_sink *sink, const struct diag *d)
{
	assert_non_null(strstr(d->text, "zone some.example"));
}

/* A configuration without its zones still reports options without effect, as
 * the next nsd.conf is compared with it. */
static void
what_has_no_effect_in_zones_is_told_without_them(void **state)
{
	struct conf *conf = reader_accept(
		"zone: name: some.example zonefile: f rrl-whitelist: any\n");
	struct diag_sink sink = {.on_diag = count_diag};

	conf_drop_zones(conf);
	conf_list_without_effect(conf, NULL, &sink);
	/* With rate limits there is no such option of zones. */
	assert_int_equal(sink.warnings, RATELIMIT ? 0 : 1);
	conf_list_without_effect(conf, conf, &sink);
	assert_int_equal(sink.warnings, RATELIMIT ? 0 : 1);
	conf_destroy(conf);
}

/* A key has gone, and another one has come, since zones were written. */
static void
zones_come_back_when_keys_are_others(void **state)
{
	static const char with_keys[] =
		"key:\n name: k algorithm: sha256 secret: aGlkZGVu\n"
		"zone:\n name: z zonefile: f provide-xfr: 192.0.2.1 k\n";
	struct conf *conf = reader_accept(with_keys);
	struct images images = write_images(conf);
	struct key_edit edit = {.what = KEY_EDIT_REMOVE, .key = "k"};
	const struct conf_zone *zone;

	conf_drop_zones(conf);
	assert_int_equal(key_edit_apply(conf, &edit), NSD_OK);
	assert_int_equal(conf_image_read_zones(images.zones, conf), NSD_OK);
	zone = conf_find_zone_text(conf, "z");
	assert_null(zone->options->provide_xfr.items[0].key);
	edit = (struct key_edit){.what = KEY_EDIT_ADD, .key = "n",
		.algorithm = "sha256"};
	assert_int_equal(key_edit_apply(conf, &edit), NSD_OK);
	edit = (struct key_edit){.what = KEY_EDIT_ASSOC, .key = "n",
		.zone = "z"};
	assert_false(key_edit_is_assoc(conf, zone));
	assert_int_equal(key_edit_apply(conf, &edit), NSD_OK);
	assert_true(key_edit_is_assoc(conf, zone));
	conf_drop_zones(conf);
	edit = (struct key_edit){.what = KEY_EDIT_REMOVE, .key = "n"};
	assert_int_equal(key_edit_apply(conf, &edit), NSD_OK);
	conf_destroy(conf);
	close_images(images);
}

/* An image larger than the write buffer. */
static void
a_large_one_goes_over(void **state)
{
	char *large, *before, *after;
	size_t len;
	FILE *file = open_memstream(&large, &len);
	struct conf *conf, *again;
	struct images images;

	assert_non_null(file);
	for (unsigned i = 0; i < 5000; i++)
		fprintf(file, "zone: name: z%u.example zonefile: f%u"
			" allow-query: 192.0.2.%u NOKEY\n", i, i, i % 256);
	fclose(file);
	conf = reader_accept(large);
	images = write_images(conf);
	again = read_images(images);
	print(conf, &before);
	conf_destroy(conf);
	print(again, &after);
	assert_string_equal(after, before);
	free(large);
	free(before);
	free(after);
	conf_destroy(again);
	close_images(images);
}

static void
an_empty_one_goes_over(void **state)
{
	struct conf *conf = reader_accept(""), *again;
	struct images images = write_images(conf);
	char *before, *after;

	again = read_images(images);
	print(conf, &before);
	print(again, &after);
	assert_string_equal(after, before);
	free(before);
	free(after);
	conf_destroy(conf);
	conf_destroy(again);
	close_images(images);
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
		cmocka_unit_test(one_of_another_kind_is_refused),
		cmocka_unit_test(zones_go_and_come_back_to_the_same_options),
		cmocka_unit_test(what_has_no_effect_in_zones_is_told_without_them),
		cmocka_unit_test(zones_come_back_when_keys_are_others),
		cmocka_unit_test(an_empty_one_goes_over),
		cmocka_unit_test(a_large_one_goes_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
