/*
 * control_key_edit.c - TSIG keys that come, go or change: update_tsig,
 * add_tsig, assoc_tsig, del_tsig. Main takes one at a time, and answers with
 * its fault, or when it is published.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "conf/key_edit.h"
#include "process/key_message.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"

/* ---- errors -------------------------------------------------------------- */

static void
edit_print_user(const struct key_edit *edit, struct ctl_call *call)
{
	if (*edit->zone != '\0')
		ctl_printf(call, "zone %s uses key %s\n", edit->zone,
			edit->key);
	ctl_printf(call, "error: key: %s is in use and cannot be deleted\n",
		edit->key);
}

static void
edit_print_error(const struct key_edit *edit, enum nsd_err err,
	struct ctl_call *call)
{
	switch (err) {
	case NSD_E_NOT_FOUND:
		if (edit->what == KEY_EDIT_SECRET)
			ctl_printf(call, "error: no such key with name: %s\n",
				edit->key);
		else if (edit->what == KEY_EDIT_REMOVE)
			ctl_printf(call, "key %s does not exist, nothing to"
					 " be deleted\nok\n", edit->key);
		else
			ctl_printf(call, "error: key: %s does not exist\n",
				edit->key);
		break;
	case NSD_E_DENIED:
		if (edit->what == KEY_EDIT_ADD)
			ctl_printf(call, "error: key %s already exists\n",
				edit->key);
		else
			edit_print_user(edit, call);
		break;
	case NSD_E_SYNTAX:
		ctl_printf(call, "error: could not parse key name: %s\n",
			edit->key);
		break;
	case NSD_E_ZONE:
		ctl_printf(call, "error zone %s not configured\n", edit->zone);
		break;
	case NSD_E_LIMIT:
		if (edit->what == KEY_EDIT_ADD
			&& !key_edit_has_algorithm(edit->algorithm))
			ctl_printf(call, "error: unknown algorithm: %s\n",
				edit->algorithm);
		else
			ctl_printf(call, "error: there is no room for this"
					 " secret\n");
		break;
	case NSD_E_AGAIN:
		ctl_printf(call, "error: another zone store is being filled:"
				 " try again later\n");
		break;
	default:
		ctl_printf(call, "error: %s\n", err_text(err));
		break;
	}
}

/* ---- to main and back ---------------------------------------------------- */

/* The change is published: a zone that has other keys now joins the machine
 * anew. */
static void
edit_take_over(struct xfrd *xfrd, const struct key_edit *edit)
{
	struct xfrd_zone *zone = edit->what == KEY_EDIT_ASSOC
		? xfrd_zone_find_text(&xfrd->zones.table, edit->zone) : NULL;

	if (zone == NULL)
		return;
	xfrd_detach_suspend(xfrd, zone);
	xfrd_turn_add(xfrd, zone);
}

static void
edit_on_answer(struct xfrd *xfrd, struct ctl_call *call,
	const struct ipc_message *answer)
{
	struct key_message message;
	struct ipc_key payload;
	enum nsd_err err = key_message_read(answer, &payload, &message);

	assert(err == NSD_OK); /* main echoes the request */
	if (message.err == NSD_OK) {
		edit_take_over(xfrd, &message.edit);
		ctl_printf(call, "ok\n");
	} else {
		edit_print_error(&message.edit, message.err, call);
	}
	ctl_end(call);
}

static void
edit_ask(struct xfrd *xfrd, struct ctl_call *call,
	const struct key_message *message)
{
	struct ipc_key payload;
	struct link_message outgoing = {.type = IPC_KEY, .payload = &payload};

	if (key_message_write(message, &payload, &outgoing.len) == NSD_OK) {
		control_ask_main(xfrd, call, &outgoing, edit_on_answer);
	} else {
		ctl_printf(call, "error: the secret is too long\n");
		ctl_end(call);
	}
	explicit_bzero(&payload, sizeof(payload));
}

/* ---- verbs --------------------------------------------------------------- */

/* False: an argument is missing, which is the answer, and the call is ended. */
static bool
edit_has_argument(struct ctl_call *call, unsigned index, const char *what)
{
	if (ctl_argument(call, index) != NULL)
		return true;
	if (index > 0)
		ctl_printf(call, "error could not find next argument after"
				 " %s\n", ctl_argument(call, index - 1));
	ctl_printf(call, "error: missing argument (%s)\n", what);
	ctl_end(call);
	return false;
}

/* Does a verb whose second argument is a secret. */
static void
edit_with_secret(struct xfrd *xfrd, struct ctl_call *call,
	enum key_edit_what what)
{
	const char *algorithm = ctl_argument(call, 2);
	struct key_message message = {.edit = {
		.what = what,
		.key = ctl_argument(call, 0),
		.zone = "",
		.algorithm = what != KEY_EDIT_ADD ? ""
			: algorithm != NULL ? algorithm : "hmac-sha256",
	}};
	uint8_t *secret;

	if (!edit_has_argument(call, 0, "keyname")
		|| !edit_has_argument(call, 1, "secret"))
		return;
	secret = key_edit_decode(ctl_argument(call, 1), &message.secret_len);
	if (secret == NULL) {
		ctl_printf(call, "error: the secret: %s is not in b64"
				 " format\n", ctl_argument(call, 1));
		ctl_end(call);
		return;
	}
	message.secret = secret;
	edit_ask(xfrd, call, &message);
	explicit_bzero(secret, message.secret_len);
	free(secret);
}

void
control_on_update_tsig(struct xfrd *xfrd, struct ctl_call *call)
{
	edit_with_secret(xfrd, call, KEY_EDIT_SECRET);
}

void
control_on_add_tsig(struct xfrd *xfrd, struct ctl_call *call)
{
	edit_with_secret(xfrd, call, KEY_EDIT_ADD);
}

void
control_on_assoc_tsig(struct xfrd *xfrd, struct ctl_call *call)
{
	struct key_message message = {.edit = {
		.what = KEY_EDIT_ASSOC,
		.key = ctl_argument(call, 1),
		.zone = ctl_argument(call, 0),
		.algorithm = "",
	}};

	if (edit_has_argument(call, 0, "zonename")
		&& edit_has_argument(call, 1, "keyname")
		&& control_find_zone(xfrd, call, message.edit.zone) != NULL)
		edit_ask(xfrd, call, &message);
}

void
control_on_del_tsig(struct xfrd *xfrd, struct ctl_call *call)
{
	struct key_message message = {.edit = {
		.what = KEY_EDIT_REMOVE,
		.key = ctl_argument(call, 0),
		.zone = "",
		.algorithm = "",
	}};

	if (edit_has_argument(call, 0, "keyname"))
		edit_ask(xfrd, call, &message);
}
