/* xfrd_job.c - a question to another server: whom it goes to, with which key,
 * and its end. */
#include "config.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "journal/journal.h"
#include "net/socket.h"
#include "xfrd/xfrd.h"

#define DNS_PORT 53
#define TLS_PORT 853 /* RFC 9103 section 7.3 */

/* ---- whom ---------------------------------------------------------------- */

static void
job_make_address(const struct conf_acl *from, uint16_t port,
	struct sockaddr_storage *address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;

	memset(address, 0, sizeof(*address));
	if (from->port != 0)
		port = from->port;
	if (from->family == 4) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, from->address, 4);
	} else {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		memcpy(&v6->sin6_addr, from->address, 16);
	}
}

static uint16_t
job_find_port(const struct xfrd_job *job)
{
	return job->action.act != XFR_NOTIFY
			&& job->server->tls_auth_name != NULL
		? TLS_PORT
		: DNS_PORT;
}

bool
xfrd_job_get_server(const struct xfrd_job *job, bool tcp, unsigned nth,
	struct xfrd_ask_server *server)
{
	unsigned count = 0;
	const struct conf_acls *ours = &job->zone->options->outgoing_interface;

	memset(server, 0, sizeof(*server));
	server->tcp = tcp;
	if (tcp && job->server->tls_auth_name != NULL)
		server->tls = xfrd_tls_find(&job->xfrd->tls,
			job->xfrd->role.server->conf, job->server->tls_auth);
	job_make_address(job->server, job_find_port(job), &server->to);
	for (uint32_t i = 0; i < ours->count; i++)
		if (ours->items[i].family == job->server->family
			&& count++ == nth) {
			job_make_address(&ours->items[i], 0, &server->from);
			return true;
		}
	return nth == 0;
}

enum nsd_err
xfrd_job_open_key(struct xfrd_job *job)
{
	const struct server *server = job->xfrd->role.server;
	const struct conf_key *key = job->server->key;
	const uint8_t *secret, *algorithm;
	size_t len, name_size;
	enum nsd_err err;

	if (job->server->key_name == NULL)
		return NSD_OK;
	secret = key == NULL ? NULL
			     : vault_get(server->vault, key->place, &len);
	if (secret == NULL)
		return NSD_E_DENIED;
	job->key.kind = MAC_KIND_COUNT;
	for (unsigned k = 0; k < MAC_KIND_COUNT; k++) {
		algorithm = tsig_algorithm_name((enum mac_kind)k);
		if (strlen(key->algorithm_name) == algorithm[0]
			&& memcmp(key->algorithm_name, algorithm + 1,
				   algorithm[0])
				== 0)
			job->key.kind = (enum mac_kind)k;
	}
	if (job->key.kind == MAC_KIND_COUNT)
		return NSD_E_DENIED;
	name_size = name_len(key->wire);
	memcpy(job->key.name, key->wire, name_size);
	name_lower(job->key.name);
	err = mac_create(job->key.kind, secret, len, &job->key.mac);
	/* Main may have overwritten it meanwhile. */
	if (err == NSD_OK
		&& vault_get(server->vault, key->place, &len) == NULL) {
		mac_destroy(job->key.mac);
		job->key.mac = NULL;
		err = NSD_E_DENIED;
	}
	return err;
}

const char *
xfrd_job_print_server(const struct xfrd_job *job, char *text)
{
	struct sockaddr_storage address;

	job_make_address(job->server, job_find_port(job), &address);
	net_print_address(&address, false, text);
	return text;
}

/* ---- the end of a job ---------------------------------------------------- */

void
xfrd_job_free(struct xfrd_job *job)
{
	cds_list_del(&job->node);
	cds_list_del(&job->keep_node);
	if (job->entry != 0)
		job->xfrd->kept--;
	xfrd_ask_close(job->ask);
	if (job->event != NULL)
		event_free(job->event);
	mac_destroy(job->key.mac);
	journal_abandon(job->text);
	free(job->gone);
	free(job);
}

bool
xfrd_job_has_entry(const struct xfrd *xfrd, uint64_t entry)
{
	const struct xfrd_job *job;

	cds_list_for_each_entry(job, &xfrd->jobs, node)
		if (job->entry == entry)
			return true;
	return false;
}

static const char *
job_what(const struct xfrd_job *job)
{
	if (job->action.act == XFR_NOTIFY)
		return "notify";
	return job->action.act == XFR_PROBE ? "SOA query" : "transfer";
}

const char *
xfrd_print_with(const struct conf_acl *server, char *text, size_t size)
{
	const char *key = server->key_name, *tls = server->tls_auth_name;

	snprintf(text, size, "%s%s%s%s", key != NULL ? " with key " : "",
		key != NULL ? key : "",
		tls == NULL     ? ""
		: key != NULL ? " and tls-auth "
			      : " with tls-auth ",
		tls != NULL ? tls : "");
	return text;
}

/* why: NULL, or more than the outcome says. */
static const char *
job_print_error(enum xfr_outcome outcome, uint16_t rcode, const char *why,
	char *text, size_t size)
{
	char number[32] = "";

	if (outcome == XFR_RCODE)
		snprintf(number, sizeof(number), " (rcode %u)", rcode);
	snprintf(text, size, "%s%s",
		why != NULL ? why : xfr_outcome_text(outcome), number);
	return text;
}

const char *
xfrd_print_error(const struct xfrd *xfrd, const struct xfr_status *status,
	char *text, size_t size)
{
	return job_print_error(status->error, status->error_rcode,
		xfrd_reasons_get(&xfrd->reasons, status->error_reason), text,
		size);
}

/* Says that a job has failed, once for each way in which it fails. */
static void
job_log_failure(const struct xfrd_job *job, const struct xfr_reply *reply,
	const char *why)
{
	char server[NET_ADDRESS_TEXT_MAX], with[XFRD_WITH_MAX],
		error[XFRD_ERROR_MAX];
	struct xfr_status status;

	xfr_get_status(job->xfrd->zones.machine, job->action.zone,
		clock_now_msec(), &status);
	if (status.has_error && status.error == reply->outcome
		&& status.error_rcode == reply->rcode
		&& status.error_reason == reply->reason
		&& status.error_primary == job->action.primary
		&& job->action.act != XFR_NOTIFY)
		return;
	log_at(1, LOG_LEVEL_WARNING, "xfrd: zone %s %s %s %s%s failed: %s",
		job->zone->name, job_what(job),
		job->action.act == XFR_NOTIFY ? "to" : "from",
		xfrd_job_print_server(job, server),
		xfrd_print_with(job->server, with, sizeof(with)),
		job_print_error(reply->outcome, reply->rcode, why, error,
			sizeof(error)));
}

static bool
job_is_failure(enum xfr_outcome outcome)
{
	switch (outcome) {
	case XFR_SOA:
	case XFR_UNCHANGED:
	case XFR_DONE:
	case XFR_ACKNOWLEDGED:
	case XFR_USE_TCP:
		return false;
	default:
		return true;
	}
}

void
xfrd_job_end(struct xfrd_job *job, const struct xfr_reply *reply,
	const char *why)
{
	struct xfrd *xfrd = job->xfrd;
	struct xfr_reply told = *reply;

	if (job->ticket != XFR_NO_TICKET) {
		if (job_is_failure(reply->outcome)) {
			told.reason = xfrd_reasons_add(&xfrd->reasons, why);
			job_log_failure(job, &told, why);
		}
		(void)xfr_on_reply(xfrd->zones.machine, job->ticket,
			clock_now_msec(), &told);
	}
	xfrd_job_free(job);
	xfrd_zones_go_on(xfrd);
}
