/*
 * period.c - periods of time as zone files write them.
 */
#include "zonefile/reader.h"

static uint64_t
unit_seconds(char c)
{
	switch (c) {
	case 's': case 'S':
		return 1;
	case 'm': case 'M':
		return 60;
	case 'h': case 'H':
		return 60 * 60;
	case 'd': case 'D':
		return 24 * 60 * 60;
	case 'w': case 'W':
		return 7 * 24 * 60 * 60;
	default:
		return 0;
	}
}

bool
period_parse(const char *text, size_t len, uint32_t *seconds)
{
	uint64_t sum = 0, number = 0;
	bool has_digits = false;
	size_t i;

	for (i = 0; i < len; i++) {
		uint64_t unit;

		if (text[i] >= '0' && text[i] <= '9') {
			number = number * 10 + (uint64_t)(text[i] - '0');
			has_digits = true;
			if (number > UINT32_MAX)
				return false;
			continue;
		}
		unit = unit_seconds(text[i]);
		if (unit == 0 || !has_digits)
			return false;
		sum += number * unit;
		number = 0;
		has_digits = false;
		if (sum > UINT32_MAX)
			return false;
	}
	/* A number without a unit stands alone or last: 1h30. */
	sum += number;
	if (len == 0 || sum > UINT32_MAX)
		return false;
	*seconds = (uint32_t)sum;
	return true;
}
