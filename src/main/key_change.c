/* key_change.c - main's part when keys of TSIG come, go or change. */
#include "config.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/log.h"
#include "conf/secret_keys.h"
#include "loader/conf_zones.h"
#include "main/barrier.h"
#include "main/child.h"
#include "main/key_change.h"
#include "main/supervisor.h"
#include "process/key_message.h"
#include "process/requests.h"

void
key_change_sweep(struct supervisor *s)
{
	if (!s->reconfig.under_way && !s->key_change.under_way
		&& s->barriers[BARRIER_SECRETS].left == 0)
		secret_keys_sweep(s->server.conf, s->server.key_store);
}

/* All processes have passed the change, or one is late: main replaces a process
 * that does not answer, and does not wait for it here. A reconfig that is under
 * way sweeps at its own end. */
static void
key_change_on_passed(struct supervisor *s, const struct child *late)
{
	key_change_sweep(s);
}

enum nsd_err
key_change_init(struct supervisor *s)
{
	return barrier_init(s, BARRIER_SECRETS, key_change_on_passed);
}

/* ---- the end ------------------------------------------------------------- */

static void
key_change_end(struct supervisor *s, enum nsd_err err)
{
	struct key_change *change = &s->key_change;

	assert(change->under_way);
	change->under_way = false;
	change->answer.err = err;
	asker_answer(s, &change->asker, IPC_KEY, &change->answer, change->len);
}

/* The change holds for queries that come from now on. A process is done with
 * the old secret when it obeys the broadcast: xfrd has been told before. */
static void
key_change_pass(struct supervisor *s)
{
	const struct ipc_broadcast broadcast = {.what = BROADCAST_SETTINGS};

	key_change_end(s, NSD_OK);
	/* Without memory, secrets are swept at the next change, or when xfrd is
	 * forked. */
	if (barrier_begin(s, BARRIER_SECRETS, &broadcast, ROLE_WORKER
		| ROLE_XFRD)
		!= NSD_OK)
		log_error("out of memory to have old secrets wiped");
}

/* True if zones have to be looked at, which only the loader has: it does the
 * change first. */
static bool
key_change_is_of_zones(enum key_edit_what what)
{
	return what == KEY_EDIT_REMOVE || what == KEY_EDIT_ASSOC;
}

/* Makes the change in main that a loader has made, so that its successor finds
 * it, also if the xfrd that asked is dead. If nsd.conf was read anew since,
 * that decides instead. A change counts once: a loader that an attacker has
 * taken over cannot give main more to keep than the operator has asked for. */
static void
key_change_follow(struct supervisor *s, uint64_t number,
	const struct key_edit *edit)
{
	struct key_change *change = &s->key_change;
	enum nsd_err err = NSD_OK;

	if (change->conf_number != s->server.conf_number
		|| number < change->first || number > change->number)
		return;
	change->first = number + 1;
	if (edit->what == KEY_EDIT_ASSOC)
		err = conf_zones_keep_assoc(&s->server, edit);
	else
		conf_zones_forget_key(&s->server, edit->key);
	if (err == NSD_OK && edit->what == KEY_EDIT_REMOVE)
		err = key_edit_apply(s->server.conf, edit);
	if (err != NSD_OK)
		log_error("key %s: main cannot keep its change: %s", edit->key,
			err_text(err));
}

/* Returns true if the loader's answer is to the change that main told last. */
static bool
key_change_is_what_was_told(const struct key_change *change,
	const struct ipc_key *done, size_t len)
{
	return done->what == change->answer.what && len == change->len
		&& memcmp(done->text, change->answer.text,
			   len - offsetof(struct ipc_key, text))
			== 0;
}

void
key_change_on_done(struct supervisor *s, struct child *loader,
	const struct ipc_message *m)
{
	struct key_change *change = &s->key_change;
	struct key_message message;
	struct ipc_key done;

	if (key_message_read(m, &done, &message) != NSD_OK) {
		log_error("refused a KEY_DONE of the loader");
		return;
	}
	/* Ticket 0: the loader reports it by itself. */
	if (message.ticket == 0) {
		conf_zones_lose_key(&s->server, message.edit.zone);
		return;
	}
	if (message.err == NSD_OK
		&& key_change_is_of_zones(message.edit.what)) {
		if (message.ticket == change->number
			&& !key_change_is_what_was_told(change, &done, m->len))
			return;
		key_change_follow(s, message.ticket, &message.edit);
	}
	if (!change->under_way || message.ticket != change->number)
		return;
	if (message.err == NSD_OK) {
		key_change_pass(s);
		return;
	}
	/* A failure may name a zone, so the loader's text is the answer. */
	change->answer = done;
	change->len = m->len;
	key_change_end(s, message.err);
}

static void key_change_tell_loader(struct supervisor *s,
	struct child *loader);

void
key_change_on_listed(struct supervisor *s, struct child *loader)
{
	struct key_change *change = &s->key_change;

	/* A loader that was told of the change answers for itself. */
	if (!change->under_way || loader->pid == change->loader)
		return;
	if (!key_change_is_of_zones((enum key_edit_what)change->answer.what)) {
		key_change_pass(s);
	} else if (change->told < REQUEST_DEATHS_MAX) {
		key_change_tell_loader(s, loader);
	} else {
		log_error("%u loaders have died with a change of a key in"
			  " hand: it is given up", change->told);
		key_change_end(s, NSD_E_PEER);
	}
}

/* ---- the begin ----------------------------------------------------------- */

/* Puts the secret into the key store, and the change into effect in main. */
static enum nsd_err
key_change_apply(struct supervisor *s, struct key_message *message)
{
	struct key_edit *edit = &message->edit;
	enum nsd_err err = key_edit_check(s->server.conf, edit);

	if (err != NSD_OK)
		return err;
	err = key_store_add(s->server.key_store, message->secret,
		message->secret_len, &edit->handle);
	if (err != NSD_OK)
		return err;
	err = key_edit_apply(s->server.conf, edit);
	if (err != NSD_OK)
		key_store_remove(s->server.key_store, edit->handle);
	return err;
}

static enum nsd_err
key_change_begin(struct supervisor *s, struct key_message *message)
{
	struct key_edit *edit = &message->edit;

	edit->handle = (struct key_handle){0, 0};
	/* Workers still serve from another store than the one that is filled,
	 * which would not have the change. */
	if (s->serving == NULL || s->building != NULL)
		return NSD_E_AGAIN;
	return key_change_is_of_zones(edit->what) ? NSD_OK
		: key_change_apply(s, message);
}

/* Tells the loader, if there is one. The next loader takes the change from
 * main, or is told by key_change_on_listed. */
static void
key_change_tell_loader(struct supervisor *s, struct child *loader)
{
	struct key_change *change = &s->key_change;
	struct ipc_key payload = change->answer;

	assert(change->under_way);
	change->loader = 0;
	change->number++;
	if (change->conf_number != s->server.conf_number)
		change->first = change->number;
	change->conf_number = s->server.conf_number;
	if (loader == NULL)
		return;
	change->loader = loader->pid;
	change->told++;
	payload.request.ticket = change->number;
	(void)child_send(loader, IPC_CHANGE_KEY, &payload, change->len, NULL,
		0);
}

void
key_change_on_key(struct supervisor *s, struct child *xfrd,
	const struct ipc_message *m)
{
	struct key_change *change = &s->key_change;
	struct key_message message;
	struct ipc_key payload;
	enum nsd_err err;

	if (key_message_read(m, &payload, &message) != NSD_OK) {
		log_error("refused a KEY of xfrd");
		return;
	}
	key_change_sweep(s);
	err = key_change_begin(s, &message);
	message.secret_len = 0;
	message.err = NSD_OK;
	/* The answer is no longer than the request, so it has room. */
	if (key_message_write(&message, &change->answer, &change->len)
		!= NSD_OK)
		err = NSD_E_BUG;
	explicit_bzero(&payload, sizeof(payload));
	change->asker = asker_of(xfrd, m);
	change->under_way = true;
	change->told = 0;
	if (err == NSD_OK)
		key_change_tell_loader(s, s->loader.current);
	else
		key_change_end(s, err);
}
