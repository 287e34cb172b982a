/* fuzz_tsig.c - TSIG records at any place of any octets; two answers of a chain
 * that somebody else has signed. */
#include <stdlib.h>

#include "dns/tsig.h"
#include "fuzz/mutate_dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool condition)
{
	if (!condition)
		abort();
}

/* The input cannot contain a valid MAC, as it does not know the secret. */
static void
check_record(const uint8_t *data, const struct tsig *tsig)
{
	static struct mac *mac;
	struct tsig_key key = {.kind = MAC_HMAC_SHA256};
	struct tsig_chain chain;
	uint8_t reply[2048] = {0};
	size_t len = MESSAGE_HEADER_LEN;

	if (mac == NULL)
		check(mac_create(MAC_HMAC_SHA256, (const uint8_t *)"secret", 6,
			&mac) == NSD_OK);
	key.mac = mac;
	for (unsigned i = 0; i < tsig->key.len; i++)
		key.name[i] = tsig->key.name[i];
	tsig_begin(&chain, &key);
	check(tsig_check(&chain, data, tsig, 1700000000) != RCODE_NOERROR);
	check(tsig_refuse(tsig, RCODE_BADKEY, reply, &len, sizeof(reply))
		== NSD_OK);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tsig tsig, again;
	uint8_t reply[2048] = {0};
	size_t len = MESSAGE_HEADER_LEN;

	for (size_t at = 0; at < size && at < 512; at++) {
		if (tsig_read(data, size, at, &tsig) != NSD_OK)
			continue;
		check(tsig.mac + tsig.mac_len <= data + size);
		check(tsig.other + tsig.other_len <= data + size);
		check_record(data, &tsig);
		/* The TSIG record that is written can be read. */
		if (tsig_refuse(&tsig, RCODE_BADSIG, reply, &len, 512)
			!= NSD_OK)
			continue;
		check(tsig_read(reply, len, MESSAGE_HEADER_LEN, &again)
			== NSD_OK);
		check(name_equal(again.key.name, tsig.key.name));
		check(again.time_sec == tsig.time_sec);
		len = MESSAGE_HEADER_LEN;
	}
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint64_t chance = seed;

	return mutate_dns_message(&mutate_dns_plain, data, size, max, &chance);
}
