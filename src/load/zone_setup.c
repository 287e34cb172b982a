/* zone_setup.c - converts the zones of a configuration to what the store
 * takes. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "load/zone_setup.h"

/* The ACLs of one pattern, for all zones that have it. */
struct acl_list {
	struct acl_list *next;
	struct acl_element elements[];
};

static uint16_t
setup_find_key(const struct conf *conf, const struct conf_key *key)
{
	for (size_t i = 0; i < conf->key_count; i++)
		if (conf->keys[i] == key)
			return (uint16_t)i;
	return UINT16_MAX; /* matches no key */
}

static void
setup_convert(const struct conf *conf, const struct conf_acls *acls,
	struct acl_element *out)
{
	for (uint32_t i = 0; i < acls->count; i++) {
		const struct conf_acl *a = &acls->items[i];
		struct acl_element *e = &out[i];

		e->family = a->family;
		e->kind = a->kind == CONF_ACL_SINGLE ? ACL_SINGLE
			: a->kind == CONF_ACL_RANGE  ? ACL_RANGE
						     : ACL_MASK;
		e->blocked = a->blocked;
		e->needs_key = a->key_name != NULL;
		e->port = a->port;
		if (a->key_name != NULL)
			e->key_id = setup_find_key(conf, a->key);
		memcpy(e->address, a->address, sizeof(e->address));
		memcpy(e->other, a->other, sizeof(e->other));
	}
}

static enum nsd_err
setup_make(struct zone_setups *setups, const struct conf *conf,
	const struct conf_pattern *options, struct zone_setup *out)
{
	uint32_t query = options->allow_query.count;
	uint32_t provide = options->provide_xfr.count;
	struct acl_list *list;

	memset(out, 0, sizeof(*out));
	if (options->request_xfr.count > 0)
		out->flags = ZONE_ENTRY_SECONDARY;
	if (query + provide == 0)
		return NSD_OK;
	list = calloc(1, sizeof(*list)
			+ (query + provide) * sizeof(list->elements[0]));
	if (list == NULL)
		return NSD_E_MEMORY;
	list->next = setups->lists;
	setups->lists = list;
	setup_convert(conf, &options->allow_query, list->elements);
	setup_convert(conf, &options->provide_xfr, list->elements + query);
	out->query_acl = list->elements;
	out->query_acl_count = query;
	out->provide_acl = list->elements + query;
	out->provide_acl_count = provide;
	return NSD_OK;
}

enum nsd_err
zone_setups_init(struct zone_setups *setups, const struct conf *conf)
{
	const struct conf_pattern *last = NULL;
	enum nsd_err err = NSD_OK;

	setups->lists = NULL;
	setups->items = calloc(conf->zone_count + 1, sizeof(*setups->items));
	if (setups->items == NULL)
		return NSD_E_MEMORY;
	for (size_t i = 0; i < conf->zone_count && err == NSD_OK; i++) {
		const struct conf_zone *zone = conf->zones[i];

		/* Zones of one pattern mostly stand together: they share the
		 * ACLs. */
		if (zone->options == last)
			setups->items[i] = setups->items[i - 1];
		else
			err = setup_make(setups, conf, zone->options,
				&setups->items[i]);
		last = zone->options;
		setups->items[i].apex = zone->wire;
		setups->items[i].id = (uint32_t)i;
	}
	if (err != NSD_OK)
		zone_setups_fini(setups);
	return err;
}

enum nsd_err
zone_setups_init_one(struct zone_setups *setups, const struct conf *conf,
	const struct conf_zone *zone, uint32_t id)
{
	enum nsd_err err = NSD_E_MEMORY;

	setups->lists = NULL;
	setups->items = calloc(1, sizeof(*setups->items));
	if (setups->items != NULL)
		err = setup_make(setups, conf, zone->options, setups->items);
	if (err != NSD_OK) {
		zone_setups_fini(setups);
		return err;
	}
	setups->items->apex = zone->wire;
	setups->items->id = id;
	return NSD_OK;
}

void
zone_setups_fini(struct zone_setups *setups)
{
	while (setups->lists != NULL) {
		struct acl_list *next = setups->lists->next;

		free(setups->lists);
		setups->lists = next;
	}
	free(setups->items);
	setups->items = NULL;
}
