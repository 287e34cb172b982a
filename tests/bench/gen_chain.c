/*
 * gen_chain.c - a right NSEC3 chain (RFC 5155), and the zone of the experiment
 * of NLnet Labs document 2010-002, which is little else.
 */
#include "config.h"

#include <err.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dns/name.h"
#include "gen.h"

#define WAITING_MAX 64

void
chain_init(struct chain *chain, const char *origin, const char *flags,
	const struct nsec3_params *params)
{
	memset(chain, 0, sizeof(*chain));
	chain->origin = origin;
	chain->flags = flags;
	chain->params = *params;
}

static void
hash_waiting(struct chain *chain)
{
	struct nsec3_job jobs[WAITING_MAX], *list[WAITING_MAX];
	struct chain_link *links = chain->links + chain->count
		- chain->waiting;

	for (size_t i = 0; i < chain->waiting; i++) {
		jobs[i].name = chain->names[i];
		list[i] = &jobs[i];
	}
	nsec3_hash_batch(&chain->params, list, chain->waiting);
	for (size_t i = 0; i < chain->waiting; i++)
		memcpy(links[i].hash, jobs[i].hash, NSEC3_HASH_LEN);
	chain->waiting = 0;
}

void
chain_add(struct chain *chain, const char *label, const char *types)
{
	char text[LABEL_MAX + 80];
	const char *why;
	size_t size;

	if (chain->count == chain->room) {
		chain->room = chain->room * 2 + 1024;
		chain->links = realloc(chain->links,
			chain->room * sizeof(*chain->links));
		if (chain->links == NULL)
			err(1, NULL);
	}
	snprintf(text, sizeof(text), "%s%s%s.", label,
		label[0] != '\0' ? "." : "", chain->origin);
	if (name_parse_text(text, strlen(text), NULL,
			chain->names[chain->waiting], &size, &why) != NSD_OK)
		errx(1, "%s: %s", text, why);
	chain->links[chain->count++].types = types;
	if (++chain->waiting == WAITING_MAX)
		hash_waiting(chain);
}

static int
compare_links(const void *a, const void *b)
{
	return memcmp(a, b, NSEC3_HASH_LEN);
}

void
chain_finish(struct chain *chain)
{
	hash_waiting(chain);
	qsort(chain->links, chain->count, sizeof(*chain->links),
		compare_links);
}

static void
print_salt(FILE *f, const struct nsec3_params *params)
{
	for (size_t i = 0; i < params->salt_len; i++)
		fprintf(f, "%02X", params->salt[i]);
	if (params->salt_len == 0)
		putc('-', f);
}

static void
print_link(const struct chain *chain, size_t at, FILE *f)
{
	const struct chain_link *link = &chain->links[at];
	char owner[NSEC3_LABEL_LEN + 70], signer[70];
	uint8_t this[NSEC3_LABEL_LEN + 1] = "", next[sizeof(this)] = "";

	nsec3_print_label(link->hash, this);
	nsec3_print_label(chain->links[(at + 1) % chain->count].hash, next);
	snprintf(owner, sizeof(owner), "%s.%s.", this, chain->origin);
	snprintf(signer, sizeof(signer), "%s.", chain->origin);
	fprintf(f, "%s\t900\tIN\tNSEC3\t1 %s %u ", owner, chain->flags,
		chain->params.iterations);
	print_salt(f, &chain->params);
	fprintf(f, " %s %s\n", next, link->types);
	print_rrsig(f, owner, "NSEC3", 2, 900, signer);
}

void
chain_print(struct chain *chain, FILE *f, const char *before)
{
	for (; chain->printed < chain->count; chain->printed++) {
		uint8_t text[NSEC3_LABEL_LEN + 1] = "";

		nsec3_print_label(chain->links[chain->printed].hash, text);
		if (before != NULL && strcmp((char *)text, before) >= 0)
			break;
		print_link(chain, chain->printed, f);
	}
}

void
chain_print_param(const struct chain *chain, FILE *f)
{
	char apex[70];

	snprintf(apex, sizeof(apex), "%s.", chain->origin);
	fprintf(f, "%s\t0\tIN\tNSEC3PARAM\t1 0 %u ", apex,
		chain->params.iterations);
	print_salt(f, &chain->params);
	putc('\n', f);
	print_rrsig(f, apex, "NSEC3PARAM", 1, 0, apex);
}

/* ---- the zone qx: names "[a-z]{5}v", all in the chain */

#define QX_NAMES (26 * 26 * 26 * 26 * 26)

static void
qx_label(uint32_t number, char end, char label[LABEL_MAX])
{
	for (int i = 0; i < 5; i++) {
		label[i] = (char)('a' + number % 26);
		number /= 26;
	}
	label[5] = end;
	label[6] = '\0';
}

static void
print_qx_apex(FILE *f, const struct chain *chain)
{
	fprintf(f, "qx.\t3600\tIN\tSOA\tns1.nic.net. hostmaster.nic.net. "
		"2025010101 1800 900 604800 900\n");
	print_rrsig(f, "qx.", "SOA", 1, 3600, "qx.");
	fprintf(f, "qx.\t172800\tIN\tNS\tns1.nic.net.\n"
		"qx.\t172800\tIN\tNS\tns2.nic.net.\n");
	print_rrsig(f, "qx.", "NS", 1, 172800, "qx.");
	print_dnskeys(f, "qx.");
	print_rrsig(f, "qx.", "DNSKEY", 1, 3600, "qx.");
	chain_print_param(chain, f);
}

void
make_qx(size_t count, unsigned iterations, const char *dir)
{
	static const uint8_t salt[] = { 0xaa, 0xbb, 0xcc, 0xdd };
	const struct nsec3_params params = { salt, sizeof(salt),
		(uint16_t)iterations };
	bool *is_taken = calloc(QX_NAMES, sizeof(*is_taken));
	FILE *f = create(dir, "qx.zone");
	static struct chain chain;
	char label[LABEL_MAX];
	size_t left = count;

	if (is_taken == NULL)
		err(1, NULL);
	if (count > QX_NAMES / 2)
		errx(2, "there are %d names", QX_NAMES);
	chain_init(&chain, "qx", "0", &params);
	chain_add(&chain, "", "NS SOA RRSIG DNSKEY NSEC3PARAM");
	while (left > 0) {
		uint32_t number = random_below(QX_NAMES);

		if (is_taken[number])
			continue;
		is_taken[number] = true;
		qx_label(number, 'v', label);
		chain_add(&chain, label, "NS");
		left--;
	}
	chain_finish(&chain);
	print_qx_apex(f, &chain);
	for (uint32_t number = 0; number < QX_NAMES; number++) {
		if (!is_taken[number])
			continue;
		qx_label(number, 'v', label);
		fprintf(f, "%s.qx.\t86400\tIN\tNS\tns%u.hoster.net.\n", label,
			number % 4);
	}
	chain_print(&chain, f, NULL);
	finish(f);
	f = create(dir, "qx.nx");
	for (size_t i = 0; i < QUERIES_MAX / 2; i++) {
		qx_label(random_below(QX_NAMES), 'i', label);
		fprintf(f, "%s.qx. A\n", label);
	}
	finish(f);
	free(is_taken);
	free(chain.links);
}
