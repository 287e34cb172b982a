/* control_cookies.c - secrets of cookies: main has them, and changes them. */
#include "config.h"

#include <string.h>

#include "guard/cookie_text.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"

_Static_assert(IPC_COOKIE_SECRET_LEN == COOKIE_SECRET_LEN
		&& IPC_COOKIE_SECRETS == COOKIE_SECRETS_MAX,
	"messages have room for all secrets");

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

static void
cookies_on_answer(struct xfrd *xfrd, struct ctl_call *call,
	const struct ipc_message *answer)
{
	const struct conf_server *o = &xfrd->role.server->conf->server;
	struct ipc_cookies_done done;

	memcpy(&done, answer->payload, sizeof(done));
	if (done.result != COOKIES_OK)
		cookies_print_error(o, call, &done);
	else if (ctl_command(call)->verb == CTL_PRINT_COOKIE_SECRETS)
		cookies_print(o, call, &done);
	else
		ctl_printf(call, "ok\n");
	ctl_end(call);
	explicit_bzero(&done, sizeof(done));
}

static void
cookies_ask(struct xfrd *xfrd, struct ctl_call *call,
	struct ipc_cookies *request)
{
	control_ask_main(xfrd, call, &(struct link_message){
		.type = IPC_COOKIES,
		.payload = request,
		.len = sizeof(*request),
	}, cookies_on_answer);
	explicit_bzero(request, sizeof(*request));
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
	struct ipc_cookies request = {.what = COOKIES_ADD};
	size_t len = text != NULL ? strlen(text) : 0;

	if (len == 0) {
		ctl_printf(call, "error: missing argument (cookie_secret)\n");
		ctl_end(call);
		return;
	}
	if (!cookie_text_parse_secret(text, len, request.secret)) {
		explicit_bzero(&request, sizeof(request)); /* parts of the
						      * secret are there */
		ctl_printf(call, "invalid cookie secret: %s\n"
			"please provide a 128bit hex encoded secret\n"
			"error no secret was added\n",
			len != COOKIE_TEXT_DIGITS ? "invalid argument length"
						  : "parse error");
		ctl_end(call);
		return;
	}
	cookies_ask(xfrd, call, &request);
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
