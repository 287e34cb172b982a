/* periods.c - periodic log lines: counters, and the figures of RSSAC002. */
#include "config.h"

#include <event2/event.h>
#include <time.h>

#include "main/children.h"
#include "main/periods.h"
#include "main/rssac_log.h"
#include "main/supervisor.h"

void
periods_log(struct supervisor *s)
{
	children_tell(s, IPC_STATISTICS);
	if (s->server.conf->server.rssac002)
		rssac_log_write(&s->rssac_log, &s->server, time(NULL));
}

static void
periods_on_statistics(evutil_socket_t fd, short what, void *arg)
{
	periods_log(arg);
}

static void
periods_begin_statistics(struct supervisor *s)
{
	struct timeval period = {
		.tv_sec = (time_t)s->server.conf->server.statistics,
	};

	event_del(s->statistics_event);
	if (period.tv_sec > 0)
		event_add(s->statistics_event, &period);
}

/* The figures of RSSAC002 are those of a UTC day. */
static void
periods_begin_day(struct supervisor *s, time_t now)
{
	struct timeval wait = {.tv_sec = rssac_log_seconds_left(now)};

	rssac_log_begin(&s->rssac_log, &s->server, now);
	event_add(s->day_event, &wait);
}

static void
periods_on_day(evutil_socket_t fd, short what, void *arg)
{
	struct supervisor *s = arg;
	time_t now = time(NULL);

	rssac_log_write(&s->rssac_log, &s->server, now);
	periods_begin_day(s, now);
}

enum nsd_err
periods_init(struct supervisor *s)
{
	s->statistics_event = event_new(s->base, -1, EV_PERSIST,
		periods_on_statistics, s);
	s->day_event = event_new(s->base, -1, 0, periods_on_day, s);
	return s->statistics_event != NULL && s->day_event != NULL
		? NSD_OK : NSD_E_MEMORY;
}

void
periods_begin(struct supervisor *s)
{
	periods_begin_statistics(s);
	if (s->server.conf->server.rssac002)
		periods_begin_day(s, time(NULL));
}

void
periods_follow(struct supervisor *s, const struct conf *before)
{
	const struct conf_server *o = &s->server.conf->server;

	if (o->statistics != before->server.statistics)
		periods_begin_statistics(s);
	if (o->rssac002 == before->server.rssac002)
		return;
	if (o->rssac002) {
		periods_begin_day(s, time(NULL));
		return;
	}
	/* The figures of a day that is not over are logged now, or they would
	 * be lost. */
	rssac_log_write(&s->rssac_log, &s->server, time(NULL));
	event_del(s->day_event);
}
