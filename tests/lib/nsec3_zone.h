/*
 * nsec3_zone.h - zones with a chain of NSEC3 records, from texts: what the
 * tests of them share.
 */
#ifndef TESTS_LIB_NSEC3_ZONE_H
#define TESTS_LIB_NSEC3_ZONE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "compile/build.h"
#include "lib/one_fixture.h"
#include "store/writer.h"
#include "zone/nsec3.h"
#include "zonedb/release.h"

#define SOA "@ SOA ns1 host 7 2 3 4 5\n"
#define HEAD "$TTL 3600\n" SOA "@ NS ns1\nns1 A 192.0.2.1\n"
#define SIG "RRSIG NSEC3 13 2 3600 20300101000000 20200101000000 1 example. " \
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
#define TEXT_MAX 65536u
#define NAMES_MAX 16u

static store_ref zone; /* the last one built */
static char text[TEXT_MAX];

static inline void
drop(void)
{
	release_zone(store_writer_heap(f.writer), zone);
	assert_int_equal(live(), 0);
}

static inline void
add(const char *format, ...)
{
	size_t len = strlen(text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(text + len, sizeof(text) - len, format, ap);
	va_end(ap);
}

static inline void
begin(void)
{
	text[0] = '\0';
	add("%s", HEAD);
}

static inline void
build(void)
{
	if (zone_fixture_build(&f, "example.", text, &zone) != NSD_OK)
		fail_msg("not built:\n%s\n%s", f.findings, text);
}

static inline void
warned(const char *finding)
{
	if (strstr(f.findings, finding) == NULL)
		fail_msg("no \"%s\" in:\n%s\n%s", finding, f.findings, text);
}

static inline const struct zone *
get_zone(void)
{
	return store_get(f.view, zone);
}

static inline const struct nsec3_chain *
get_chain(void)
{
	const struct zone *z = get_zone();

	return z->chain == STORE_NONE ? NULL : store_get(f.view, z->chain);
}

/* ---- chains ------------------------------------------------------------ */

struct params {
	unsigned iterations;
	const char *salt;     /* hex or "-" */
	unsigned flags;       /* of the records */
};

static const struct params plain = {0, "-", 0}, salted = {3, "abcd", 0};

/* The hash of a name of presentation format below example. */
static inline void
hash_name(const struct params *p, const char *name,
	uint8_t hash[NSEC3_HASH_LEN])
{
	static const uint8_t abcd[] = {0xab, 0xcd};
	const struct nsec3_params params = {
		.salt = abcd,
		.salt_len = strcmp(p->salt, "-") == 0 ? 0 : 2,
		.iterations = (uint16_t)p->iterations,
	};
	struct nsec3_job job = {.name = zone_fixture_name(name)};
	struct nsec3_job *jobs[] = {&job};

	nsec3_hash_batch(&params, jobs, 1);
	memcpy(hash, job.hash, NSEC3_HASH_LEN);
}

static inline int
compare_hashes(const void *a, const void *b)
{
	return memcmp(a, b, NSEC3_HASH_LEN);
}

static inline const char *
label(const uint8_t *hash)
{
	static char labels[4][NSEC3_LABEL_LEN + 1];
	static unsigned next;
	char *out = labels[next++ % 4];

	nsec3_print_label(hash, (uint8_t *)out);
	return out;
}

/* Adds the NSEC3 records of the names (ended by NULL) to the text. */
static inline void
add_chain(const struct params *p, const char *const *names)
{
	uint8_t hashes[NAMES_MAX][NSEC3_HASH_LEN];
	size_t n = 0;

	for (; names[n] != NULL; n++)
		hash_name(p, names[n], hashes[n]);
	qsort(hashes, n, NSEC3_HASH_LEN, compare_hashes);
	for (size_t i = 0; i < n; i++)
		add("%s NSEC3 1 %u %u %s %s A RRSIG\n%s " SIG,
			label(hashes[i]), p->flags, p->iterations, p->salt,
			label(hashes[(i + 1) % n]), label(hashes[i]));
}

static const char *const two_names[] = {"example.", "ns1.example.", NULL};

/* A node keeps the first octets of its name's hash. */
static inline void
check_kept(const struct params *p, const char *hashed, const uint8_t *kept)
{
	uint8_t hash[NSEC3_HASH_LEN];

	hash_name(p, hashed, hash);
	assert_non_null(kept);
	assert_memory_equal(kept, hash, NSEC3_PREFIX_LEN);
}

static inline const struct node *
node(const char *name)
{
	const struct node *n = zone_fixture_find(&f, zone, "example.", name);

	assert_non_null(n);
	return n;
}

static inline void
find(struct nsec3_find *find, const uint8_t *hash, size_t len)
{
	struct nsec3_find *finds[] = {find};

	memset(find, 0, sizeof(*find));
	find->chain = get_chain();
	find->is_prefix = len < NSEC3_HASH_LEN;
	memcpy(find->hash, hash, len);
	nsec3_find_batch(f.view, finds, 1);
}

/* True if the record denies the hash: it lies between owner and next, and the
 * last record's span goes on at the first hash (RFC 5155 section 1.3). */
static inline bool
covers(const struct nsec3_find *found, const uint8_t hash[NSEC3_HASH_LEN])
{
	bool after_owner, before_next;

	if (found->record == NULL || found->next_hash == NULL)
		return false;
	after_owner = memcmp(hash, found->owner_hash, NSEC3_HASH_LEN) > 0;
	before_next = memcmp(hash, found->next_hash, NSEC3_HASH_LEN) < 0;
	if (memcmp(found->owner_hash, found->next_hash, NSEC3_HASH_LEN) < 0)
		return after_owner && before_next;
	return after_owner || before_next;
}

/* True if all NSEC3 records are in the chain. */
static inline bool
has_no_others(void)
{
	struct trie_iter iter;

	trie_iter_init(&iter, f.view, &get_zone()->nsec3.root);
	return trie_iter_next(&iter) == STORE_NONE;
}

#define T(name) cmocka_unit_test(name)

#endif
