/*
 * mutate_dns.h - changes DNS messages as a fuzzer does, but knows what they are
 * made of: header bits, counts, sections, names and pointers, records, EDNS
 * options, and TSIG made with the right key. Octets alone do not become these
 * by chance (doc/decisions/0138).
 *
 * All calls change data in place, which has room for max octets, and return its
 * new length. The same seed does the same. Without libFuzzer, too.
 */
#ifndef TESTS_FUZZ_MUTATE_DNS_H
#define TESTS_FUZZ_MUTATE_DNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/mac.h"
#include "fuzz/mutate_octets.h"

/* A key that messages are signed with. */
struct mutate_key {
	const char *name; /* wire form, lower case */
	enum mac_kind kind;
	const char *secret;
};

/* The parts that messages are made of. */
struct mutate_dns {
	const char *const *names; /* wire form, such as "\7example" */
	size_t name_count;
	const struct mutate_key *keys; /* the last one: nobody knows it */
	size_t key_count;
	uint64_t now_sec;          /* of signatures */
	const uint8_t *cookie;     /* a right one, of 24 octets; or NULL */
	uint16_t id;               /* of messages; 0: any */
};

/* For targets that have no names and keys of their own. */
extern const struct mutate_dns mutate_dns_plain;

/* One message. */
size_t mutate_dns_message(const struct mutate_dns *dns, uint8_t *data,
	size_t size, size_t max, uint64_t *chance);

/* A new request, of a question and maybe an OPT and a signature. */
size_t mutate_dns_request(const struct mutate_dns *dns, uint8_t *data,
	size_t max, uint64_t *chance);

#endif
