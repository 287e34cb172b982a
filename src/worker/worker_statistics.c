/* worker_statistics.c - the counters of a worker as lines of the log. */
#include "config.h"

#include <stdio.h>

#include "base/log.h"
#include "dns/message.h"
#include "worker/worker_statistics.h"

#define LINE_MAX_LEN 4000

static void
log_types(const struct counters *c, time_t now, time_t boot)
{
	char line[LINE_MAX_LEN], name[RRTYPE_TEXT_MAX];
	size_t len = (size_t)snprintf(line, sizeof(line), "NSTATS %lld %lld",
		(long long)now, (long long)boot);

	for (unsigned i = 0; i < COUNTER_TYPES - 1; i++) {
		if (c->type[i] == 0 || len >= sizeof(line))
			continue;
		(void)counters_print_type((uint16_t)i, name);
		len += (size_t)snprintf(line + len, sizeof(line) - len,
			" %s=%llu", name, (unsigned long long)c->type[i]);
	}
	log_info("%s", line);
}

void
worker_statistics_log(const struct counters *c, time_t now, time_t boot)
{
	/* Fields of forwarders and resolvers are always 0. */
	struct {
		const char *name;
		uint64_t value;
	} const fields[] = {
		{"RR", 0},
		{"RNXD", 0},
		{"RFwdR", 0},
		{"RDupR", 0},
		{"RFail", 0},
		{"RFErr", 0},
		{"RErr", c->rx_err},
		{"RAXFR", c->raxfr},
		{"RIXFR", c->rixfr},
		{"RLame", 0},
		{"ROpts", 0},
		{"SSysQ", 0},
		{"SAns", c->queries - c->dropped},
		{"SFwdQ", 0},
		{"SDupQ", 0},
		{"SErr", c->tx_err},
		{"RQ", c->queries},
		{"RIQ", c->opcode[OPCODE_IQUERY]},
		{"RFwdQ", 0},
		{"RDupQ", 0},
		{"RTCP", c->tcp + c->tcp6},
		{"SFwdR", 0},
		{"SFail", c->rcode[RCODE_SERVFAIL]},
		{"SFErr", c->rcode[RCODE_FORMERR]},
		{"SNaAns", c->answer_wo_aa},
		{"SNXD", c->rcode[RCODE_NXDOMAIN]},
		{"RUQ", 0},
		{"RURQ", 0},
		{"RUXFR", 0},
		{"RUUpd", c->opcode[OPCODE_UPDATE]},
		/* A field that BIND does not have comes last. */
		{"RLost", c->lost},
	};
	char line[LINE_MAX_LEN];
	size_t len = (size_t)snprintf(line, sizeof(line), "XSTATS %lld %lld",
		(long long)now, (long long)boot);

	log_types(c, now, boot);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		len += (size_t)snprintf(line + len, sizeof(line) - len,
			" %s=%llu", fields[i].name,
			(unsigned long long)fields[i].value);
	log_info("%s", line);
}
