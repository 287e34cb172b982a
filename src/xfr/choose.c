/*
 * choose.c - which primary is asked next, for what, and how long it is waited
 * for.
 *
 * Primaries are tried in order, those that are silent last. As long as another
 * one can be asked, one that says nothing is not waited for long: it is asked
 * again at the end of the check, with patience (doc/decisions/0112).
 */
#include "config.h"

#include <assert.h>

#include "dns/serial.h"
#include "xfr/inside.h"

/* A primary that has let this many requests time out, of any zones of the
 * config, is asked after the others, and over UDP alone; except by one check in
 * SILENT_MSEC, which asks it as any other. */
#define SILENT_TIMEOUTS 4u
#define SILENT_MSEC 30000

/* The time for which a primary that does not do EDNS is asked without. */
#define NO_EDNS_SEC 3600u

bool
choose_checks_all(const struct xfr_machine *m, const struct xfr_zone *z)
{
	return (table_config(m, z)->given.flags & XFR_CONFIG_CHECK_ALL) != 0
		&& (z->flags & ZONE_FORCED) == 0;
}

bool
choose_is_wanted(const struct xfr_zone *z, uint32_t serial)
{
	return (z->flags & (ZONE_HAS_DATA | ZONE_EXPIRED)) != ZONE_HAS_DATA
		|| serial_is_newer(serial, z->soa.serial);
}

/* ---- the primary -------------------------------------------------------- */

static bool
is_silent(const struct primary *p)
{
	return p->timeouts >= SILENT_TIMEOUTS;
}

bool
choose_is_avoided(const struct primary *p, int64_t now)
{
	return is_silent(p) && now < p->silent_until;
}

/* Finds the primary that comes next, by order. */
static uint8_t
find_next(const struct config *config, const struct xfr_zone *z, int64_t now)
{
	uint8_t avoided = INDEX_NONE;

	if (z->hint < config->given.primary_count
		&& (z->tried & primary_bit(z->hint)) == 0)
		return z->hint;
	for (uint32_t i = 0; i < config->given.primary_count; i++) {
		if (z->tried & primary_bit(i))
			continue;
		if (!choose_is_avoided(&config->primaries[i], now))
			return (uint8_t)i;
		if (avoided == INDEX_NONE)
			avoided = (uint8_t)i;
	}
	return avoided;
}

uint8_t
choose_next(struct xfr_machine *m, struct xfr_zone *z, int64_t now)
{
	const struct config *config = table_config(m, z);
	uint8_t primary = find_next(config, z, now);

	if (primary == INDEX_NONE)
		return INDEX_NONE;
	z->tried |= primary_bit(primary);
	z->is_full = !choose_is_avoided(&config->primaries[primary], now);
	return primary;
}

bool
choose_again(struct xfr_machine *m, struct xfr_zone *z)
{
	if (z->slow == 0)
		return false;
	z->tried = choose_all(table_config(m, z)) & ~z->slow;
	z->slow = 0;
	z->retries_slow = true;
	z->needs_tcp = false;
	return true;
}

void
choose_note(struct xfr_machine *m, const struct xfr_zone *z,
	const struct xfr_request *request, int64_t now,
	enum xfr_outcome outcome)
{
	struct primary *p = &table_config(m, z)->primaries[request->primary];
	bool is_udp = request->query == XFR_QUERY_SOA_UDP
		|| request->query == XFR_QUERY_IXFR_UDP;

	if (outcome == XFR_LOCAL)
		return;
	if (outcome != XFR_TIMEOUT && outcome != XFR_UNREACHABLE) {
		p->timeouts = 0;
		return;
	}
	/* A single datagram may be lost; TCP follows, unless others are to
	 * be asked. */
	if ((is_udp && (!request->has_others || outcome != XFR_TIMEOUT))
		|| request->is_trial || is_silent(p))
		return;
	if (++p->timeouts == SILENT_TIMEOUTS)
		p->silent_until = now + SILENT_MSEC;
}

/* ---- for what ----------------------------------------------------------- */

bool
choose_edns(const struct xfr_machine *m, const struct xfr_zone *z,
	uint32_t primary, int64_t now)
{
	return now / 1000 >= table_config(m, z)->primaries[primary]
		.no_edns_until_sec;
}

void
choose_note_no_edns(struct xfr_machine *m, const struct xfr_zone *z,
	uint32_t primary, int64_t now)
{
	table_config(m, z)->primaries[primary].no_edns_until_sec =
		(uint32_t)(now / 1000) + NO_EDNS_SEC;
}

void
choose_note_edns(struct xfr_machine *m, const struct xfr_zone *z,
	const struct xfr_request *request, int64_t now,
	const struct xfr_reply *reply)
{
	struct primary *p = &table_config(m, z)->primaries[request->primary];
	bool is_silent = reply->outcome == XFR_TIMEOUT
		|| reply->outcome == XFR_UNREACHABLE;

	if (request->query <= XFR_QUERY_SOA_TCP || reply->outcome == XFR_LOCAL
		|| (is_silent && !reply->has_begun))
		return;
	if (request->has_edns)
		p->is_doubted = false;
	else if (request->is_trial && z->is_proof)
		choose_note_no_edns(m, z, request->primary, now);
	else if (request->is_trial)
		p->is_doubted = true;
}

static bool
has_ixfr(const struct xfr_zone *z, const struct primary *p, uint32_t primary,
	int64_t now)
{
	if ((z->flags & ZONE_HAS_DATA) == 0 || (z->flags & ZONE_FORCED) != 0
		|| (p->flags & XFR_PRIMARY_AXFR) != 0)
		return false;
	return (z->no_ixfr & primary_bit(primary)) == 0
		|| now / 1000 >= z->no_ixfr_until_sec;
}

enum xfr_query
choose_transfer(const struct xfr_machine *m, const struct xfr_zone *z,
	uint32_t primary, const uint32_t *serial, int64_t now)
{
	const struct primary *p = &table_config(m, z)->primaries[primary];

	if (!has_ixfr(z, p, primary, now))
		return XFR_QUERY_AXFR;
	/* No differences lead back. */
	if (serial != NULL && !serial_is_newer(*serial, z->soa.serial))
		return XFR_QUERY_AXFR;
	return p->flags & XFR_PRIMARY_UDP ? XFR_QUERY_IXFR_UDP
					  : XFR_QUERY_IXFR_TCP;
}

enum xfr_query
choose_first(const struct xfr_machine *m, const struct xfr_zone *z,
	uint32_t primary, int64_t now)
{
	const struct primary *p = &table_config(m, z)->primaries[primary];
	enum xfr_query probe = z->retries_slow ? XFR_QUERY_SOA_TCP
					   : XFR_QUERY_SOA_UDP;

	if (choose_checks_all(m, z) || is_silent(p))
		return probe;
	if ((z->flags & (ZONE_HAS_DATA | ZONE_FORCED)) != ZONE_HAS_DATA)
		return XFR_QUERY_AXFR;
	/* IXFR is a check by itself. If the primary does not have the serial of
	 * a NOTIFY, it answers with an SOA, where an AXFR would bring the zone
	 * again. But only a primary that has just spoken is asked so: a
	 * connection to one that is down would be held long. */
	if ((z->flags & ZONE_PROMISED) != 0 && primary == z->hint
		&& !z->retries_slow && choose_is_wanted(z, z->promised)
		&& has_ixfr(z, p, primary, now))
		return choose_transfer(m, z, primary, &z->promised, now);
	return probe;
}

bool
choose_has_others(const struct xfr_machine *m, const struct xfr_zone *z)
{
	const struct config *config = table_config(m, z);
	uint64_t others = choose_all(config) & ~primary_bit(z->primary);

	if (z->retries_slow || z->query == XFR_QUERY_SOA_TCP)
		return false;
	if (!choose_checks_all(m, z))
		others &= ~z->tried;
	else if (z->query != XFR_QUERY_SOA_UDP)
		others &= z->newer;
	for (uint32_t i = 0; i < config->given.primary_count; i++)
		if ((others & primary_bit(i)) != 0
			&& !is_silent(&config->primaries[i]))
			return true;
	return false;
}

/* Chooses the first primary of a check anew. False: the zone waits in another
 * queue now. */
static bool
choose_anew(struct xfr_machine *m, uint32_t id, int64_t now)
{
	struct xfr_zone *z = table_zone(m, id);
	enum xfr_query query;

	z->tried = 0;
	z->primary = choose_next(m, z, now);
	query = choose_first(m, z, z->primary, now);
	if ((query > XFR_QUERY_SOA_TCP) == (z->query > XFR_QUERY_SOA_TCP)) {
		z->query = (uint8_t)query;
		return true;
	}
	queue_remove(m, id);
	choose_ask(m, id, z->primary, query);
	return false;
}

bool
choose_on_turn(struct xfr_machine *m, uint32_t id, int64_t now)
{
	struct xfr_zone *z = table_zone(m, id);
	const struct primary *p = &table_config(m, z)->primaries[z->primary];

	return (z->flags & ZONE_CHECKING) != 0 || !choose_is_avoided(p, now)
		|| choose_anew(m, id, now);
}

void
choose_on_sent(struct xfr_machine *m, const struct xfr_zone *z, int64_t now)
{
	struct primary *p = &table_config(m, z)->primaries[z->primary];

	if (z->is_full && is_silent(p))
		p->silent_until = now + SILENT_MSEC;
}

void
choose_ask(struct xfr_machine *m, uint32_t id, uint32_t primary,
	enum xfr_query query)
{
	struct xfr_zone *z = table_zone(m, id);
	bool is_transfer = query > XFR_QUERY_SOA_TCP;
	enum queue_id queue;

	z->primary = (uint8_t)primary;
	z->query = (uint8_t)query;
	if (z->flags & ZONE_URGENT)
		queue = is_transfer ? QUEUE_URGENT_TRANSFER
				    : QUEUE_URGENT_PROBE;
	else
		queue = is_transfer ? QUEUE_TRANSFER : QUEUE_PROBE;
	/* A check that has begun goes on before others begin. */
	if (z->flags & ZONE_CHECKING)
		queue_prepend(m, queue, id);
	else
		queue_append(m, queue, id);
	queue_set_timer(m, id);
}
