/*
 * keeps_start.c - the texts of transfers, as the loader applies them, and the
 * version of a zone that a start makes of its file and the journal, by the
 * rules of loader/load_journal.c.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "dns/rrtype.h"
#include "dns/serial.h"
#include "sim/keeps_start.h"
#include "xfr/changes.h"

#define STEPS_MAX (VERSIONS_MAX + 1u)
#define TEXT_MAX (4u << 20)

/* ---- texts --------------------------------------------------------------- */

/* A version that becomes another. */
struct step {
	uint32_t from, to; /* serials */
	int removed, added;
};

static struct text {
	struct step steps[STEPS_MAX];
	unsigned count;
	unsigned pads;
	bool is_served; /* xfrd has written it, as it was served */
} text;

/* Reads the number in the record that tells it. False: another record. */
static bool
read_number(const struct changes_rr *rr, int *number)
{
	char digits[16] = "";

	if (rr->type != TYPE_TXT || rr->owner[0] != 1 || rr->owner[1] != 'v')
		return false;
	if (rr->rdlen >= sizeof(digits))
		fail("a record is garbage");
	memcpy(digits, rr->rdata + 1, rr->rdlen - 1u);
	*number = atoi(digits);
	return true;
}

/* Takes a record. */
static void
text_take(const struct changes_rr *rr)
{
	struct step *step;
	int number;

	if (rr->part == CHANGES_OLD_SOA
		|| (text.count == 0 && rr->type == TYPE_SOA)) {
		if (text.count == STEPS_MAX)
			fail("too many versions");
		text.steps[text.count++] = (struct step){.from = rr->serial,
			.removed = NO_VERSION, .added = NO_VERSION};
	}
	if (text.count == 0)
		fail("a text begins with no SOA");
	step = &text.steps[text.count - 1];
	if (rr->type == TYPE_SOA)
		step->to = octets_get_u32(rr->rdata + rr->rdlen - 20);
	else if (rr->owner[0] == 1 && rr->owner[1] == 's')
		text.is_served = true;
	else if (!read_number(rr, &number))
		text.pads += rr->type == TYPE_TXT;
	else if (rr->action == XFR_ADD)
		step->added = number;
	else
		step->removed = number;
}

static void
check_serial(unsigned number, int version, uint32_t serial)
{
	const struct zone_model *zone = &sim.zones[number];

	if (version < 0 || version > zone->newest
		|| zone->serials[version] != serial)
		fail("z%u: version %d has serial %u", number, version, serial);
}

static enum nsd_err
apply_diffs(unsigned number, int *version)
{
	const struct zone_model *zone = &sim.zones[number];
	const struct step *step = text.steps, *end = step + text.count;

	if (*version == NO_VERSION)
		return NSD_E_INEXACT;
	if (end[-1].to == zone->serials[*version])
		return NSD_OK;
	while (step < end && step->from != zone->serials[*version])
		step++;
	if (step == end)
		return NSD_E_INEXACT;
	for (int at = *version; step < end; step++) {
		if (step->removed != at)
			return NSD_E_INEXACT;
		at = step->added;
		check_serial(number, at, step->to);
		if (step + 1 == end)
			*version = at;
	}
	return NSD_OK;
}

enum nsd_err
start_apply(const uint8_t *octets, size_t len, unsigned number, int *version)
{
	struct changes changes;
	struct changes_rr rr;
	enum nsd_err err = changes_open(&changes, octets, len);

	text.count = text.pads = 0;
	text.is_served = false;
	if (err != NSD_OK || zone_number(changes.apex) != number)
		fail("z%u: a text is garbage", number);
	while ((err = changes_read(&changes, &rr)) == NSD_OK)
		text_take(&rr);
	if (err != NSD_E_AGAIN || changes_close(&changes, NULL) != NSD_OK
		|| text.count == 0)
		fail("z%u: a text is in part", number);
	if (changes.kind == XFR_DIFFS)
		return apply_diffs(number, version);
	if (text.count != 1 || text.pads != (text.is_served ? 0
					: sim.zones[number].pads))
		fail("z%u: a whole zone is in part", number);
	*version = text.steps[0].added;
	check_serial(number, *version, text.steps[0].to);
	return NSD_OK;
}

/* ---- a start ------------------------------------------------------------- */

/* Applies an entry of the journal. False: it is damaged, or does not fit. */
static bool
start_apply_entry(int dirfd, const struct journal_entry *entry,
	unsigned number, int *version)
{
	static uint8_t octets[TEXT_MAX];
	struct journal_reader *reader;
	const uint8_t *data;
	size_t len, all = 0;
	enum nsd_err err = journal_reader_open(dirfd, entry, &reader);

	if (err != NSD_OK)
		return false;
	while ((err = journal_reader_next(reader, &data, &len)) == NSD_OK
		&& len > 0) {
		if (all + len > sizeof(octets))
			fail("z%u: a text is too long", number);
		memcpy(octets + all, data, len);
		all += len;
	}
	journal_reader_close(reader);
	return err == NSD_OK && start_apply(octets, all, number, version)
		== NSD_OK;
}

/* True if a chain ends at a newer version: see journal_leads_on. */
static bool
chain_leads_on(const struct journal_chain *chain,
	const struct journal_query *query)
{
	if (chain->count == 0)
		return false;
	if (!query->has_serial || chain->entries[0].kind == JOURNAL_DIFFS)
		return true;
	for (size_t i = 0; i < chain->count; i++)
		if (serial_is_newer(chain->entries[i].to, query->serial))
			return true;
	return false;
}

static bool
find_chain(const struct journal_index *index, unsigned number, int version,
	uint64_t before, struct journal_chain *chain)
{
	const struct zone_model *zone = &sim.zones[number];
	const struct journal_query query = {
		.apex = zone_apex(number),
		.has_serial = version != NO_VERSION,
		.serial = version != NO_VERSION ? zone->serials[version] : 0,
		.before = before,
	};

	if (journal_find(index, &query, chain) != NSD_OK)
		return false;
	if (chain_leads_on(chain, &query))
		return true;
	journal_chain_fini(chain);
	return false;
}

/* Returns the version by a whole zone of the journal; NO_VERSION: the zone
 * begins with its file. */
static int
start_build(int dirfd, const struct journal_index *index, unsigned number)
{
	const struct zone_model *zone = &sim.zones[number];
	const uint8_t *apex = zone_apex(number);
	const struct journal_entry *newest = journal_index_newest(index, apex);
	int file = zone->file, base = NO_VERSION, version = NO_VERSION;
	bool is_back = false, is_kept = false, is_whole = true;
	struct journal_chain chain;
	uint64_t before = 0;

	if (file != NO_VERSION && newest != NULL) {
		is_back = journal_index_went_back(index, apex,
			zone->serials[file]);
		is_kept = newest->kind == JOURNAL_WHOLE
			&& newest->to == zone->serials[file];
	}
	if (!is_back && !is_kept)
		base = file;
	while (version == NO_VERSION && is_whole
		&& find_chain(index, number, base, before, &chain)) {
		is_whole = chain.entries[0].kind == JOURNAL_WHOLE;
		before = chain.entries[0].id;
		if (is_whole)
			(void)start_apply_entry(dirfd, &chain.entries[0],
				number, &version);
		journal_chain_fini(&chain);
		if (!is_back)
			base = file;
	}
	return version;
}

int
start_find(int dirfd, const struct journal_index *index, unsigned number)
{
	int version = start_build(dirfd, index, number);
	struct journal_chain chain;

	if (version == NO_VERSION)
		version = sim.zones[number].file;
	if (version == NO_VERSION
		|| !find_chain(index, number, version, 0, &chain))
		return version;
	for (size_t i = 0; i < chain.count; i++)
		if (!start_apply_entry(dirfd, &chain.entries[i], number,
			&version))
			break;
	journal_chain_fini(&chain);
	return version;
}
