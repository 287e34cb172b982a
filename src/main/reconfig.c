/* reconfig.c - main reads nsd.conf anew, and has the server run with it. */
#include "config.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "conf/command.h"
#include "conf/compare.h"
#include "conf/image.h"
#include "conf/secret_keys.h"
#include "loader/conf_zones.h"
#include "main/anchors_check.h"
#include "main/barrier.h"
#include "main/child.h"
#include "main/key_change.h"
#include "main/periods.h"
#include "main/reconfig.h"
#include "main/reconfig_new.h"
#include "main/report.h"
#include "main/service.h"
#include "main/supervisor.h"
#include "process/affinity.h"

/* Octets of the last line, as about a process that does not answer. */
#define LATE_MAX 64u

/* ---- taking it ----------------------------------------------------------- */

/* Has main run with the new configuration. */
static void
reconfig_take(struct supervisor *s, struct reconfig_new *new)
{
	struct reconfig *r = &s->reconfig;
	struct reconfig_new old = {.conf = s->server.conf,
		.commands = s->server.commands, .flags = r->applied};
	const struct conf *before = old.conf;
	bool verifies_same = conf_commands_are_same(s->server.commands,
		new->commands);

	assert(new->conf != old.conf && r->under_way);
	conf_keep_waiting(new->conf, r->first);
	if (r->first == old.conf)
		old.conf = NULL;
	s->server.conf = new->conf;
	s->server.commands = new->commands;
	s->server.conf_number++;
	conf_zones_take(&s->server, new->zones);
	log_change_take(s, before, &new->log);
	periods_follow(s, before);
	sinks_follow(s, before);
	sockets_follow(&s->server.listeners, &before->server,
		&s->server.conf->server);
	certificates_follow_settings(s, before);
	r->applied = new->flags;
	/* Without random numbers, the secrets stay. */
	(void)!cookie_keeper_use(&s->cookies, &s->server, &new->cookies);
	cookie_keeper_wipe(&new->cookies);
	if (reconfig_listeners_take(&s->server, &new->listeners))
		certificates_tell_control(s);
	if (s->xfrd.current != NULL && s->server.conf->server.xfrd_cpu_affinity
			!= before->server.xfrd_cpu_affinity)
		affinity_follow_xfrd(&s->server.conf->server,
			s->xfrd.current->pid);
	/* The writer is let into this folder at its start, and into those of
	 * zone files: without one of those it ends by itself. */
	if (!conf_options_are_same(before, s->server.conf, "server", "xfrdir"))
		service_restart(&s->writer);
	/* The next verifier judges again what this one has begun. */
	if (!verifies_same || !conf_options_are_same(before, s->server.conf,
			"verify", "verifier-count"))
		service_restart(&s->verifier);
	reconfig_new_drop(&old);
}

/* Sends the configuration to the loader, which publishes it for all readers of
 * the store. */
static void
reconfig_configure_loader(const struct supervisor *s, struct child *loader,
	int image)
{
	const struct ipc_configure configure = {
		.number = s->server.conf_number,
	};
	const int fds[2] = {image, s->server.zones};

	(void)child_send(loader, IPC_CONFIGURE, &configure, sizeof(configure),
		fds, 2);
}

/* Sends the configuration to the loader and to xfrd. A process that is absent,
 * or cannot be told, is followed by one that inherits it from main. */
static void
reconfig_hand_on(struct supervisor *s)
{
	struct child *xfrd = s->xfrd.current, *loader = s->loader.current;
	int image;

	if (loader != NULL)
		s->loader.failures = 0;
	if (conf_image_write(s->server.conf, &image) != NSD_OK) {
		log_error("reconfig: the loader and xfrd cannot be told:"
			  " replacing them");
		if (loader != NULL)
			child_kill(loader);
		if (xfrd != NULL)
			service_restart(&s->xfrd);
		return;
	}
	if (xfrd != NULL)
		reconfig_listeners_send(&s->server, xfrd, image);
	if (loader != NULL)
		reconfig_configure_loader(s, loader, image);
	close(image);
}

static void
reconfig_answer(struct supervisor *s, struct asker *asker,
	enum ipc_reconfigured_what what, const char *text, size_t len)
{
	struct ipc_reconfigured answer = {.what = what};

	assert(len <= sizeof(answer.text));
	memcpy(answer.text, text, len);
	asker_answer(s, asker, IPC_RECONFIG, &answer,
		IPC_RECONFIGURED_MIN + len);
}

/* Answers the asker, once. */
static void
reconfig_tell(struct supervisor *s, enum ipc_reconfigured_what what,
	struct report *report)
{
	reconfig_answer(s, &report->asker, what, report->text, report->len);
}

/* Answers that main runs with the new configuration, and other processes do
 * not. */
static void
reconfig_give_up(struct supervisor *s, const char *why)
{
	struct report *report = s->reconfig.report;

	log_error("reconfig: %s", why);
	report_make_room(report, sizeof("error \n") + strlen(why));
	report_add(report, "error %s", why);
	reconfig_tell(s, RECONFIGURED_LATE, report);
}

/* Has this reconfig wait for the loader, in place of an earlier one. */
static void
reconfig_wait(struct supervisor *s, struct report *report)
{
	struct reconfig *r = &s->reconfig;

	if (r->report != NULL && asker_waits(&r->report->asker))
		reconfig_give_up(s, "a later reconfig has taken its place");
	free(r->report);
	r->report = report;
	if (report->no_wait)
		reconfig_tell(s, RECONFIGURED_BEGUN, report);
}

/* Keeps the text about options that wait for a restart, for the next xfrd, and
 * sends it to this one, whoever has asked. from: where the text begins. */
static void
reconfig_note_waiting(struct supervisor *s, const struct report *report,
	size_t from)
{
	size_t len = report->len - from;
	struct child *xfrd = s->xfrd.current;
	struct ipc_reconfigured waiting = {.what = RECONFIGURED_NOTHING};

	_Static_assert(sizeof(s->server.waiting) > sizeof(report->text),
		"what waits has no room");
	assert(from <= report->len);
	memcpy(s->server.waiting, report->text + from, len);
	s->server.waiting[len] = '\0';
	if (xfrd == NULL)
		return;
	memcpy(waiting.text, report->text + from, len);
	(void)child_send(xfrd, IPC_RECONFIGURED, &waiting,
		IPC_RECONFIGURED_MIN + len, NULL, 0);
}

static void
reconfig_end(struct supervisor *s, enum ipc_reconfigured_what what)
{
	struct reconfig *r = &s->reconfig;

	assert(r->under_way && r->report != NULL);
	reconfig_tell(s, what, r->report);
	free(r->report);
	r->report = NULL;
	r->under_way = false;
	log_notice("reconfig: done");
	/* All users of old secrets have been told. */
	key_change_sweep(s);
}

/* Waits until workers and xfrd have come to the new settings or
 * certificates. */
static void
reconfig_begin_barrier(struct supervisor *s)
{
	const struct reconfig *r = &s->reconfig;
	const struct ipc_broadcast broadcast = {
		.what = BROADCAST_SETTINGS,
		.value = !r->only_certificates,
	};
	unsigned roles = r->only_certificates ? ROLE_WORKER
					    : ROLE_WORKER | ROLE_XFRD;

	assert(r->under_way && r->report != NULL);
	if (barrier_begin(s, BARRIER_SETTINGS, &broadcast, roles) == NSD_OK)
		return;
	report_make_room(s->reconfig.report, LATE_MAX);
	report_add(s->reconfig.report, "error out of memory to tell others");
	reconfig_end(s, RECONFIGURED_LATE);
}

/* Ends a reconfig that changes nothing without a restart, except perhaps
 * certificates. A reconfig before it that is under way is waited for. */
static void
reconfig_apply_nothing(struct supervisor *s, struct report *report,
	bool certificates)
{
	struct reconfig *r = &s->reconfig;

	if (r->under_way && (certificates || !report->in_log)) {
		reconfig_wait(s, report);
	} else if (certificates) {
		reconfig_wait(s, report);
		r->under_way = r->only_certificates = true;
		r->unread = 0;
		reconfig_begin_barrier(s);
	} else {
		reconfig_tell(s, report->waits ? RECONFIGURED_WAITS
					     : RECONFIGURED_NOTHING,
			report);
		free(report);
	}
	certificates_renew_clients(s);
}

/* Takes new certificates at once: they do not wait for the loader. */
static bool
reconfig_take_certificates(struct supervisor *s, struct reconfig_new *new,
	struct report *report)
{
	bool taken = certificates_take(s, new->tls);

	new->tls = NULL;
	if (taken)
		report_add_logged(report, "the key and the certificates of TLS"
			" have been read anew");
	return taken;
}

/* Reports an option that cannot have effect at once this time, though the table
 * lets it. */
static void
reconfig_add_waiting(struct report *report, const struct conf *new,
	const char *option)
{
	struct conf_changed changed = conf_find_option(new, option);

	changed.waits = true;
	report_add_option(report, &changed);
}

static void
reconfig_on_waiting(void *ctx, const struct conf_changed *changed)
{
	if (changed->waits)
		report_add_option(ctx, changed);
}

static void
reconfig_on_live(void *ctx, const struct conf_changed *changed)
{
	if (!changed->waits)
		report_add_option(ctx, changed);
}

static void
reconfig_say_what_waits(struct supervisor *s, const struct reconfig_new *new,
	struct report *report)
{
	size_t before = report->len;

	for (unsigned i = 0; i < new->waiting_count; i++)
		reconfig_add_waiting(report, new->conf, new->waiting[i]);
	conf_compare_options(s->server.conf, new->conf, reconfig_on_waiting,
		report);
	report_end_options(report, true);
	reconfig_note_waiting(s, report, before);
}

/* Files whose contents changed count as changed options. */
static void
reconfig_count_files(const struct supervisor *s,
	const struct reconfig_new *new, struct conf_difference *d)
{
	const struct conf *old = s->server.conf;

	if (new->cookies_differ
		&& conf_options_are_same(old, new->conf, "server", "cookie-"))
		d->options++;
	if (new->listeners.pem != NULL
		&& conf_options_are_same(old, new->conf, "remote-control",
			"server-"))
		d->options++;
}

static void
reconfig_say_what_changes(const struct supervisor *s,
	const struct reconfig_new *new, const struct conf_difference *d,
	struct report *report)
{
	log_notice("reconfig: %zu options, %zu keys, %zu patterns are new or"
		   " gone or others; %zu zones are new, %zu gone, %zu others",
		d->options, d->keys, d->patterns, d->zones_added,
		d->zones_removed, d->zones_changed);
	conf_compare_options(s->server.conf, new->conf, reconfig_on_live,
		report);
	report_end_options(report, false);
	if (new->cookies_differ)
		report_add(report, "the secrets of cookies are others");
	if (new->listeners.pem != NULL)
		report_add(report, "the key and the certificate of the"
			" control channel have been read anew");
	report_add_difference(report, d);
}

/* Compares what was read with what runs, reports the difference, and has it
 * take effect. */
static void
reconfig_apply(struct supervisor *s, struct reconfig_new *new,
	struct report *report)
{
	struct reconfig *r = &s->reconfig;
	struct conf_difference d;
	bool certificates;

	/* Options without effect first: those of the running configuration have
	 * been reported. Options that wait for a restart come last. */
	conf_list_without_effect(new->conf, s->server.conf, &report->sink);
	anchors_check(new->conf, s->server.chroot, NULL, &report->sink);
	reconfig_say_what_waits(s, new, report);
	conf_compare(s->server.conf, new->conf, &d);
	s->server.may_write |= conf_zones_may_write(new->conf);
	if (conf_commands_collect(new->conf, &new->commands) != NSD_OK)
		log_error("reconfig: out of memory for verifiers: none will"
			  " run");
	conf_drop_zones(s->server.conf);
	conf_drop_zones(new->conf);
	certificates = reconfig_take_certificates(s, new, report);
	reconfig_count_files(s, new, &d);
	if (!conf_difference_is_live(&d)) {
		secret_keys_remove(new->conf, s->server.conf,
			s->server.key_store);
		reconfig_new_drop(new);
		reconfig_apply_nothing(s, report, certificates);
		return;
	}
	reconfig_say_what_changes(s, new, &d, report);
	reconfig_wait(s, report);
	barrier_forget(s, BARRIER_SETTINGS);
	r->under_way = true;
	r->only_certificates = false;
	reconfig_take(s, new);
	reconfig_hand_on(s);
}

/* Reads nsd.conf, and takes it or refuses it as a whole. */
static void
reconfig_read(struct supervisor *s, struct asker asker, bool no_wait)
{
	static const char none[] = "error: out of memory";
	struct report *report = calloc(1, sizeof(*report));
	struct reconfig_new new = {.conf = NULL};

	if (report == NULL) {
		log_error("reconfig: %s", none);
		reconfig_answer(s, &asker, RECONFIGURED_REFUSED, none,
			strlen(none));
		return;
	}
	report->sink.on_diag = report_on_diag;
	report->in_log = !asker_waits(&asker);
	report->asker = asker;
	report->no_wait = no_wait;
	if (reconfig_new_load(s, report, &new) == NSD_OK) {
		reconfig_apply(s, &new, report);
		return;
	}
	conf_drop_zones(s->server.conf);
	log_error("reconfig: refused, nothing has changed");
	/* Files of new sockets are gone when that is told. */
	reconfig_new_drop(&new);
	reconfig_tell(s, RECONFIGURED_REFUSED, report);
	free(report);
}

void
reconfig_begin(struct supervisor *s)
{
	reconfig_read(s, (struct asker){.child = 0}, false);
}

void
reconfig_on_reconfig(struct supervisor *s, struct child *xfrd,
	const struct ipc_message *m)
{
	struct ipc_reconfig ask;

	memcpy(&ask, m->payload, sizeof(ask));
	reconfig_read(s, asker_of(xfrd, m), ask.no_wait != 0);
}

void
reconfig_on_loader_end(struct supervisor *s)
{
	struct reconfig *r = &s->reconfig;

	/* A single death of a loader may have any cause. */
	if (!r->under_way || !asker_waits(&r->report->asker)
		|| s->loader.failures < 2)
		return;
	reconfig_give_up(s, "loaders die of the new configuration, and it stays"
		" what is to be run with: correct nsd.conf, and have it read"
		" again");
}

/* All processes have the settings, or one is late. Workers read them in the
 * store; only what a late process has copied is still old. */
static void
reconfig_on_settings(struct supervisor *s, const struct child *late)
{
	if (!s->reconfig.under_way)
		return;
	if (late != NULL) {
		char who[sizeof("server ") + 10];

		snprintf(who, sizeof(who), late->role == ROLE_XFRD ? "xfrd"
			: "server %u", late->index + 1);
		report_make_room(s->reconfig.report, LATE_MAX);
		report_add(s->reconfig.report,
			"error changes applied, but not in"
			" all processes yet: %s does not answer", who);
	}
	reconfig_end(s, late != NULL           ? RECONFIGURED_LATE
		: s->reconfig.unread > 0 ? RECONFIGURED_UNREAD
					 : RECONFIGURED_CHANGED);
}

/* The last line has the number of zones that cannot be read, the loader's lines
 * before it have the reasons, which the log has, too. Room for the last line is
 * made first. */
static void
reconfig_note_unread(struct supervisor *s, const struct ipc_loaded *said,
	size_t len)
{
	struct report *report = s->reconfig.report;
	char last[100];
	size_t last_len, room;

	s->reconfig.unread = said->unread;
	if (said->unread == 0)
		return;
	last_len = (size_t)snprintf(last, sizeof(last),
		"reconfig completed: changes applied\n"
		"error %u zone%s cannot be read\n",
		(unsigned)said->unread, said->unread == 1 ? "" : "s");
	report_make_room(report, last_len);
	assert(last_len < sizeof(last)
		&& report->len + last_len <= sizeof(report->text));
	room = sizeof(report->text) - last_len - report->len;
	while (len > room || (len > 0 && said->reasons[len - 1] != '\n'))
		len--;
	memcpy(report->text + report->len, said->reasons, len);
	memcpy(report->text + report->len + len, last, last_len);
	report->len += len + last_len;
}

void
reconfig_on_loaded(struct supervisor *s, const struct ipc_loaded *said,
	size_t len)
{
	if (!s->reconfig.under_way)
		return;
	reconfig_note_unread(s, said, len);
	reconfig_begin_barrier(s);
}

enum nsd_err
reconfig_init_events(struct supervisor *s)
{
	return barrier_init(s, BARRIER_SETTINGS, reconfig_on_settings);
}

bool
reconfig_init(struct supervisor *s, const struct flags *flags)
{
	struct reconfig *r = &s->reconfig;

	r->flags = flags;
	r->first = s->server.conf;
	r->path = fs_path_from_root(flags->config);
	r->folder = fs_path_from_root(".");
	return r->path != NULL && r->folder != NULL;
}
