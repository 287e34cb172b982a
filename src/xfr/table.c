/* table.c - zones, configs and requests by number. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "xfr/inside.h"

uint32_t
table_random(struct xfr_machine *m, uint32_t below)
{
	uint64_t z = m->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	return (uint32_t)((z >> 32) * below >> 32);
}

/* ---- zones -------------------------------------------------------------- */

static enum nsd_err
add_chunk(struct xfr_machine *m)
{
	struct xfr_zone **chunks = grow_array(m->chunks, m->chunk_count,
		&m->chunk_room, sizeof(*chunks));

	if (chunks == NULL)
		return NSD_E_MEMORY;
	m->chunks = chunks;
	chunks[m->chunk_count] = calloc(ZONES_A_CHUNK, sizeof(**chunks));
	if (chunks[m->chunk_count] == NULL)
		return NSD_E_MEMORY;
	m->chunk_count++;
	return NSD_OK;
}

enum nsd_err
table_add_zone(struct xfr_machine *m, uint32_t *id)
{
	struct xfr_zone *z;
	enum nsd_err err;

	if (m->zone_unused != XFR_NONE) {
		*id = m->zone_unused;
		m->zone_unused = table_zone(m, *id)->next;
	} else {
		if (m->zone_end == XFR_NONE - 1)
			return NSD_E_MEMORY;
		if (m->zone_end == m->chunk_count * ZONES_A_CHUNK) {
			err = add_chunk(m);
			if (err != NSD_OK)
				return err;
		}
		err = timers_reserve(&m->timers, m->zone_end);
		if (err != NSD_OK)
			return err;
		*id = m->zone_end++;
	}
	z = table_zone(m, *id);
	memset(z, 0, sizeof(*z));
	z->flags = ZONE_USED;
	z->check_at = z->expire_at = XFR_NEVER;
	z->request = z->jobs = z->next = z->previous = z->tell_next = XFR_NONE;
	z->queue = QUEUE_NONE;
	z->hint = z->best = z->error_primary = INDEX_NONE;
	z->error = XFR_OUTCOME_COUNT;
	m->zone_count++;
	return NSD_OK;
}

void
table_remove_zone(struct xfr_machine *m, uint32_t id)
{
	struct xfr_zone *z = table_zone(m, id);

	assert(z->flags & ZONE_USED);
	timers_remove(&m->timers, id);
	m->zone_count--;
	z->flags &= ZONE_TELL;
	if (z->flags == 0)
		table_free_zone(m, id);
}

void
table_free_zone(struct xfr_machine *m, uint32_t id)
{
	table_zone(m, id)->next = m->zone_unused;
	m->zone_unused = id;
}

/* ---- configs ------------------------------------------------------------ */

enum nsd_err
xfr_add_config(struct xfr_machine *m, const struct xfr_config *config,
	uint32_t *id)
{
	struct primary *primaries;
	uint8_t *slowness;
	struct config *configs;

	if (config->primary_count > XFR_PRIMARIES_MAX
		|| config->target_count > XFR_TARGETS_MAX)
		return NSD_E_LIMIT;
	primaries = calloc(config->primary_count + 1, sizeof(*primaries));
	slowness = calloc(config->target_count + 1, 1);
	if (primaries == NULL || slowness == NULL)
		goto fail;
	for (uint32_t i = 0; i < config->primary_count; i++)
		primaries[i].flags = config->primaries[i];
	*id = m->config_unused;
	if (*id != XFR_NONE) {
		m->config_unused = m->configs[*id].next;
	} else {
		configs = grow_array(m->configs, m->config_end,
			&m->config_room, sizeof(*configs));
		if (configs == NULL)
			goto fail;
		m->configs = configs;
		*id = (uint32_t)m->config_end++;
	}
	m->configs[*id] = (struct config){.given = *config,
		.primaries = primaries, .slowness = slowness,
		.holders = 1};
	m->configs[*id].given.primaries = NULL;
	m->config_count++;
	return NSD_OK;
fail:
	free(primaries);
	free(slowness);
	return NSD_E_MEMORY;
}

void
table_hold_config(struct xfr_machine *m, uint32_t id)
{
	assert(id < m->config_end && m->configs[id].holders > 0);
	m->configs[id].holders++;
}

void
table_drop_config(struct xfr_machine *m, uint32_t id)
{
	struct config *config = &m->configs[id];

	assert(id < m->config_end && config->holders > 0);
	if (--config->holders > 0)
		return;
	free(config->primaries);
	free(config->slowness);
	config->primaries = NULL;
	config->slowness = NULL;
	config->next = m->config_unused;
	m->config_unused = id;
	m->config_count--;
}

void
xfr_release_config(struct xfr_machine *m, uint32_t id)
{
	table_drop_config(m, id);
}

/* ---- requests ----------------------------------------------------------- */

uint32_t
table_add_request(struct xfr_machine *m, uint32_t zone)
{
	uint32_t id = m->request_unused;
	struct xfr_request *requests, *r;

	if (id != XFR_NONE) {
		m->request_unused = m->requests[id].next;
	} else {
		requests = grow_array(m->requests, m->request_end,
			&m->request_room, sizeof(*requests));
		if (requests == NULL)
			return XFR_NONE;
		m->requests = requests;
		id = (uint32_t)m->request_end++;
		requests[id].generation = 0;
	}
	r = &m->requests[id];
	r->zone = zone;
	r->state = REQUEST_SENT;
	r->queue = QUEUE_NONE;
	r->is_notify = false;
	/* Generation 0 is left out, so that no ticket is XFR_NO_TICKET. */
	if (++r->generation == 0)
		r->generation = 1;
	r->ticket = table_ticket(id, r->generation);
	return id;
}

void
table_remove_request(struct xfr_machine *m, uint32_t id)
{
	struct xfr_request *r = &m->requests[id];

	assert(r->state != REQUEST_FREE);
	r->state = REQUEST_FREE;
	r->next = m->request_unused;
	m->request_unused = id;
}

uint32_t
table_find_request(const struct xfr_machine *m, uint64_t ticket)
{
	uint32_t id = (uint32_t)ticket;
	const struct xfr_request *r;

	if (id >= m->request_end)
		return XFR_NONE;
	r = &m->requests[id];
	return r->ticket == ticket && (r->state == REQUEST_SENT
			|| r->state == REQUEST_RECEIVED) ? id : XFR_NONE;
}

void
table_cancel(struct xfr_machine *m, uint32_t zone, uint64_t ticket)
{
	uint32_t id = table_find_request(m, ticket);

	/* A NOTIFY has no request yet: one carries its ticket. */
	if (id == XFR_NONE) {
		id = table_add_request(m, zone);
		if (id == XFR_NONE)
			return;
		m->requests[id].ticket = ticket;
		m->requests[id].is_notify = true;
	}
	m->requests[id].state = REQUEST_CANCELLED;
	m->requests[id].next = m->cancelled;
	m->cancelled = id;
}
