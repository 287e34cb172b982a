/* status.c - the state of a zone, and counts of all zones. */
#include "config.h"

#include <assert.h>

#include "xfr/inside.h"

const char *
xfr_outcome_text(enum xfr_outcome outcome)
{
#define TEXT(name, text) [name] = text,
	static const char *const texts[] = {XFR_OUTCOME_LIST(TEXT)};
#undef TEXT

	return outcome < XFR_OUTCOME_COUNT ? texts[outcome] : "no outcome";
}

static enum xfr_state
state_of(const struct xfr_zone *z, int64_t now)
{
	if ((z->flags & ZONE_HAS_DATA) == 0 || z->expire_at <= now)
		return XFR_STATE_EXPIRED;
	return (z->flags & (ZONE_FAILED | ZONE_CHECKING)) != 0 || z->rounds > 0
		? XFR_STATE_REFRESHING
		: XFR_STATE_OK;
}

/* Returns the primary that the next check begins with. */
static uint32_t
first_primary(const struct xfr_machine *m, const struct xfr_zone *z)
{
	if (table_config(m, z)->given.primary_count == 0)
		return XFR_NONE;
	return z->hint != INDEX_NONE ? z->hint : 0;
}

void
xfr_get_status(const struct xfr_machine *m, uint32_t zone, int64_t now,
	struct xfr_status *status)
{
	const struct xfr_zone *z = table_zone(m, zone);
	const struct xfr_request *request = z->request != XFR_NONE
		? &m->requests[z->request] : NULL;
	bool is_again = (z->flags & ZONE_AGAIN_SERIAL) != 0;

	assert(zone < m->zone_end && (z->flags & ZONE_USED) != 0);
	*status = (struct xfr_status){
		.state = state_of(z, now),
		.is_checking = !check_is_idle(z) || (z->flags & (ZONE_CHECKING
			| ZONE_NOTIFIED | ZONE_AGAIN)) != 0,
		.has_data = (z->flags & ZONE_HAS_DATA) != 0,
		.soa = z->soa,
		.acquired_at = z->acquired_at,
		.served_at = z->served_at,
		.check_at = z->check_at,
		.expire_at = z->expire_at,
		.lifetime_msec = refresh_lifetime(
			&table_config(m, z)->given, &z->soa, NULL),
		.is_notified = is_again || (z->flags & ZONE_PROMISED) != 0,
		.notified_serial = is_again ? z->again_serial : z->promised,
		.primary = request != NULL ? request->primary : XFR_NONE,
		.query = request != NULL ? (enum xfr_query)request->query
				       : XFR_QUERY_SOA_UDP,
		.turn_primary = z->queue != QUEUE_NONE
				&& (z->flags & ZONE_CHECKING) != 0
			? z->primary : XFR_NONE,
		.next_primary = first_primary(m, z),
		.failed_rounds = z->rounds,
		.notifying = notifies_count(m, zone),
		.notifying_slow = notifies_count_slow(m, zone),
		.is_told = z->is_told,
		.unheard = z->unheard,
		.has_error = z->error != XFR_OUTCOME_COUNT,
		.error = (enum xfr_outcome)z->error,
		.error_rcode = z->error_rcode,
		.error_reason = z->error_reason,
		.error_primary = z->error_primary == INDEX_NONE
			? XFR_NONE : z->error_primary,
		.error_at = z->error_at,
	};
}

uint32_t
xfr_list_notifying(const struct xfr_machine *m, uint32_t zone,
	uint16_t *targets, uint32_t max)
{
	uint32_t count = 0, id = table_zone(m, zone)->jobs;

	for (; id != XFR_NONE && count < max; id = m->jobs.items[id].of_zone)
		targets[count++] = m->jobs.items[id].target;
	return count;
}

void
xfr_get_counts(const struct xfr_machine *m, struct xfr_counts *counts)
{
	const struct queue *q = m->queues;

	*counts = (struct xfr_counts){
		.zones = m->zone_count,
		.configs = m->config_count,
		.probes = q[QUEUE_PROBE].under_way
			+ q[QUEUE_URGENT_PROBE].under_way,
		.transfers = q[QUEUE_TRANSFER].under_way
			+ q[QUEUE_URGENT_TRANSFER].under_way,
		.notifies = m->jobs.sent,
		.urgent = q[QUEUE_URGENT_PROBE].count
			+ q[QUEUE_URGENT_TRANSFER].count,
		.waiting = q[QUEUE_PROBE].count + q[QUEUE_TRANSFER].count,
		.octets = sizeof(*m)
			+ m->chunk_count * ZONES_A_CHUNK
				* sizeof(struct xfr_zone)
			+ m->chunk_room * sizeof(*m->chunks)
			+ (m->timers.heap_room + m->jobs.timers.heap_room)
				* sizeof(struct timer)
			+ (m->timers.places_room + m->jobs.timers.places_room)
				* sizeof(uint32_t)
			+ m->config_room * sizeof(struct config)
			+ m->request_room * sizeof(struct xfr_request)
			+ m->jobs.room * sizeof(struct job),
	};
}
