/* statistics.c - the counters of a worker as lines of the log. */
#include "config.h"

#include <stdio.h>

#include "base/log.h"
#include "loader/load_turn.h"
#include "loader/statistics.h"
#include "store/writer.h"

#define LINE_MAX_LEN 4000
#define HOLDER_LATE_MSEC 5000
#define KINDS_STEP 500u
#define OPCODE_UPDATE 5
#define OPCODE_IQUERY 1
#define RCODE_FORMERR 1
#define RCODE_SERVFAIL 2
#define RCODE_NXDOMAIN 3

static void
statistics_log_types(const struct counters *c, time_t now, time_t boot)
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
statistics_log(const struct counters *c, time_t now, time_t boot)
{
	/* Always 0: what BIND 8 counted as a forwarder or resolver. */
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
		/* Behind BIND's: ours alone. */
		{"RLost", c->lost},
	};
	char line[LINE_MAX_LEN];
	size_t len = (size_t)snprintf(line, sizeof(line), "XSTATS %lld %lld",
		(long long)now, (long long)boot);

	statistics_log_types(c, now, boot);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		len += (size_t)snprintf(line + len, sizeof(line) - len,
			" %s=%llu", fields[i].name,
			(unsigned long long)fields[i].value);
	log_info("%s", line);
}

static void
statistics_log_kinds(const struct zone_measuring *kinds)
{
	struct zone_measure measure;
	char line[LINE_MAX_LEN];
	size_t len = (size_t)snprintf(line, sizeof(line), "KINDS");

	zone_measure_get(kinds, &measure);
	for (unsigned i = 0; i < ZONE_KIND_COUNT; i++)
		len += (size_t)snprintf(line + len, sizeof(line) - len,
			" %s=%llu", zone_kind_name(i),
			(unsigned long long)measure.octets[i]);
	log_info("%s", line);
}

bool
statistics_measure_kinds(struct store_writer *writer,
	struct zone_measuring *kinds)
{
	struct load_turn turn = load_turn_begin();

	while (zone_measure_step(store_writer_view(writer), kinds,
		KINDS_STEP))
		if (load_turn_is_over(&turn))
			return true;
	statistics_log_kinds(kinds);
	return false;
}

void
statistics_log_store(struct store_writer *writer, int64_t now_msec)
{
	struct store_holder holder;
	struct store_stats s;

	if (store_find_holder(writer, now_msec, &holder))
		log_info("HOLDER name=\"%.16s\" pid=%ld epoch=%llu pinned=%d"
			 " octets=%llu msec=%lld",
			holder.name, (long)holder.pid,
			(unsigned long long)holder.epoch, holder.pinned,
			(unsigned long long)holder.octets,
			(long long)holder.age_msec);
	store_get_stats(writer, &s);
	log_info("STORE live=%llu free=%llu mapped=%llu retired=%llu"
		 " retired_total=%llu reclaimed_total=%llu given_back=%llu"
		 " epoch=%llu oldest=%llu pins=%u",
		(unsigned long long)s.live, (unsigned long long)s.free,
		(unsigned long long)s.mapped, (unsigned long long)s.retired,
		(unsigned long long)s.retired_total,
		(unsigned long long)s.reclaimed_total,
		(unsigned long long)s.given_back,
		(unsigned long long)s.epoch,
		(unsigned long long)s.oldest_reader_epoch, s.pins);
}

void
statistics_warn_holder(const struct store_holder *holder, int64_t *warned)
{
	if (holder == NULL) {
		*warned = 0;
		return;
	}
	if (holder->age_msec < HOLDER_LATE_MSEC
		|| holder->age_msec < 2 * *warned)
		return;
	*warned = holder->age_msec;
	log_warning("%.16s (pid %ld) has %s for %lld s; %llu octets wait for"
		    " it",
		holder->name, (long)holder->pid,
		holder->pinned ? "pinned an old version"
			      : "not come to the newest version",
		(long long)(holder->age_msec / 1000),
		(unsigned long long)holder->octets);
}
