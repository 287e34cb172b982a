/* rssac.c - counts lengths of messages and estimates how many clients ask. */
#include <netinet/in.h>
#include <string.h>

#include "query/rssac.h"

/* An odd number without a pattern; any will do. */
#define ODD_BITS UINT64_C(0xd6e8feb86659fd93)

/* The longest run of zero bits that note finds, plus one. */
#define RUN_MAX (64 - RSSAC_REGISTER_BITS + 1)

/* No estimate is higher: what a taken-over worker wrote may mean more than
 * 64 bits hold. */
#define SOURCES_MAX 0x1p63

/* Makes each bit depend on each. */
static uint64_t
mix_bits(uint64_t h)
{
	h = (h ^ h >> 32) * ODD_BITS;
	h = (h ^ h >> 32) * ODD_BITS;
	return h ^ h >> 32;
}

/* Spreads an address over 64 bits, by a secret key. */
static uint64_t
hash_address(const struct rssac *r, uint64_t high, uint64_t low)
{
	return mix_bits(mix_bits(high ^ r->key[0]) + (low ^ r->key[1]));
}

/* A register keeps the longest run of zero bits that it has seen, plus one. */
static void
registers_note(uint8_t registers[RSSAC_REGISTERS], uint64_t hashed)
{
	uint8_t *at = &registers[hashed >> (64 - RSSAC_REGISTER_BITS)];
	/* The bit that is set ends the run where the hash ends. */
	uint64_t rest = hashed << RSSAC_REGISTER_BITS
		| UINT64_C(1) << (RSSAC_REGISTER_BITS - 1);
	uint8_t run = (uint8_t)(__builtin_clzll(rest) + 1);

	if (run > *at)
		*at = run;
}

static void
note_source(struct rssac *r, const struct sockaddr_storage *peer)
{
	const struct sockaddr_in *ip4 = (const struct sockaddr_in *)peer;
	const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)peer;
	uint64_t half[2];

	if (peer->ss_family == AF_INET6) {
		memcpy(half, &ip6->sin6_addr, sizeof(half));
		registers_note(r->sources[RSSAC_IP6],
			hash_address(r, half[0], half[1]));
		registers_note(r->sources[RSSAC_IP6_NETS],
			hash_address(r, half[0], 0));
	} else if (peer->ss_family == AF_INET) {
		registers_note(r->sources[RSSAC_IP4],
			hash_address(r, ip4->sin_addr.s_addr, 0));
	}
}

static unsigned
size_bin(uint32_t len)
{
	uint32_t i = len / RSSAC_BIN_OCTETS;

	return i < RSSAC_BINS ? i : RSSAC_BINS - 1;
}

void
rssac_count(struct rssac *r, const struct exchange *exchanges, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct exchange *x = &exchanges[i];
		unsigned t = x->transport == TRANSPORT_UDP ? RSSAC_UDP
							   : RSSAC_TCP;

		if (x->seen == EXCHANGE_NEW) {
			r->requests[t][size_bin(x->request_len)]++;
			if (x->peer != NULL)
				note_source(r, x->peer);
		}
		if (x->put_off || x->reply_len == 0
			|| x->seen == EXCHANGE_ANSWERED)
			continue;
		r->replies[t][size_bin(x->reply_len)]++;
		r->sent[t][x->peer != NULL
			&& x->peer->ss_family == AF_INET6]++;
	}
}

void
rssac_add(struct rssac *sum, const struct rssac *worker)
{
	for (unsigned t = 0; t < RSSAC_TRANSPORTS; t++) {
		for (unsigned i = 0; i < RSSAC_BINS; i++) {
			sum->requests[t][i] += worker->requests[t][i];
			sum->replies[t][i] += worker->replies[t][i];
		}
		for (unsigned i = 0; i < 2; i++)
			sum->sent[t][i] += worker->sent[t][i];
	}
	for (unsigned s = 0; s < RSSAC_SOURCES; s++)
		for (unsigned i = 0; i < RSSAC_REGISTERS; i++) {
			uint8_t run = __atomic_load_n(
				&worker->sources[s][i], __ATOMIC_RELAXED);

			/* A worker that was taken over may write anything. */
			if (run > RUN_MAX)
				run = RUN_MAX;
			if (sum->sources[s][i] < run)
				sum->sources[s][i] = run;
		}
}

uint64_t
rssac_estimate(const uint8_t registers[RSSAC_REGISTERS])
{
	const double m = RSSAC_REGISTERS;
	double sum = 0, estimate;
	unsigned empty = 0;

	for (unsigned i = 0; i < RSSAC_REGISTERS; i++) {
		sum += 1 / (double)(UINT64_C(1) << registers[i]);
		empty += registers[i] == 0;
	}
	estimate = 0.7213 / (1 + 1.079 / m) * m * m / sum;
	if (estimate > 2.5 * m || empty == 0)
		return estimate < SOURCES_MAX ? (uint64_t)(estimate + 0.5)
			: (uint64_t)SOURCES_MAX;
	/* Few sources: how many it takes on average until no more registers
	 * than these are empty. */
	estimate = 0;
	for (unsigned i = empty + 1; i <= RSSAC_REGISTERS; i++)
		estimate += m / i;
	return (uint64_t)(estimate + 0.5);
}
