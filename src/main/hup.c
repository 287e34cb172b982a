/* hup.c - SIGHUP. */
#include "config.h"

#include "base/log.h"
#include "main/barrier.h"
#include "main/child.h"
#include "main/hup.h"
#include "main/log_change.h"
#include "main/reload.h"
#include "main/supervisor.h"

/* How often xfrd is told, and gets the time of a barrier for it. */
#define HUP_TELLS 3u

/* The last step. */
static void
hup_read_zones(struct supervisor *s)
{
	if (s->server.conf->server.zonefiles_check)
		reload_begin(s);
	else
		systemd_reloaded(&s->systemd);
}

/* Lets UPDATEs go on: once zones that are not configured any more are gone, if
 * another configuration is on its way. One that xfrd has been told to follow
 * is older than this signal. */
static void
hup_release(struct supervisor *s)
{
	const struct ipc_broadcast saved = {
		.what = BROADCAST_SAVED,
		.value = s->reconfig.under_way
			&& !s->reconfig.only_certificates
			&& s->barriers[BARRIER_SETTINGS].left == 0,
	};

	if (s->xfrd.current != NULL)
		(void)child_send(s->xfrd.current, IPC_OBEY, &saved,
			sizeof(saved), NULL, 0);
}

static void
hup_read_conf(struct supervisor *s)
{
	reconfig_begin(s);
	hup_release(s);
	hup_read_zones(s);
}

/* Has xfrd told. False: there is no memory. */
static bool
hup_tell(struct supervisor *s)
{
	static const struct ipc_broadcast save = {.what = BROADCAST_SAVE};

	s->hup_tells++;
	return barrier_begin(s, BARRIER_SAVE, &save, ROLE_XFRD) == NSD_OK;
}

static void
hup_on_saved(struct supervisor *s, const struct child *late)
{
	bool is_late = late != NULL || s->barriers[BARRIER_SAVE].lost > 0;

	if (s->stopping
		|| (is_late && s->hup_tells < HUP_TELLS && hup_tell(s)))
		return;
	if (is_late)
		log_warning("SIGHUP: xfrd does not come to write zones that take"
			    " updates: nsd.conf is read without that");
	hup_read_conf(s);
}

void
hup_take(struct supervisor *s)
{
	if (s->stopping)
		return;
	log_warning("SIGHUP received, reloading...");
	(void)log_change_reopen(s); /* logs its failure */
	systemd_reloading(&s->systemd);
	certificates_renew(s);
	s->hup_tells = 0;
	/* A configuration that loaders die of can be taken back by a SIGHUP. */
	if (!s->server.conf->server.reload_config)
		hup_read_zones(s);
	else if (!hup_tell(s))
		hup_read_conf(s);
}

enum nsd_err
hup_init(struct supervisor *s)
{
	return barrier_init(s, BARRIER_SAVE, hup_on_saved);
}
