/* state_print.c - writes xfrd.state, as NSD does. */
#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "xfr/state.h"

struct state_text {
	char *out; /* of XFR_STATE_TEXT_MAX octets */
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void
add_line(struct state_text *t, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(t->out + t->len, XFR_STATE_TEXT_MAX - t->len, format,
		args);
	va_end(args);
	assert(len >= 0 && (size_t)len < XFR_STATE_TEXT_MAX - t->len);
	t->len += (size_t)len;
}

/* Adds a period as " 1d 1h 1m 1s", without parts that are zero; or " 0s". */
static void
add_period(struct state_text *t, int64_t sec)
{
	static const struct {
		int64_t sec;
		char letter;
	} units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};

	if (sec == 0)
		add_line(t, " 0s");
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (sec / units[i].sec > 0)
			add_line(t, " %" PRId64 "%c", sec / units[i].sec,
				units[i].letter);
		sec %= units[i].sec;
	}
}

static void
add_name(struct state_text *t, const uint8_t *name)
{
	char text[NAME_TEXT_MAX];

	name_print_text(name, text);
	/* A '#' at the start of a word would begin a comment. */
	if (text[0] == '#')
		add_line(t, "\\035%s", text + 1);
	else
		add_line(t, "%s", text);
}

size_t
xfr_state_print_head(int64_t filetime_sec, uint32_t zone_count,
	char out[XFR_STATE_TEXT_MAX])
{
	struct state_text t = {.out = out};
	time_t when = (time_t)filetime_sec;
	char date[64];

	if (ctime_r(&when, date) == NULL)
		strcpy(date, "unknown\n");
	add_line(&t, "NSDXFRD2\n"
		"# Times and states of secondary zones. The server reads them\n"
		"# when it starts, and writes them once a minute (of many zones\n"
		"# once an hour) and when it stops: changes that others make are\n"
		"# lost. The words have a fixed order.\n"
		"#\n"
		"# A zone that is left out is checked at the next start.\n"
		"# Without the file all are.\n\n");
	add_line(&t, "filetime: %" PRId64 "\t# %s\n", filetime_sec, date);
	add_line(&t, "numzones: %" PRIu32 "\n\n", zone_count);
	return t.len;
}

static void
add_soa(struct state_text *t, const struct xfr_state_soa *soa,
	const char *which, int64_t filetime_sec)
{
	add_line(t, "\t%s_acquired: %" PRId64, which, soa->acquired_sec);
	if (soa->acquired_sec == 0) {
		add_line(t, "\n");
		return;
	}
	if (soa->acquired_sec <= filetime_sec) {
		add_line(t, "\t# was");
		add_period(t, filetime_sec - soa->acquired_sec);
		add_line(t, " ago");
	}
	add_line(t, "\n\t%s: 6 1 %" PRIu32 " 7 ", which, soa->ttl_sec);
	add_name(t, soa->mname);
	add_line(t, " ");
	add_name(t, soa->rname);
	add_line(t, " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32
		"\n\t# refresh =",
		soa->serial, soa->refresh_sec, soa->retry_sec,
		soa->expire_sec, soa->minimum_sec);
	add_period(t, soa->refresh_sec);
	add_line(t, " retry =");
	add_period(t, soa->retry_sec);
	add_line(t, " expire =");
	add_period(t, soa->expire_sec);
	add_line(t, " minimum =");
	add_period(t, soa->minimum_sec);
	add_line(t, "\n");
}

size_t
xfr_state_print_zone(const struct xfr_state_zone *zone, int64_t filetime_sec,
	char out[XFR_STATE_TEXT_MAX])
{
	static const char *const states[] = {
		[XFR_STATE_OK] = "OK",
		[XFR_STATE_REFRESHING] = "refreshing",
		[XFR_STATE_EXPIRED] = "expired",
	};
	static const char *const which[] = {
		[XFR_STATE_NSD] = "soa_nsd",
		[XFR_STATE_DISK] = "soa_disk",
		[XFR_STATE_NOTIFY] = "soa_notify",
	};
	struct state_text t = {.out = out};

	assert(zone->state <= XFR_STATE_EXPIRED);
	add_line(&t, "zone: \tname: ");
	add_name(&t, zone->name);
	add_line(&t, "\n\tstate: %" PRIu32 " # %s\n\tmaster: %" PRIu32
		"\n\tnext_master: %" PRId32 "\n\tround_num: %" PRId32
		"\n\tnext_timeout: %" PRIu32,
		zone->state, states[zone->state], zone->master,
		zone->next_master, zone->round_num, zone->next_timeout_sec);
	if (zone->next_timeout_sec > 0) {
		add_line(&t, "\t# =");
		add_period(&t, zone->next_timeout_sec);
	}
	add_line(&t, "\n\tbackoff: %" PRIu32 "\n", zone->backoff);
	for (unsigned i = 0; i < XFR_STATE_SOAS; i++)
		add_soa(&t, &zone->soas[i], which[i], filetime_sec);
	add_line(&t, "\n");
	return t.len;
}

size_t
xfr_state_print_tail(char out[XFR_STATE_TEXT_MAX])
{
	struct state_text t = {.out = out};

	add_line(&t, "NSDXFRD2\n");
	return t.len;
}
