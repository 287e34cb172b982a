/* statistics.c - the use of the store's memory, and its holders, as lines of
 * the log. */
#include "config.h"

#include <stdio.h>

#include "base/log.h"
#include "loader/load_turn.h"
#include "loader/statistics.h"
#include "store/writer.h"

#define LINE_MAX_LEN 4000
#define HOLDER_LATE_MSEC 5000
#define KINDS_STEP 500u

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
