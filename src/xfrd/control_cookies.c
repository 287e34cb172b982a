/*
 * control_cookies.c - secrets of cookies: main has them, changes them and
 * answers, in the order in which it is asked.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "guard/cookie_text.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"

_Static_assert(IPC_COOKIE_SECRET_LEN == COOKIE_SECRET_LEN
		&& IPC_COOKIE_SECRETS == COOKIE_SECRETS_MAX,
	"messages have room for all secrets");

/* One that is with main. */
struct control_cookies {
	struct cds_list_head node; /* of control.cookies */
	struct ctl_call *call;
	uint64_t ticket;
	enum ipc_cookies_what what;
};

static void
cookies_ask(struct xfrd *xfrd, struct ctl_call *call,
	struct ipc_cookies *wish)
{
	struct control_cookies *one = calloc(1, sizeof(*one));

	if (one == NULL) {
		explicit_bzero(wish, sizeof(*wish));
		ctl_printf(call, "error out of memory\n");
		ctl_end(call);
		return;
	}
	wish->ticket = ++xfrd->control.tickets;
	one->call = call;
	one->ticket = wish->ticket;
	one->what = (enum ipc_cookies_what)wish->what;
	cds_list_add_tail(&one->node, &xfrd->control.cookies);
	role_send(&xfrd->role, IPC_COOKIES, wish, sizeof(*wish));
	explicit_bzero(wish, sizeof(*wish));
}

/* ---- answers ------------------------------------------------------------- */

static void
cookies_print(const struct conf_server *o, struct ctl_call *call,
	const struct ipc_cookies_done *done)
{
	char text[COOKIE_TEXT_DIGITS + 1];

	switch ((enum ipc_cookie_source)done->source) {
	case COOKIES_OF_FILE:
		ctl_printf(call, "source : \"%s\"\n", o->cookie_secret_file);
		break;
	case COOKIES_CONFIGURED:
		ctl_printf(call, "source : configuration\n");
		break;
	default:
		ctl_printf(call, "source : random generated\n");
		break;
	}
	for (uint32_t i = 0; i < done->count && i < COOKIE_SECRETS_MAX; i++) {
		cookie_text_print_secret(done->secrets[i], text);
		ctl_printf(call, "%s: ", i == 0 ? "active " : "staging");
		ctl_write_secret(call, text, strlen(text));
		ctl_printf(call, "\n");
	}
	explicit_bzero(text, sizeof(text));
}

static void
cookies_print_error(const struct conf_server *o, struct ctl_call *call,
	const struct ipc_cookies_done *done)
{
	switch ((enum ipc_cookies_result)done->result) {
	case COOKIES_NOT_OF_FILE:
		ctl_printf(call, "error: cookie secrets are already configured,"
			" remove cookie-secret from nsd.conf first\n");
		break;
	case COOKIES_NO_FILE:
		ctl_printf(call, "error: empty cookie-secret-file\n");
		break;
	case COOKIES_NONE_STAGED:
		ctl_printf(call, "error: no staging cookie secret to"
			" activate\n");
		break;
	case COOKIES_ONLY_ACTIVE:
		ctl_printf(call, "error: can not drop the currently active"
			" cookie secret\n");
		break;
	case COOKIES_NOT_WRITTEN:
		ctl_printf(call, "error: writing to cookie secret file:"
			" \"%s\": %s\n", o->cookie_secret_file,
			strerror((int)done->error));
		break;
	default:
		ctl_printf(call, "error main refuses\n");
		break;
	}
}

void
control_cookies_take(struct xfrd *xfrd, const struct ipc_message *m)
{
	struct control_cookies *one = list_first_or_null(
		&xfrd->control.cookies, struct control_cookies, node);
	const struct conf_server *o = &xfrd->role.server->conf->server;
	struct ipc_cookies_done done;

	memcpy(&done, m->payload, sizeof(done));
	if (one == NULL || one->ticket != done.ticket)
		return;
	cds_list_del(&one->node);
	if (done.result != COOKIES_OK)
		cookies_print_error(o, one->call, &done);
	else if (one->what == COOKIES_SHOW)
		cookies_print(o, one->call, &done);
	else
		ctl_printf(one->call, "ok\n");
	ctl_end(one->call);
	free(one);
	explicit_bzero(&done, sizeof(done));
}

/* ---- verbs --------------------------------------------------------------- */

void
control_on_print_cookie_secrets(struct xfrd *xfrd, struct ctl_call *call)
{
	cookies_ask(xfrd, call, &(struct ipc_cookies){.what = COOKIES_SHOW});
}

void
control_on_add_cookie_secret(struct xfrd *xfrd, struct ctl_call *call)
{
	const char *text = ctl_argument(call, 0);
	struct ipc_cookies wish = {.what = COOKIES_ADD};
	size_t len = text != NULL ? strlen(text) : 0;

	if (len == 0) {
		ctl_printf(call, "error: missing argument (cookie_secret)\n");
		ctl_end(call);
		return;
	}
	if (!cookie_text_parse_secret(text, len, wish.secret)) {
		explicit_bzero(&wish, sizeof(wish)); /* a part of it is there */
		ctl_printf(call, "invalid cookie secret: %s\n"
			"please provide a 128bit hex encoded secret\n"
			"error no secret was added\n",
			len != COOKIE_TEXT_DIGITS ? "invalid argument length"
						  : "parse error");
		ctl_end(call);
		return;
	}
	cookies_ask(xfrd, call, &wish);
}

void
control_on_activate_cookie_secret(struct xfrd *xfrd, struct ctl_call *call)
{
	cookies_ask(xfrd, call, &(struct ipc_cookies){.what =
		COOKIES_ACTIVATE});
}

void
control_on_drop_cookie_secret(struct xfrd *xfrd, struct ctl_call *call)
{
	cookies_ask(xfrd, call, &(struct ipc_cookies){.what = COOKIES_DROP});
}
