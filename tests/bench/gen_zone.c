/*
 * gen_zone.c - makes zones, server configurations and query lists to measure
 * with: a TLD of any size, a root, and any number of small zones. The same
 * arguments make the same octets.
 *
 *	gen_zone tld COUNT SEED DIR     tld.zone, tld.hit, tld.nx
 *	gen_zone root COUNT SEED DIR    root.zone, root.hit, root.nx, root.mix
 *	gen_zone small COUNT SEED DIR   zones, zone clauses, small.hit
 *
 * Signatures are random octets of the size of ECDSA P-256: no server that is
 * measured checks them. NSEC and NSEC3 chains are right.
 */
#include "config.h"

#include <err.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ORIGIN "bench"
#define LABEL_MAX 24
#define HASH_TEXT 32
#define COMPANIES 20000
#define LARGE_COMPANIES 1000
#define QUERIES_MAX 1000000

static uint64_t seed_state;

static uint64_t
random_next(void)
{
	uint64_t z = seed_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static uint32_t
random_below(uint32_t n)
{
	return (uint32_t)((random_next() >> 32) * n >> 32);
}

/* ---- text */

static FILE *
create(const char *dir, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (f == NULL)
		err(1, "%s", path);
	setvbuf(f, NULL, _IOFBF, 1 << 20);
	return f;
}

static void
finish(FILE *f)
{
	if (ferror(f) || fclose(f) != 0)
		err(1, "write");
}

static void
print_base64(FILE *f, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[128];
	size_t at = 0;

	for (size_t i = 0; i < len; i += 3) {
		uint64_t r = random_next();
		size_t left = len - i;

		text[at++] = digits[r & 63];
		text[at++] = digits[r >> 6 & 63];
		text[at++] = left > 1 ? digits[r >> 12 & 63] : '=';
		text[at++] = left > 2 ? digits[r >> 18 & 63] : '=';
	}
	/* What is left over of the last octet must be zero: take digits whose
	 * low bits are. */
	if (len % 3 == 1)
		text[at - 3] = digits[random_below(4) * 16];
	else if (len % 3 == 2)
		text[at - 2] = digits[random_below(16) * 4];
	fwrite_unlocked(text, 1, at, f);
}

static void
print_hex(FILE *f, size_t len)
{
	char text[128];

	for (size_t i = 0; i < 2 * len; i++)
		text[i] = "0123456789ABCDEF"[random_next() & 15];
	fwrite_unlocked(text, 1, 2 * len, f);
}

/* The signature over the set of a type at owner. */
static void
print_rrsig(FILE *f, const char *owner, const char *type, unsigned labels,
	unsigned ttl, const char *signer)
{
	fprintf(f, "%s\t%u\tIN\tRRSIG\t%s 13 %u %u 20370101000000 "
		"20250101000000 45678 %s ", owner, ttl, type, labels, ttl,
		signer);
	print_base64(f, 64);
	putc_unlocked('\n', f);
}

static void
print_ds(FILE *f, const char *owner, unsigned ttl)
{
	fprintf(f, "%s\t%u\tIN\tDS\t%u 13 2 ", owner, ttl,
		random_below(65536));
	print_hex(f, 32);
	putc_unlocked('\n', f);
}

static void
print_dnskeys(FILE *f, const char *owner)
{
	for (int flags = 256; flags <= 257; flags++) {
		fprintf(f, "%s\t3600\tIN\tDNSKEY\t%d 3 13 ", owner, flags);
		print_base64(f, 64);
		putc_unlocked('\n', f);
	}
}

/* ---- names */

struct label {
	char text[LABEL_MAX]; /* zero padded: memcmp is the canonical order */
};

static void
make_label(struct label *label)
{
	static const char vowels[] = "aeiou";
	static const char others[] = "bcdfghjklmnprstvwxz";
	size_t len = 4 + random_below(4) + random_below(5);

	memset(label, 0, sizeof(*label));
	for (size_t i = 0; i < len; i++)
		label->text[i] = random_below(8) == 0
			? (char)('0' + random_below(10))
			: i % 2 != 0 ? vowels[random_below(5)]
			: others[random_below(19)];
}

static int
compare_labels(const void *a, const void *b)
{
	return memcmp(a, b, LABEL_MAX);
}

/* count different labels in canonical order. */
static struct label *
make_labels(size_t count)
{
	struct label *labels = calloc(count, sizeof(*labels));
	bool again = true;

	if (labels == NULL)
		err(1, NULL);
	for (size_t i = 0; i < count; i++)
		make_label(&labels[i]);
	while (again) {
		again = false;
		qsort(labels, count, sizeof(*labels), compare_labels);
		for (size_t i = 1; i < count; i++) {
			if (compare_labels(&labels[i - 1], &labels[i]) != 0)
				continue;
			make_label(&labels[i - 1]);
			again = true;
		}
	}
	return labels;
}

/* ---- NSEC3, RFC 5155: SHA-1, no iterations, no salt */

struct hashed {
	char text[HASH_TEXT + 1];
	bool apex;
};

static void
hash_name(const char *label, struct hashed *hashed)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuv";
	uint8_t wire[64], hash[20];
	size_t at = 0, len = strlen(label);
	uint64_t bits = 0;
	unsigned have = 0, size = 0;

	if (len > 0) {
		wire[at++] = (uint8_t)len;
		memcpy(wire + at, label, len);
		at += len;
	}
	wire[at++] = sizeof(ORIGIN) - 1;
	memcpy(wire + at, ORIGIN, sizeof(ORIGIN));
	at += sizeof(ORIGIN);
	if (EVP_Digest(wire, at, hash, &size, EVP_sha1(), NULL) != 1)
		errx(1, "SHA-1");
	at = 0;
	for (size_t i = 0; i < sizeof(hash); i++) {
		bits = bits << 8 | hash[i];
		for (have += 8; have >= 5; have -= 5)
			hashed->text[at++] = digits[bits >> (have - 5) & 31];
	}
	hashed->text[at] = '\0';
	hashed->apex = len == 0;
}

static int
compare_hashed(const void *a, const void *b)
{
	return memcmp(a, b, HASH_TEXT);
}

static void
print_nsec3(FILE *f, const struct hashed *at, const struct hashed *next)
{
	char owner[HASH_TEXT + sizeof(ORIGIN) + 3];

	snprintf(owner, sizeof(owner), "%s." ORIGIN ".", at->text);
	fprintf(f, "%s\t900\tIN\tNSEC3\t1 1 0 - %s %s\n", owner, next->text,
		at->apex ? "NS SOA RRSIG DNSKEY NSEC3PARAM" : "NS DS RRSIG");
	print_rrsig(f, owner, "NSEC3", 2, 900, ORIGIN ".");
}

/* ---- the TLD */

static void
print_tld_apex(FILE *f)
{
	const char *o = ORIGIN ".";

	fprintf(f, "%s\t3600\tIN\tSOA\tns1.nic.net. hostmaster.nic.net. "
		"2025010101 1800 900 604800 900\n", o);
	print_rrsig(f, o, "SOA", 1, 3600, o);
	for (int i = 1; i <= 4; i++)
		fprintf(f, "%s\t172800\tIN\tNS\tns%d.nic.net.\n", o, i);
	print_rrsig(f, o, "NS", 1, 172800, o);
	print_dnskeys(f, o);
	print_rrsig(f, o, "DNSKEY", 1, 3600, o);
	fprintf(f, "%s\t0\tIN\tNSEC3PARAM\t1 0 0 -\n", o);
	print_rrsig(f, o, "NSEC3PARAM", 1, 0, o);
}

/* 5 in 100 have name servers of their own, with glue. */
static void
print_own_servers(FILE *f, const char *owner)
{
	for (int i = 1; i <= 2; i++)
		fprintf(f, "%s\t86400\tIN\tNS\tns%d.%s\n", owner, i, owner);
}

static void
print_glue(FILE *f, const char *owner)
{
	bool ip6 = random_below(2) != 0;

	for (int i = 1; i <= 2; i++) {
		fprintf(f, "ns%d.%s\t86400\tIN\tA\t%u.%u.%u.%u\n", i, owner,
			1 + random_below(220), random_below(256),
			random_below(256), random_below(256));
		if (ip6)
			fprintf(f, "ns%d.%s\t86400\tIN\tAAAA\t"
				"2001:db8:%x:%x::%x\n", i, owner,
				1 + random_below(65535),
				1 + random_below(65535),
				1 + random_below(65535));
	}
}

/* The 1,000 largest of 20,000 companies hold 30 in 100 of the names. */
static void
print_hosted(FILE *f, const char *owner, const struct label *companies)
{
	uint32_t company = random_below(100) < 30
		? random_below(LARGE_COMPANIES)
		: LARGE_COMPANIES + random_below(COMPANIES - LARGE_COMPANIES);
	unsigned servers = 2 + company % 5 / 3;

	for (unsigned i = 1; i <= servers; i++)
		fprintf(f, "%s\t86400\tIN\tNS\tns%u.%s.%s.\n", owner, i,
			companies[company].text, company % 3 ? "net" : "com");
}

static struct label *
make_companies(void)
{
	struct label *companies = make_labels(COMPANIES);

	for (uint32_t i = COMPANIES - 1; i > 0; i--) {
		uint32_t j = random_below(i + 1);
		struct label swap = companies[i];

		companies[i] = companies[j];
		companies[j] = swap;
	}
	return companies;
}

static void
print_hits(const char *dir, const char *file, const struct label *labels,
	size_t count, const char *origin)
{
	FILE *f = create(dir, file);
	size_t queries = count < QUERIES_MAX / 10 ? QUERIES_MAX / 10
		: QUERIES_MAX;

	for (size_t i = 0; i < queries; i++)
		fprintf(f, "www.%s.%s %s\n",
			labels[random_below((uint32_t)count)].text, origin,
			i % 3 ? "A" : "AAAA");
	finish(f);
}

/* Names that are not there: one character more than any label has. */
static void
print_misses(const char *dir, const char *file, size_t queries,
	const char *origin)
{
	FILE *f = create(dir, file);
	struct label label;

	for (size_t i = 0; i < queries; i++) {
		make_label(&label);
		fprintf(f, "www.%s-%06x.%s %s\n", label.text,
			random_below(1 << 24), origin, i % 3 ? "A" : "AAAA");
	}
	finish(f);
}

static void
make_tld(size_t count, const char *dir)
{
	FILE *f = create(dir, "tld.zone");
	struct label *labels = make_labels(count);
	struct label *companies = make_companies();
	struct hashed *hashed = calloc(count + 1, sizeof(*hashed));
	bool *is_signed = calloc(count, sizeof(*is_signed));
	size_t hashes = 0, h = 0;
	char owner[64];

	if (hashed == NULL || is_signed == NULL)
		err(1, NULL);
	hash_name("", &hashed[hashes++]);
	for (size_t i = 0; i < count; i++) {
		is_signed[i] = random_below(100) < 28;
		if (is_signed[i])
			hash_name(labels[i].text, &hashed[hashes++]);
	}
	qsort(hashed, hashes, sizeof(*hashed), compare_hashed);
	print_tld_apex(f);
	for (size_t i = 0; i < count; i++) {
		bool own = random_below(100) < 5;

		while (h < hashes && strcmp(hashed[h].text, labels[i].text) < 0)
			print_nsec3(f, &hashed[h], &hashed[(h + 1) % hashes]),
				h++;
		snprintf(owner, sizeof(owner), "%s." ORIGIN ".",
			labels[i].text);
		if (own)
			print_own_servers(f, owner);
		else
			print_hosted(f, owner, companies);
		if (is_signed[i]) {
			print_ds(f, owner, 86400);
			print_rrsig(f, owner, "DS", 2, 86400, ORIGIN ".");
		}
		if (own)
			print_glue(f, owner);
	}
	for (; h < hashes; h++)
		print_nsec3(f, &hashed[h], &hashed[(h + 1) % hashes]);
	finish(f);
	print_hits(dir, "tld.hit", labels, count, ORIGIN ".");
	print_misses(dir, "tld.nx", count < QUERIES_MAX / 10
		? QUERIES_MAX / 10 : QUERIES_MAX, ORIGIN ".");
	free(labels);
	free(companies);
	free(hashed);
	free(is_signed);
}

/* ---- the root: NSEC, most delegations signed, much glue */

static void
print_root_apex(FILE *f, const char *next)
{
	fprintf(f, ".\t86400\tIN\tSOA\ta.root.%s. hostmaster.%s. 2025010101 "
		"1800 900 604800 86400\n", next, next);
	print_rrsig(f, ".", "SOA", 0, 86400, ".");
	for (char c = 'a'; c <= 'm'; c++)
		fprintf(f, ".\t518400\tIN\tNS\t%c.root.%s.\n", c, next);
	print_rrsig(f, ".", "NS", 0, 518400, ".");
	fprintf(f, ".\t86400\tIN\tNSEC\t%s. NS SOA RRSIG NSEC DNSKEY\n", next);
	print_rrsig(f, ".", "NSEC", 0, 86400, ".");
	print_dnskeys(f, ".");
	print_rrsig(f, ".", "DNSKEY", 0, 3600, ".");
}

/* The servers of the root itself, below the first delegation. */
static void
print_root_glue(FILE *f, const char *label)
{
	for (char c = 'a'; c <= 'm'; c++) {
		fprintf(f, "%c.root.%s.\t518400\tIN\tA\t192.0.2.%d\n", c,
			label, c);
		fprintf(f, "%c.root.%s.\t518400\tIN\tAAAA\t2001:db8::%x\n",
			c, label, (unsigned)c);
	}
}

static void
print_root_delegation(FILE *f, const char *label, const char *next)
{
	unsigned servers = 4 + random_below(5);
	bool is_signed = random_below(100) < 92;
	char owner[64];

	snprintf(owner, sizeof(owner), "%s.", label);
	for (unsigned i = 0; i < servers; i++)
		fprintf(f, "%s\t172800\tIN\tNS\t%c.nic.%s\n", owner, 'a' + i,
			owner);
	if (is_signed) {
		print_ds(f, owner, 86400);
		print_rrsig(f, owner, "DS", 1, 86400, ".");
	}
	fprintf(f, "%s\t86400\tIN\tNSEC\t%s. NS%s RRSIG NSEC\n", owner, next,
		is_signed ? " DS" : "");
	print_rrsig(f, owner, "NSEC", 1, 86400, ".");
	for (unsigned i = 0; i < servers; i++) {
		fprintf(f, "%c.nic.%s\t172800\tIN\tA\t%u.%u.%u.%u\n", 'a' + i,
			owner, 1 + random_below(220), random_below(256),
			random_below(256), 1 + random_below(254));
		fprintf(f, "%c.nic.%s\t172800\tIN\tAAAA\t2001:db8:%x:%x::%x\n",
			'a' + i, owner, 1 + random_below(65535),
			1 + random_below(65535), 1 + random_below(65535));
	}
}

/* What a root is asked: more than half of it does not exist. */
static void
print_root_mix(const char *dir, const struct label *labels, size_t count)
{
	FILE *f = create(dir, "root.mix");
	struct label label;

	for (size_t i = 0; i < QUERIES_MAX / 10; i++) {
		make_label(&label);
		if (random_below(100) < 60)
			fprintf(f, "%s-%06x. A\n", label.text,
				random_below(1 << 24));
		else
			fprintf(f, "www.%s.%s. %s\n", label.text,
				labels[random_below((uint32_t)count)].text,
				i % 3 ? "A" : "AAAA");
	}
	finish(f);
}

static void
make_root(size_t count, const char *dir)
{
	FILE *f = create(dir, "root.zone");
	struct label *labels = make_labels(count);

	print_root_apex(f, labels[0].text);
	for (size_t i = 0; i < count; i++) {
		print_root_delegation(f, labels[i].text, i + 1 < count
			? labels[i + 1].text : "");
		if (i == 0)
			print_root_glue(f, labels[i].text);
	}
	finish(f);
	print_hits(dir, "root.hit", labels, count, "");
	print_misses(dir, "root.nx", QUERIES_MAX / 10, "");
	print_root_mix(dir, labels, count);
	free(labels);
}

/* ---- many small zones */

static void
print_small_zone(const char *dir, const char *path, const char *name)
{
	FILE *f;
	char whole[4200];

	snprintf(whole, sizeof(whole), "%s/%s", dir, path);
	f = fopen(whole, "w");
	if (f == NULL)
		err(1, "%s", whole);
	fprintf(f, "$ORIGIN %s.\n$TTL 3600\n"
		"@\tIN\tSOA\tns1.hoster.net. hostmaster.hoster.net. "
		"1 7200 3600 1209600 3600\n"
		"@\tIN\tNS\tns1.hoster.net.\n@\tIN\tNS\tns2.hoster.net.\n"
		"@\tIN\tMX\t10 mail\n@\tIN\tA\t192.0.2.%u\n"
		"mail\tIN\tA\t192.0.2.%u\nwww\tIN\tA\t192.0.2.%u\n"
		"www\tIN\tAAAA\t2001:db8::%x\n", name, random_below(256),
		random_below(256), random_below(256), random_below(65536));
	finish(f);
}

static void
make_small(size_t count, const char *dir)
{
	struct label *labels = make_labels(count);
	FILE *nsd = create(dir, "small.nsd");
	FILE *named = create(dir, "small.named");
	FILE *knot = create(dir, "small.knot");
	FILE *yadifa = create(dir, "small.yadifad");
	FILE *hit;
	char path[128], name[64];

	fprintf(knot, "zone:\n");
	for (size_t i = 0; i < count; i++) {
		if (i % 1000 == 0) {
			snprintf(path, sizeof(path), "%s/%04zu", dir,
				i / 1000);
			mkdir(path, 0777);
		}
		snprintf(name, sizeof(name), "%s.example", labels[i].text);
		snprintf(path, sizeof(path), "%04zu/%s.zone", i / 1000,
			name);
		print_small_zone(dir, path, name);
		fprintf(nsd, "zone:\n\tname: \"%s\"\n\tzonefile: \"%s/%s\"\n",
			name, dir, path);
		fprintf(named, "zone \"%s\" { type primary; file \"%s/%s\"; };"
			"\n", name, dir, path);
		fprintf(knot, "  - domain: %s\n    file: \"%s/%s\"\n", name,
			dir, path);
		fprintf(yadifa, "<zone>\ntype primary\ndomain %s\n"
			"file \"%s/%s\"\n</zone>\n", name, dir, path);
	}
	finish(nsd);
	finish(named);
	finish(knot);
	finish(yadifa);
	hit = create(dir, "small.hit");
	for (size_t i = 0; i < QUERIES_MAX; i++)
		fprintf(hit, "www.%s.example. %s\n",
			labels[random_below((uint32_t)count)].text,
			i % 3 ? "A" : "AAAA");
	finish(hit);
	free(labels);
}

int
main(int argc, char **argv)
{
	size_t count;

	if (argc != 5)
		errx(2, "usage: gen_zone tld|root|small COUNT SEED DIR");
	count = strtoul(argv[2], NULL, 10);
	seed_state = strtoull(argv[3], NULL, 10);
	if (count == 0 || count > 100000000)
		errx(2, "%s: no count", argv[2]);
	if (strcmp(argv[1], "tld") == 0)
		make_tld(count, argv[4]);
	else if (strcmp(argv[1], "root") == 0)
		make_root(count, argv[4]);
	else if (strcmp(argv[1], "small") == 0)
		make_small(count, argv[4]);
	else
		errx(2, "%s: not tld, root or small", argv[1]);
	return 0;
}
