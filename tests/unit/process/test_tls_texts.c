/* test_tls_texts.c - keys and certificates on their way from files to main, and
 * from main to workers. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "lib/files.h"
#include "process/server.h"
#include "process/tls_texts.h"
#include "tls/pem.h"
#include "tls/server.h"

/* ---- to workers ---------------------------------------------------------- */

static const char *const words[TLS_SERVER_TEXTS] = {"key", "chain", "", "all",
	"tickets"};

static struct secrets *
make_texts(const char *const *from, size_t count)
{
	struct secrets *texts;
	size_t octets = 0;

	for (size_t i = 0; i < count; i++)
		octets += strlen(from[i]);
	assert_int_equal(secrets_create(count, octets, &texts), NSD_OK);
	for (size_t i = 0; i < count; i++)
		secrets_add(texts,
			(struct secrets_octets){(const uint8_t *)from[i],
				strlen(from[i])});
	return texts;
}

static int
pack(struct ipc_tls_texts *message)
{
	struct secrets *texts = make_texts(words, TLS_SERVER_TEXTS);
	int fd = tls_texts_pack(texts, message);

	assert_int_not_equal(fd, -1);
	secrets_drop(texts);
	return fd;
}

static void
what_is_packed_is_unpacked(void **state)
{
	struct secrets *expected = make_texts(words, TLS_SERVER_TEXTS), *texts;
	struct ipc_tls_texts message;
	int fd = pack(&message);

	assert_int_equal(tls_texts_unpack(&message, fd, &texts), NSD_OK);
	assert_true(tls_texts_are_same(texts, expected));
	secrets_drop(texts);
	secrets_drop(expected);
	close(fd);
}

/* A file is unpacked into the texts that it has, never into part of one. */
static void
any_number_is_packed_and_unpacked(void **state)
{
	struct secrets *expected = make_texts(words, TLS_SERVER_TEXTS), *texts;
	size_t whole[TLS_SERVER_TEXTS + 1] = {0}, count = 0, size = 0;
	int fd = tls_texts_pack_all(expected), cut;
	uint8_t octets[200];

	assert_int_equal(tls_texts_unpack_all(fd, &texts), NSD_OK);
	assert_true(tls_texts_are_same(texts, expected));
	secrets_drop(texts);
	for (size_t i = 0; i < TLS_SERVER_TEXTS; i++)
		whole[i + 1] = whole[i] + sizeof(size_t) + strlen(words[i]);
	assert_int_equal(pread(fd, octets, sizeof(octets), 0),
		whole[TLS_SERVER_TEXTS]);
	for (size = 0; size <= whole[TLS_SERVER_TEXTS]; size++) {
		bool is_whole = size == whole[count];

		cut = memfd_create("cut", MFD_CLOEXEC);
		assert_int_equal(write(cut, octets, size), size);
		assert_int_equal(tls_texts_unpack_all(cut, &texts),
			is_whole ? NSD_OK : NSD_E_SYNTAX);
		if (is_whole) {
			assert_int_equal(secrets_count(texts), count++);
			secrets_drop(texts);
		}
		close(cut);
	}
	secrets_drop(expected);
	close(fd);
	fd = tls_texts_pack_all(NULL);
	assert_int_equal(tls_texts_unpack_all(fd, &texts), NSD_OK);
	assert_null(texts);
	close(fd);
}

/* The sealed file is shared by all workers. */
static void
what_is_packed_is_sealed(void **state)
{
	struct ipc_tls_texts message;
	int fd = pack(&message);
	void *p;

	assert_int_equal(write(fd, "x", 1), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 1), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 1 << 20), -1);
	assert_int_equal(errno, EPERM);
	assert_true(mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
		== MAP_FAILED);
	assert_int_equal(errno, EPERM);
	p = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED)
		assert_int_equal(mprotect(p, 1, PROT_READ | PROT_WRITE), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	assert_int_equal(errno, EPERM);
	close(fd);
}

static void
a_file_of_another_size_is_refused(void **state)
{
	struct ipc_tls_texts message, other;
	struct secrets *texts;
	int fd = pack(&message);

	for (size_t i = 0; i < TLS_SERVER_TEXTS; i++) {
		other = message;
		other.len[i]++;
		assert_int_equal(tls_texts_unpack(&other, fd, &texts),
			NSD_E_SYNTAX);
		other.len[i] = UINT32_MAX;
		assert_int_equal(tls_texts_unpack(&other, fd, &texts),
			NSD_E_SYNTAX);
	}
	memset(&other, 0, sizeof(other));
	assert_int_equal(tls_texts_unpack(&other, fd, &texts), NSD_E_SYNTAX);
	close(fd);
}

static void
same_texts_have_the_same_octets(void **state)
{
	static const char *const rows[][2] = {{"key", "cert"}, {"key", "cer"},
		{"keyc", "ert"}, {"key", "c3rt"}};
	struct secrets *first = make_texts(rows[0], 2), *one = make_texts(
		rows[0], 1);

	for (size_t i = 0; i < 4; i++) {
		struct secrets *other = make_texts(rows[i], 2);

		assert_int_equal(tls_texts_are_same(first, other), i == 0);
		secrets_drop(other);
	}
	assert_false(tls_texts_are_same(first, one));
	assert_false(tls_texts_are_same(first, NULL));
	assert_false(tls_texts_are_same(NULL, first));
	assert_true(tls_texts_are_same(NULL, NULL));
	secrets_drop(one);
	secrets_drop(first);
}

/* ---- files --------------------------------------------------------------- */

static char folder[] = "/tmp/test_tls_texts-XXXXXX";
static char bundle[64], cert[64], key[64];
static struct conf_tls_auth auth = {.name = "a", .client_cert = cert,
	.client_key = key};
static struct conf_tls_auth *auths[] = {&auth};
static struct conf conf = {.tls_auths = auths, .tls_auth_count = 1};
static struct server server = {.conf = &conf};

static int
setup(void **state)
{
	assert_non_null(mkdtemp(folder));
	snprintf(bundle, sizeof(bundle), "%s/bundle", folder);
	snprintf(cert, sizeof(cert), "%s/cert", folder);
	snprintf(key, sizeof(key), "%s/key", folder);
	conf.server.tls_cert_bundle = bundle;
	return 0;
}

static int
teardown(void **state)
{
	(void)unlink(bundle);
	(void)unlink(cert);
	(void)unlink(key);
	return rmdir(folder);
}

static int
write_files(void **state)
{
	files_write(bundle, "all");
	files_write(cert, "cert");
	files_write(key, "key");
	return 0;
}

static struct secrets *
read_clients(const struct secrets *old, bool expected_whole)
{
	struct secrets *texts;
	bool whole;

	assert_int_equal(tls_texts_read_clients(&server, old, &whole, &texts),
		NSD_OK);
	assert_int_equal(whole, expected_whole);
	assert_int_equal(secrets_count(texts), 1 + TLS_CLIENT_TEXTS);
	return texts;
}

static void
assert_text(const struct secrets *texts, size_t index, const char *expected)
{
	size_t len;
	const uint8_t *octets = secrets_get(texts, index, &len);

	assert_int_equal(len, strlen(expected));
	assert_memory_equal(octets, expected, len);
}

/* Reads them, and sees what they are. */
static void
check_clients(const struct secrets *old, bool whole, const char *cert_text,
	const char *key_text)
{
	struct secrets *texts = read_clients(old, whole);

	assert_text(texts, 0, "all");
	assert_memory_equal(tls_get_text(texts, tls_client_index(0,
		TLS_CLIENT_NAME)).at, "a", 2);
	assert_text(texts, tls_client_index(0, TLS_CLIENT_CHAIN), cert_text);
	assert_text(texts, tls_client_index(0, TLS_CLIENT_KEY), key_text);
	secrets_drop(texts);
}

static void
files_of_clients_are_read_in_their_order(void **state)
{
	struct secrets *texts;

	check_clients(NULL, true, "cert", "key");
	conf.tls_auth_count = 0;
	assert_int_equal(tls_texts_read_clients(&server, NULL, &(bool){false},
				 &texts), NSD_OK);
	assert_null(texts);
	conf.tls_auth_count = 1;
}

static void
what_cannot_be_read_stays_as_it_was(void **state)
{
	struct secrets *old = read_clients(NULL, true);

	files_write(key, "other");
	assert_int_equal(unlink(cert), 0);
	check_clients(NULL, false, "", "other");
	check_clients(old, false, "cert", "other");
	secrets_drop(old);
}

/* In place of such a file the old texts stay. */
static void
what_is_empty_or_too_large_is_not_read(void **state)
{
	struct secrets *old = read_clients(NULL, true);

	files_write(cert, "");
	assert_int_equal(truncate(key, 65537), 0);
	check_clients(NULL, true, "", "");
	check_clients(old, true, "cert", "key");
	secrets_drop(old);
}

static void
a_look_sees_contents_rights_and_other_files(void **state)
{
	int64_t until_msec = clock_now_msec() + 60000;
	uint64_t sum = tls_texts_look(&server), next;
	char other[80];

	assert_int_equal(tls_texts_look(&server), sum);
	/* A kernel's time goes by steps of some milliseconds. */
	while ((next = tls_texts_look(&server)) == sum) {
		assert_true(clock_now_msec() < until_msec);
		assert_int_equal(chmod(key, 0400), 0);
	}
	sum = next;
	files_write(key, "longer key");
	next = tls_texts_look(&server);
	assert_true(next != sum);
	sum = next;
	snprintf(other, sizeof(other), "%s.new", key);
	files_write(other, "longer kez");
	assert_int_equal(rename(other, key), 0);
	next = tls_texts_look(&server);
	assert_true(next != sum);
	sum = next;
	assert_int_equal(unlink(key), 0);
	assert_true(tls_texts_look(&server) != sum);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_packed_is_unpacked),
		cmocka_unit_test(any_number_is_packed_and_unpacked),
		cmocka_unit_test(what_is_packed_is_sealed),
		cmocka_unit_test(a_file_of_another_size_is_refused),
		cmocka_unit_test(same_texts_have_the_same_octets),
		cmocka_unit_test_setup(
			files_of_clients_are_read_in_their_order, write_files),
		cmocka_unit_test_setup(what_cannot_be_read_stays_as_it_was,
			write_files),
		cmocka_unit_test_setup(what_is_empty_or_too_large_is_not_read,
			write_files),
		cmocka_unit_test_setup(
			a_look_sees_contents_rights_and_other_files,
			write_files),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
