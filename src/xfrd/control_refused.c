/* control_refused.c - prints a version of a zone that was refused. */
#include "config.h"

#include "base/clock.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_refused.h"

static long long
refused_find_age(const struct xfrd_refused_version *refused)
{
	return (long long)(clock_now_msec() - refused->since_msec) / 1000;
}

void
control_print_refused(const struct xfrd *xfrd, struct ctl_call *call,
	const struct xfrd_zone *zone)
{
	const struct xfrd_refused_version *refused = xfrd_refused_find(
		&xfrd->zones.table, zone);

	if (refused != NULL)
		ctl_printf(call, "\t\trefused: \"serial %u, by %s: %s, since"
				 " %lld sec, %u time%s\"\n",
			(unsigned)refused->serial,
			xfrd_refused_check_word(refused->check), refused->why,
			refused_find_age(refused), (unsigned)refused->times,
			refused->times == 1 ? "" : "s");
}

void
control_json_refused(const struct xfrd *xfrd, struct ctl_json *json,
	const struct xfrd_zone *zone)
{
	const struct xfrd_refused_version *refused = xfrd_refused_find(
		&xfrd->zones.table, zone);

	if (refused == NULL)
		return;
	ctl_json_open(json, "refused", '{');
	ctl_json_number(json, "serial", refused->serial);
	ctl_json_text(json, "by", xfrd_refused_check_word(refused->check));
	ctl_json_text(json, "text", refused->why);
	ctl_json_number(json, "times", refused->times);
	ctl_json_number(json, "since_sec", refused_find_age(refused));
	ctl_json_close(json, '}');
}
