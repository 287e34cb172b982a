/* reconfig.c - main reads nsd.conf anew, and has the server run with it. */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/log.h"
#include "conf/compare.h"
#include "conf/secret_keys.h"
#include "net/socket.h"
#include "proc/child.h"
#include "proc/errand.h"
#include "proc/flags.h"
#include "proc/log_change.h"
#include "proc/periods.h"
#include "proc/post.h"
#include "proc/reconfig.h"
#include "proc/reconfig_doors.h"
#include "proc/supervisor.h"
#include "proc/talk.h"
#include "role/affinity.h"
#include "role/tls_texts.h"

/* Octets of a line about a worker. */
#define LATE_MAX 64u

/* ---- the new one --------------------------------------------------------- */

/* What is to be run with. */
struct reconfig_new {
	struct conf *conf;
	struct flags *flags;
	struct cookie_choice *cookies;
	bool cookies_differ;
	struct secrets *tls; /* NULL: no other certificates */
	struct log_change log;
	struct reconfig_doors doors;
};

static void
new_drop(struct reconfig_new *new)
{
	conf_destroy(new->conf);
	secrets_drop(new->tls);
	log_change_drop(&new->log);
	cookie_choice_destroy(new->cookies);
	reconfig_doors_drop(&new->doors);
	if (new->flags != NULL)
		flags_fini(new->flags);
	free(new->flags);
}

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
	new->flags->addresses = NULL; /* the first one's */
	return err;
}

/* Zones that were added at run time stay, unless they stand in the file by
 * now. */
static enum nsd_err
new_add_zones(const struct conf *old, struct reconfig_new *new,
	struct talk *talk)
{
	const struct conf_zone *added;
	bool whole = true;

	for (size_t i = 0; i < old->zone_count; i++) {
		const struct conf_zone *zone = old->zones[i];
		enum nsd_err err;

		if (zone->pattern_name == NULL)
			continue;
		err = conf_add_zone(new->conf, zone->name, zone->pattern_name,
			&added);
		if (err == NSD_E_MEMORY)
			return err;
		if (err != NSD_E_NOT_FOUND)
			continue;
		talk_add(talk, "pattern does not exist for zone %s pattern %s",
			zone->name, zone->pattern_name);
		whole = false;
	}
	return whole ? NSD_OK : NSD_E_SYNTAX;
}

/* The files of certificates may have changed where nsd.conf has not. Then a
 * signal has had them read already. */
static enum nsd_err
new_read_certificates(struct supervisor *s, struct talk *talk,
	const struct conf *conf, struct reconfig_new *new)
{
	bool same = conf_options_are_same(s->server.conf, conf, "server",
		"tls-");
	size_t from = talk->len;
	enum nsd_err err = NSD_OK;

	if (!same)
		err = tls_texts_check_bundle(&s->server, conf, &talk->sink);
	if (err == NSD_OK && (!same || !talk->in_log))
		err = certificates_read(s, &conf->server, &talk->sink,
			&new->tls);
	if (err != NSD_E_SYSTEM || !same)
		return err;
	talk_weaken(talk, from, "the key and the certificates of TLS stay");
	return NSD_OK;
}

static enum nsd_err
new_open_doors(struct supervisor *s, struct talk *talk,
	const struct conf *conf, struct reconfig_new *new)
{
	bool same = conf_options_are_same(s->server.conf, conf,
		"remote-control", "server-");
	size_t from = talk->len;
	enum nsd_err err = reconfig_doors_open(&s->server, conf, &talk->sink,
		&new->doors);

	if (err == NSD_OK)
		err = reconfig_doors_read_pem(&s->server, conf, &talk->sink,
			&new->doors);
	else
		same = false;
	if (err != NSD_E_SYSTEM || !same || s->server.control.pem == NULL)
		return err;
	talk_weaken(talk, from,
		"the key and the certificate of the control channel stay");
	return NSD_OK;
}

/* What is outside of nsd.conf. Once the secrets of the new one are out of reach
 * of who tries the files, which has a copy of our memory. */
static enum nsd_err
new_open(struct supervisor *s, struct talk *talk,
	struct reconfig_new *new)
{
	struct conf conf = *new->conf; /* as it will run */
	enum nsd_err err;

	conf_keep_waiting(&conf, s->reconfig.first);
	talk->sink.on_diag = talk_on_file_diag;
	err = affinity_check(&conf.server, &talk->sink);
	if (err == NSD_OK)
		err = new_read_certificates(s, talk, &conf, new);
	if (err == NSD_OK)
		err = new_open_doors(s, talk, &conf, new);
	talk->sink.on_diag = talk_on_diag;
	if (err != NSD_OK)
		secret_keys_remove(new->conf, s->server.conf, s->server.vault);
	return err;
}

/* Takes the secrets out of it. */
static enum nsd_err
new_hide_secrets(struct supervisor *s, struct talk *talk,
	struct reconfig_new *new)
{
	enum nsd_err err;

	new->cookies = cookie_choice_create();
	if (new->cookies == NULL)
		return NSD_E_MEMORY;
	cookie_keeper_choose(&s->server, new->conf, new->cookies);
	new->cookies_differ = cookie_keeper_differs(&s->cookies, &s->server,
		new->cookies);
	err = secret_keys_move(new->conf, s->server.conf, s->server.vault);
	if (err == NSD_E_LIMIT)
		talk_add(talk, "error: so many keys wait for a restart");
	return err;
}

static enum nsd_err
new_load(struct supervisor *s, struct talk *talk,
	struct reconfig_new *new)
{
	const struct reconfig *r = &s->reconfig;
	const struct conf_origin origin = {s->server.chroot, r->folder};
	enum nsd_err err = conf_load(r->path, &origin, &talk->sink, &new->conf);

	if (err == NSD_OK)
		err = new_apply_flags(r->flags, new);
	if (err == NSD_OK && conf_check_texts(new->conf, &talk->sink) > 0)
		err = NSD_E_SYNTAX;
	if (err == NSD_OK)
		err = new_add_zones(s->server.conf, new, talk);
	if (err == NSD_OK)
		err = log_change_open(&s->server, new->conf, &talk->sink,
			&new->log);
	if (err == NSD_OK)
		err = new_hide_secrets(s, talk, new);
	if (err == NSD_OK)
		err = new_open(s, talk, new);
	if (err != NSD_OK && talk->len == 0)
		talk_add(talk, "error: %s", err_text(err));
	return err;
}

/* ---- taking it ----------------------------------------------------------- */

/* Main runs with the new one from now on. */
static void
reconfig_take(struct supervisor *s, struct reconfig_new *new)
{
	struct reconfig *r = &s->reconfig;
	struct reconfig_new old = {.conf = s->server.conf,
		.flags = r->applied};
	const struct conf *before = old.conf;

	conf_keep_waiting(new->conf, r->first);
	if (r->first == old.conf)
		old.conf = NULL;
	s->server.conf = new->conf;
	log_change_take(s, before, &new->log);
	periods_follow(s, before);
	sockets_follow(&s->server.listeners, &before->server,
		&s->server.conf->server);
	certificates_follow_settings(s, before);
	r->applied = new->flags;
	/* Without random numbers those that are there go on. */
	(void)!cookie_keeper_use(&s->cookies, &s->server, new->cookies);
	cookie_choice_destroy(new->cookies);
	reconfig_doors_take(&s->server, &new->doors);
	new_drop(&old);
}

/* The next loader brings it to those who read the store. This one may be killed
 * at any moment, as every loader may. */
static void
reconfig_replace_loader(struct supervisor *s)
{
	struct child *loader = s->loader.current;

	if (loader == NULL)
		return; /* the next one has it */
	s->loader.failures = 0;
	loader->outdated = true;
	child_kill(loader);
}

/* Tells an xfrd, if it is there still. */
static void
reconfig_answer(struct supervisor *s, const struct reconfig_asker *asker,
	enum ipc_reconfigured_what what, const char *text, size_t len)
{
	struct child *xfrd = s->xfrd.current;
	struct ipc_reconfigured answer = {
		.ticket = asker->ticket,
		.what = what,
	};

	if (asker->ticket == 0 || xfrd == NULL || xfrd->pid != asker->pid)
		return;
	memcpy(answer.text, text, len);
	(void)child_send(xfrd, IPC_RECONFIGURED, &answer,
		IPC_RECONFIGURED_MIN + len, NULL, 0);
}

static void
reconfig_refuse(struct supervisor *s, const struct reconfig_asker *asker,
	const char *why)
{
	log_error("reconfig: %.*s", (int)strcspn(why, "\n"), why);
	reconfig_answer(s, asker, RECONFIGURED_REFUSED, why, strlen(why));
}

/* Tells whoever has asked, once. */
static void
reconfig_tell(struct supervisor *s, enum ipc_reconfigured_what what,
	struct talk *talk)
{
	reconfig_answer(s, &talk->asker, what, talk->text, talk->len);
	talk->asker.ticket = 0;
}

/* Main has what somebody waits for, and others do not. */
static void
reconfig_give_up(struct supervisor *s, const char *why)
{
	struct talk *talk = s->reconfig.talk;

	log_error("reconfig: %s", why);
	talk_make_room(talk, sizeof("error \n") + strlen(why));
	talk_add(talk, "error %s", why);
	reconfig_tell(s, RECONFIGURED_LATE, talk);
}

/* From now on this one waits for the loader. */
static void
reconfig_wait(struct supervisor *s, struct talk *talk)
{
	struct reconfig *r = &s->reconfig;

	if (r->talk != NULL && r->talk->asker.ticket != 0)
		reconfig_give_up(s, "a later reconfig has taken its place");
	free(r->talk);
	r->talk = talk;
	if (talk->asker.hasty)
		reconfig_tell(s, RECONFIGURED_BEGUN, talk);
}

/* What nsd.conf says by now that waits for a restart: for the next xfrd, and
 * for the one that is there, whoever has asked. from: where that begins. */
static void
reconfig_note_waiting(struct supervisor *s, const struct talk *talk,
	size_t from)
{
	size_t len = talk->len - from;
	struct child *xfrd = s->xfrd.current;
	struct ipc_reconfigured waiting = {.what = RECONFIGURED_NOTHING};

	_Static_assert(sizeof(s->server.waiting) > sizeof(talk->text),
		"what waits has no room");
	memcpy(s->server.waiting, talk->text + from, len);
	s->server.waiting[len] = '\0';
	if (xfrd == NULL)
		return;
	memcpy(waiting.text, talk->text + from, len);
	(void)child_send(xfrd, IPC_RECONFIGURED, &waiting,
		IPC_RECONFIGURED_MIN + len, NULL, 0);
}

static void
reconfig_end(struct supervisor *s, enum ipc_reconfigured_what what)
{
	struct reconfig *r = &s->reconfig;

	if (!r->replaces_nobody)
		post_roll(&s->writer);
	reconfig_tell(s, what, r->talk);
	free(r->talk);
	r->talk = NULL;
	r->under_way = false;
	log_notice("reconfig: done");
	/* It takes what was told first, then its leave. */
	if (!r->replaces_nobody)
		post_roll(&s->xfrd);
}

/* Workers have been told. They say when they have got that far. */
static void
reconfig_begin_errand(struct supervisor *s)
{
	const struct ipc_order order = {.what = ORDER_SETTINGS};

	if (errand_begin(s, ERRAND_SETTINGS, &order, ROLE_WORKER) == NSD_OK)
		return;
	talk_add(s->reconfig.talk, "error out of memory to tell workers");
	reconfig_end(s, RECONFIGURED_LATE);
}

/* Nothing that can be had without a restart is new, but certificates may be.
 * And one that is under way is not done yet. */
static void
reconfig_apply_nothing(struct supervisor *s, struct talk *talk,
	bool certificates)
{
	struct reconfig *r = &s->reconfig;

	if (r->under_way && !talk->in_log) {
		reconfig_wait(s, talk);
	} else if (certificates) {
		reconfig_wait(s, talk);
		r->under_way = r->replaces_nobody = true;
		r->unread = 0;
		reconfig_begin_errand(s);
	} else {
		reconfig_tell(s, RECONFIGURED_NOTHING, talk);
		free(talk);
	}
	certificates_renew_clients(s);
}

/* Certificates do not wait for the loader. */
static bool
reconfig_take_certificates(struct supervisor *s, struct reconfig_new *new,
	struct talk *talk)
{
	bool taken = certificates_take(s, new->tls);

	new->tls = NULL;
	if (taken)
		talk_add(talk, "the key and the certificates of TLS have been"
			" read anew");
	return taken;
}

/* An option that the table lets have effect at once cannot, this time. */
static void
reconfig_add_waiting(struct talk *talk, const struct conf *new,
	const char *option)
{
	struct conf_changed changed = conf_find_option(new, option);

	changed.waits = true;
	talk_add_option(talk, &changed);
}

/* Buffers that main may not have any more, as it has given up root, wait for
 * the next start. */
static void
reconfig_keep_buffers(const struct supervisor *s, struct conf *new,
	struct talk *talk)
{
	const struct conf_server *now = &s->server.conf->server;
	struct conf_server *next = &new->server;

	if (!s->server.forces_buffers || net_may_force_buffers()
		|| sockets_buffers_fit(now, next))
		return;
	if (next->send_buffer_size != now->send_buffer_size)
		reconfig_add_waiting(talk, new, "send-buffer-size");
	if (next->receive_buffer_size != now->receive_buffer_size)
		reconfig_add_waiting(talk, new, "receive-buffer-size");
	next->send_buffer_size = now->send_buffer_size;
	next->receive_buffer_size = now->receive_buffer_size;
}

/* Where they are told. */
struct reconfig_list {
	struct talk *talk;
	bool tls_waits; /* it comes or goes with the next start */
};

static void
reconfig_on_waiting(void *ctx, const struct conf_changed *changed)
{
	const struct reconfig_list *list = ctx;

	if (changed->waits)
		talk_add_option(list->talk, changed);
}

static void
reconfig_on_live(void *ctx, const struct conf_changed *changed)
{
	static const char tls[] = "tls-service-";
	const struct reconfig_list *list = ctx;

	if (changed->waits || (list->tls_waits
			&& strncmp(changed->option, tls, sizeof(tls) - 1)
				== 0))
		return;
	talk_add_option(list->talk, changed);
}

static void
reconfig_say_what_waits(struct supervisor *s, struct conf *new,
	struct reconfig_list *list)
{
	struct talk *talk = list->talk;
	size_t before = talk->len;

	reconfig_keep_buffers(s, new, talk);
	conf_compare_options(s->server.conf, new, reconfig_on_waiting, list);
	/* Its sockets are there, or are not. */
	list->tls_waits = (s->server.tls != NULL)
		!= tls_texts_are_wanted(&new->server);
	if (list->tls_waits)
		reconfig_add_waiting(talk, new, "tls-service-key");
	talk_end_options(talk, true);
	reconfig_note_waiting(s, talk, before);
}

/* What is other though the options are the same counts as one of them. */
static void
reconfig_count_files(const struct supervisor *s,
	const struct reconfig_new *new, struct conf_difference *d)
{
	const struct conf *old = s->server.conf;

	if (new->cookies_differ
		&& conf_options_are_same(old, new->conf, "server", "cookie-"))
		d->options++;
	if (new->doors.pem != NULL
		&& conf_options_are_same(old, new->conf, "remote-control",
			"server-"))
		d->options++;
}

static void
reconfig_say_what_changes(const struct supervisor *s,
	const struct reconfig_new *new, const struct conf_difference *d,
	struct reconfig_list *list)
{
	log_notice("reconfig: %zu options, %zu keys, %zu patterns are new or"
		   " gone or others; %zu zones are new, %zu gone, %zu others",
		d->options, d->keys, d->patterns, d->zones_added,
		d->zones_removed, d->zones_changed);
	conf_compare_options(s->server.conf, new->conf, reconfig_on_live,
		list);
	talk_end_options(list->talk, false);
	if (new->cookies_differ)
		talk_add(list->talk, "the secrets of cookies are others");
	if (new->doors.pem != NULL)
		talk_add(list->talk, "the key and the certificate of the"
			" control channel have been read anew");
	talk_add_difference(list->talk, d);
}

static void
reconfig_apply(struct supervisor *s, struct reconfig_new *new,
	struct talk *talk)
{
	struct reconfig *r = &s->reconfig;
	struct reconfig_list list = {.talk = talk};
	struct conf_difference d;
	bool certificates;

	reconfig_say_what_waits(s, new->conf, &list);
	conf_compare(s->server.conf, new->conf, &d);
	certificates = reconfig_take_certificates(s, new, talk);
	reconfig_count_files(s, new, &d);
	if (!conf_difference_is_live(&d)) {
		secret_keys_remove(new->conf, s->server.conf,
			s->server.vault);
		new_drop(new);
		reconfig_apply_nothing(s, talk, certificates);
		return;
	}
	reconfig_say_what_changes(s, new, &d, &list);
	reconfig_wait(s, talk);
	errand_forget(s, ERRAND_SETTINGS);
	r->under_way = true;
	r->replaces_nobody = false;
	reconfig_take(s, new);
	reconfig_replace_loader(s);
	/* The next one knows where files lie now. */
	post_roll(&s->writer);
}

static void
reconfig_read(struct supervisor *s, const struct reconfig_asker *asker)
{
	struct talk *talk = calloc(1, sizeof(*talk));
	struct reconfig_new new = {.conf = NULL};

	if (talk == NULL) {
		reconfig_refuse(s, asker, "error: out of memory\n");
		return;
	}
	talk->sink.on_diag = talk_on_diag;
	talk->in_log = asker->ticket == 0;
	talk->asker = *asker;
	if (new_load(s, talk, &new) == NSD_OK) {
		reconfig_apply(s, &new, talk);
		return;
	}
	log_error("reconfig: refused, nothing has changed");
	reconfig_tell(s, RECONFIGURED_REFUSED, talk);
	new_drop(&new);
	free(talk);
}

void
reconfig_begin(struct supervisor *s)
{
	const struct reconfig_asker nobody = {.ticket = 0};

	reconfig_read(s, &nobody);
}

void
reconfig_on_reconfig(struct supervisor *s, struct child *xfrd,
	const struct ipc_message *m)
{
	const struct talk *talk = s->reconfig.talk;
	struct reconfig_asker asker = {.pid = xfrd->pid};
	struct ipc_reconfig ask;

	memcpy(&ask, m->payload, sizeof(ask));
	if (ask.ticket == 0)
		return;
	asker.ticket = ask.ticket;
	asker.hasty = ask.hasty != 0;
	/* An xfrd asks for one at a time. */
	if (talk != NULL && talk->asker.ticket != 0
		&& talk->asker.pid == xfrd->pid)
		reconfig_refuse(s, &asker,
			"error: another reconfig is under way\n");
	else
		reconfig_read(s, &asker);
}

void
reconfig_on_loader_end(struct supervisor *s)
{
	struct reconfig *r = &s->reconfig;

	/* One may have died of anything. */
	if (!r->under_way || r->talk->asker.ticket == 0
		|| s->loader.failures < 2)
		return;
	reconfig_give_up(s, "loaders die of the new configuration, and it stays"
		" what is to be run with: correct nsd.conf, and have it read"
		" again");
}

/* What is published is in effect in each worker, but for what one has copied
 * that does not answer. */
static void
reconfig_on_settings(struct supervisor *s, const struct child *late)
{
	if (!s->reconfig.under_way)
		return;
	if (late != NULL) {
		talk_make_room(s->reconfig.talk, LATE_MAX);
		talk_add(s->reconfig.talk, "error server %u does not answer",
			late->index + 1);
	}
	reconfig_end(s, late != NULL           ? RECONFIGURED_LATE
		: s->reconfig.unread > 0 ? RECONFIGURED_UNREAD
					 : RECONFIGURED_CHANGED);
}

/* The last line says how many, the loader's lines before it why; those are in
 * the log already. The last one has room in any case. */
static void
reconfig_note_unread(struct supervisor *s, const struct ipc_loaded *said,
	size_t len)
{
	struct talk *talk = s->reconfig.talk;
	char last[100];
	size_t last_len, room;

	s->reconfig.unread = said->unread;
	if (said->unread == 0)
		return;
	last_len = (size_t)snprintf(last, sizeof(last),
		"reconfig completed: changes applied\n"
		"error %u zone%s cannot be read\n",
		(unsigned)said->unread, said->unread == 1 ? "" : "s");
	talk_make_room(talk, last_len);
	room = sizeof(talk->text) - last_len - talk->len;
	while (len > room || (len > 0 && said->reasons[len - 1] != '\n'))
		len--;
	memcpy(talk->text + talk->len, said->reasons, len);
	memcpy(talk->text + talk->len + len, last, last_len);
	talk->len += len + last_len;
}

void
reconfig_on_loaded(struct supervisor *s, const struct ipc_loaded *said,
	size_t len)
{
	if (!s->reconfig.under_way)
		return;
	reconfig_note_unread(s, said, len);
	reconfig_begin_errand(s);
}

enum nsd_err
reconfig_init_events(struct supervisor *s)
{
	return errand_init(s, ERRAND_SETTINGS, reconfig_on_settings);
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
