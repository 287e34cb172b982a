/* fuzz_proxy.c - headers of the PROXY protocol, from any octets. */
#include <stdlib.h>
#include <string.h>

#include "base/octets.h"
#include "fuzz/mutate_octets.h"
#include "lib/chance.h"
#include "net/proxy.h"
#include "target.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proxy_header whole, part;
	size_t longest = PROXY_HEADER_MAX;
	enum proxy_outcome outcome = proxy_read_header(data, size, &whole);

	if (outcome == PROXY_INCOMPLETE)
		MUST(size < PROXY_HEADER_MAX);
	if (outcome == PROXY_WHOLE) {
		MUST(whole.len >= PROXY_HEAD_LEN && whole.len <= size
			&& whole.len <= PROXY_HEADER_MAX);
		MUST(!whole.has_client
			|| whole.client.ss_family == AF_INET
			|| whole.client.ss_family == AF_INET6);
		size = whole.len;
	}
	/* A prefix of a valid header asks for more octets; a prefix of a
	 * malformed one asks for more or is malformed. */
	for (size_t len = 0; len < size && len < longest; len++) {
		uint8_t *copy = malloc(len + 1);
		enum proxy_outcome so_far;

		MUST(copy != NULL);
		memcpy(copy, data, len);
		so_far = proxy_read_header(copy, len, &part);
		MUST(so_far != PROXY_WHOLE);
		MUST(outcome == PROXY_MALFORMED
			|| so_far == PROXY_INCOMPLETE);
		free(copy);
	}
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

/* Writes a whole header: commands, families and extensions, right or not. */
static size_t
make_header(uint8_t *out, uint64_t *chance)
{
	static const uint8_t families[] = {0x11, 0x12, 0x21, 0x22, 0, 0x31,
		0x32, 0x13, 0x41, 0xff};
	static const uint8_t types[] = {1, 2, 3, 4, 5, 0x20, 0x21, 0x30, 0xff};
	static const uint8_t lens[] = {0, 12, 36, 216, 11, 35};
	size_t len;

	memcpy(out, "\r\n\r\n\0\r\nQUIT\n", 12);
	out[12] = (uint8_t)(0x20 | (chance_below(chance, 8) == 0
		? chance_below(chance, 256) : chance_below(chance, 2)));
	out[13] = families[chance_below(chance, chance_below(chance, 2) == 0
		? 4 : sizeof(families))];
	len = out[13] >> 4 == 1 ? 12 : out[13] >> 4 == 2 ? 36 : 0;
	if (chance_below(chance, 6) == 0)
		len = lens[chance_below(chance, sizeof(lens))];
	for (size_t i = 0; i < len; i++)
		out[16 + i] = (uint8_t)chance_next(chance);
	while (len < 1000 && chance_below(chance, 3) == 0) {
		uint32_t more = chance_below(chance, 40);

		out[16 + len] = types[chance_below(chance, sizeof(types))];
		octets_put_u16(out + 17 + len, (uint16_t)(more
			+ (chance_below(chance, 12) == 0)));
		memset(out + 19 + len, 'x', more);
		len += 3 + more;
	}
	octets_put_u16(out + 14, (uint16_t)(chance_below(chance, 8) == 0
		? chance_below(chance, 2100) : len));
	return 16 + len;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint64_t chance = seed;
	uint8_t header[1200];
	size_t len;

	if (chance_below(&chance, 3) != 0)
		return mutate_octets(&chance, data, size, max);
	len = make_header(header, &chance);
	len = len < max ? len : max;
	memcpy(data, header, len);
	return len;
}
