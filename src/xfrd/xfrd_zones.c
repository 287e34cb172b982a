/*
 * xfrd_zones.c - zones with primaries or targets of NOTIFY: joins the machine
 * that decides what to do (xfr/machine.h) to the configuration and to the
 * served versions.
 */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "settings/settings.h"
#include "store/store.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_catalog.h"
#include "zone/unpack.h"

#define TRANSFERS_MAX 1024u

_Static_assert(XFR_PRIMARIES_MAX == CONF_REQUEST_XFR_MAX
	&& XFR_TARGETS_MAX == CONF_NOTIFY_MAX,
	"what is left out, the configuration warns of");

/* Lists of servers and of our addresses. */
#define ZONES_LISTS (SETTINGS_LIST_COUNT - SETTINGS_CLIENT_LISTS)

/* A config of the machine, which zones share whose options mean the same to it,
 * and whose primaries are the same: each of a million zones may have a clause
 * of its own. */
struct zones_config {
	uint32_t id;
	uint32_t counts[ZONES_LISTS]; /* of each list */
	struct settings_xfr xfr;
	struct acl_element servers[]; /* of all lists; whatever their keys */
};

/* ---- served versions ----------------------------------------------------- */

static void
zones_copy_soa(const struct store_view *view, const struct zone *served,
	const uint8_t *apex, struct xfrd_soa *soa)
{
	const struct rrset *rrset = store_get(view, served->soa);
	uint8_t rdata[RDATA_MAX_LEN];
	size_t len = unpack_rdata(rrset, rrset->data, apex, rdata);

	assert(len <= sizeof(soa->rdata));
	memcpy(soa->rdata, rdata, len);
	soa->len = (uint16_t)len;
	soa->ttl_sec = rrset->ttl_sec;
	soa->records = served->rr_count;
	soa->names = served->node_count;
	xfr_soa_read(soa->rdata, len, &soa->numbers);
}

bool
xfrd_zones_get_soa(struct xfrd *xfrd, const struct xfrd_zone *zone,
	struct xfrd_soa *soa)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	const struct zone_entry *entry = options.entry;
	store_ref served = STORE_NONE;
	uint32_t flags;

	if (entry != NULL)
		served = store_load_ref(&entry->zone);
	if (served != STORE_NONE) {
		zones_copy_soa(options.view, store_get(options.view, served),
			xfrd_zone_apex(zone), soa);
		soa->expires_sec = __atomic_load_n(&entry->expires_sec,
			__ATOMIC_RELAXED);
		soa->has_history = store_load_ref(&entry->history)
			!= STORE_NONE;
		flags = __atomic_load_n(&entry->flags, __ATOMIC_RELAXED);
		soa->file_failed = (flags & ZONE_ENTRY_FILE_FAILED) != 0;
		soa->changesets_stale = (flags & ZONE_ENTRY_CHANGESETS_STALE)
			!= 0;
		soa->sources = store_load_ref(&entry->sources);
	}
	xfrd_read_end(xfrd);
	return served != STORE_NONE;
}

/* ---- zones --------------------------------------------------------------- */

static int
zones_compare_configs(const void *a, const void *b)
{
	const struct zones_config *one = a, *other = b;
	int order = memcmp(one->counts, other->counts, sizeof(one->counts));
	size_t count = 0;

	for (unsigned i = 0; i < ZONES_LISTS; i++)
		count += one->counts[i];
	return order != 0 ? order
		: memcmp(&one->xfr, &other->xfr, sizeof(one->xfr)
			+ count * sizeof(one->servers[0]));
}

static enum nsd_err
zones_make_config(struct xfr_machine *machine,
	const struct settings_options *options, uint32_t *id)
{
	const struct settings_xfr *xfr = settings_options_xfr(options);
	uint8_t flags[XFR_PRIMARIES_MAX];
	struct xfr_config config = {
		.primaries = flags,
		.notify_tries = xfr->notify_tries,
		.refresh_min_sec = xfr->refresh_min_sec,
		.refresh_max_sec = xfr->refresh_max_sec,
		.retry_min_sec = xfr->retry_min_sec,
		.retry_max_sec = xfr->retry_max_sec,
		.expire_min_sec = xfr->expire_min_sec,
	};
	const struct acl_element *primaries = settings_options_list(options,
		SETTINGS_REQUEST_XFR, &config.primary_count);

	(void)settings_options_list(options, SETTINGS_NOTIFY,
		&config.target_count);
	if (config.primary_count > XFR_PRIMARIES_MAX)
		config.primary_count = XFR_PRIMARIES_MAX;
	if (config.target_count > XFR_TARGETS_MAX)
		config.target_count = XFR_TARGETS_MAX;
	for (uint32_t i = 0; i < config.primary_count; i++)
		flags[i] = (uint8_t)(
			(primaries[i].axfr_only ? XFR_PRIMARY_AXFR : 0)
			| (primaries[i].allow_udp ? XFR_PRIMARY_UDP : 0));
	if (xfr->axfr_fallback)
		config.flags |= XFR_CONFIG_AXFR_FALLBACK;
	if (xfr->check_all)
		config.flags |= XFR_CONFIG_CHECK_ALL;
	if (xfr->expire_min_sec == SETTINGS_EXPIRE_FROM_SOA) {
		config.flags |= XFR_CONFIG_EXPIRE_RULE;
		config.expire_min_sec = 0;
	}
	return xfr_add_config(machine, &config, id);
}

/* Makes a config of options, without its id. NULL: no memory. */
static struct zones_config *
zones_make_key(const struct settings_options *options)
{
	const uint32_t *ends = options->ends + SETTINGS_CLIENT_LISTS;
	uint32_t first = ends[-1], count = ends[ZONES_LISTS - 1] - first;
	struct zones_config *config = malloc(sizeof(*config)
		+ count * sizeof(config->servers[0]));

	if (config == NULL)
		return NULL;
	config->xfr = *settings_options_xfr(options);
	for (unsigned i = 0; i < ZONES_LISTS; i++)
		config->counts[i] = ends[i] - ends[(int)i - 1];
	for (uint32_t i = 0; i < count; i++) {
		config->servers[i] = options->acl[first + i];
		config->servers[i].key = STORE_NONE;
		config->servers[i].needs_key = 0;
	}
	return config;
}

static enum nsd_err
zones_find_config(struct xfrd_zones *zones,
	const struct settings_options *options, uint32_t *id)
{
	struct zones_config *config = zones_make_key(options), **place;
	enum nsd_err err;

	if (config == NULL)
		return NSD_E_MEMORY;
	place = tfind(config, &zones->configs, zones_compare_configs);
	if (place != NULL) {
		*id = (*place)->id;
		free(config);
		return NSD_OK;
	}
	err = zones_make_config(zones->machine, options, &config->id);
	if (err == NSD_OK
		&& tsearch(config, &zones->configs, zones_compare_configs)
			== NULL) {
		xfr_release_config(zones->machine, config->id);
		err = NSD_E_MEMORY;
	}
	if (err != NSD_OK) {
		free(config);
		return err;
	}
	*id = config->id;
	return NSD_OK;
}

enum nsd_err
xfrd_zones_get_config(struct xfrd *xfrd, const struct xfrd_zone *zone,
	uint32_t *config)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	const struct settings_options *lists = xfrd_options_lists(&options);
	enum nsd_err err = options.entry != NULL ? NSD_OK : NSD_E_NOT_FOUND;

	*config = XFR_NONE;
	if (lists != NULL && settings_options_xfr(lists) != NULL)
		err = zones_find_config(&xfrd->zones, lists, config);
	xfrd_read_end(xfrd);
	return err;
}

enum nsd_err
xfrd_zones_begin(struct xfrd *xfrd, struct xfrd_zone *zone, uint32_t config,
	const struct xfr_start *start)
{
	struct xfrd_zones *zones = &xfrd->zones;
	enum nsd_err err;

	assert(zone->handle == XFR_NONE && config != XFR_NONE);
	assert(zone->said == NULL && zone->received.at_sec == 0);
	err = xfr_add_zone(zones->machine, config, start, clock_now_msec(),
		&zone->handle);
	if (err != NSD_OK)
		return err;
	xfr_set_user(zones->machine, zone->handle, zone->number);
	zones->secondary_count += xfr_is_secondary(zones->machine,
		zone->handle);
	zone->incarnation = ++zones->incarnation;
	/* A primary has no handle, but its updates are written. */
	memset(&zone->written, 0, sizeof(zone->written));
	return NSD_OK;
}

void
xfrd_zones_end(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	assert(xfrd_zones_get(xfrd, zone->handle) == zone);
	assert(xfrd->zones.secondary_count <= xfrd->zones.table.count);
	xfrd->zones.secondary_count -= xfr_is_secondary(xfrd->zones.machine,
		zone->handle);
	xfr_remove_zone(xfrd->zones.machine, zone->handle);
	zone->handle = XFR_NONE;
	xfrd_said_forget(&zone->said);
	memset(&zone->written, 0, sizeof(zone->written));
	memset(&zone->received, 0, sizeof(zone->received));
}

struct xfrd_zone *
xfrd_zones_get(const struct xfrd *xfrd, uint32_t handle)
{
	struct xfrd_zone *zone = xfrd_zone_at(&xfrd->zones.table,
		xfr_get_user(xfrd->zones.machine, handle));

	assert(zone != NULL && zone->handle == handle);
	return zone;
}

void
xfrd_zones_hear(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	struct xfrd_soa soa;

	if (zone->handle != XFR_NONE && xfrd_zones_get_soa(xfrd, zone, &soa))
		xfr_on_served(xfrd->zones.machine, zone->handle,
			clock_now_msec(), &soa.numbers);
	xfrd_catalog_hear(xfrd, zone);
	xfrd_zones_go_on(xfrd);
}

void
xfrd_zones_go_on(struct xfrd *xfrd)
{
	static const struct timeval at_once = {.tv_sec = 0};

	event_add(xfrd->zones.event, &at_once);
}

/* ---- start --------------------------------------------------------------- */

/* Returns the number of transfers at a time. Those from one primary share
 * connections, so slow ones leave room for others. */
static uint32_t
zones_count_transfers(const struct xfrd_asks *asks)
{
	uint64_t all = (uint64_t)asks->pool.conns_max
		* asks->pool.per_conn;

	if (all > TRANSFERS_MAX)
		return TRANSFERS_MAX;
	return all < 4 ? 4 : (uint32_t)all;
}

/* Random seeds of the machine's jitter, and of the table's hash. */
struct zones_seeds {
	uint64_t machine;
	uint8_t table[SIPHASH_KEY_LEN];
};

enum nsd_err
xfrd_zones_init(struct xfrd *xfrd)
{
	struct xfrd_zones *zones = &xfrd->zones;
	struct xfr_limits limits = xfr_limits_usual;
	struct zones_seeds seeds = {.machine = 0};
	struct xfrd_walk walk = {.has_last = false};
	enum nsd_err err;

	if (getrandom(&seeds, sizeof(seeds), 0) != (ssize_t)sizeof(seeds))
		seeds.machine = (uint64_t)clock_now_usec();
	limits.transfers = zones_count_transfers(&xfrd->asks);
	xfrd_zone_table_init(&zones->table, seeds.table);
	/* Main starts no xfrd before the loader has listed the zones. */
	err = xfrd_walk(xfrd, &walk, UINT_MAX, NULL);
	return err != NSD_OK ? err
		: xfr_machine_create(&limits, seeds.machine, clock_now_msec(),
			&zones->machine);
}
