/*
 * test_cookie.c - cookies: the vectors of RFC 9018, and what is refused.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/siphash.h"
#include "guard/cookie.h"

static uint8_t
digit(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static size_t
unhex(const char *text, uint8_t *out)
{
	size_t len = strlen(text) / 2;

	for (size_t i = 0; i < len; i++)
		out[i] = (uint8_t)(digit(text[2 * i]) << 4
			| digit(text[2 * i + 1]));
	return len;
}

static struct sockaddr_storage
address(const char *text)
{
	struct sockaddr_storage out;
	struct sockaddr_in *ip4 = (struct sockaddr_in *)&out;
	struct sockaddr_in6 *ip6 = (struct sockaddr_in6 *)&out;

	memset(&out, 0, sizeof(out));
	if (strchr(text, ':') != NULL) {
		out.ss_family = AF_INET6;
		assert_int_equal(inet_pton(AF_INET6, text, &ip6->sin6_addr),
			1);
	} else {
		out.ss_family = AF_INET;
		assert_int_equal(inet_pton(AF_INET, text, &ip4->sin_addr), 1);
	}
	return out;
}

#define SECRET "e5e973e5a6b2a43f48e7dc849e37bfcf"

static struct cookie_secrets
secrets(const char *active, const char *staged)
{
	struct cookie_secrets out = {0};

	out.count = 1;
	unhex(active, out.secrets[0]);
	if (staged != NULL) {
		out.count = 2;
		unhex(staged, out.secrets[1]);
	}
	return out;
}

/* The vectors of the paper (appendix A): key 00 to 0f, octets 00 to 0e, and the
 * first of the reference implementation: none. */
static void
siphash_has_the_vectors_of_its_paper(void **state)
{
	uint8_t key[16], octets[15];

	(void)state;
	for (uint8_t i = 0; i < 16; i++)
		key[i] = i;
	for (uint8_t i = 0; i < 15; i++)
		octets[i] = i;
	assert_true(siphash(key, octets, 15, 2, 4)
		== UINT64_C(0xa129ca6149be45e5));
	assert_true(siphash(key, octets, 0, 2, 4)
		== UINT64_C(0x726fdb47dd0e0e31));
	assert_true(siphash(key, octets, 8, 2, 4)
		== UINT64_C(0x93f5f5799a932462));
}

/* RFC 9018 appendix A: cookies that are sent, when, and that come back. */
static const struct {
	const char *active, *staged, *client;
	const char *sent;  /* whole cookie */
	uint32_t now_sec;
	enum cookie_state state;
	const char *fresh; /* server cookie that is made then */
} vectors[] = {
	{ SECRET, NULL, "198.51.100.100", "2464c4abcf10c957", 1559731985,
		COOKIE_FIRST, "010000005cf79f111f8130c3eee29480" },
	{ SECRET, NULL, "198.51.100.100",
		"2464c4abcf10c957010000005cf79f111f8130c3eee29480",
		1559734385, COOKIE_RENEW, "010000005cf7a871d4a564a1442aca77" },
	{ SECRET, NULL, "203.0.113.203",
		"fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5",
		1559728000, COOKIE_GOOD, NULL },
	{ SECRET, NULL, "203.0.113.203",
		"fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5",
		1559734700, COOKIE_BAD, "010000005cf7a9acf73a7810aca2381e" },
	{ "445536bcd2513298075a5d379663c962",
		"dd3bdf9344b678b185a6f5cb60fca715",
		"2001:db8:220:1:59de:d0f4:8769:82b8",
		"22681ab97d52c298010000005cf7c57926556bd0934c72f8",
		1559741961, COOKIE_RENEW, "010000005cf7c609a6bb79d16625507a" },
};

static void
cookies_have_the_vectors_of_the_rfc(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		struct cookie_secrets s = secrets(vectors[i].active,
			vectors[i].staged);
		struct sockaddr_storage client = address(vectors[i].client);
		uint8_t sent[COOKIE_LEN], fresh[COOKIE_SERVER_LEN];
		uint8_t made[COOKIE_LEN];
		size_t len = unhex(vectors[i].sent, sent);

		assert_int_equal(cookie_check(&s, sent, len, &client,
			vectors[i].now_sec), vectors[i].state);
		if (vectors[i].fresh == NULL)
			continue;
		cookie_make(&s, sent, &client, vectors[i].now_sec, made);
		unhex(vectors[i].fresh, fresh);
		assert_memory_equal(made, sent, COOKIE_CLIENT_LEN);
		assert_memory_equal(made + COOKIE_CLIENT_LEN, fresh,
			sizeof(fresh));
	}
}

/* A cookie of 192.0.2.1 made at that time. */
#define MADE_SEC 1700000000u

static void
make(struct cookie_secrets *s, uint8_t cookie[COOKIE_LEN])
{
	struct sockaddr_storage client = address("192.0.2.1");

	*s = secrets(SECRET, NULL);
	cookie_make(s, (const uint8_t *)"ABCDEFGH", &client, MADE_SEC, cookie);
}

/* RFC 9018 section 4.3 */
static void
age_decides_what_a_cookie_is_worth(void **state)
{
	static const struct {
		int32_t age;
		enum cookie_state state;
	} rows[] = {
		{ -301, COOKIE_BAD }, { -300, COOKIE_GOOD },
		{ 0, COOKIE_GOOD }, { 1800, COOKIE_GOOD },
		{ 1801, COOKIE_RENEW }, { 3600, COOKIE_RENEW },
		{ 3601, COOKIE_BAD }, { INT32_MAX, COOKIE_BAD },
		{ INT32_MIN, COOKIE_BAD },
	};
	struct sockaddr_storage client = address("192.0.2.1");
	struct cookie_secrets s;
	uint8_t cookie[COOKIE_LEN];

	(void)state;
	make(&s, cookie);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(cookie_check(&s, cookie, sizeof(cookie),
			&client, MADE_SEC + (uint32_t)rows[i].age),
			rows[i].state);
	/* Times wrap in 2106. */
	cookie_make(&s, cookie, &client, UINT32_MAX - 10, cookie);
	assert_int_equal(cookie_check(&s, cookie, sizeof(cookie), &client, 20),
		COOKIE_GOOD);
}

static void
each_octet_counts(void **state)
{
	struct sockaddr_storage client = address("192.0.2.1"), other;
	struct cookie_secrets s, none = {0};
	uint8_t cookie[COOKIE_LEN];

	(void)state;
	make(&s, cookie);
	for (size_t i = 0; i < sizeof(cookie); i++) {
		cookie[i] ^= 1;
		assert_int_equal(cookie_check(&s, cookie, sizeof(cookie),
			&client, MADE_SEC), COOKIE_BAD);
		cookie[i] ^= 1;
	}
	other = address("192.0.2.2");
	assert_int_equal(cookie_check(&s, cookie, sizeof(cookie), &other,
		MADE_SEC), COOKIE_BAD);
	other = address("2001:db8::1");
	assert_int_equal(cookie_check(&s, cookie, sizeof(cookie), &other,
		MADE_SEC), COOKIE_BAD);
	assert_int_equal(cookie_check(&none, cookie, sizeof(cookie), &client,
		MADE_SEC), COOKIE_BAD);
	/* A port is not part of it. */
	((struct sockaddr_in *)&client)->sin_port = 7;
	assert_int_equal(cookie_check(&s, cookie, sizeof(cookie), &client,
		MADE_SEC), COOKIE_GOOD);
}

/* The hash that a cookie of 192.0.2.1 has, whatever else is in it. */
static void
hash_anew(const struct cookie_secrets *s, uint8_t cookie[COOKIE_LEN])
{
	uint8_t octets[20] = {0};
	uint64_t word;

	memcpy(octets, cookie, 16);
	memcpy(octets + 16, "\300\0\2\1", 4);
	word = htole64(siphash(s->secrets[0], octets, sizeof(octets), 2, 4));
	memcpy(cookie + 16, &word, sizeof(word));
}

/* RFC 9018 section 4.1 */
static void
other_versions_are_not_ours(void **state)
{
	struct sockaddr_storage client = address("192.0.2.1");
	struct cookie_secrets s;
	uint8_t cookie[COOKIE_LEN];

	(void)state;
	make(&s, cookie);
	for (unsigned version = 0; version < 256; version++) {
		cookie[COOKIE_CLIENT_LEN] = (uint8_t)version;
		hash_anew(&s, cookie);
		assert_int_equal(cookie_check(&s, cookie, sizeof(cookie),
			&client, MADE_SEC),
			version == 1 ? COOKIE_GOOD : COOKIE_BAD);
	}
}

/* A cookie of the second secret is renewed if it is recent, and bad if there is
 * no second secret. */
static void
a_staged_secret_is_one_of_two(void **state)
{
	struct sockaddr_storage client = address("192.0.2.1");
	struct cookie_secrets s, both = {.count = 2};
	uint8_t cookie[COOKIE_LEN];

	(void)state;
	make(&s, cookie);
	memcpy(both.secrets[1], s.secrets[0], COOKIE_SECRET_LEN);
	assert_int_equal(cookie_check(&both, cookie, sizeof(cookie), &client,
		MADE_SEC), COOKIE_RENEW);
	assert_int_equal(cookie_check(&both, cookie, sizeof(cookie), &client,
		MADE_SEC + 3601), COOKIE_BAD);
	assert_int_equal(cookie_check(&both, cookie, sizeof(cookie), &client,
		MADE_SEC - 301), COOKIE_BAD);
	both.count = 1;
	assert_int_equal(cookie_check(&both, cookie, sizeof(cookie), &client,
		MADE_SEC), COOKIE_BAD);
}

/* Cookies of other servers have 8 to 32 octets. */
static void
other_lengths_are_not_ours(void **state)
{
	struct sockaddr_storage client = address("192.0.2.1");
	uint8_t cookie[40] = {0};
	struct cookie_secrets s;

	(void)state;
	make(&s, cookie);
	for (size_t len = 0; len <= sizeof(cookie); len++)
		assert_int_equal(cookie_check(&s, cookie, len, &client,
			MADE_SEC),
			len < COOKIE_CLIENT_LEN ? COOKIE_NONE
			: len == COOKIE_CLIENT_LEN ? COOKIE_FIRST
			: len == COOKIE_LEN ? COOKIE_GOOD : COOKIE_BAD);
}

/* True if what readers share has an octet of this value. */
static bool
share_has(const struct cookie_share *share, uint8_t value)
{
	return memchr(share->slots, value, sizeof(share->slots)) != NULL;
}

static void
old_secrets_are_not_kept(void **state)
{
	struct cookie_share share = {.version = 0};
	struct cookie_secrets s = {.count = 2}, got = {.count = 0};
	uint64_t version = 0;

	(void)state;
	for (uint8_t turn = 0; turn < 4; turn++) {
		memset(s.secrets[0], 0xa0 + turn, COOKIE_SECRET_LEN);
		memset(s.secrets[1], 0xb0 + turn, COOKIE_SECRET_LEN);
		cookie_share_write(&share, &s);
		assert_true(share_has(&share, 0xb0 + turn));
		assert_false(share_has(&share, (uint8_t)(0xa0 + turn - 1)));
		assert_false(share_has(&share, (uint8_t)(0xb0 + turn - 1)));
		cookie_share_read(&share, &version, &got);
		assert_int_equal(version, turn + 1);
		assert_memory_equal(&got, &s, sizeof(s));
	}
}

#define WRITES 50000u

static void *
writer_main(void *arg)
{
	struct cookie_secrets s = {.count = 2};

	for (unsigned i = 1; i <= WRITES; i++) {
		memset(s.secrets, (int)(i % 255 + 1), sizeof(s.secrets));
		cookie_share_write(arg, &s);
	}
	return NULL;
}

/* A reader has secrets that were written together, or those of before. */
static void
secrets_may_change_while_they_are_read(void **state)
{
	struct cookie_share share = {.version = 0};
	struct cookie_secrets got = {.count = 2};
	uint64_t version = 0;
	pthread_t thread;

	(void)state;
	memset(got.secrets, 1, sizeof(got.secrets));
	assert_int_equal(pthread_create(&thread, NULL, writer_main, &share),
		0);
	while (version < WRITES) {
		cookie_share_read(&share, &version, &got);
		assert_int_equal(got.count, 2);
		for (size_t i = 0; i < COOKIE_SECRET_LEN; i++) {
			assert_int_equal(got.secrets[0][i], version % 255 + 1);
			assert_int_equal(got.secrets[1][i], version % 255 + 1);
		}
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(siphash_has_the_vectors_of_its_paper),
		cmocka_unit_test(cookies_have_the_vectors_of_the_rfc),
		cmocka_unit_test(age_decides_what_a_cookie_is_worth),
		cmocka_unit_test(each_octet_counts),
		cmocka_unit_test(other_versions_are_not_ours),
		cmocka_unit_test(a_staged_secret_is_one_of_two),
		cmocka_unit_test(other_lengths_are_not_ours),
		cmocka_unit_test(old_secrets_are_not_kept),
		cmocka_unit_test(secrets_may_change_while_they_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
