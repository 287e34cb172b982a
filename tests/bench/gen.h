/*
 * gen.h - common parts of the zones that gen_zone makes: random numbers,
 * text, and the NSEC3 chain.
 */
#ifndef BENCH_GEN_H
#define BENCH_GEN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "dns/nsec3.h"

#define LABEL_MAX 24
#define QUERIES_MAX 1000000

/* ---- random numbers: the same seed, the same octets */
void random_seed(uint64_t seed);
uint64_t random_next(void);
uint32_t random_below(uint32_t n);

/* ---- files and text; they end the program on failure */
FILE *create(const char *dir, const char *name);
void finish(FILE *f);
void print_base64(FILE *f, size_t len);

/* The looks of signatures and keys: random octets of these counts, under a
 * number of an algorithm. ECDSA P-256 until it is set. */
struct signing {
	unsigned algorithm;
	size_t signature_len, key_len;
};

void set_signing(const struct signing *signing);

/* The signature over the set of a type at owner, made up. */
void print_rrsig(FILE *f, const char *owner, const char *type,
	unsigned labels, unsigned ttl, const char *signer);
void print_ds(FILE *f, const char *owner, unsigned ttl);
void print_dnskeys(FILE *f, const char *owner);

/* ---- names */
struct label {
	char text[LABEL_MAX]; /* zero padded: memcmp is the canonical order */
};

void make_label(struct label *label);

/* count different labels in canonical order. */
struct label *make_labels(size_t count);

/* ---- the chain of a zone of one label */
struct chain_link {
	uint8_t hash[NSEC3_HASH_LEN];
	const char *types;
};

struct chain {
	const char *origin; /* the label of the zone */
	const char *flags;  /* "0", or "1": opt-out */
	struct nsec3_params params;
	struct chain_link *links;
	size_t count, room, printed;
	/* Names that wait for others to be hashed with. */
	uint8_t names[64][LABEL_MAX + 66];
	size_t waiting;
};

void chain_init(struct chain *chain, const char *origin, const char *flags,
	const struct nsec3_params *params);

/* Adds a name (the empty label: the apex); types is kept. */
void chain_add(struct chain *chain, const char *label, const char *types);

/* Hashes what waits, and orders the chain. */
void chain_finish(struct chain *chain);

/* Prints the records whose owner comes before the label, and that were not
 * printed yet; NULL: all that are left. */
void chain_print(struct chain *chain, FILE *f, const char *before);

/* The NSEC3PARAM record at the apex and its signature. */
void chain_print_param(const struct chain *chain, FILE *f);

/* ---- zones */
void make_qx(size_t count, unsigned iterations, const char *dir);

#endif
