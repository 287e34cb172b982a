/* dynupdate.c - batches of dynamic updates of a zone: the steps of a message,
 * and what is undone if one of them refuses it. */
#include "dynupdate/dynupdate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "dynupdate/dyn.h"

/* Memory of a batch: of messages, and of RRsets that are large before they
 * change. One more message is let in as long as there is less. */
#define MEMORY_MAX (64u << 20)

/* Takes the SOA of the zone. */
static enum nsd_err
begin_zone(struct dynupdate *d)
{
	struct dyn_set *soa;

	d->apex_name = dyn_name_get(d, d->apex, d->apex_len);
	if (d->apex_name == NULL)
		return NSD_E_MEMORY;
	soa = dyn_name_find(d, d->apex_name, TYPE_SOA, 0);
	assert(soa != NULL);
	return dyn_set_load(d, soa);
}

enum nsd_err
dynupdate_begin(const struct store_view *view, const struct zone *zone,
	const uint8_t *apex, const struct dynupdate_options *options,
	struct dynupdate **out)
{
	struct dynupdate *d = malloc(sizeof(*d));
	enum nsd_err err;

	if (d == NULL)
		return NSD_E_MEMORY;
	/* Not the room behind: it is large. */
	memset(d, 0, offsetof(struct dynupdate, memory));
	d->view = view;
	d->zone = zone;
	d->options = *options;
	d->apex_len = (uint8_t)name_len(apex);
	memcpy(d->apex, apex, d->apex_len);
	d->from = zone->serial;
	d->to = zone->serial;
	arena_init(&d->arena, d->memory, sizeof(d->memory));
	err = begin_zone(d);
	if (err != NSD_OK) {
		dynupdate_end(d);
		return err;
	}
	*out = d;
	return NSD_OK;
}

void
dynupdate_end(struct dynupdate *d)
{
	if (d == NULL)
		return;
	arena_fini(&d->arena);
	free(d->rrs);
	free(d->rdata);
	free(d->records);
	free(d);
}

/* ---- a message ----------------------------------------------------------- */

static void
undo_message(struct dynupdate *d)
{
	for (struct dyn_set *set = d->touched; set != NULL;) {
		struct dyn_set *next = set->touched;

		dyn_set_undo(d, set);
		set = next;
	}
	d->touched = NULL;
	d->touched_names = NULL;
}

static bool
message_has_changed(const struct dynupdate *d)
{
	const struct dyn_set *set = d->touched;

	while (set != NULL && !dyn_set_differs(set))
		set = set->touched;
	return set != NULL;
}

/* Reads the message, and does what it says. */
static enum nsd_err
message_do(struct dynupdate *d, struct cursor *message,
	struct dynupdate_result *result)
{
	const uint8_t *head = message->start;
	enum nsd_err err;

	dyn_read_zone(d, message, result);
	if (result->rcode != RCODE_NOERROR)
		return NSD_OK;
	err = dyn_read_section(d, message,
		message_get_count(head, MESSAGE_ANCOUNT), DYN_PREREQUISITES,
		result);
	if (err == NSD_OK && result->rcode == RCODE_NOERROR)
		err = dyn_prerequisite_check(d, result);
	if (err == NSD_OK && result->rcode == RCODE_NOERROR)
		err = dyn_read_section(d, message,
			message_get_count(head, MESSAGE_NSCOUNT), DYN_UPDATES,
			result);
	if (err == NSD_OK && result->rcode == RCODE_NOERROR)
		err = dyn_rules_apply(d);
	return err;
}

/* Looks at what the message has come to, and writes it. */
static enum nsd_err
message_end(struct dynupdate *d, struct dynupdate_result *result)
{
	bool is_first = d->records_len == 0;
	enum nsd_err err;

	result->changed = message_has_changed(d);
	if (!result->changed)
		return NSD_OK;
	err = dyn_limits_check(d, result);
	if (err == NSD_OK && result->rcode == RCODE_NOERROR)
		err = dyn_dname_check(d, result);
	if (err == NSD_OK && result->rcode == RCODE_NOERROR)
		err = dyn_signed_check(d, result);
	if (err != NSD_OK || result->rcode != RCODE_NOERROR)
		return err;
	err = dyn_rules_raise_serial(d);
	if (err == NSD_OK)
		err = dyn_write_version(d, result);
	if (err == NSD_E_LIMIT && is_first)
		return dyn_refuse(result, RCODE_REFUSED, EDE_PROHIBITED,
			"the update changes more than %zu octets",
			d->options.octets_max);
	if (err == NSD_OK)
		d->to = dyn_soa_serial(dyn_soa(d));
	return err;
}

enum nsd_err
dynupdate_apply(struct dynupdate *d, const uint8_t *message, size_t len,
	struct dynupdate_result *result)
{
	struct cursor cursor;
	enum nsd_err err;

	memset(result, 0, offsetof(struct dynupdate_result, why));
	*result->why = '\0';
	result->changed = false;
	result->added = 0;
	result->removed = 0;
	result->rcode = RCODE_NOERROR;
	result->ede = EDE_NONE;
	if (d->arena.mapped > MEMORY_MAX && d->message > 0)
		return NSD_E_LIMIT;
	d->message++;
	d->touched = NULL;
	d->touched_names = NULL;
	cursor_init(&cursor, message, len);
	err = message_do(d, &cursor, result);
	if (err == NSD_OK && result->rcode == RCODE_NOERROR)
		err = message_end(d, result);
	if (err != NSD_OK || result->rcode != RCODE_NOERROR) {
		undo_message(d);
		result->changed = false;
	}
	result->serial = d->to;
	return err;
}

const uint8_t *
dynupdate_records(const struct dynupdate *d, size_t *len, uint32_t *from,
	uint32_t *to)
{
	*len = d->records_len;
	*from = d->from;
	*to = d->to;
	return d->records;
}
