/*
 * bench_nsec3.c - the cost of a hash: by OpenSSL's EVP, its block function,
 * and by each kernel that this machine can run, by the number of names hashed
 * at once.
 */
#define OPENSSL_SUPPRESS_DEPRECATED 1 /* for SHA1_Transform */

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/sha1_kernel.h"
#include "dns/nsec3.h"

#define TURNS 15u
#define NAME "\7example\3com"

static uint8_t salt[36] = "salt of nsec3: no more than 35 fit";

static double
get_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Does n iterations beyond the first hash for each of count names. */
typedef void run_fn(const void *how, unsigned n, size_t count, uint8_t len);

static void
run_evp(const void *how, unsigned n, size_t count, uint8_t len)
{
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	uint8_t hash[SHA1_LEN];
	unsigned i;

	for (i = 0; i <= n; i++) {
		EVP_DigestInit_ex(c, EVP_sha1(), NULL);
		EVP_DigestUpdate(c, hash, i == 0 ? 0 : SHA1_LEN);
		EVP_DigestUpdate(c, salt, len);
		EVP_DigestFinal_ex(c, hash, NULL);
	}
	EVP_MD_CTX_free(c);
}

static void
run_pieces(const void *how, unsigned n, size_t count, uint8_t len)
{
	uint8_t hash[SHA1_LEN] = { 0 };
	SHA_CTX c;
	unsigned i;

	for (i = 0; i <= n; i++) {
		SHA1_Init(&c);
		SHA1_Update(&c, hash, SHA1_LEN);
		SHA1_Update(&c, salt, len);
		SHA1_Final(hash, &c);
	}
}

static void
run_kernel(const void *how, unsigned n, size_t count, uint8_t len)
{
	const struct sha1_kernel *kernel = how;
	struct sha1_message messages[SHA1_AT_ONCE];
	uint8_t block[SHA1_BLOCK] = NAME;
	struct sha1_suffix suffix;
	size_t i;

	sha1_pad(block, sizeof(NAME));
	sha1_suffix_init(&suffix, salt, len);
	for (i = 0; i < count; i++) {
		messages[i].blocks = block;
		messages[i].block_count = 1;
	}
	kernel->hash(messages, count, &suffix, n);
}

static void
run_nsec3(const void *how, unsigned n, size_t count, uint8_t len)
{
	struct nsec3_job jobs[64], *list[64];
	struct nsec3_params params = { salt, len, (uint16_t)n };
	size_t i;

	for (i = 0; i < count; i++) {
		jobs[i].name = (const uint8_t *)NAME;
		list[i] = &jobs[i];
	}
	nsec3_hash_batch(&params, list, count);
}

/* The shortest of some turns: others share the machine. */
static double
time_run(run_fn *run, const void *how, unsigned n, size_t count, uint8_t len)
{
	unsigned turn, times = n == 0 ? 200 : 1, i;
	double best = 1e18;

	for (turn = 0; turn < TURNS; turn++) {
		double t = get_cpu_ns();

		for (i = 0; i < times; i++)
			run(how, n, count, len);
		t = (get_cpu_ns() - t) / times;
		if (t < best)
			best = t;
	}
	return best;
}

static void
print_row(const char *name, run_fn *run, const void *how, size_t count)
{
	double first = time_run(run, how, 0, count, 8);
	double some = time_run(run, how, 2000, count, 8);
	double two = time_run(run, how, 2000, count, 36);

	printf("| %s | %zu | %.1f | %.1f | %.1f |\n", name, count,
		first / (double)count, (some - first) / 2000 / (double)count,
		(two - first) / 2000 / (double)count);
}

int
main(void)
{
	static const size_t counts[] = { 1, 2, 3, 4, 8, 16, 32, 64 };
	const struct sha1_kernel *kernel;
	unsigned i;

	printf("Nanoseconds a name: its first hash, and each iteration with a "
		"salt of 8\noctets (one block) and of 36 (two).\n\n"
		"| by | names at once | hash | iteration | two blocks |\n"
		"| --- | ---: | ---: | ---: | ---: |\n");
	print_row("OpenSSL EVP", run_evp, NULL, 1);
	print_row("OpenSSL SHA1_Update", run_pieces, NULL, 1);
	for (i = 0; (kernel = sha1_kernel_at(i)) != NULL; i++)
		print_row(kernel->name, run_kernel, kernel, kernel->lanes);
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		print_row("nsec3_hash_batch", run_nsec3, NULL, counts[i]);
	return 0;
}
