/* rdata_order.c - canonical order of RDATA, and the names in it. */
#include "dns/name.h"
#include "dns/rdata_field.h"

/* The size of the field at `at` in checked RDATA. SIZE_MAX: to the end. */
static size_t
field_size(uint8_t field, const uint8_t *at)
{
	uint8_t size = rdata_field_ops[field].size;

	switch (size) {
	case FIELD_SIZE_REST:
		return SIZE_MAX;
	case FIELD_SIZE_NAME:
		return name_len(at);
	case FIELD_SIZE_COUNTED:
		return 1 + (size_t)*at;
	default:
		return size;
	}
}

static int
compare_octets(const uint8_t *a, size_t a_len, const uint8_t *b,
	size_t b_len)
{
	size_t len = a_len < b_len ? a_len : b_len;
	int order = len > 0 ? memcmp(a, b, len) : 0;

	if (order != 0)
		return order;
	return (a_len > b_len) - (a_len < b_len);
}

static int
compare_lower(const uint8_t *a, const uint8_t *b, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		int order = (int)name_lower_octet(a[i])
			- (int)name_lower_octet(b[i]);

		if (order != 0)
			return order;
	}
	return 0;
}

/* The offset of the name of an A6: behind prefix length and suffix (RFC 2874
 * section 3.1). SIZE_MAX: it has none. */
static size_t
a6_name_offset(const uint8_t *rdata)
{
	return rdata[0] == 0 ? SIZE_MAX : 1 + (128u - rdata[0] + 7) / 8;
}

/*
 * Compares octet strings from the left, with names in them lower-cased. As long
 * as both are equal their fields are at the same places, so a's layout is that
 * of both.
 */
int
rdata_compare(uint16_t type, const uint8_t *a, size_t a_len,
	const uint8_t *b, size_t b_len)
{
	const struct rrtype *row = rrtype_get(type);
	size_t at = 0, end = a_len < b_len ? a_len : b_len;
	unsigned i;

	if (!(row->flags & RR_CANON_LOWER))
		return compare_octets(a, a_len, b, b_len);
	for (i = 0; row->fields[i] != FIELD_END && at < end; i++) {
		size_t len = field_size(row->fields[i], a + at);
		bool lower = rdata_field_is_name(row->fields[i]);
		int order;

		if (row->fields[i] == FIELD_A6 && a[0] == b[0]) {
			len = a6_name_offset(a);
			if (len < end) {
				order = memcmp(a, b, len);
				if (order != 0)
					return order;
				at = len;
				len = SIZE_MAX;
				lower = true;
			}
		}
		if (len > end - at)
			len = end - at;
		order = lower ? compare_lower(a + at, b + at, len)
			: memcmp(a + at, b + at, len);
		if (order != 0)
			return order;
		at += len;
	}
	return compare_octets(a + at, a_len - at, b + at, b_len - at);
}

static void
lower_octets(uint8_t *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		at[i] = name_lower_octet(at[i]);
}

void
rdata_make_canonical(uint16_t type, uint8_t *rdata, size_t rdata_len)
{
	const struct rrtype *row = rrtype_get(type);
	size_t at = 0;

	if ((row->flags & RR_CANON_LOWER) == 0)
		return;
	for (unsigned i = 0; row->fields[i] != FIELD_END && at < rdata_len;
		i++) {
		size_t len = row->fields[i] == FIELD_A6
			? a6_name_offset(rdata)
			: field_size(row->fields[i], rdata + at);

		if (len > rdata_len - at)
			return;
		if (row->fields[i] == FIELD_A6) {
			lower_octets(rdata + len, rdata_len - len);
			return;
		}
		if (rdata_field_is_name(row->fields[i]))
			lower_octets(rdata + at, len);
		at += len;
	}
}

/* Steps from *field at *at to the next name; false if there is none. */
static bool
skip_to_name(const struct rrtype *row, const uint8_t *rdata, size_t rdata_len,
	unsigned *field, size_t *at)
{
	for (; row->fields[*field] != FIELD_END; (*field)++) {
		size_t len;

		if (*at >= rdata_len)
			return false;
		if (rdata_field_is_name(row->fields[*field]))
			return true;
		len = field_size(row->fields[*field], rdata + *at);
		if (len > rdata_len - *at)
			return false;
		*at += len;
	}
	return false;
}

unsigned
rdata_list_names(uint16_t type, const uint8_t *rdata, size_t rdata_len,
	struct rdata_name out[RDATA_NAMES_MAX])
{
	const struct rrtype *row = rrtype_get(type);
	unsigned count = 0, i = 0;
	size_t at = 0;

	while (count < RDATA_NAMES_MAX
		&& skip_to_name(row, rdata, rdata_len, &i, &at)) {
		bool compressible = row->fields[i] == FIELD_NAME_COMPRESSED;

		if (compressible || (row->flags & RR_ADDITIONAL)) {
			out[count].offset = (uint16_t)at;
			out[count].compressible = compressible;
			count++;
		}
		at += name_len(rdata + at);
		i++;
	}
	return count;
}

int
rdata_additional_offset(uint16_t type, const uint8_t *rdata,
	size_t rdata_len)
{
	const struct rrtype *row = rrtype_get(type);
	unsigned i = 0;
	size_t at = 0;

	if (!(row->flags & RR_ADDITIONAL)
		|| !skip_to_name(row, rdata, rdata_len, &i, &at))
		return -1;
	return (int)at;
}
