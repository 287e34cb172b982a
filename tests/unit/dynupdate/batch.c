/* batch.c - messages from text, and the zone that takes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "batch.h"
#include "dns/rcode_text.h"
#include "dynupdate/dyn.h"
#include "lib/failing.h"
#include "store/writer.h"
#include "update/update.h"
#include "xfr/changes.h"
#include "zone/walk.h"
#include "zonefile/zonefile.h"

#define TEXT_MAX (1u << 20)

struct zone_fixture batch_fixture;
struct dynupdate_options batch_options;
struct dynupdate_result batch_result;
int batch_fail_at = -1;

static struct dynupdate *batch;
static store_ref entry;
static char text[TEXT_MAX];

int
batch_setup(void **state)
{
	(void)state;
	zone_fixture_init(&batch_fixture);
	return 0;
}

int
batch_teardown(void **state)
{
	(void)state;
	dynupdate_end(batch);
	zone_fixture_fini(&batch_fixture);
	return 0;
}

static const struct zone *
zone_get(void)
{
	const struct zone_entry *e = store_get(batch_fixture.view, entry);

	return store_get(batch_fixture.view, store_load_ref(&e->zone));
}

void
batch_load(const char *zone)
{
	dynupdate_end(batch);
	batch = NULL;
	batch_options = (struct dynupdate_options){.octets_max = 4u << 20};
	assert_int_equal(zone_fixture_load(&batch_fixture, BATCH_APEX, zone,
		&entry), NSD_OK);
}

uint32_t
batch_serial(void)
{
	return zone_get()->serial;
}

/* ---- messages ------------------------------------------------------------ */

void
batch_message_init(struct batch_message *m)
{
	static const uint8_t zone[] = "\7example\0\0\6\0\1";

	memset(m->octets, 0, MESSAGE_HEADER_LEN);
	m->octets[MESSAGE_FLAGS] = OPCODE_UPDATE << 3;
	m->octets[MESSAGE_QDCOUNT + 1] = 1;
	memcpy(m->octets + MESSAGE_HEADER_LEN, zone, sizeof(zone) - 1);
	m->len = MESSAGE_HEADER_LEN + sizeof(zone) - 1;
}

void
batch_message_put(struct batch_message *m, unsigned section,
	const uint8_t *owner, uint16_t type, uint16_t rrclass,
	uint32_t ttl_sec, const uint8_t *rdata, size_t rdlen)
{
	uint8_t *at = m->octets + m->len;
	size_t len = name_len(owner);

	assert_true(m->len + len + 10 + rdlen <= sizeof(m->octets));
	memcpy(at, owner, len);
	at += len;
	octets_put_u16(at, type);
	octets_put_u16(at + 2, rrclass);
	octets_put_u32(at + 4, ttl_sec);
	octets_put_u16(at + 8, (uint16_t)rdlen);
	if (rdlen > 0)
		memcpy(at + 10, rdata, rdlen);
	m->len += len + 10 + rdlen;
	octets_put_u16(m->octets + section, (uint16_t)(1
		+ octets_get_u16(m->octets + section)));
}

/* Puts a record of a zone file. */
static void
put_parsed(struct batch_message *m, unsigned section, uint16_t rrclass,
	uint32_t ttl_sec, const char *record)
{
	const struct zonefile_options options = {
		.apex = zone_fixture_name(BATCH_APEX), .secondary = true};
	struct zonefile_result result;
	const struct rrbatch_rr *rr;
	char line[4096];

	snprintf(line, sizeof(line), "%s\n", record);
	if (zonefile_parse_text("record", line, strlen(line), &options, NULL,
			&result) != NSD_OK || result.batches == NULL)
		fail_msg("no record: %s", record);
	rr = rrbatch_first(result.batches);
	batch_message_put(m, section, rr->data, rr->type, rrclass,
		rrclass == CLASS_IN && section == MESSAGE_NSCOUNT
			? rr->ttl_sec : ttl_sec, rrbatch_rr_rdata(rr),
		rr->rdlen);
	zonefile_result_fini(&result);
}

void
batch_message_add(struct batch_message *m, const char *line)
{
	unsigned section = line[0] == 'p' || line[0] == 'P' ? MESSAGE_ANCOUNT
							    : MESSAGE_NSCOUNT;
	uint32_t ttl_sec = line[0] == 'P' || line[0] == 'U';
	char rrclass[10], name[1024], type_text[100];
	int at = 0;
	uint16_t type;

	assert_int_equal(sscanf(line + 1, "%9s %n", rrclass, &at), 1);
	line += 1 + at;
	if (strcmp(rrclass, "in") == 0) {
		put_parsed(m, section, CLASS_IN, ttl_sec, line);
		return;
	}
	if (strcmp(rrclass, "none") == 0 && section == MESSAGE_NSCOUNT) {
		put_parsed(m, section, CLASS_NONE, ttl_sec, line);
		return;
	}
	assert_int_equal(sscanf(line, "%1023s %99s", name, type_text), 2);
	assert_int_equal(rrtype_parse(type_text, strlen(type_text), &type),
		NSD_OK);
	batch_message_put(m, section, strcmp(name, "@") == 0
			? zone_fixture_name(BATCH_APEX)
			: zone_fixture_name(name), type,
		strcmp(rrclass, "any") == 0 ? CLASS_ANY : CLASS_NONE, ttl_sec,
		NULL, 0);
}

enum nsd_err
batch_begin(void)
{
	enum nsd_err err;

	failing_once(batch_fail_at);
	err = dynupdate_begin(batch_fixture.view, zone_get(),
		(const uint8_t *)"\7example", &batch_options, &batch);
	failing_once(-1);
	return err;
}

size_t
batch_memory(void)
{
	return batch->arena.mapped;
}

enum nsd_err
batch_apply(const struct batch_message *m)
{
	uint8_t *octets;
	enum nsd_err err;

	if (batch == NULL)
		assert_int_equal(batch_begin(), NSD_OK);
	/* Memory that ends with the message, for those who watch it. */
	octets = malloc(m->len + 1);
	assert_non_null(octets);
	memcpy(octets + 1, m->octets, m->len);
	failing_once(batch_fail_at);
	err = dynupdate_apply(batch, octets + 1, m->len, &batch_result);
	failing_once(-1);
	free(octets);
	return err;
}

const char *
batch_ask(const char *lines)
{
	static struct batch_message m;
	static char said[RCODE_TEXT_MAX + 10];
	char rcode[RCODE_TEXT_MAX];
	size_t len;

	batch_message_init(&m);
	while (*lines != '\0') {
		char line[2000];

		len = strcspn(lines, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)len, lines);
		batch_message_add(&m, line);
		lines += len + (lines[len] == '\n');
	}
	assert_int_equal(batch_apply(&m), NSD_OK);
	rcode_text_print(batch_result.rcode, rcode);
	rcode[strcspn(rcode, " ")] = '\0';
	snprintf(said, sizeof(said), "%s%s", rcode,
		batch_result.rcode == RCODE_NOERROR && !batch_result.changed
			? " same" : "");
	/* RFC 8914: texts go with refusals. */
	assert_int_equal(batch_result.rcode == RCODE_NOERROR,
		batch_result.ede == EDE_NONE);
	assert_int_equal(batch_result.ede == EDE_NONE,
		*batch_result.why == '\0');
	return said;
}

/* ---- the zone ------------------------------------------------------------ */

__attribute__((format(printf, 1, 2))) static void
say(const char *format, ...)
{
	size_t len = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + len, sizeof(text) - len, format, args);
	va_end(args);
}

void
batch_print(char line[BATCH_LINE_MAX], const uint8_t *owner, uint32_t ttl_sec,
	uint16_t type, const uint8_t *rdata, size_t rdlen)
{
	char name[NAME_TEXT_MAX], type_text[RRTYPE_TEXT_MAX], rdata_text[4096];

	name_print_text(owner, name);
	rrtype_print(type, type_text);
	if (type == TYPE_SOA) {
		snprintf(line, BATCH_LINE_MAX, "SOA %u\n",
			(unsigned)octets_get_u32(rdata + rdlen - 20));
		return;
	}
	if (rdata_print(type, rdata, rdlen, rdata_text, sizeof(rdata_text))
		>= sizeof(rdata_text))
		snprintf(rdata_text, sizeof(rdata_text), "(%zu octets)", rdlen);
	snprintf(line, BATCH_LINE_MAX, "%s %u %s %s\n", name,
		(unsigned)ttl_sec, type_text, rdata_text);
}

static void
say_record(const char *sign, const uint8_t *owner, uint32_t ttl_sec,
	uint16_t type, const uint8_t *rdata, size_t rdlen)
{
	char line[BATCH_LINE_MAX];

	batch_print(line, owner, ttl_sec, type, rdata, rdlen);
	say("%s%s", sign, line);
}

static void
note(struct zone_update *update, const struct changes_rr *rr)
{
	const struct zone_rr record = {
		.owner = rr->owner,
		.ttl_sec = rr->ttl_sec,
		.type = rr->type,
		.rdlen = rr->rdlen,
		.rdata = rr->rdata,
	};

	if (rr->part == CHANGES_OLD_SOA && *text != '\0')
		update_next_version(update);
	say_record(rr->action == XFR_ADD ? "+" : "-", rr->owner, rr->ttl_sec,
		rr->type, rr->rdata, rr->rdlen);
	assert_int_equal(rr->action == XFR_ADD
			? update_add(update, &record)
			: update_remove(update, &record), NSD_OK);
}

static void
on_diag(struct diag_sink *sink, const struct diag *d)
{
	(void)sink;
	if (d->severity == DIAG_ERROR)
		printf("%s\n", d->text);
}

static void
commit(const uint8_t *records, size_t len, uint32_t to)
{
	const struct zone_update_options options = {.threads = 1,
		.exact = true};
	struct changes changes;
	struct changes_rr rr;
	struct zone_update *update;
	struct diag_sink sink = {.on_diag = on_diag};
	uint8_t *octets = malloc(CHANGES_HEAD_MAX + len);
	size_t head;
	uint32_t last;

	assert_non_null(octets);
	head = changes_write_head(octets, XFR_DIFFS,
		(const uint8_t *)"\7example", 9);
	memcpy(octets + head, records, len);
	assert_int_equal(changes_open(&changes, octets, head + len), NSD_OK);
	assert_int_equal(update_begin(batch_fixture.writer, entry, &options,
		&update), NSD_OK);
	while (changes_left(&changes) > 0) {
		assert_int_equal(changes_read(&changes, &rr), NSD_OK);
		note(update, &rr);
	}
	assert_int_equal(changes_close(&changes, &last), NSD_OK);
	assert_int_equal(last, to);
	assert_int_equal(update_commit(update, &sink, NULL), NSD_OK);
	store_reclaim(batch_fixture.writer);
	free(octets);
}

const char *
batch_take(void)
{
	const uint8_t *records;
	uint32_t from, to;
	size_t len;

	*text = '\0';
	if (batch == NULL)
		return text;
	records = dynupdate_records(batch, &len, &from, &to);
	assert_int_equal(from, zone_get()->serial);
	if (len > 0)
		commit(records, len, to);
	else
		assert_int_equal(from, to);
	assert_int_equal(to, zone_get()->serial);
	dynupdate_end(batch);
	batch = NULL;
	return text;
}

static enum nsd_err
on_rr(void *ctx, const struct zone_rr *rr)
{
	(void)ctx;
	if (rr->type != TYPE_SOA)
		say_record("", rr->owner, rr->ttl_sec, rr->type, rr->rdata,
			rr->rdlen);
	return NSD_OK;
}

const char *
batch_zone(void)
{
	*text = '\0';
	assert_int_equal(zone_walk(batch_fixture.view, zone_get(),
		(const uint8_t *)"\7example", on_rr, NULL), NSD_OK);
	return text;
}
