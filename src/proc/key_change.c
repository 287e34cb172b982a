/* key_change.c - main's part when keys of TSIG come, go or change. */
#include "config.h"

#include <string.h>

#include "base/log.h"
#include "conf/secret_keys.h"
#include "proc/child.h"
#include "proc/errand.h"
#include "proc/key_change.h"
#include "proc/supervisor.h"
#include "role/key_message.h"

void
key_change_sweep(struct supervisor *s)
{
	if (!s->reconfig.under_way && !s->key_change.under_way)
		secret_keys_sweep(s->server.conf, s->server.vault);
}

/* One that does not answer is replaced some time: it is waited for no longer.
 * What is under way by now sweeps at its own end, a reconfig by the xfrd that
 * it replaces. */
static void
key_change_on_passed(struct supervisor *s, const struct child *late)
{
	key_change_sweep(s);
}

enum nsd_err
key_change_init(struct supervisor *s)
{
	return errand_init(s, ERRAND_SECRETS, key_change_on_passed);
}

/* ---- its end ------------------------------------------------------------- */

static void
key_change_end(struct supervisor *s, enum nsd_err err)
{
	struct key_change *change = &s->key_change;

	change->under_way = false;
	change->answer.err = err;
	asker_answer(s, &change->asker, IPC_KEY, &change->answer, change->len);
}

/* It counts for queries that come from now on. Each process is done with the
 * old secret when it comes to the order: xfrd has been told before. */
static void
key_change_pass(struct supervisor *s)
{
	const struct ipc_order order = {.what = ORDER_SETTINGS};

	key_change_end(s, NSD_OK);
	/* Without memory for it, the next change sweeps, or the next xfrd. */
	if (errand_begin(s, ERRAND_SECRETS, &order, ROLE_WORKER | ROLE_XFRD)
		!= NSD_OK)
		log_error("out of memory to have old secrets wiped");
}

void
key_change_on_done(struct supervisor *s, struct child *loader,
	const struct ipc_message *m)
{
	struct ipc_key done;

	memcpy(&done, m->payload, IPC_KEY_MIN);
	if (!s->key_change.under_way
		|| done.request.ticket != s->key_change.number)
		return;
	if (done.err == NSD_OK)
		key_change_pass(s);
	else
		key_change_end(s, (enum nsd_err)done.err);
}

void
key_change_on_listed(struct supervisor *s, const struct child *loader)
{
	/* One that was told answers by itself. */
	if (s->key_change.under_way && loader->pid != s->key_change.loader
		&& !loader->outdated)
		key_change_pass(s);
}

/* ---- its begin ----------------------------------------------------------- */

/* Who has asked is told of a zone that uses the key, if there is room. */
static void
key_change_name_user(const struct conf *conf, struct key_edit *edit)
{
	const struct conf_zone *zone = key_edit_find_user(conf,
		conf_find_key(conf, edit->key));

	if (strlen(zone->name) + strlen(edit->key) + 3 <= IPC_KEY_TEXT_MAX)
		edit->zone = zone->name;
}

/* Puts the secret into the vault, and the change into effect in main. */
static enum nsd_err
key_change_apply(struct supervisor *s, struct key_message *message)
{
	struct key_edit *edit = &message->edit;
	bool has_secret = edit->what == KEY_EDIT_ADD
		|| edit->what == KEY_EDIT_SECRET;
	const struct conf *conf = s->server.conf;
	enum nsd_err err = key_edit_check(conf, edit);

	if (err == NSD_E_DENIED && edit->what == KEY_EDIT_REMOVE)
		key_change_name_user(conf, edit);
	edit->place = (struct vault_place){0, 0};
	if (err != NSD_OK)
		return err;
	/* Who serves yet has another store than the one that is filled: the
	 * one would not have it. */
	if (s->serving == NULL || s->building != NULL)
		return NSD_E_AGAIN;
	if (has_secret)
		err = vault_add(s->server.vault, message->secret,
			message->secret_len, &edit->place);
	if (err == NSD_OK)
		err = key_edit_apply(s->server.conf, edit);
	if (err != NSD_OK && has_secret)
		vault_remove(s->server.vault, edit->place);
	return err;
}

/* Without a loader, or if it dies, the next one has it from main. */
static void
key_change_tell_loader(struct supervisor *s)
{
	struct key_change *change = &s->key_change;
	struct child *loader = s->loader.current;
	struct ipc_key payload = change->answer;

	change->loader = 0;
	change->number++;
	if (loader == NULL || loader->outdated)
		return;
	change->loader = loader->pid;
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
	err = key_change_apply(s, &message);
	message.secret_len = 0;
	message.err = NSD_OK;
	/* There was room for what has come. */
	if (key_message_write(&message, &change->answer, &change->len)
		!= NSD_OK)
		err = NSD_E_BUG;
	explicit_bzero(&payload, sizeof(payload));
	change->asker = asker_of(xfrd, m);
	change->under_way = true;
	if (err == NSD_OK)
		key_change_tell_loader(s);
	else
		key_change_end(s, err);
}
