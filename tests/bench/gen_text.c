/*
 * gen_text.c - random numbers, and the text of records that they make up.
 */
#include "config.h"

#include <err.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

static uint64_t seed_state;

void
random_seed(uint64_t seed)
{
	seed_state = seed;
}

uint64_t
random_next(void)
{
	uint64_t z = seed_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
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

void
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
	/* The unused low bits of the last digit must be zero: choose among
	 * digits that have them so. */
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

void
print_rrsig(FILE *f, const char *owner, const char *type, unsigned labels,
	unsigned ttl, const char *signer)
{
	fprintf(f, "%s\t%u\tIN\tRRSIG\t%s 13 %u %u 20370101000000 "
		"20250101000000 45678 %s ", owner, ttl, type, labels, ttl,
		signer);
	print_base64(f, 64);
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
		fprintf(f, "%s\t3600\tIN\tDNSKEY\t%d 3 13 ", owner, flags);
		print_base64(f, 64);
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

struct label *
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
