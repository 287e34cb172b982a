/* load_transfer.c - makes a version of a zone from what a transfer has
 * brought. */
#include "config.h"

#include "base/log.h"
#include "load/load_findings.h"
#include "load/load_transfer.h"
#include "load/load_ways.h"
#include "store/writer.h"

/* From this many octets on, several threads build a zone faster. */
#define LARGE_TEXT (4u << 20)

static void
transfer_run(struct load_reading *r, bool large)
{
	const char *name = r->zone->conf->name;
	struct load_result *result = r->result;
	enum nsd_err err;

	log_at(5, LOG_LEVEL_INFO, "zone %s: reading a transfer of %llu octets",
		name, (unsigned long long)r->text->len);
	err = load_ways_run(r, large);
	if (err == NSD_OK)
		return;
	log_error("zone %s: what a transfer has brought cannot be served: %s",
		name, err_text(err));
	result->outcome = LOAD_FAILED;
	/* What was written changes: it is not what its sender has checked. */
	result->err = err == NSD_E_AGAIN ? NSD_E_WIRE : err;
	result->crowded = err == NSD_E_MEMORY && r->served != NULL
		&& store_count_lacks(r->context->writer) != r->lacks
		&& store_is_full(r->context->writer);
}

void
load_transfer_read(const struct load_context *context, struct load_zone *zone,
	const struct load_task *task, struct load_result *result)
{
	struct load_findings findings;
	struct load_reading r = {
		.context = context,
		.zone = zone,
		.path = zone->conf->name,
		.text = task->text,
		.options = {
			.apex = zone->conf->wire,
			.threads = task->large ? context->threads_max : 1,
			.secondary = true,
			.on_progress = task->large ? load_ways_on_parse : NULL,
			.progress_ctx = context->progress,
		},
		.heap = task->heap,
		.sink = &findings.sink,
		.lacks = store_count_lacks(context->writer),
		.result = result,
	};

	if (!task->large && r.text->len >= LARGE_TEXT) {
		result->outcome = LOAD_LARGE;
		return;
	}
	load_findings_init(&findings);
	transfer_run(&r, task->large);
}
