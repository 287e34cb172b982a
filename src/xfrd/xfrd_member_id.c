/* xfrd_member_id.c - IDs of member zones. */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "conf/conf.h"
#include "conf/zonelist.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_member_id.h"

/* The label between that of the member and the catalog, with its length. */
static const uint8_t zones_label[] = "\5zones";
#define ZONES_LEN (sizeof(zones_label) - 1)

const char *
xfrd_member_id_print(const uint8_t *label, const uint8_t *catalog,
	char out[XFRD_MEMBER_ID_MAX])
{
	size_t label_len = 1u + label[0], catalog_len = name_len(catalog);
	uint8_t wire[NAME_MAX_LEN];

	assert(label[0] > 0 && label[0] <= LABEL_MAX_LEN);
	*out = '\0';
	if (label_len + ZONES_LEN + catalog_len > sizeof(wire))
		return out;
	memcpy(wire, label, label_len);
	memcpy(wire + label_len, zones_label, ZONES_LEN);
	memcpy(wire + label_len + ZONES_LEN, catalog, catalog_len);
	name_lower(wire);
	(void)name_print_text(wire, out);
	return out;
}

bool
xfrd_member_id_parse(const char *id, uint8_t label[LABEL_MAX_LEN + 1],
	uint8_t catalog[NAME_MAX_LEN])
{
	uint8_t wire[NAME_MAX_LEN];
	const uint8_t *rest;

	if (!zonelist_id_is_of_source(id))
		return false;
	if (!conf_parse_zone_name(id, wire) || name_count_labels(wire) < 2)
		return false;
	name_lower(wire);
	rest = name_skip_labels(wire, 1);
	if (memcmp(rest, zones_label, ZONES_LEN) != 0)
		return false;
	rest = name_skip_labels(wire, 2);
	memcpy(label, wire, 1u + wire[0]);
	memcpy(catalog, rest, name_len(rest));
	return true;
}

bool
xfrd_member_id_has_source(struct xfrd *xfrd, const struct xfrd_zone *zone,
	const char *id)
{
	uint8_t label[LABEL_MAX_LEN + 1], catalog[NAME_MAX_LEN];
	struct xfrd_options options;
	bool has;

	if (strcmp(id, XFRD_MEMBER_OF_FOLDER) == 0) {
		if (zone == NULL)
			return true;
		options = xfrd_options_begin(xfrd, zone);
		has = options.pattern == NULL
			|| options.pattern->catalog.folder_at != 0;
		xfrd_read_end(xfrd);
		return has;
	}
	if (!xfrd_member_id_parse(id, label, catalog))
		return false;
	options = xfrd_options_find(xfrd, catalog);
	has = xfrd_options_catalog(&options) == CONF_CATALOG_CONSUMER;
	xfrd_read_end(xfrd);
	return has;
}
