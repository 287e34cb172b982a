/* reconfig_new.c - reads another nsd.conf, and opens the files and sockets that
 * it names. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/command.h"
#include "conf/compare.h"
#include "conf/image.h"
#include "conf/secret_keys.h"
#include "loader/conf_zones.h"
#include "main/reconfig_new.h"
#include "main/report.h"
#include "main/supervisor.h"
#include "net/socket.h"
#include "process/affinity.h"
#include "process/counts.h"
#include "process/tls_texts.h"

/* ---- the text of nsd.conf ------------------------------------------------ */

/* The flags win, as at the start. What they put in belongs to them. */
static enum nsd_err
new_apply_flags(const struct flags *flags, struct reconfig_new *new)
{
	enum nsd_err err;

	new->flags = malloc(sizeof(*new->flags));
	if (new->flags == NULL)
		return NSD_E_MEMORY;
	*new->flags = *flags;
	new->flags->interfaces = NULL;
	new->flags->nsid_data = NULL;
	err = flags_apply(new->flags, new->conf);
	new->flags->addresses = NULL; /* owned by the first flags */
	return err;
}

/* Adds the zones of the running configuration, which main does not keep in
 * memory. */
static enum nsd_err
new_find_zones(const struct supervisor *s, struct report *report)
{
	enum nsd_err err = conf_zones_add(&s->server, NULL);

	if (err != NSD_OK && err != NSD_E_MEMORY)
		report_add(report,
			"error: zones that were added cannot be read in"
			" zone list %s: %s",
			s->server.conf->server.zonelistfile,
			err_reason(err));
	return err;
}

/* The context of new_on_missing. */
struct new_listed {
	struct report *report;
	bool whole;
};

static void
new_on_missing(void *ctx, const struct conf_zone *zone)
{
	struct new_listed *listed = ctx;

	report_add(listed->report,
		"pattern does not exist for zone %s pattern %s",
		zone->name, zone->pattern_name);
	listed->whole = false;
}

/* Keeps the zones that were added at run time, unless the file has them by
 * now. */
static enum nsd_err
new_add_zones(const struct conf *old, struct reconfig_new *new,
	struct report *report)
{
	struct new_listed listed = {report, true};
	enum nsd_err err = conf_add_listed(new->conf, old, new_on_missing,
		&listed);

	return err != NSD_OK || listed.whole ? err : NSD_E_SYNTAX;
}

/* Writes the zones to an image, as main keeps none in memory. */
static enum nsd_err
new_write_zones(struct reconfig_new *new)
{
	int fd;
	enum nsd_err err = conf_image_write_zones(new->conf, &fd);

	if (err == NSD_OK)
		new->zones = fd;
	return err;
}

/* ---- options that wait this time ----------------------------------------- */

static void
new_add_waiting(struct reconfig_new *new, const char *option)
{
	assert(new->waiting_count < RECONFIG_NEW_WAITING_MAX);
	new->waiting[new->waiting_count++] = option;
}

/* Buffers that main may not have any more, as it has given up root, wait for
 * the next start. */
static void
new_keep_buffers(const struct supervisor *s, struct reconfig_new *new)
{
	const struct conf_server *now = &s->server.conf->server;
	struct conf_server *next = &new->conf->server;

	if (!s->server.forces_buffers || net_may_force_buffers()
		|| sockets_buffers_fit(now, next))
		return;
	if (next->send_buffer_size != now->send_buffer_size)
		new_add_waiting(new, "send-buffer-size");
	if (next->receive_buffer_size != now->receive_buffer_size)
		new_add_waiting(new, "receive-buffer-size");
	next->send_buffer_size = now->send_buffer_size;
	next->receive_buffer_size = now->receive_buffer_size;
}

/* The table of limits grows where there is room for it. */
static void
new_keep_limits(const struct supervisor *s, struct reconfig_new *new)
{
	struct conf_server *next = &new->conf->server;

	if (counts_grow_limits(s->server.counts, next->rrl_size))
		return;
	if (next->rrl_size != s->server.conf->server.rrl_size)
		new_add_waiting(new, "rrl-size");
	next->rrl_size = s->server.conf->server.rrl_size;
}

/* TLS comes and goes with its sockets, at a start. Until then it keeps its
 * files. */
static enum nsd_err
new_keep_tls(const struct supervisor *s, struct reconfig_new *new)
{
	new->tls_waits = (s->server.tls != NULL)
		!= tls_texts_are_wanted(&new->conf->server);
	if (!new->tls_waits)
		return NSD_OK;
	new_add_waiting(new, "tls-service-key");
	return conf_keep_texts(new->conf, s->server.conf, "server",
		"tls-service-");
}

/* ---- certificates and sockets -------------------------------------------- */

static const char tls_stays[] = "the key and the certificates of TLS stay";
static const char control_stays[] =
	"the key and the certificate of the control channel stay";

/* The files of certificates may have changed where nsd.conf has not. Then a
 * signal has had them read already. */
static enum nsd_err
new_read_certificates(struct supervisor *s, struct report *report,
	const struct conf *conf, struct reconfig_new *new)
{
	bool same = conf_options_are_same(s->server.conf, conf, "server",
		"tls-");
	size_t from = report->len;
	enum nsd_err err = NSD_OK;

	if (!same)
		err = tls_texts_check_bundle(&s->server, conf, &report->sink);
	if (err == NSD_OK && !new->tls_waits && (!same || !report->in_log))
		err = certificates_read(s, &conf->server, &report->sink,
			&new->tls);
	if (err != NSD_E_SYSTEM || !same)
		return err;
	report_weaken(report, from, tls_stays);
	return NSD_OK;
}

static enum nsd_err
new_open_listeners(struct supervisor *s, struct report *report,
	const struct conf *conf, struct reconfig_new *new)
{
	bool same = conf_options_are_same(s->server.conf, conf,
		"remote-control", "server-");
	size_t from = report->len;
	enum nsd_err err = reconfig_listeners_open(&s->server, conf,
		&report->sink, &new->listeners);

	if (err == NSD_OK)
		err = reconfig_listeners_read_pem(&s->server, conf,
			&report->sink, &new->listeners);
	else
		same = false;
	if (err != NSD_E_SYSTEM || !same || s->server.control.pem == NULL)
		return err;
	report_weaken(report, from, control_stays);
	return NSD_OK;
}

/* Has keys and certificates tried by the roles that are to use them, workers
 * last: one of them does so at once. If a text cannot be tried now, and
 * nsd.conf names the same files as before, the text in use stays: that is a
 * warning. */
static enum nsd_err
new_try(struct supervisor *s, struct report *report, const struct conf *conf,
	struct reconfig_new *new)
{
	const struct {
		enum ipc_role role;
		struct secrets **texts;
		bool may_stay;
		const char *what;
	} rows[] = {
		{ROLE_XFRD, &new->listeners.pem,
			s->server.control.pem != NULL
				&& conf_options_are_same(s->server.conf, conf,
					"remote-control", "server-"),
			control_stays},
		{ROLE_WORKER, &new->tls,
			conf_options_are_same(s->server.conf, conf, "server",
				"tls-"),
			tls_stays},
	};
	enum nsd_err err = NSD_OK;

	for (size_t i = 0; err == NSD_OK && i < 2; i++) {
		size_t from = report->len;

		if (*rows[i].texts == NULL)
			continue;
		err = certificates_try(s, rows[i].role, *rows[i].texts,
			&report->sink);
		if (err != NSD_OK && rows[i].role == ROLE_WORKER)
			tls_texts_refuse(&conf->server, &report->sink);
		if (err != NSD_E_SYSTEM || !rows[i].may_stay)
			continue;
		err = NSD_OK;
		secrets_drop(*rows[i].texts);
		*rows[i].texts = NULL;
		report_weaken(report, from, rows[i].what);
	}
	return err;
}

/* Opens and reads what lies outside of nsd.conf: certificates, sockets,
 * logs. */
static enum nsd_err
new_open(struct supervisor *s, struct report *report, struct reconfig_new *new)
{
	struct conf conf = *new->conf; /* as it will run */
	enum nsd_err err;

	conf_keep_waiting(&conf, s->reconfig.first);
	report->sink.on_diag = report_on_file_diag;
	err = affinity_check(&conf.server, &report->sink);
	if (err == NSD_OK)
		err = new_read_certificates(s, report, &conf, new);
	if (err == NSD_OK)
		err = new_open_listeners(s, report, &conf, new);
	if (err == NSD_OK)
		err = new_try(s, report, &conf, new);
	report->sink.on_diag = report_on_diag;
	if (err != NSD_OK)
		secret_keys_remove(new->conf, s->server.conf,
			s->server.key_store);
	return err;
}

/* Moves the secrets out of the configuration, into the key store. */
static enum nsd_err
new_hide_secrets(struct supervisor *s, struct report *report,
	struct reconfig_new *new)
{
	enum nsd_err err;

	cookie_keeper_choose(&s->server, new->conf, &new->cookies);
	cookie_keeper_keep(&s->cookies, &s->server, new->conf, &new->cookies);
	new->cookies_differ = cookie_keeper_differs(&s->cookies, &s->server,
		&new->cookies);
	err = secret_keys_move(new->conf, s->server.conf, s->server.key_store);
	if (err == NSD_E_LIMIT)
		report_add(report, "error: so many keys wait for a restart");
	return err;
}

/* ---- the whole ----------------------------------------------------------- */

void
reconfig_new_drop(struct reconfig_new *new)
{
	conf_destroy(new->conf);
	if (new->zones > 0)
		close(new->zones);
	conf_commands_destroy(new->commands);
	secrets_drop(new->tls);
	log_change_drop(&new->log);
	cookie_keeper_wipe(&new->cookies);
	reconfig_listeners_drop(&new->listeners);
	if (new->flags != NULL)
		flags_fini(new->flags);
	free(new->flags);
}

enum nsd_err
reconfig_new_load(struct supervisor *s, struct report *report,
	struct reconfig_new *new)
{
	const struct reconfig *r = &s->reconfig;
	const struct conf_origin origin = {s->server.chroot, r->folder};
	enum nsd_err err = conf_load(r->path, &origin, &report->sink,
		&new->conf);

	if (err == NSD_OK)
		err = new_apply_flags(r->flags, new);
	if (err == NSD_OK && conf_check_texts(new->conf, &report->sink) > 0)
		err = NSD_E_SYNTAX;
	/* The zones of the running configuration are to be compared and
	 * added. */
	if (err == NSD_OK)
		err = new_find_zones(s, report);
	if (err == NSD_OK)
		err = new_add_zones(s->server.conf, new, report);
	if (err == NSD_OK)
		err = new_write_zones(new);
	if (err == NSD_OK)
		err = new_keep_tls(s, new);
	if (err == NSD_OK) {
		new_keep_buffers(s, new);
		new_keep_limits(s, new);
	}
	if (err == NSD_OK)
		err = log_change_open(&s->server, new->conf, &report->sink,
			&new->log);
	if (err == NSD_OK)
		err = new_hide_secrets(s, report, new);
	if (err == NSD_OK)
		err = new_open(s, report, new);
	/* Warnings alone do not tell the failure. */
	if (err != NSD_OK && report->len == report->warned)
		report_add(report, "error: %s", err_text(err));
	return err;
}
