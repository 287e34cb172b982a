/*
 * test_nsec3.c - hashed owner names against the RFC's own and against OpenSSL's
 * digests; the labels that spell them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include "dns/name.h"
#include "dns/nsec3.h"

#define BATCH_MAX 80u

static uint64_t seed = 5155;

static uint32_t
draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % below);
}

static void
digest(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len,
	uint8_t out[NSEC3_HASH_LEN])
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();

	assert_int_equal(EVP_DigestInit_ex(md, EVP_sha1(), NULL), 1);
	EVP_DigestUpdate(md, a, a_len);
	EVP_DigestUpdate(md, b, b_len);
	EVP_DigestFinal_ex(md, out, NULL);
	EVP_MD_CTX_free(md);
}

/* RFC 5155 section 5, in the words of the RFC. */
static void
hash_plainly(const struct nsec3_params *p, const uint8_t *name,
	uint8_t out[NSEC3_HASH_LEN])
{
	unsigned i;

	digest(name, name_len(name), p->salt, p->salt_len, out);
	for (i = 0; i < p->iterations; i++)
		digest(out, NSEC3_HASH_LEN, p->salt, p->salt_len, out);
}

/* A name of exactly len octets (1, or 3..255). */
static void
make_name(uint8_t *name, size_t len)
{
	size_t left = len - 1;

	while (left > 0) {
		size_t label = left > 64 ? 64 : left;
		size_t i;

		if (left - label == 1)
			label--; /* a lone octet is no label */
		name[0] = (uint8_t)(label - 1);
		for (i = 1; i < label; i++)
			name[i] = (uint8_t)draw(256);
		name += label;
		left -= label;
	}
	*name = 0;
}

struct batch {
	uint8_t names[BATCH_MAX][NAME_MAX_LEN];
	struct nsec3_job jobs[BATCH_MAX];
	struct nsec3_job *list[BATCH_MAX];
};

static void
batch_check(struct batch *b, const struct nsec3_params *params, size_t count)
{
	uint8_t expected[NSEC3_HASH_LEN];
	size_t i;

	for (i = 0; i < count; i++) {
		b->jobs[i].name = b->names[i];
		memset(b->jobs[i].hash, 0, sizeof(b->jobs[i].hash));
		b->list[i] = &b->jobs[i];
	}
	nsec3_hash_batch(params, b->list, count);
	for (i = 0; i < count; i++) {
		hash_plainly(params, b->names[i], expected);
		assert_memory_equal(b->jobs[i].hash, expected,
			NSEC3_HASH_LEN);
	}
}

/* RFC 5155 appendix A: salt AABBCCDD, 12 iterations */
static void
nsec3_hashes_are_those_of_the_rfc(void **state)
{
	static const struct {
		const char *name;
		const char *label;
	} rows[] = {
		{ "example", "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom" },
		{ "a.example", "35mthgpgcu1qg68fab165klnsnk3dpvl" },
		{ "ai.example", "gjeqe526plbf1g8mklp59enfd789njgi" },
		{ "ns1.example", "2t7b4g4vsa5smi47k61mv5bv1a22bojr" },
		{ "ns2.example", "q04jkcevqvmu85r014c7dkba38o0ji5r" },
		{ "w.example", "k8udemvp1j2f7eg6jebps17vp3n8i58h" },
		{ "*.w.example", "r53bq7cc2uvmubfu5ocmm6pers9tk9en" },
		{ "x.w.example", "b4um86eghhds6nea196smvmlo4ors995" },
		{ "y.w.example", "ji6neoaepv8b5o6k4ev33abha8ht9fgc" },
		{ "x.y.w.example", "2vptu5timamqttgl4luu9kg21e0aor3s" },
		{ "xx.example", "t644ebqk9bibcna874givr6joj62mlhv" },
		{ "2t7b4g4vsa5smi47k61mv5bv1a22bojr.example",
			"kohar7mbb8dc2ce8a9qvl8hon4k53uhi" },
	};
	static const uint8_t salt[] = { 0xaa, 0xbb, 0xcc, 0xdd };
	const struct nsec3_params params = { salt, sizeof(salt), 12 };
	struct nsec3_job jobs[12], *list[12];
	uint8_t names[12][NAME_MAX_LEN];
	size_t i;

	for (i = 0; i < 12; i++) {
		const char *why;
		size_t size;

		assert_int_equal(name_parse_text(rows[i].name,
			strlen(rows[i].name), (const uint8_t *)"", names[i],
			&size, &why), NSD_OK);
		jobs[i].name = names[i];
		list[i] = &jobs[i];
	}
	nsec3_hash_batch(&params, list, 12);
	for (i = 0; i < 12; i++) {
		uint8_t label[NSEC3_LABEL_LEN];

		nsec3_print_label(jobs[i].hash, label);
		assert_memory_equal(label, rows[i].label, NSEC3_LABEL_LEN);
	}
}

/* RFC 5155 section 3.1.5: a salt has 0 to 255 octets */
static void
nsec3_hash_takes_every_salt(void **state)
{
	static struct batch b;
	uint8_t salt[255];
	unsigned len, i;

	for (i = 0; i < sizeof(salt); i++)
		salt[i] = (uint8_t)draw(256);
	for (len = 0; len <= 255; len++) {
		static const uint16_t iterations[] = { 0, 1, 12 };

		for (i = 0; i < 3; i++) {
			uint8_t *exact = malloc(len + 1);
			struct nsec3_params params = { exact + 1, (uint8_t)len,
				iterations[i] };
			size_t count = 1 + draw(20), k;

			/* Ends where the allocation ends. */
			memcpy(exact + 1, salt, len);
			if (len == 0)
				params.salt = NULL;
			for (k = 0; k < count; k++)
				make_name(b.names[k], 3 + draw(253));
			batch_check(&b, &params, count);
			free(exact);
		}
	}
}

static void
nsec3_hash_takes_every_length_of_name(void **state)
{
	static const uint8_t salt[] = { 0x5a, 0xc1, 0x05, 0xff, 0 };
	static struct batch b;
	size_t len;

	for (len = 1; len <= NAME_MAX_LEN; len++) {
		struct nsec3_params params = { salt, (uint8_t)draw(6), 1 };
		size_t k;

		if (len == 2)
			continue; /* there is no such name */
		for (k = 0; k < 8; k++)
			make_name(b.names[k], len);
		batch_check(&b, &params, 8);
		batch_check(&b, &params, 1);
	}
}

/* Names of one block and of five in one batch, in any number. */
static void
nsec3_hash_takes_every_count_of_names(void **state)
{
	static const uint8_t salt[40] = "some salt of two blocks if it is long";
	static struct batch b;
	size_t count;

	batch_check(&b, &(struct nsec3_params){ salt, 1, 1 }, 0);
	for (count = 1; count <= BATCH_MAX; count++) {
		static const uint8_t salt_lens[] = { 0, 8, 35, 36 };
		struct nsec3_params params = { salt, salt_lens[draw(4)],
			(uint16_t)draw(4) };
		size_t k;

		for (k = 0; k < count; k++)
			make_name(b.names[k], draw(4) == 0 ? 3 + draw(253)
				: 3 + draw(40));
		batch_check(&b, &params, count);
	}
}

static void
nsec3_hash_takes_many_iterations(void **state)
{
	static const uint16_t iterations[] = { 2500, 65535 };
	static const uint8_t salt[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static struct batch b;
	size_t i, k;

	for (i = 0; i < 2; i++) {
		struct nsec3_params params = { salt, sizeof(salt),
			iterations[i] };

		for (k = 0; k < 3; k++)
			make_name(b.names[k], 3 + draw(253));
		batch_check(&b, &params, 3);
	}
}

/* RFC 4648 section 10: vectors of base32hex, whole groups */
static void
nsec3_label_is_base32hex(void **state)
{
	static const uint8_t foobar[21] = "foobafoobafoobafooba";
	static const uint8_t name[34] = "\40CPNMUOJ1cpnmuoj1cpnmuoj1cpnmuoj1";
	uint8_t label[NSEC3_LABEL_LEN], hash[NSEC3_HASH_LEN];

	nsec3_print_label(foobar, label);
	assert_memory_equal(label, "cpnmuoj1cpnmuoj1cpnmuoj1cpnmuoj1", 32);
	assert_true(nsec3_parse_label(name, hash));
	assert_memory_equal(hash, foobar, NSEC3_HASH_LEN);
}

static void
nsec3_label_comes_back(void **state)
{
	unsigned round, i;

	for (round = 0; round < 1000; round++) {
		uint8_t hash[NSEC3_HASH_LEN], back[NSEC3_HASH_LEN];
		uint8_t name[1 + NSEC3_LABEL_LEN + 1] = { NSEC3_LABEL_LEN };

		for (i = 0; i < NSEC3_HASH_LEN; i++)
			hash[i] = round < 2 ? (uint8_t)(0 - round)
				: (uint8_t)draw(256);
		nsec3_print_label(hash, name + 1);
		for (i = 1; i <= NSEC3_LABEL_LEN; i++)
			if (draw(2) == 0 && name[i] >= 'a')
				name[i] = (uint8_t)(name[i] - 32);
		assert_true(nsec3_parse_label(name, back));
		assert_memory_equal(back, hash, NSEC3_HASH_LEN);
	}
}

/* RFC 5155 section 3: an owner that is no hash; each octet, each place */
static void
nsec3_label_refuses_what_is_no_hash(void **state)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuv"
		"ABCDEFGHIJKLMNOPQRSTUV";
	uint8_t hash[NSEC3_HASH_LEN] = { 7 };
	unsigned len, at, c;

	for (len = 0; len <= LABEL_MAX_LEN; len++) {
		/* An exact copy, so that a sanitizer sees a read past its
		 * end. */
		uint8_t *name = malloc(len + 1 + (len > 0));

		name[0] = (uint8_t)len;
		memset(name + 1, '0', len);
		if (len > 0)
			name[len + 1] = 0;
		assert_int_equal(nsec3_parse_label(name, hash), len == 32);
		free(name);
	}
	for (at = 1; at <= NSEC3_LABEL_LEN; at++) {
		for (c = 0; c < 256; c++) {
			uint8_t name[34] = "\40vvvvvvvvvvvvvvvv"
				"vvvvvvvvvvvvvvvv";
			bool good = c != 0 && strchr(digits, (int)c) != NULL;

			name[at] = (uint8_t)c;
			memset(hash, 7, sizeof(hash));
			assert_int_equal(nsec3_parse_label(name, hash), good);
			if (!good)
				assert_int_equal(hash[0], 7);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nsec3_hashes_are_those_of_the_rfc),
		cmocka_unit_test(nsec3_hash_takes_every_salt),
		cmocka_unit_test(nsec3_hash_takes_every_length_of_name),
		cmocka_unit_test(nsec3_hash_takes_every_count_of_names),
		cmocka_unit_test(nsec3_hash_takes_many_iterations),
		cmocka_unit_test(nsec3_label_is_base32hex),
		cmocka_unit_test(nsec3_label_comes_back),
		cmocka_unit_test(nsec3_label_refuses_what_is_no_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
