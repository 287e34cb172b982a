/* refresh.c - how long to wait for the next check, and when a zone expires
 * (RFC 1035 section 3.3.13, RFC 7314). */
#include "config.h"

#include <assert.h>

#include "xfr/inside.h"

#define MSEC INT64_C(1000)

/* A zone without data: the first retry is after 10 to 20 seconds, later ones
 * after twice the time, up to 10240 to 20480 s. NSD goes on to a day. */
#define EMPTY_RETRY_SEC 10u
#define EMPTY_DOUBLINGS 10u

/* A zone with data: its retry, up to eight times. */
#define DOUBLINGS 3u

/* After a fault of ours: a second, and twice as long each time; but not longer
 * than after other failures. */
#define LOCAL_RETRY_SEC 1u
#define LOCAL_DOUBLINGS 12u

/* A zone that expires before its refresh is not checked more often: just often
 * enough for one that lives for a second. */
#define EARLY_MSEC 900

static uint32_t
bound_period(uint32_t sec, uint32_t min_sec, uint32_t max_sec)
{
	if (sec > max_sec)
		sec = max_sec;
	if (sec < min_sec)
		sec = min_sec;
	return sec == 0 ? 1 : sec;
}

/* Returns nine to ten tenths of a time, so that zones do not come all at once,
 * and not less than a bound. */
static int64_t
jitter_msec(struct xfr_machine *m, int64_t msec, int64_t min_msec)
{
	int64_t tenth = msec / 10;

	if (tenth > UINT32_MAX - 1)
		tenth = UINT32_MAX - 1;
	msec -= table_random(m, (uint32_t)tenth + 1);
	return msec < min_msec ? min_msec : msec;
}

static int64_t
jitter_period(struct xfr_machine *m, uint32_t sec, uint32_t min_sec)
{
	return jitter_msec(m, sec * MSEC, min_sec * MSEC);
}

static uint32_t
refresh_sec(const struct xfr_config *config, const struct xfr_soa *soa)
{
	return bound_period(soa->refresh_sec, config->refresh_min_sec,
		config->refresh_max_sec);
}

static uint32_t
retry_sec(const struct xfr_config *config, const struct xfr_soa *soa)
{
	return bound_period(soa->retry_sec, config->retry_min_sec,
		config->retry_max_sec);
}

/* Returns the pause of a zone that expires before its refresh: it leaves room
 * for a retry before the end, or for half of the time left. None may be left,
 * if the check took longer than the zone lives. */
static int64_t
early_pause(struct xfr_machine *m, int64_t left, uint32_t retry)
{
	int64_t margin = left / 2;

	if (margin > retry * MSEC)
		margin = retry * MSEC;
	left -= margin;
	return left < EARLY_MSEC ? EARLY_MSEC
				 : jitter_msec(m, left, EARLY_MSEC);
}

int64_t
refresh_pause(struct xfr_machine *m, const struct xfr_zone *z, int64_t now)
{
	const struct xfr_config *config = &table_config(m, z)->given;
	uint32_t sec = refresh_sec(config, &z->soa);
	uint32_t retry = retry_sec(config, &z->soa);
	int64_t left = z->expire_at - now;

	if (sec * MSEC < left)
		return jitter_period(m, sec, config->refresh_min_sec);
	if (z->expire_at > z->acquired_at)
		return early_pause(m, left, retry);
	/* The zone expires as soon as it comes. */
	return retry < sec ? jitter_period(m, retry, config->retry_min_sec)
			   : jitter_period(m, sec, config->refresh_min_sec);
}

int64_t
refresh_pause_max(const struct xfr_config *config, const struct xfr_soa *soa)
{
	uint32_t refresh = refresh_sec(config, soa);
	uint32_t retry = retry_sec(config, soa);

	return (refresh > retry ? refresh : retry) * MSEC;
}

/* Returns a time that has doubled this often, up to max_sec. */
static uint32_t
grow_retry(uint32_t sec, unsigned doublings, uint32_t max_sec)
{
	uint64_t grown = (uint64_t)sec << doublings;

	return grown > max_sec ? max_sec : (uint32_t)grown;
}

/* Returns the doublings after this many failed rounds (at least 1). */
static unsigned
doublings_of(unsigned rounds, unsigned most)
{
	return rounds - 1 < most ? rounds - 1 : most;
}

static int64_t
empty_retry_pause(struct xfr_machine *m, const struct xfr_config *config,
	unsigned rounds)
{
	uint32_t sec = grow_retry(EMPTY_RETRY_SEC,
		doublings_of(rounds, EMPTY_DOUBLINGS), UINT32_MAX);
	int64_t msec;

	sec = bound_period(sec, config->retry_min_sec, config->retry_max_sec);
	msec = sec * MSEC + table_random(m, sec) * MSEC;
	return msec > config->retry_max_sec * MSEC ? sec * MSEC : msec;
}

int64_t
refresh_retry_pause(struct xfr_machine *m, const struct xfr_zone *z,
	int64_t now)
{
	const struct xfr_config *config = &table_config(m, z)->given;
	uint32_t least, most, sec;
	int64_t left;

	assert(z->rounds > 0);
	if ((z->flags & ZONE_HAS_DATA) == 0)
		return empty_retry_pause(m, config, z->rounds);
	least = retry_sec(config, &z->soa);
	/* Retries that have grown are not rarer than checks that go well. */
	most = refresh_sec(config, &z->soa);
	if (most > config->retry_max_sec)
		most = config->retry_max_sec;
	if (most < least)
		most = least;
	sec = grow_retry(least, doublings_of(z->rounds, DOUBLINGS), most);
	/* A growing pause leaves more than one chance before the end. */
	left = (z->expire_at - now) / MSEC / 2;
	if (z->expire_at > now && sec > left)
		sec = left < least ? least : (uint32_t)left;
	return jitter_period(m, sec, config->retry_min_sec);
}

int64_t
refresh_local_pause(struct xfr_machine *m, const struct xfr_zone *z,
	int64_t now)
{
	const struct xfr_config *config = &table_config(m, z)->given;
	int64_t usual = refresh_retry_pause(m, z, now);
	int64_t msec = jitter_period(m, LOCAL_RETRY_SEC
		<< doublings_of(z->rounds, LOCAL_DOUBLINGS),
		config->retry_min_sec);

	return msec < usual ? msec : usual;
}

int64_t
refresh_lifetime(const struct xfr_config *config, const struct xfr_soa *soa,
	const struct xfr_reply *reply)
{
	uint64_t sec = soa->expire_sec, least = config->expire_min_sec;
	uint64_t rule = (uint64_t)refresh_sec(config, soa)
		+ retry_sec(config, soa);

	/* A lifetime of 0 would keep the zone from ever being served: BIND and
	 * Knot serve it, too. */
	if (sec == 0)
		sec = rule;
	if (config->flags & XFR_CONFIG_EXPIRE_RULE)
		least = rule + 1;
	if (sec < least)
		sec = least;
	/* RFC 7314 section 4: the primary is a secondary itself, and has had
	 * the zone for some time. No bound of ours gives the zone more. A
	 * primary that is no secondary sends the value of its SOA (section
	 * 3). */
	if (reply != NULL && reply->has_expire && reply->expire_sec < sec
		&& reply->expire_sec != soa->expire_sec)
		sec = reply->expire_sec;
	/* A secondary whose zone is about to expire says 1 where the SOA says
	 * 0, so that its reply does not look like a primary's. */
	if (reply != NULL && reply->has_expire && soa->expire_sec == 0
		&& reply->expire_sec == 1)
		sec = 0;
	return (int64_t)sec * MSEC;
}

void
refresh_zone(struct xfr_machine *m, uint32_t id, int64_t now,
	const struct xfr_reply *reply, bool is_new)
{
	struct xfr_zone *z = table_zone(m, id);
	const struct xfr_config *config = &table_config(m, z)->given;
	int64_t at = now + refresh_lifetime(config, &z->soa, reply);

	z->acquired_at = now;
	/* RFC 7314 section 4: the option does not shorten the life of a version
	 * that we have already. */
	if (!is_new && reply != NULL && reply->has_expire
		&& z->expire_at != XFR_NEVER && at < z->expire_at)
		at = z->expire_at;
	z->expire_at = at;
	/* An expiry at once has been reported already. */
	if (at > now)
		z->flags &= (uint16_t)~ZONE_EXPIRED;
	queue_tell(m, id);
	queue_set_timer(m, id);
}
