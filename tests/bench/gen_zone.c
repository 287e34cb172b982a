/*
 * gen_zone.c - makes zones, server configurations and query lists to measure
 * with: a TLD of any size, a root, the zone of the NSEC3 experiment, and any
 * number of small zones. The same arguments make the same octets.
 *
 *	gen_zone [options] tld COUNT SEED DIR [ITERATIONS|unused]
 *	    tld.zone, tld.hit, tld.signed, tld.unsigned, tld.nx, tld.mix
 *	gen_zone root COUNT SEED DIR    root.zone, root.hit, root.nx, root.mix
 *	gen_zone qx COUNT SEED DIR [ITERATIONS]         qx.zone, qx.nx
 *	gen_zone small COUNT SEED DIR   zones, zone clauses, small.hit
 *
 * Signatures are random octets, of the size of ECDSA P-256 unless options say
 * another: no server that is measured checks them. NSEC and NSEC3 chains are
 * right. "unused" leaves the NSEC3PARAM record out, so that no server uses the
 * chain.
 *	-a N  number of the algorithm (13)
 *	-s N  octets of a signature (64)        -k N  octets of a key (64)
 */
#include "config.h"

#include <err.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gen.h"

#define ORIGIN "bench"
#define COMPANIES 20000
#define LARGE_COMPANIES 1000
#define ITERATIONS_MAX 65535
/* A record of a signature, or of a key, has less than 65,536 octets. */
#define SIGNATURE_MAX 60000

/* ---- the TLD */

static void
print_tld_apex(FILE *f, const struct chain *chain)
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
	if (chain != NULL)
		chain_print_param(chain, f);
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

/* Referrals, with the unsigned ones or the signed ones alone as well. */
static void
print_referrals(const char *dir, const struct label *labels, size_t count,
	const bool *is_signed)
{
	FILE *f[2] = { create(dir, "tld.unsigned"), create(dir, "tld.signed") };
	size_t queries = count < QUERIES_MAX / 10 ? QUERIES_MAX / 10
		: QUERIES_MAX;

	for (size_t i = 0; i < queries; i++) {
		uint32_t at = random_below((uint32_t)count);

		fprintf(f[is_signed[at]], "www.%s." ORIGIN ". %s\n",
			labels[at].text, i % 3 ? "A" : "AAAA");
	}
	finish(f[0]);
	finish(f[1]);
	print_hits(dir, "tld.hit", labels, count, ORIGIN ".");
}

/* Queries to a TLD from validating resolvers, in percent: 70 referrals, 20
 * names that do not exist, 7 DS of delegations, 3 at the apex. */
static void
print_tld_mix(const char *dir, const struct label *labels, size_t count)
{
	static const char *const apex[] = { "SOA", "NS", "DNSKEY" };
	FILE *f = create(dir, "tld.mix");
	size_t queries = count < QUERIES_MAX / 10 ? QUERIES_MAX / 10
		: QUERIES_MAX;
	struct label label;

	for (size_t i = 0; i < queries; i++) {
		uint32_t kind = random_below(100);
		uint32_t at = random_below((uint32_t)count);

		make_label(&label);
		if (kind < 70)
			fprintf(f, "www.%s." ORIGIN ". %s\n",
				labels[at].text, i % 3 ? "A" : "AAAA");
		else if (kind < 90)
			fprintf(f, "www.%s-%06x." ORIGIN ". %s\n", label.text,
				random_below(1 << 24), i % 3 ? "A" : "AAAA");
		else if (kind < 97)
			fprintf(f, "%s." ORIGIN ". DS\n", labels[at].text);
		else
			fprintf(f, ORIGIN ". %s\n", apex[kind - 97]);
	}
	finish(f);
}

/* The chain of apex and signed delegations. */
static void
make_tld_chain(struct chain *chain, const struct label *labels, size_t count,
	bool *is_signed, unsigned iterations)
{
	const struct nsec3_params params = { NULL, 0, (uint16_t)iterations };

	chain_init(chain, ORIGIN, "1", &params);
	chain_add(chain, "", "NS SOA RRSIG DNSKEY NSEC3PARAM");
	for (size_t i = 0; i < count; i++) {
		is_signed[i] = random_below(100) < 28;
		if (is_signed[i])
			chain_add(chain, labels[i].text, "NS DS RRSIG");
	}
	chain_finish(chain);
}

static void
make_tld(size_t count, unsigned iterations, bool unused, const char *dir)
{
	FILE *f = create(dir, "tld.zone");
	struct label *labels = make_labels(count);
	struct label *companies = make_companies();
	bool *is_signed = calloc(count, sizeof(*is_signed));
	static struct chain chain;
	char owner[64];

	if (is_signed == NULL)
		err(1, NULL);
	make_tld_chain(&chain, labels, count, is_signed, iterations);
	print_tld_apex(f, unused ? NULL : &chain);
	for (size_t i = 0; i < count; i++) {
		bool own = random_below(100) < 5;

		chain_print(&chain, f, labels[i].text);
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
	chain_print(&chain, f, NULL);
	finish(f);
	print_referrals(dir, labels, count, is_signed);
	print_misses(dir, "tld.nx", count < QUERIES_MAX / 10
		? QUERIES_MAX / 10 : QUERIES_MAX, ORIGIN ".");
	print_tld_mix(dir, labels, count);
	free(labels);
	free(companies);
	free(is_signed);
	free(chain.links);
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

/* Queries to a root server: more than half are for names that do not exist. */
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

static size_t
parse_length(const char *text, size_t most)
{
	size_t number = strtoul(text, NULL, 10);

	if (number == 0 || number > most)
		errx(2, "%s: not 1 to %zu", text, most);
	return number;
}

static void
parse_signing(int argc, char **argv)
{
	struct signing signing = { 13, 64, 64 };
	int letter;

	while ((letter = getopt(argc, argv, "a:s:k:")) != -1)
		switch (letter) {
		case 'a':
			signing.algorithm = (unsigned)parse_length(optarg,
				255);
			break;
		case 's':
			signing.signature_len = parse_length(optarg,
				SIGNATURE_MAX);
			break;
		case 'k':
			signing.key_len = parse_length(optarg, SIGNATURE_MAX);
			break;
		default:
			errx(2, "see the comment at the top of this program");
		}
	set_signing(&signing);
}

int
main(int argc, char **argv)
{
	const char *kind, *dir;
	unsigned long iterations = 0;
	bool unused = false;
	size_t count;

	parse_signing(argc, argv);
	argc -= optind - 1;
	argv += optind - 1;
	kind = argc > 1 ? argv[1] : "";
	if (argc != 5 && argc != 6)
		errx(2, "usage: gen_zone [options] tld|root|qx|small COUNT "
			"SEED DIR [ITERATIONS|unused]");
	count = strtoul(argv[2], NULL, 10);
	random_seed(strtoull(argv[3], NULL, 10));
	dir = argv[4];
	if (argc == 6) {
		unused = strcmp(argv[5], "unused") == 0;
		iterations = strtoul(argv[5], NULL, 10);
	}
	if (count == 0 || count > 100000000 || iterations > ITERATIONS_MAX)
		errx(2, "no such count");
	if (strcmp(kind, "tld") == 0)
		make_tld(count, (unsigned)iterations, unused, dir);
	else if (strcmp(kind, "root") == 0)
		make_root(count, dir);
	else if (strcmp(kind, "qx") == 0)
		make_qx(count, (unsigned)iterations, dir);
	else if (strcmp(kind, "small") == 0)
		make_small(count, dir);
	else
		errx(2, "%s: not tld, root, qx or small", kind);
	return 0;
}
