/* load_history.c - what the versions of a zone differ by, when its file is
 * read. */
#include "config.h"

#include "base/log.h"
#include "load/ixfr_file.h"
#include "load/load_history.h"
#include "store/writer.h"
#include "zone/history.h"

/* For what is found wrong with the files. */
struct history_sink {
	struct diag_sink sink; /* first */
	const struct load_zone *zone;
};

static void
history_on_diag(struct diag_sink *sink, const struct diag *d)
{
	const struct load_zone *zone = ((struct history_sink *)sink)->zone;

	log_write(log_diag_level(d), "zone %s: %s", zone->conf->name, d->text);
}

/* The serial of the version that comes of a result. False: none new does, or
 * the step that leads there is made of the changes. */
static bool
history_find_serial(const struct load_context *context,
	const struct load_result *result, uint32_t *serial)
{
	const struct store_view *view = store_writer_view(context->writer);

	if (result->outcome == LOAD_BUILT) {
		*serial = ((const struct zone *)store_get(view,
				   result->built))->serial;
		return true;
	}
	if ((result->outcome != LOAD_DIFFERS && result->outcome != LOAD_APPLIED)
		|| result->zone->conf->options->create_ixfr)
		return false;
	for (size_t i = 0; i < result->change_count; i++) {
		const struct diff_change *change = &result->changes[i];

		if (change->add && change->rr.type == TYPE_SOA)
			return history_read_serial(change->rr.rdata,
				change->rr.rdlen, serial);
	}
	return false;
}

void
load_history_read(const struct load_context *context, const char *path,
	struct load_result *result)
{
	const struct load_zone *zone = result->zone;
	const struct history_limits limits = load_zone_get_history(zone);
	struct history_sink sink = {{.on_diag = history_on_diag}, zone};
	uint32_t serial;

	if (limits.number > 0
		&& history_find_serial(context, result, &serial))
		ixfr_file_read(path, zone->conf->wire, serial, &limits,
			&sink.sink, &result->history);
}

void
load_history_publish(const struct load_context *context,
	const struct load_result *result)
{
	const struct history_limits limits = load_zone_get_history(
		result->zone);
	const struct ixfr_drafts *drafts = &result->history;
	store_ref entry = result->zone->entry;

	if (drafts->count == 0)
		return;
	history_clear(context->writer, entry);
	for (size_t i = drafts->count; i-- > 0; )
		history_push(context->writer, entry, &drafts->items[i]);
	history_settle(context->writer, entry, &limits);
	log_at(2, LOG_LEVEL_INFO, "zone %s: %zu differences from files",
		result->zone->conf->name, drafts->count);
}

void
load_history_settle(struct store_writer *writer, const struct load_zone *zone)
{
	const struct history_limits limits = load_zone_get_history(zone);

	history_settle(writer, zone->entry, &limits);
}
