/*
 * gen_text.c - random numbers, and the text of records that they make up.
 */
#include "config.h"

#include <err.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

/* Octets of base64 that are made at a time: whole groups of three. */
#define PIECE 96

static uint64_t seed_state;
/* Signatures and keys have random numbers of their own, so that zones of one
 * seed differ in nothing else. */
static uint64_t octets_state;
static struct signing signed_by = { 13, 64, 64 };

void
random_seed(uint64_t seed)
{
	seed_state = seed;
	octets_state = ~seed;
}

static uint64_t
step_state(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

uint64_t
random_next(void)
{
	return step_state(&seed_state);
}

uint32_t
random_below(uint32_t n)
{
	return (uint32_t)((random_next() >> 32) * n >> 32);
}

/* ---- text */

FILE *
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

void
finish(FILE *f)
{
	if (ferror(f) || fclose(f) != 0)
		err(1, "write");
}

static void
print_piece(FILE *f, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[PIECE / 3 * 4];
	size_t at = 0;

	for (size_t i = 0; i < len; i += 3) {
		uint64_t r = step_state(&octets_state);
		size_t left = len - i;

		/* Unused low bits of the last digit are zero. */
		text[at++] = digits[r & 63];
		text[at++] = digits[r >> 6 & (left > 1 ? 63 : 48)];
		text[at++] = left > 1 ? digits[r >> 12 & (left > 2 ? 63 : 60)]
			: '=';
		text[at++] = left > 2 ? digits[r >> 18 & 63] : '=';
	}
	fwrite_unlocked(text, 1, at, f);
}

void
print_base64(FILE *f, size_t len)
{
	for (; len > PIECE; len -= PIECE)
		print_piece(f, PIECE);
	print_piece(f, len);
}

static void
print_hex(FILE *f, size_t len)
{
	char text[128];

	for (size_t i = 0; i < 2 * len; i++)
		text[i] = "0123456789ABCDEF"[random_next() & 15];
	fwrite_unlocked(text, 1, 2 * len, f);
}

void
set_signing(const struct signing *signing)
{
	signed_by = *signing;
}

void
print_rrsig(FILE *f, const char *owner, const char *type, unsigned labels,
	unsigned ttl, const char *signer)
{
	fprintf(f, "%s\t%u\tIN\tRRSIG\t%s %u %u %u 20370101000000 "
		"20250101000000 45678 %s ", owner, ttl, type,
		signed_by.algorithm, labels, ttl, signer);
	print_base64(f, signed_by.signature_len);
	putc_unlocked('\n', f);
}

void
print_ds(FILE *f, const char *owner, unsigned ttl)
{
	fprintf(f, "%s\t%u\tIN\tDS\t%u 13 2 ", owner, ttl,
		random_below(65536));
	print_hex(f, 32);
	putc_unlocked('\n', f);
}

void
print_dnskeys(FILE *f, const char *owner)
{
	for (int flags = 256; flags <= 257; flags++) {
		fprintf(f, "%s\t3600\tIN\tDNSKEY\t%d 3 %u ", owner, flags,
			signed_by.algorithm);
		print_base64(f, signed_by.key_len);
		putc_unlocked('\n', f);
	}
}

/* ---- names */

void
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

/* Makes another label of each that stands twice, in their order; these come
 * first in made, and the others move up. Returns how many there are. */
static size_t
make_again(struct label *labels, size_t count, struct label *made)
{
	size_t again = 0, kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count
			&& compare_labels(&labels[i], &labels[i + 1]) == 0)
			make_label(&made[again++]);
		else
			labels[kept++] = labels[i];
	}
	return again;
}

/* Puts the labels of made, in order, among those of labels, which has room for
 * them behind. */
static void
merge_labels(struct label *labels, size_t kept, const struct label *made,
	size_t again)
{
	size_t at = kept + again;

	while (again > 0)
		labels[--at] = kept > 0 && compare_labels(&labels[kept - 1],
				&made[again - 1]) > 0
			? labels[--kept] : made[--again];
}

struct label *
make_labels(size_t count)
{
	struct label *labels = calloc(count, sizeof(*labels));
	struct label *made = calloc(count, sizeof(*labels));
	size_t again;

	if (labels == NULL || made == NULL)
		err(1, NULL);
	for (size_t i = 0; i < count; i++)
		make_label(&labels[i]);
	qsort(labels, count, sizeof(*labels), compare_labels);
	while ((again = make_again(labels, count, made)) > 0) {
		qsort(made, again, sizeof(*made), compare_labels);
		merge_labels(labels, count - again, made, again);
	}
	free(made);
	return labels;
}
