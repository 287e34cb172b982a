/* dnskey.c - tags and flags of DNSKEY records. */
#include "dns/dnskey.h"

#include "base/octets.h"

uint16_t
dnskey_tag(const uint8_t *rdata, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += i % 2 != 0 ? rdata[i] : (uint32_t)rdata[i] << 8;
	return (uint16_t)(sum + (sum >> 16));
}

bool
dnskey_may_sign(const uint8_t *rdata)
{
	return (octets_get_u16(rdata) & DNSKEY_ZONE) != 0
		&& rdata[2] == DNSKEY_PROTOCOL;
}
