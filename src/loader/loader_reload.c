/*
 * loader_reload.c - has zone files read that xfrd asks for, and answers with
 * the outcome.
 *
 * A request waits for a pass over its zones that begins after it has come. All
 * that wait when a pass begins are part of that pass.
 */
#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/octets.h"
#include "dns/name.h"
#include "loader/load_set.h"
#include "loader/loader.h"
#include "store/writer.h"

struct loader_read {
	struct loader_read *next;
	uint64_t channel;      /* to the asker */
	struct load_zone *zone; /* NULL: all */
	bool begun;            /* the pass that runs is for it */
	bool accepts;          /* the file of zone, whatever is wrong with it */
	struct ipc_read_done done;
	size_t before_len;
	char before[IPC_REASONS_MAX + 1]; /* reasons of those that had failed
				       * before, which come behind the others */
};

/* Adds as many whole lines to the text as there is room for. */
static void
reload_add_reasons(char text[IPC_REASONS_MAX], size_t *at,
	const char *reasons)
{
	assert(*at <= IPC_REASONS_MAX);
	while (*reasons != '\0') {
		size_t len = strcspn(reasons, "\n");

		if (*at + len + 1 > IPC_REASONS_MAX)
			return;
		for (size_t i = 0; i < len; i++)
			text[(*at)++] =
				(uint8_t)reasons[i] < ' ' ? '?' : reasons[i];
		text[(*at)++] = '\n';
		reasons += len + (reasons[len] == '\n');
	}
}

/* ---- the end ------------------------------------------------------------- */

static void
reload_answer(struct loader *loader, struct loader_read *one)
{
	struct role_answer answer = {
		.of = IPC_READ,
		.payload = &one->done,
	};
	size_t len = one->done.failed_len;

	assert(one->before_len <= IPC_REASONS_MAX);
	one->before[one->before_len] = '\0';
	reload_add_reasons(one->done.reasons, &len, one->before);
	answer.len = offsetof(struct ipc_read_done, reasons) + len;
	role_answer(&loader->role, one->channel, &answer);
}

/* True if the pass has left the zone out, as a transfer of it is being read:
 * its file is looked at in a later pass. No request waits for a verifier, but
 * one by which an operator takes the file. */
static bool
reload_is_put_off(const struct loader_read *one)
{
	return one->zone != NULL && one->zone->conf != NULL
		&& (one->accepts || !one->zone->judged)
		&& __atomic_load_n(&one->zone->skipped, __ATOMIC_SEQ_CST);
}

void
loader_end_reload(struct loader *loader)
{
	struct loader_read **at = &loader->reads, *one;

	while ((one = *at) != NULL) {
		if (!one->begun || reload_is_put_off(one)) {
			at = &one->next;
			continue;
		}
		assert(loader->pass == LOADER_PASS_NONE);
		*at = one->next;
		if (one->accepts && one->zone != NULL)
			one->zone->accepts = false;
		reload_answer(loader, one);
		free(one);
	}
}

/* ---- failures ------------------------------------------------------------ */

/* Returns the text about a zone whose reasons only the log has. */
static const char *
reload_see_log(const struct load_zone *zone, char line[1100])
{
	snprintf(line, 1100, "zone %.1000s: see the log",
		zone->conf != NULL ? zone->conf->name : "");
	return line;
}

void
loader_note_failed(struct loader *loader, const struct load_zone *zone,
	bool before, const char *reasons)
{
	char line[1100];
	size_t len;

	if (reasons == NULL)
		reasons = reload_see_log(zone, line);
	for (struct loader_read *one = loader->reads; one != NULL;
		one = one->next) {
		if (!one->begun || (one->zone != NULL && one->zone != zone))
			continue;
		if (before && one->zone == NULL) {
			one->done.before++;
			reload_add_reasons(one->before, &one->before_len,
				reasons);
			continue;
		}
		len = one->done.failed_len;
		one->done.err = NSD_E_ZONE;
		one->done.failed++;
		reload_add_reasons(one->done.reasons, &len, reasons);
		one->done.failed_len = (uint32_t)len;
	}
}

void
loader_note_unread(struct loader *loader, const struct load_result *result)
{
	struct loader_unread *unread = loader->unread;
	char line[1100];

	/* At a start no process waits for the reasons. The store has the zones
	 * that failed before: they are left alone unless their files change. */
	if ((loader->pass != LOADER_PASS_FIRST
			&& loader->pass != LOADER_PASS_CONFIGURED)
		|| result->awaited || loader->context.which != LOAD_MISSING)
		return;
	if (unread == NULL)
		unread = loader->unread = calloc(1, sizeof(*unread));
	if (unread == NULL)
		return; /* the log has it */
	unread->said.unread++;
	reload_add_reasons(unread->said.reasons, &unread->len,
		result->reasons != NULL
			? result->reasons
			: reload_see_log(result->zone, line));
}

void
loader_fail_reload(struct loader *loader, enum nsd_err err)
{
	for (struct loader_read *one = loader->reads; one != NULL;
		one = one->next)
		if (one->begun)
			one->done.err = err;
}

/* ---- the begin ----------------------------------------------------------- */

bool
loader_reload_waits(const struct loader *loader)
{
	const struct loader_read *one = loader->reads;

	while (one != NULL && one->begun)
		one = one->next;
	return one != NULL;
}

bool
loader_begin_reload(struct loader *loader, bool all)
{
	for (struct loader_read *one = loader->reads; one != NULL;
		one = one->next) {
		one->begun = true;
		all |= one->zone == NULL;
		if (one->accepts && one->zone->conf != NULL) {
			log_notice("zone %s: its file is read and not judged:"
				   " an operator takes it",
				one->zone->conf->name);
			one->zone->accepts = true;
		}
	}
	return all;
}

size_t
loader_list_reload(struct loader *loader, struct load_zone **zones, size_t max)
{
	size_t count = 0;

	for (const struct loader_read *one = loader->reads; one != NULL;
		one = one->next) {
		size_t i = 0;

		if (one->zone == NULL)
			continue;
		while (i < count && zones[i] != one->zone)
			i++;
		/* A zone that was removed meanwhile has nothing to be read. */
		if (i == count && count < max && one->zone->conf != NULL)
			zones[count++] = one->zone;
	}
	return count;
}

static struct load_zone *
reload_find(struct loader *loader, const struct ipc_read *read, size_t len)
{
	const struct conf_zone *conf;
	struct cursor cursor;
	uint8_t apex[NAME_MAX_LEN];
	size_t size;

	cursor_init(&cursor, read->apex, len);
	if (name_read_uncompressed(&cursor, apex, &size) != NSD_OK
		|| size != len)
		return NULL;
	conf = conf_find_zone(loader->role.server->conf, apex);
	return conf != NULL ? load_set_find(&loader->set,
				      store_writer_view(loader->writer), conf)
			    : NULL;
}

static void
reload_refuse(struct loader *loader, const struct ipc_message *m,
	const struct ipc_read *read, enum nsd_err err)
{
	struct loader_read one = {
		.channel = m->channel,
		.done = {.ticket = read->request.ticket, .err = err},
	};

	reload_answer(loader, &one);
}

bool
loader_add_reload(struct loader *loader, const struct ipc_message *m)
{
	struct ipc_read read = {.apex = {0}};
	size_t len = m->len - offsetof(struct ipc_read, apex);
	struct load_zone *zone = NULL;
	struct loader_read *one, **at = &loader->reads;

	memcpy(&read, m->payload, m->len);
	if (len > 0) {
		zone = reload_find(loader, &read, len);
		if (zone == NULL) {
			reload_refuse(loader, m, &read, NSD_E_NOT_FOUND);
			return false;
		}
	}
	one = calloc(1, sizeof(*one));
	if (one == NULL) {
		reload_refuse(loader, m, &read, NSD_E_MEMORY);
		return false;
	}
	one->channel = m->channel;
	one->zone = zone;
	one->done.ticket = read.request.ticket;
	one->accepts = zone != NULL && read.accepts != 0;
	while (*at != NULL)
		at = &(*at)->next;
	*at = one;
	return true;
}
