/* updates_journal.c - the journal as xfrd sees it: entries become durable in
 * their order, after a while, or the disk is full. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dns/rrtype.h"
#include "journal/journal.h"
#include "lib/failing.h"
#include "lib/fake_clock.h"
#include "sim/updates.h"
#include "xfr/changes.h"
#include "xfrd/xfrd_edit.h"

#define ENTRIES_MAX 20000u

/* The linker puts these in front of the real ones (--wrap). */
struct journal_transfer *__wrap_journal_begin(struct journal *journal,
	const uint8_t *apex);
enum nsd_err __wrap_journal_put(struct journal_transfer *transfer,
	const void *data, size_t len);
bool __wrap_journal_is_full(const struct journal *journal);
uint64_t __wrap_journal_end(struct journal_transfer *transfer,
	const struct journal_end *end);
void __wrap_journal_abandon(struct journal_transfer *transfer);
enum nsd_err __wrap_journal_open_text(struct journal *journal,
	const uint8_t *apex, uint64_t id, int *fd, uint64_t *offset);
void __wrap_journal_accept(struct journal *journal, const uint8_t *apex,
	uint64_t id);
void __wrap_journal_refuse(struct journal *journal, const uint8_t *apex,
	uint64_t id);
bool __wrap_journal_find_newest(const struct journal *journal,
	const uint8_t *apex, struct journal_entry *entry, uint64_t *octets);
bool __wrap_journal_find_oldest(const struct journal *journal,
	const uint8_t *apex, struct journal_entry *entry);
enum nsd_err __wrap_journal_read_source(struct journal *journal,
	const uint8_t *apex, uint64_t id, char source[JOURNAL_SOURCE_MAX + 1]);
bool __wrap_journal_fills_disk(const struct journal *journal, uint64_t before,
	uint64_t after);

/* A text, and its entry once it is ended. */
struct text {
	unsigned zone;
	size_t len, room;
	uint8_t *octets;
	struct journal_entry entry;
	bool durable;
};

static struct text *texts[ENTRIES_MAX]; /* ended, in their order */
static unsigned count, durable;         /* the first ones are */
static uint64_t last_id;
static int64_t at_msec;

static void
text_free(struct text *text)
{
	free(text->octets);
	free(text);
}

static void
texts_drop(unsigned at)
{
	text_free(texts[at]);
	memmove(texts + at, texts + at + 1,
		(--count - at) * sizeof(texts[0]));
	durable -= at < durable;
}

static int
texts_find(const uint8_t *apex, uint64_t id)
{
	for (unsigned i = 0; i < count; i++)
		if (texts[i]->entry.id == id
			&& texts[i]->zone == zone_number(apex))
			return (int)i;
	return -1;
}

/* ---- texts --------------------------------------------------------------- */

struct journal_transfer *
__wrap_journal_begin(struct journal *journal, const uint8_t *apex)
{
	struct text *text;

	may_die(60);
	if (sim.plan.memory_fails && !sim.calm && one_in(60))
		return NULL;
	failing_once(-1); /* played parts have memory */
	text = calloc(1, sizeof(*text));
	if (text == NULL)
		abort();
	text->zone = zone_number(apex);
	return (struct journal_transfer *)text;
}

enum nsd_err
__wrap_journal_put(struct journal_transfer *transfer, const void *data,
	size_t len)
{
	struct text *text = (struct text *)transfer;

	if (sim.plan.disk_fails && !sim.calm && one_in(200)) {
		errno = ENOSPC;
		return NSD_E_SYSTEM;
	}
	failing_once(-1);
	text->octets = realloc(text->octets, text->len + len);
	if (text->octets == NULL)
		abort();
	memcpy(text->octets + text->len, data, len);
	text->len += len;
	return NSD_OK;
}

bool
__wrap_journal_fills_disk(const struct journal *journal, uint64_t before,
	uint64_t after)
{
	return sim.plan.disk_fails && !sim.calm && one_in(200);
}

bool
__wrap_journal_is_full(const struct journal *journal)
{
	return !sim.calm && one_in(50);
}

uint64_t
__wrap_journal_end(struct journal_transfer *transfer,
	const struct journal_end *end)
{
	struct text *text = (struct text *)transfer;

	if (count == ENTRIES_MAX)
		fail("too many entries");
	text->entry = (struct journal_entry){
		.id = ++last_id,
		.text_len = text->len,
		.from = end->from,
		.to = end->to,
		.kind = end->kind,
	};
	texts[count++] = text;
	sim.renewals += end->kind == JOURNAL_WHOLE;
	sim.batches += end->kind != JOURNAL_WHOLE;
	return text->entry.id;
}

void
__wrap_journal_abandon(struct journal_transfer *transfer)
{
	if (transfer != NULL)
		text_free((struct text *)transfer);
}

enum nsd_err
__wrap_journal_open_text(struct journal *journal, const uint8_t *apex,
	uint64_t id, int *fd, uint64_t *offset)
{
	int at = texts_find(apex, id);

	may_die(60);
	if (at == -1)
		fail("an entry that is not there is opened");
	if (!sim.calm && one_in(60))
		return NSD_E_AGAIN;
	*fd = memfd_create("text", MFD_CLOEXEC);
	if (*fd == -1 || write(*fd, texts[at]->octets, texts[at]->len)
			!= (ssize_t)texts[at]->len)
		fail("no file in memory");
	*offset = 0;
	return NSD_OK;
}

/* ---- entries ------------------------------------------------------------- */

void
__wrap_journal_accept(struct journal *journal, const uint8_t *apex, uint64_t id)
{
	int at = texts_find(apex, id);

	may_die(60);
	if (at == -1)
		fail("an entry that is not there is accepted");
	if (texts[at]->entry.kind != JOURNAL_WHOLE)
		return;
	for (unsigned i = (unsigned)at; i > 0; i--)
		if (texts[i - 1]->zone == zone_number(apex))
			texts_drop(i - 1);
}

void
__wrap_journal_refuse(struct journal *journal, const uint8_t *apex, uint64_t id)
{
	int at = texts_find(apex, id);

	if (at == -1)
		fail("an entry that is not there is refused");
	for (unsigned i = count; i > (unsigned)at; i--)
		if (texts[i - 1]->zone == zone_number(apex))
			texts_drop(i - 1);
}

/* Finds the first or the last durable entry of a zone. */
static bool
find_entry(const uint8_t *apex, bool is_oldest, struct journal_entry *entry)
{
	bool found = false;

	for (unsigned i = 0; i < durable && !(found && is_oldest); i++)
		if (texts[i]->zone == zone_number(apex)) {
			*entry = texts[i]->entry;
			found = true;
		}
	return found;
}

bool
__wrap_journal_find_newest(const struct journal *journal, const uint8_t *apex,
	struct journal_entry *entry, uint64_t *octets)
{
	*octets = 0;
	return zone_number(apex) < ZONES && find_entry(apex, false, entry);
}

bool
__wrap_journal_find_oldest(const struct journal *journal, const uint8_t *apex,
	struct journal_entry *entry)
{
	return find_entry(apex, true, entry);
}

enum nsd_err
__wrap_journal_read_source(struct journal *journal, const uint8_t *apex,
	uint64_t id, char source[JOURNAL_SOURCE_MAX + 1])
{
	if (texts_find(apex, id) == -1)
		fail("an entry that is not there has no source");
	if (!sim.calm && one_in(20))
		return NSD_E_WIRE;
	source[0] = '\0';
	return NSD_OK;
}

/* ---- the disk ------------------------------------------------------------ */

/* The result of the first entry that is not durable. */
static struct journal_done done;

static void
tell_done(void)
{
	if (!xfrd_edit_on_durable(sim.xfrd, &done))
		fail("an entry of nobody");
}

void
journal_play_turn(void)
{
	struct text *text;

	if (durable == count || (fake_clock_msec < at_msec && !sim.calm))
		return;
	at_msec = fake_clock_msec + below(one_in(20) ? 1000 : 10);
	text = texts[durable];
	done = (struct journal_done){.id = text->entry.id,
		.entry = text->entry};
	memcpy(done.apex, zone_apex(text->zone),
		name_len(zone_apex(text->zone)));
	if (sim.plan.disk_fails && !sim.calm && one_in(15)) {
		done.err = NSD_E_SYSTEM;
		done.error = ENOSPC;
		texts_drop(durable);
	} else {
		durable++;
	}
	(void)xfrd_call(tell_done);
}

void
journal_play_lose(void)
{
	while (durable < count && one_in(2))
		durable++;
	while (count > durable)
		texts_drop(count - 1);
}

void
journal_play_begin(void)
{
	count = durable = 0;
	at_msec = 0;
}

void
journal_play_end(void)
{
	durable = count;
	while (count > 0)
		texts_drop(count - 1);
}

/* ---- versions ------------------------------------------------------------ */

/* Applies a record of a name that clients change. False: it does not fit. */
static bool
apply_name(struct version *version, const struct changes_rr *rr)
{
	unsigned name = (unsigned)(rr->owner[2] - '0') * 10
		+ (unsigned)(rr->owner[3] - '0');
	char digits[16] = "";
	uint32_t value;

	if (rr->owner[0] != 3 || name >= NAMES || rr->rdlen > sizeof(digits))
		fail("a record is garbage");
	memcpy(digits, rr->rdata + 1, rr->rdlen - 1u);
	value = (uint32_t)atoi(digits);
	version->bad += rr->action == XFR_ADD && value >= BAD;
	if (rr->action == XFR_ADD && version->values[name] == 0)
		version->values[name] = value;
	else if (rr->action != XFR_ADD && version->values[name] == value)
		version->values[name] = 0;
	else
		return false;
	return true;
}

bool
journal_play_apply(struct version *version, const uint8_t *octets, size_t len)
{
	struct version next = *version;
	struct changes changes;
	struct changes_rr rr;
	uint32_t to;

	if (changes_open(&changes, octets, len) != NSD_OK)
		fail("a text is garbage");
	if (changes.kind == XFR_WHOLE)
		next = (struct version){.serial = 0};
	while (changes_read(&changes, &rr) == NSD_OK) {
		if (rr.type == TYPE_SOA && rr.part == CHANGES_OLD_SOA
			&& changes.kind == XFR_DIFFS
			&& rr.serial != next.serial)
			return false;
		if (rr.type == TYPE_SOA && rr.action == XFR_ADD)
			next.serial = octets_get_u32(rr.rdata + rr.rdlen - 20);
		if (rr.type == TYPE_TXT && !apply_name(&next, &rr))
			return false;
	}
	if (changes_close(&changes, &to) != NSD_OK)
		fail("a text is in part");
	if (changes.kind == XFR_DIFFS && next.serial != to)
		fail("a text leads elsewhere");
	*version = next;
	return true;
}

void
journal_play_start(unsigned zone, struct version *version)
{
	*version = (struct version){.serial = 1};
	for (unsigned i = 0; i < durable; i++)
		if (texts[i]->zone == zone
			&& !journal_play_apply(version, texts[i]->octets,
				texts[i]->len))
			fail("z%u: an entry does not fit", zone);
}
