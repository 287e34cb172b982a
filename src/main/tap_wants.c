/* tap_wants.c - the records of queries and answers that nsd.conf and the
 * operator want, for dnstap and the query log. */
#include "config.h"

#include "main/tap_wants.h"

bool
tap_wants_log(const struct conf *conf)
{
	const char *log = conf->server.query_log;

	return log != NULL && *log != '\0';
}

bool
tap_wants_dnstap(const struct conf *conf, enum tap_said said)
{
	return USE_DNSTAP
		&& (conf->dnstap.dnstap_enable || said == TAP_SAID_ON);
}

uint32_t
tap_wants_choose(const struct conf *conf, enum tap_said said)
{
	const struct conf_dnstap *d = &conf->dnstap;
	uint32_t wants = tap_wants_log(conf) ? TAP_WANT_ALL : 0;

	if (said == TAP_SAID_OFF)
		return 0;
	if (!tap_wants_dnstap(conf, said))
		return wants;
	if (d->dnstap_log_auth_query_messages)
		wants |= TAP_WANT(TAP_AUTH, TAP_QUERY);
	if (d->dnstap_log_auth_response_messages)
		wants |= TAP_WANT(TAP_AUTH, TAP_RESPONSE);
	if (d->dnstap_log_update_messages)
		wants |= TAP_WANT_KIND(TAP_UPDATE);
	if (d->dnstap_log_notify_messages)
		wants |= TAP_WANT_KIND(TAP_NOTIFY);
	return wants;
}

bool
tap_wants_collector(const struct conf *conf, enum tap_said said)
{
	return tap_wants_log(conf) || tap_wants_dnstap(conf, said);
}
