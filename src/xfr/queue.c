/* queue.c - queues of zones that wait for a turn or a timer, or are to be told
 * of. */
#include "config.h"

#include <assert.h>

#include "xfr/inside.h"

static void
queue_enter(struct xfr_machine *m, enum queue_id queue, uint32_t id)
{
	struct xfr_zone *z = table_zone(m, id);

	assert(z->queue == QUEUE_NONE);
	z->queue = (uint8_t)queue;
	z->next = z->previous = XFR_NONE;
	m->queues[queue].count++;
}

void
queue_append(struct xfr_machine *m, enum queue_id queue, uint32_t id)
{
	struct queue *q = &m->queues[queue];

	queue_enter(m, queue, id);
	table_zone(m, id)->previous = q->last;
	if (q->last == XFR_NONE)
		q->first = id;
	else
		table_zone(m, q->last)->next = id;
	q->last = id;
}

void
queue_prepend(struct xfr_machine *m, enum queue_id queue, uint32_t id)
{
	struct queue *q = &m->queues[queue];

	queue_enter(m, queue, id);
	table_zone(m, id)->next = q->first;
	if (q->first == XFR_NONE)
		q->last = id;
	else
		table_zone(m, q->first)->previous = id;
	q->first = id;
}

void
queue_remove(struct xfr_machine *m, uint32_t id)
{
	struct xfr_zone *z = table_zone(m, id);
	struct queue *q;

	if (z->queue == QUEUE_NONE)
		return;
	q = &m->queues[z->queue];
	if (z->previous == XFR_NONE)
		q->first = z->next;
	else
		table_zone(m, z->previous)->next = z->next;
	if (z->next == XFR_NONE)
		q->last = z->previous;
	else
		table_zone(m, z->next)->previous = z->previous;
	q->count--;
	z->queue = QUEUE_NONE;
	z->next = z->previous = XFR_NONE;
}

void
queue_set_timer(struct xfr_machine *m, uint32_t id)
{
	const struct xfr_zone *z = table_zone(m, id);
	int64_t at = XFR_NEVER;

	if (check_is_idle(z))
		at = z->check_at;
	if ((z->flags & (ZONE_HAS_DATA | ZONE_EXPIRED)) == ZONE_HAS_DATA
		&& z->expire_at < at)
		at = z->expire_at;
	if (at == XFR_NEVER)
		timers_remove(&m->timers, id);
	else
		timers_set(&m->timers, id, at);
}

/* ---- expiries that are to be told --------------------------------------- */

void
queue_tell(struct xfr_machine *m, uint32_t id)
{
	struct xfr_zone *z = table_zone(m, id);

	if (z->flags & ZONE_TELL)
		return;
	z->flags |= ZONE_TELL;
	z->tell_next = XFR_NONE;
	if (m->tell_first == XFR_NONE)
		m->tell_first = id;
	else
		table_zone(m, m->tell_last)->tell_next = id;
	m->tell_last = id;
}

uint32_t
queue_take_tell(struct xfr_machine *m)
{
	uint32_t id;
	struct xfr_zone *z;

	while ((id = m->tell_first) != XFR_NONE) {
		z = table_zone(m, id);
		m->tell_first = z->tell_next;
		z->flags &= (uint16_t)~ZONE_TELL;
		if (z->flags & ZONE_USED)
			return id;
		/* The zone was removed meanwhile. */
		table_free_zone(m, id);
	}
	return XFR_NONE;
}
