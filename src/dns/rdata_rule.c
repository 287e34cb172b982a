/* rdata_rule.c - rules on values that the kinds of fields do not imply. */
#include "dns/rdata_field.h"

/*
 * IANA "DS RR Type Digest Algorithms". Digest type 0 is only for the delete
 * form of CDS (RFC 8078 section 4); its length is not checked.
 */
static const char *
check_digest(const uint8_t *rdata, size_t rdata_len)
{
	size_t len = rdata_len - 4;

	switch (rdata[3]) {
	case 1:
		return len == 20 ? NULL : "a SHA-1 digest of 20 octets";
	case 2:
		return len == 32 ? NULL : "a SHA-256 digest of 32 octets";
	case 3:
		return len == 32 ? NULL
			: "a GOST R 34.11-94 digest of 32 octets";
	case 4:
		return len == 48 ? NULL : "a SHA-384 digest of 48 octets";
	case 5:
		return len == 32 ? NULL
			: "a GOST R 34.11-2012 digest of 32 octets";
	case 6:
		return len == 32 ? NULL : "an SM3 digest of 32 octets";
	}
	return NULL;
}

/* RFC 4255 section 3.1.2, RFC 6594 section 2 */
static const char *
check_sshfp(const uint8_t *rdata, size_t rdata_len)
{
	if (rdata[1] == 1 && rdata_len != 2 + 20)
		return "a SHA-1 fingerprint of 20 octets";
	if (rdata[1] == 2 && rdata_len != 2 + 32)
		return "a SHA-256 fingerprint of 32 octets";
	return NULL;
}

/* RFC 8976 sections 2.2.3 and 2.2.4 */
static const char *
check_zonemd(const uint8_t *rdata, size_t rdata_len)
{
	size_t len = rdata_len - 6;

	if (rdata[5] == 1 && len != 48)
		return "a SHA-384 digest of 48 octets";
	if (rdata[5] == 2 && len != 64)
		return "a SHA-512 digest of 64 octets";
	return len >= 12 ? NULL : "a digest of 12 octets or more";
}

static bool
is_digits(const uint8_t *string, uint8_t min)
{
	unsigned i;

	for (i = 1; i <= *string; i++)
		if (string[i] < '0' || string[i] > '9')
			return false;
	return *string >= min;
}

/* A decimal number with an optional sign and fraction, up to max. */
static bool
is_decimal(const uint8_t *string, unsigned max)
{
	unsigned i = 1, end = 1u + *string, whole = 0, digits = 0;
	bool fraction = false, is_past_max = false;

	if (i < end && (string[i] == '+' || string[i] == '-'))
		i++;
	for (; i < end; i++) {
		if (string[i] == '.' && !fraction) {
			fraction = true;
			continue;
		}
		if (string[i] < '0' || string[i] > '9')
			return false;
		digits++;
		if (!fraction)
			whole = whole * 10 + string[i] - '0';
		else if (whole == max && string[i] != '0')
			is_past_max = true;
		if (whole > max)
			return false;
	}
	return digits > 0 && !is_past_max;
}

/*
 * RFC 1712 section 3 and its example have the ranges of longitude and latitude
 * the wrong way round. The first is -90..90; other servers read it so, too.
 */
static const char *
check_gpos(const uint8_t *rdata, unsigned *field)
{
	*field = 0;
	if (!is_decimal(rdata, 90))
		return "an angle from -90 to 90";
	rdata += 1 + *rdata;
	*field = 1;
	if (!is_decimal(rdata, 180))
		return "an angle from -180 to 180";
	rdata += 1 + *rdata;
	*field = 2;
	return is_decimal(rdata, 100000000) ? NULL
		: "an altitude in metres";
}

/* RFC 1183 sections 3.1 and 3.2: X25 begins with a DNIC of four digits. */
static const char *
check_digits(const uint8_t *rdata, size_t rdata_len, unsigned *field)
{
	*field = 0;
	if (!is_digits(rdata, 1))
		return "an address of digits";
	return NULL;
}

static const char *
check_nsec(const uint8_t *rdata, size_t rdata_len)
{
	size_t at = 0;

	while (rdata[at] != 0)
		at += 1 + (size_t)rdata[at];
	return at + 1 < rdata_len ? NULL : "one or more RR types";
}

const char *
rdata_rule_broken(enum rdata_rule rule, const uint8_t *rdata,
	size_t rdata_len, unsigned *field)
{
	switch (rule) {
	case RULE_NONE:
		return NULL;
	case RULE_DIGEST:
		*field = 3;
		return check_digest(rdata, rdata_len);
	case RULE_SSHFP:
		*field = 2;
		return check_sshfp(rdata, rdata_len);
	case RULE_ZONEMD:
		*field = 3;
		return check_zonemd(rdata, rdata_len);
	case RULE_NSEC:
		*field = 1;
		return check_nsec(rdata, rdata_len);
	case RULE_DHCID:
		*field = 0;
		return rdata_len >= 3 ? NULL : "three octets or more";
	case RULE_DIGITS:
		return check_digits(rdata, rdata_len, field);
	case RULE_GPOS:
		return check_gpos(rdata, field);
	case RULE_URI:
		*field = 2;
		return rdata_len > 4 ? NULL : "a target that is not empty";
	}
	ASSERT_HOT(false);
	return NULL;
}

bool
rdata_rule_is_doubt(enum rdata_rule rule, uint16_t type, const uint8_t *rdata)
{
	switch (rule) {
	case RULE_DIGEST:
		/* SHA-1, SHA-256 and SHA-384 are checked by others, too. */
		return type == TYPE_CDS
			|| (rdata[3] != 1 && rdata[3] != 2 && rdata[3] != 4);
	case RULE_NONE:
	case RULE_GPOS:
		return false;
	case RULE_SSHFP:
	case RULE_ZONEMD:
	case RULE_NSEC:
	case RULE_DHCID:
	case RULE_DIGITS:
	case RULE_URI:
		return true;
	}
	ASSERT_HOT(false);
	return false;
}
