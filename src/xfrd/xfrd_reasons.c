/* xfrd_reasons.c - texts of failures, by number. */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "xfrd/xfrd_reasons.h"

uint32_t
xfrd_reasons_add(struct xfrd_reasons *reasons, const char *text)
{
	char *copy;

	if (text == NULL)
		return 0;
	for (uint32_t i = 0; i < reasons->count; i++)
		if (strcmp(reasons->texts[i], text) == 0)
			return i + 1;
	assert(reasons->count <= XFRD_REASONS_MAX);
	if (reasons->count == XFRD_REASONS_MAX)
		return 0;
	copy = strdup(text);
	if (copy == NULL)
		return 0;
	reasons->texts[reasons->count] = copy;
	return ++reasons->count;
}

const char *
xfrd_reasons_get(const struct xfrd_reasons *reasons, uint32_t number)
{
	assert(number <= reasons->count);
	return number > 0 ? reasons->texts[number - 1] : NULL;
}
