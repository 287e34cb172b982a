/* dynupdate.c - batches of dynamic updates of a zone. */
#include "dynupdate/dynupdate.h"

#include <stdlib.h>
#include <string.h>

struct dynupdate {
	uint32_t serial;
};

enum nsd_err
dynupdate_begin(const struct store_view *view, const struct zone *zone,
	const uint8_t *apex, const struct dynupdate_options *options,
	struct dynupdate **out)
{
	struct dynupdate *d = calloc(1, sizeof(*d));

	(void)view;
	(void)apex;
	(void)options;
	if (d == NULL)
		return NSD_E_MEMORY;
	d->serial = zone->serial;
	*out = d;
	return NSD_OK;
}

enum nsd_err
dynupdate_apply(struct dynupdate *d, const uint8_t *message, size_t len,
	struct dynupdate_result *result)
{
	(void)message;
	(void)len;
	memset(result, 0, sizeof(*result));
	result->rcode = RCODE_NOTIMP;
	result->ede = EDE_NONE;
	result->serial = d->serial;
	return NSD_OK;
}

const uint8_t *
dynupdate_records(const struct dynupdate *d, size_t *len, uint32_t *from,
	uint32_t *to)
{
	*len = 0;
	*from = d->serial;
	*to = d->serial;
	return NULL;
}

void
dynupdate_end(struct dynupdate *d)
{
	free(d);
}
