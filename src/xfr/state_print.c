/* state_print.c - writes xfrd.state, as NSD does. */
#include "config.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "xfr/state.h"

struct state_text {
	char *out; /* of XFR_STATE_TEXT_MAX octets */
	size_t len;
};

/* The text of a zone is made of parts and not by printf(), which took half of
 * the time: with many zones there are millions of parts. */
static void
state_add_text(struct state_text *t, const char *text)
{
	size_t len = strlen(text);

	assert(len < XFR_STATE_TEXT_MAX - t->len);
	memcpy(t->out + t->len, text, len + 1);
	t->len += len;
}

static void
state_add_number(struct state_text *t, int64_t number)
{
	char text[24], *at = text + sizeof(text) - 1;
	uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;

	*at = '\0';
	do
		*--at = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (number < 0)
		*--at = '-';
	state_add_text(t, at);
}

/* Adds a period as " 1d 1h 1m 1s", without parts that are zero; or " 0s". */
static void
state_add_period(struct state_text *t, int64_t sec)
{
	static const struct {
		int64_t sec;
		const char *letter;
	} units[] = {{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}};

	if (sec == 0)
		state_add_text(t, " 0s");
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (sec / units[i].sec > 0) {
			state_add_text(t, " ");
			state_add_number(t, sec / units[i].sec);
			state_add_text(t, units[i].letter);
		}
		sec %= units[i].sec;
	}
}

/* Adds a comment of a period, as "what 1h". */
static void
state_add_named(struct state_text *t, const char *what, int64_t sec)
{
	state_add_text(t, what);
	state_add_period(t, sec);
}

/* Adds a word and a number behind it. */
static void
state_add_value(struct state_text *t, const char *what, int64_t number)
{
	state_add_text(t, what);
	state_add_number(t, number);
}

static void
state_add_name(struct state_text *t, const uint8_t *name)
{
	char text[NAME_TEXT_MAX];

	name_print_text(name, text);
	/* A '#' at the start of a word would begin a comment. */
	if (text[0] == '#')
		state_add_text(t, "\\035");
	state_add_text(t, text + (text[0] == '#'));
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
	state_add_text(&t, "NSDXFRD2\n"
		"# Times and states of secondary zones. The server reads them\n"
		"# when it starts, and writes them once a minute (of many zones\n"
		"# once an hour) and when it stops: changes that others make are\n"
		"# lost. The words have a fixed order.\n"
		"#\n"
		"# A zone that is left out is checked at the next start.\n"
		"# Without the file all are.\n\n");
	state_add_value(&t, "filetime: ", filetime_sec);
	state_add_text(&t, "\t# ");
	state_add_text(&t, date);
	state_add_value(&t, "\nnumzones: ", zone_count);
	state_add_text(&t, "\n\n");
	return t.len;
}

static void
state_add_soa(struct state_text *t, const struct xfr_state_soa *soa,
	const char *which, int64_t filetime_sec)
{
	state_add_text(t, "\t");
	state_add_text(t, which);
	state_add_value(t, "_acquired: ", soa->acquired_sec);
	if (soa->acquired_sec == 0) {
		state_add_text(t, "\n");
		return;
	}
	if (soa->acquired_sec <= filetime_sec) {
		state_add_named(t, "\t# was",
			filetime_sec - soa->acquired_sec);
		state_add_text(t, " ago");
	}
	state_add_text(t, "\n\t");
	state_add_text(t, which);
	state_add_value(t, ": 6 1 ", soa->ttl_sec);
	state_add_text(t, " 7 ");
	state_add_name(t, soa->mname);
	state_add_text(t, " ");
	state_add_name(t, soa->rname);
	state_add_value(t, " ", soa->serial);
	state_add_value(t, " ", soa->refresh_sec);
	state_add_value(t, " ", soa->retry_sec);
	state_add_value(t, " ", soa->expire_sec);
	state_add_value(t, " ", soa->minimum_sec);
	state_add_named(t, "\n\t# refresh =", soa->refresh_sec);
	state_add_named(t, " retry =", soa->retry_sec);
	state_add_named(t, " expire =", soa->expire_sec);
	state_add_named(t, " minimum =", soa->minimum_sec);
	state_add_text(t, "\n");
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
	state_add_text(&t, "zone: \tname: ");
	state_add_name(&t, zone->name);
	state_add_value(&t, "\n\tstate: ", zone->state);
	state_add_text(&t, " # ");
	state_add_text(&t, states[zone->state]);
	state_add_value(&t, "\n\tmaster: ", zone->master);
	state_add_value(&t, "\n\tnext_master: ", zone->next_master);
	state_add_value(&t, "\n\tround_num: ", zone->round_num);
	state_add_value(&t, "\n\tnext_timeout: ", zone->next_timeout_sec);
	if (zone->next_timeout_sec > 0)
		state_add_named(&t, "\t# =", zone->next_timeout_sec);
	state_add_value(&t, "\n\tbackoff: ", zone->backoff);
	state_add_text(&t, "\n");
	for (unsigned i = 0; i < XFR_STATE_SOAS; i++)
		state_add_soa(&t, &zone->soas[i], which[i], filetime_sec);
	state_add_text(&t, "\n");
	return t.len;
}

size_t
xfr_state_print_tail(char out[XFR_STATE_TEXT_MAX])
{
	struct state_text t = {.out = out};

	state_add_text(&t, "NSDXFRD2\n");
	return t.len;
}
