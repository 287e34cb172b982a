/* dnstap.c - sends records to a receiver of dnstap. */
#include "config.h"

#include "collector/dnstap.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "collector/dnstap_frame.h"
#include "collector/dnstap_stream.h"
#include "conf/chroot.h"
#include "process/counts.h"
#include "tls/client.h"

/* Pauses before another try to connect: the first, doubled each time up to the
 * longest. A connection that lasted has the first pause behind it. */
#define PAUSE_MSEC 1000
#define PAUSE_MAX_MSEC 60000
#define LASTED_MSEC 10000
/* The most octets of a file of certificates or of a key. */
#define FILE_OCTETS_MAX (1u << 20)

struct dnstap {
	struct role *role;
	struct tap_counts *counts;
	struct dnstap_names names;
	uint32_t wants; /* TAP_WANT of kinds and parts */
	struct tls_client *tls;
	struct dnstap_stream stream;
	struct event *retry;
	unsigned pause_msec;
	int64_t opened_msec;
	bool is_told; /* the log says that there is no connection */
	void (*on_done)(void *ctx);
	void *done_ctx;
	char receiver[256];
	char host[256];
};

static bool
text_is_set(const char *text)
{
	return text != NULL && *text != '\0';
}

/* ---- the connection ------------------------------------------------------ */

static void
dnstap_ask(struct dnstap *d)
{
	const struct ipc_want_sink want = {.which = SINK_DNSTAP};

	role_send(d->role, IPC_WANT_SINK, &want, sizeof(want));
}

static void
dnstap_on_retry(evutil_socket_t fd, short what, void *arg)
{
	dnstap_ask(arg);
}

static void
dnstap_retry_later(struct dnstap *d)
{
	const struct timeval when = {.tv_sec = d->pause_msec / 1000,
		.tv_usec = d->pause_msec % 1000 * 1000};

	if (event_add(d->retry, &when) == -1)
		log_error("out of memory for a timer");
	d->pause_msec = d->pause_msec < PAUSE_MAX_MSEC / 2
		? 2 * d->pause_msec : PAUSE_MAX_MSEC;
}

/* Says once that there is no connection, until there is one. */
static void
dnstap_tell_failure(struct dnstap *d, const char *why)
{
	if (d->is_told)
		return;
	d->is_told = true;
	if (d->receiver[0] == '/')
		log_error("could not open dnstap-socket-path: %s, %s",
			d->receiver, why);
	else
		log_error("could not connect to dnstap-ip %s: %s", d->receiver,
			why);
}

static void
dnstap_on_open(void *ctx)
{
	struct dnstap *d = ctx;

	log_notice("dnstap: connected to %s", d->receiver);
	d->is_told = false;
	d->opened_msec = clock_now_msec();
	__atomic_store_n(&d->counts->connected, 1, __ATOMIC_RELAXED);
	dnstap_stream_push(&d->stream);
}

static void
dnstap_on_end(void *ctx, const char *why)
{
	struct dnstap *d = ctx;

	if (d->on_done != NULL) {
		d->on_done(d->done_ctx);
		return;
	}
	if (d->opened_msec != 0 && !d->is_told) {
		log_warning("dnstap: the connection to %s has ended: %s",
			d->receiver, why);
		d->is_told = true;
	}
	dnstap_tell_failure(d, why);
	if (d->opened_msec != 0
		&& clock_now_msec() - d->opened_msec >= LASTED_MSEC)
		d->pause_msec = PAUSE_MSEC;
	d->opened_msec = 0;
	__atomic_store_n(&d->counts->connected, 0, __ATOMIC_RELAXED);
	dnstap_retry_later(d);
}

/* A socket of UNIX that has as many connections waiting as it may have says
 * EAGAIN. */
static const char *
sink_reason(int error)
{
	return error == EAGAIN ? "the receiver accepts no connection"
			       : strerror(error);
}

void
dnstap_on_sink(struct dnstap *d, int fd, int error)
{
	if (d == NULL || d->stream.state != DNSTAP_STREAM_CLOSED
		|| d->on_done != NULL) {
		if (fd != -1)
			close(fd);
		return;
	}
	if (fd == -1) {
		if (error != EALREADY)
			dnstap_tell_failure(d, sink_reason(error));
		dnstap_retry_later(d);
	} else if (!dnstap_stream_open(&d->stream, fd)) {
		dnstap_retry_later(d);
	}
}

void
dnstap_begin(struct dnstap *d)
{
	if (d != NULL)
		dnstap_ask(d);
}

bool
dnstap_stop(struct dnstap *d, void (*on_done)(void *ctx), void *ctx)
{
	if (d == NULL)
		return false;
	(void)event_del(d->retry);
	d->on_done = on_done;
	d->done_ctx = ctx;
	return dnstap_stream_stop(&d->stream);
}

void
dnstap_end(struct dnstap *d)
{
	if (d != NULL)
		dnstap_stream_end(&d->stream);
}

/* ---- records ------------------------------------------------------------- */

/* The parts of a record that are wanted, or-ed. */
static unsigned
dnstap_choose_parts(const struct dnstap *d, const struct tap_record *record)
{
	unsigned parts = 0;

	if ((d->wants & TAP_WANT(record->kind, TAP_QUERY)) != 0)
		parts |= TAP_QUERY;
	if ((d->wants & TAP_WANT(record->kind, TAP_RESPONSE)) != 0)
		parts |= TAP_RESPONSE;
	return parts & record->parts;
}

void
dnstap_take(struct dnstap *d, const struct tap_record *record)
{
	unsigned parts, count;
	struct evbuffer *room;

	if (d == NULL || (parts = dnstap_choose_parts(d, record)) == 0)
		return;
	count = parts == (TAP_QUERY | TAP_RESPONSE) ? 2 : 1;
	room = dnstap_stream_room(&d->stream);
	if (room != NULL
		&& dnstap_frame_add(room, &d->names, record, parts) == NSD_OK)
		dnstap_stream_add(&d->stream, count);
	else
		__atomic_store_n(&d->counts->dropped,
			d->counts->dropped + count, __ATOMIC_RELAXED);
}

void
dnstap_push(struct dnstap *d)
{
	if (d != NULL)
		dnstap_stream_push(&d->stream);
}

/* ---- options ------------------------------------------------------------- */

static uint32_t
dnstap_choose(const struct conf_dnstap *o)
{
	uint32_t wants = 0;

	if (o->dnstap_log_auth_query_messages)
		wants |= TAP_WANT(TAP_AUTH, TAP_QUERY);
	if (o->dnstap_log_auth_response_messages)
		wants |= TAP_WANT(TAP_AUTH, TAP_RESPONSE);
	if (o->dnstap_log_update_messages)
		wants |= TAP_WANT_KIND(TAP_UPDATE);
	if (o->dnstap_log_notify_messages)
		wants |= TAP_WANT_KIND(TAP_NOTIFY);
	return wants;
}

/* The texts are those of the configuration, which this process keeps. */
static void
dnstap_choose_names(struct dnstap *d, const struct conf_dnstap *o)
{
	if (o->dnstap_send_identity) {
		d->names.identity = o->dnstap_identity;
		if (!text_is_set(d->names.identity)
			&& gethostname(d->host, sizeof(d->host) - 1) == 0)
			d->names.identity = d->host;
	}
	if (o->dnstap_send_version)
		d->names.version = text_is_set(o->dnstap_version)
			? o->dnstap_version : PACKAGE_STRING;
}

/* Reads a file of PEM; no path: an empty text. */
static enum nsd_err
dnstap_read_pem(const struct server *server, const char *path,
	struct tls_text *text)
{
	uint8_t *octets;
	size_t len;
	enum nsd_err err;

	*text = (struct tls_text){NULL, 0};
	if (!text_is_set(path))
		return NSD_OK;
	octets = malloc(FILE_OCTETS_MAX);
	if (octets == NULL)
		return NSD_E_MEMORY;
	err = fs_read_small(conf_path_in_chroot(server->chroot, path), octets,
		FILE_OCTETS_MAX, &len);
	if (err != NSD_OK) {
		log_error("dnstap: cannot read %s: %s", path, err_reason(err));
		free(octets);
		return err;
	}
	*text = (struct tls_text){octets, len};
	return NSD_OK;
}

static void
dnstap_free_pem(struct tls_text *text)
{
	if (text->len > 0)
		explicit_bzero((void *)(uintptr_t)text->at, text->len);
	free((void *)(uintptr_t)text->at);
}

static enum nsd_err
dnstap_open_tls(struct dnstap *d, const struct conf_dnstap *o)
{
	const struct server *server = d->role->server;
	struct diag_sink sink = {.on_diag = log_diag};
	struct tls_client_options options = {.name = "dnstap", .not_dns = true};
	enum nsd_err err;

	tls_read_settings();
	if (text_is_set(o->dnstap_tls_server_name))
		options.domain = o->dnstap_tls_server_name;
	err = dnstap_read_pem(server, o->dnstap_tls_cert_bundle,
		&options.bundle);
	if (err == NSD_OK)
		err = dnstap_read_pem(server, o->dnstap_tls_client_cert_file,
			&options.chain);
	if (err == NSD_OK)
		err = dnstap_read_pem(server, o->dnstap_tls_client_key_file,
			&options.key);
	if (err == NSD_OK)
		err = tls_client_create(&options, &sink, &d->tls);
	if (err == NSD_OK && options.bundle.len == 0)
		log_warning("dnstap: without dnstap-tls-cert-bundle, anybody"
			    " may be the receiver %s", d->receiver);
	dnstap_free_pem(&options.bundle);
	dnstap_free_pem(&options.chain);
	dnstap_free_pem(&options.key);
	return err;
}

static enum nsd_err
dnstap_init(struct dnstap *d, const struct conf_dnstap *o)
{
	bool is_ip = text_is_set(o->dnstap_ip);

	d->wants = dnstap_choose(o);
	d->pause_msec = PAUSE_MSEC;
	(void)snprintf(d->receiver, sizeof(d->receiver), "%s", is_ip
		? o->dnstap_ip : o->dnstap_socket_path);
	dnstap_choose_names(d, o);
	d->retry = event_new(d->role->base, -1, 0, dnstap_on_retry, d);
	if (d->retry == NULL)
		return NSD_E_MEMORY;
	if (is_ip && o->dnstap_tls) {
		enum nsd_err err = dnstap_open_tls(d, o);

		if (err != NSD_OK)
			return err;
	}
	d->stream = (struct dnstap_stream){
		.base = d->role->base,
		.tls = d->tls,
		.on_open = dnstap_on_open,
		.on_end = dnstap_on_end,
		.ctx = d,
		.sent = &d->counts->sent,
		.dropped = &d->counts->dropped,
	};
	return dnstap_stream_init(&d->stream);
}

enum nsd_err
dnstap_open(struct role *role, struct tap_counts *counts,
	struct dnstap **dnstap)
{
	const struct conf_dnstap *options = &role->server->conf->dnstap;
	struct dnstap *d;

	*dnstap = NULL;
	if (!options->dnstap_enable
		&& __atomic_load_n(&counts_get_switch(role->server->counts)
			->said, __ATOMIC_RELAXED) != TAP_SAID_ON)
		return NSD_OK;
	d = calloc(1, sizeof(*d));
	if (d == NULL)
		return NSD_E_MEMORY;
	d->role = role;
	d->counts = counts;
	/* The process ends if this fails. */
	*dnstap = d;
	return dnstap_init(d, options);
}
