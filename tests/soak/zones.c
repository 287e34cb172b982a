/* zones.c - zones that change without end. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/build.h"
#include "dns/name.h"
#include "dns/rrtype.h"
#include "lib/history_fixture.h"
#include "lib/table_remove.h"
#include "soak/zones.h"
#include "store/writer.h"
#include "update/update.h"
#include "zone/history.h"
#include "zone/table.h"
#include "zone/walk.h"
#include "zonedb/history_edit.h"
#include "zonedb/mark.h"
#include "zonedb/release.h"
#include "zonedb/share.h"
#include "zonedb/table_edit.h"
#include "zonefile/zonefile.h"

#define TEXT_MAX 65536u
#define CHANGED_OF 12u /* about one in so many names, a serial */

static void
must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "soak: %s failed\n", what);
	abort();
}

/* ---- contents of a zone */

static uint64_t
mix(uint64_t z, uint64_t name, uint64_t serial)
{
	uint64_t h = (z * 1000003 + name) * 1000003 + serial;

	h = (h ^ h >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return h ^ h >> 32;
}

static bool
is_changed(unsigned z, unsigned name, uint32_t serial)
{
	return serial <= 1 || mix(z, name, serial) % CHANGED_OF == 0;
}

struct text {
	char octets[TEXT_MAX];
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void
text_add(struct text *text, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	text->len += (size_t)vsnprintf(text->octets + text->len,
		TEXT_MAX - text->len, format, ap);
	va_end(ap);
	must(text->len < TEXT_MAX, "room for text");
}

/* Writes the records at and below n<name>, as of its last change. */
static void
text_add_name(struct text *t, unsigned z, unsigned name, uint32_t serial)
{
	uint64_t h;
	unsigned a, b;

	while (!is_changed(z, name, serial))
		serial--;
	h = mix(z, name, (uint64_t)serial << 32);
	a = (unsigned)(h >> 8 & 0xff);
	b = (unsigned)(h >> 16 & 0xff);
	switch (h >> 24 & 7) {
	case 0: /* nothing */
		break;
	case 1:
		text_add(t, "n%u 300 A 192.0.%u.%u\n", name, a, b);
		break;
	case 2:
		text_add(t, "n%u 300 A 192.0.%u.%u\nn%u 300 A 192.1.%u.%u\n",
			name, a, b, name, a, b);
		text_add(t, "n%u 300 AAAA 2001:db8::%x:%x\n", name, a, b);
		break;
	case 3: /* a cut with glue */
		text_add(t, "n%u 300 NS ns.n%u\nns.n%u 300 A 192.2.%u.%u\n",
			name, name, name, a, b);
		break;
	case 4: /* a cut, with the server of another name */
		text_add(t, "n%u 300 NS ns.n%u\nn%u 300 NS ns.example.\n",
			name, (name + 1) % ZONES_NAMES, name);
		break;
	case 5:
		text_add(t, "n%u 300 MX 10 n%u\nn%u 300 TXT \"%u\"\n", name,
			a % ZONES_NAMES, name, b);
		break;
	case 6:
		text_add(t, "*.n%u 300 TXT \"%u\" \"%0*u\"\n", name, a,
			(int)b % 200 + 1, 1);
		break;
	default: /* identical in many zones */
		text_add(t, "n%u 300 MX 10 mail.example.\n", name);
		break;
	}
}

static void
text_add_soa(struct text *t, uint32_t serial)
{
	text_add(t, "@ 300 SOA ns hostmaster %u 3600 900 604800 300\n",
		serial);
}

static void
text_fill(struct text *t, unsigned z, uint32_t serial)
{
	t->len = 0;
	text_add_soa(t, serial);
	text_add(t, "@ 300 NS ns\n@ 300 NS ns.example.\n"
		    "ns 300 A 192.0.2.1\n");
	for (unsigned i = 0; i < ZONES_NAMES; i++)
		text_add_name(t, z, i, serial);
}

/* ---- names and entries */

static void
zone_name(unsigned z, uint8_t name[NAME_MAX_LEN])
{
	static const uint8_t root[1];
	char text[32];
	const char *why;
	size_t len;

	snprintf(text, sizeof(text), "z%u.example.", z);
	must(name_parse_text(text, strlen(text), root, name, &len, &why)
			== NSD_OK,
		text);
}

static const struct zone_entry *
find_entry(const struct store_view *view, unsigned z, store_ref *at)
{
	const struct zone_table *table = table_get(view);
	uint8_t name[NAME_MAX_LEN];
	struct trie_iter iter;
	store_ref ref;

	zone_name(z, name);
	if (table == NULL)
		return NULL;
	trie_iter_init(&iter, view, &table->apexes.root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE) {
		const struct zone_entry *entry = store_get(view, ref);

		if (name_equal(entry->name, name)) {
			*at = ref;
			return entry;
		}
	}
	return NULL;
}

uint32_t
zones_serial(const struct store_view *view, unsigned z)
{
	store_ref at, zone;
	const struct zone_entry *entry = find_entry(view, z, &at);

	if (entry == NULL)
		return 0;
	zone = store_load_ref(&entry->zone);
	return zone == STORE_NONE
		? 0
		: ((const struct zone *)store_get(view, zone))->serial;
}

/* ---- changing */

static void
on_diag(struct diag_sink *sink, const struct diag *d)
{
	(void)sink;
	if (d->severity >= DIAG_ERROR)
		fprintf(stderr, "soak: %u: %s\n", (unsigned)d->line, d->text);
}

static void
parse(const struct text *text, const uint8_t *apex,
	struct zonefile_result *parsed)
{
	const struct zonefile_options options = { .apex = apex,
		.default_ttl_sec = 300 };
	struct diag_sink sink = { .on_diag = on_diag };

	must(zonefile_parse_text("text", text->octets, text->len, &options,
		     &sink, parsed)
			== NSD_OK,
		"zonefile_parse_text");
}

enum nsd_err
zones_build(struct store_writer *writer, unsigned z, uint32_t serial,
	store_ref *zone)
{
	static const char *const files[] = { "text" };
	static struct text text;
	uint8_t apex[NAME_MAX_LEN];
	struct diag_sink sink = { .on_diag = on_diag };
	struct zone_build_input input = { .apex = apex, .files = files,
		.file_count = 1, .threads = 1 };
	struct zonefile_result parsed;
	enum nsd_err err;

	zone_name(z, apex);
	text_fill(&text, z, serial);
	parse(&text, apex, &parsed);
	input.batches = parsed.batches;
	err = build_zone(&input, writer, store_writer_heap(writer), &sink,
		zone);
	must(err == NSD_OK || err == NSD_E_MEMORY, "build_zone");
	zonefile_result_fini(&parsed);
	return err;
}

bool
zones_add(struct store_writer *writer, unsigned z, uint32_t serial)
{
	uint8_t apex[NAME_MAX_LEN];
	struct zone_setup setup = { .apex = apex, .id = z };
	store_ref entry, zone;

	zone_name(z, apex);
	if (zones_build(writer, z, serial, &zone) != NSD_OK)
		return false;
	if (table_add(writer, &setup, 1, &entry) != NSD_OK) {
		release_zone(store_writer_heap(writer), zone);
		return false;
	}
	table_set_zone(writer, entry, zone);
	return true;
}

bool
zones_replace(struct store_writer *writer, unsigned z, uint32_t serial)
{
	store_ref entry, zone;

	if (find_entry(store_writer_view(writer), z, &entry) == NULL)
		return zones_add(writer, z, serial);
	if (zones_build(writer, z, serial, &zone) != NSD_OK)
		return false;
	history_clear(writer, entry);
	table_set_zone(writer, entry, zone);
	return true;
}

void
zones_remove(struct store_writer *writer, unsigned z)
{
	uint8_t apex[NAME_MAX_LEN];

	zone_name(z, apex);
	must(table_remove(writer, apex) == NSD_OK, "table_remove");
}

static enum nsd_err
ask_remove(struct zone_update *update, const uint8_t *apex, const char *format,
	unsigned name)
{
	uint8_t owner[NAME_MAX_LEN];
	const char *why;
	char text[32];
	size_t len;

	snprintf(text, sizeof(text), format, name);
	must(name_parse_text(text, strlen(text), apex, owner, &len, &why)
			== NSD_OK,
		text);
	return update_remove_rrset(update, owner, TYPE_ANY);
}

static enum nsd_err
ask_add(struct zone_update *update, const struct rrbatch *batch)
{
	const uint8_t *owner = NULL;
	enum nsd_err err = NSD_OK;

	for (; batch != NULL; batch = batch->next) {
		const struct rrbatch_rr *rr = rrbatch_first(batch);

		for (size_t i = 0; i < batch->count && err == NSD_OK;
			i++, rr = rrbatch_next(rr)) {
			struct zone_rr add = { .ttl_sec = rr->ttl_sec,
				.type = rr->type, .rdlen = rr->rdlen,
				.rdata = rrbatch_rr_rdata(rr) };

			if (rr->owner_len != 0)
				owner = rr->data;
			add.owner = owner;
			err = update_add(update, &add);
		}
	}
	return err;
}

/* Asks for the changes between two serials, in the order of an IXFR. */
static enum nsd_err
ask_changes(struct zone_update *update, const uint8_t *apex, unsigned z,
	uint32_t serial)
{
	static struct text text;
	struct zonefile_result parsed;
	enum nsd_err err = NSD_OK;

	text.len = 0;
	text_add_soa(&text, serial);
	for (unsigned i = 0; i < ZONES_NAMES && err == NSD_OK; i++) {
		if (!is_changed(z, i, serial))
			continue;
		text_add_name(&text, z, i, serial);
		err = ask_remove(update, apex, "n%u", i);
		if (err == NSD_OK)
			err = ask_remove(update, apex, "ns.n%u", i);
		if (err == NSD_OK)
			err = ask_remove(update, apex, "*.n%u", i);
	}
	if (err == NSD_OK)
		err = update_remove_rrset(update, apex, TYPE_SOA);
	if (err != NSD_OK)
		return err;
	parse(&text, apex, &parsed);
	err = ask_add(update, parsed.batches);
	zonefile_result_fini(&parsed);
	return err;
}

/* Limits of a zone's history: differences vary in size, so both apply. */
static const struct history_limits kept = { 4, 2000 };

/* The changeset to the next version: records with its number, not those that
 * change. */
static void
push_changeset(struct store_writer *writer, store_ref entry, uint32_t from)
{
	char removed[200], added[600];
	int len;

	snprintf(removed, sizeof(removed), "@ 60 SOA a b %u 2 3 4 5\n",
		(unsigned)from);
	len = snprintf(added, sizeof(added), "@ 60 SOA a b %u 2 3 4 5\n",
		(unsigned)from + 1);
	for (unsigned i = 0; i < from % 20; i++)
		len += snprintf(added + len, sizeof(added) - (size_t)len,
			"n%u TXT %u\n", i, (unsigned)from + 1);
	history_fixture_push(writer, entry, &kept, removed, added);
}

bool
zones_update(struct store_writer *writer, unsigned z)
{
	const struct zone_update_options options = { .threads = 1 };
	const struct store_view *view = store_writer_view(writer);
	uint32_t serial = zones_serial(view, z);
	struct diag_sink sink = { .on_diag = on_diag };
	struct zone_update *update;
	uint8_t apex[NAME_MAX_LEN];
	store_ref entry;
	enum nsd_err err;

	zone_name(z, apex);
	must(find_entry(view, z, &entry) != NULL, "find_entry");
	err = update_begin(writer, entry, &options, &update);
	if (err == NSD_OK) {
		err = ask_changes(update, apex, z, serial + 1);
		push_changeset(writer, entry, serial);
		if (err == NSD_OK)
			err = update_commit(update, &sink, NULL);
		else
			update_abort(update);
		history_prune(writer, entry, &kept);
	}
	must(err == NSD_OK || err == NSD_E_MEMORY, "zone_update");
	return err == NSD_OK;
}

static bool
compact_zone(struct store_writer *writer, unsigned z)
{
	const struct zone_update_options options = { .threads = 1 };
	uint64_t records = 0;
	store_ref entry;

	if (find_entry(store_writer_view(writer), z, &entry) == NULL)
		return true;
	return update_compact(writer, entry, &options, &records) == NSD_OK;
}

bool
zones_compact(struct store_writer *writer, unsigned count)
{
	for (unsigned z = 0; z < count; z++) {
		if (!compact_zone(writer, z))
			return false;
		(void)store_reclaim(writer);
	}
	return true;
}

bool
zones_change(struct store_writer *writer, unsigned count, uint64_t *rng)
{
	unsigned z = (unsigned)(chance_next(rng) % count);
	uint32_t serial = zones_serial(store_writer_view(writer), z);
	unsigned what = (unsigned)(chance_next(rng) % 64);
	bool fine = true;

	if (serial == 0)
		/* The entry may have no contents, after a kill. */
		fine = zones_replace(writer, z,
			1 + (uint32_t)(chance_next(rng) % 1000));
	else if (what == 0)
		zones_remove(writer, z);
	else if (what <= 12)
		fine = zones_replace(writer, z, serial + 1);
	else if (what <= 14)
		fine = compact_zone(writer, z);
	else
		fine = zones_update(writer, z);
	if (chance_next(rng) % 4 != 0)
		(void)store_reclaim(writer);
	return fine;
}

/* ---- checking */

/* mark_roots lets go of the indexes of what is shared, as a loader that takes
 * over cannot trust them. Here they are to stay. */
void
zones_mark(struct store_writer *writer, struct store_sweep *sweep)
{
	const struct store_view *view = store_writer_view(writer);
	struct store_heap *heap = store_writer_heap(writer);
	const struct zone_table *table = table_get(view);
	store_ref ref, shares[ZONES_MAX];
	struct trie_iter iter;
	unsigned i = 0;

	if (table == NULL)
		return;
	for (int pass = 0; pass < 2; pass++) {
		trie_iter_init(&iter, view, &table->apexes.root);
		for (i = 0; (ref = trie_iter_next(&iter)) != STORE_NONE; i++) {
			const struct zone_entry *entry = store_get(view, ref);
			struct zone *zone;

			if (entry->zone == STORE_NONE)
				continue;
			zone = store_edit(heap, entry->zone);
			if (pass == 0) {
				must(i < ZONES_MAX, "room for zones");
				shares[i] = zone->share;
				continue;
			}
			zone->share = shares[i];
			if (shares[i] != STORE_NONE)
				(void)store_sweep_mark(sweep, shares[i],
					share_index_size(store_get(view,
						shares[i])));
		}
		if (pass == 0)
			mark_roots(writer, sweep);
	}
}

struct dump {
	uint8_t *octets;
	size_t len, room;
};

struct zones_check {
	struct store *store;
	struct store_writer *writer;
	struct dump expected, found;
	char wrong[128];
};

static void
dump_add(struct dump *d, const void *data, size_t len)
{
	if (d->len + len > d->room) {
		d->room = 2 * (d->len + len);
		d->octets = realloc(d->octets, d->room);
		must(d->octets != NULL, "realloc");
	}
	memcpy(d->octets + d->len, data, len);
	d->len += len;
}

static enum nsd_err
dump_rr(void *ctx, const struct zone_rr *rr)
{
	struct dump *d = ctx;

	dump_add(d, rr->owner, name_len(rr->owner));
	dump_add(d, &rr->ttl_sec, sizeof(rr->ttl_sec));
	dump_add(d, &rr->type, sizeof(rr->type));
	dump_add(d, &rr->rdlen, sizeof(rr->rdlen));
	dump_add(d, rr->rdata, rr->rdlen);
	return NSD_OK;
}

struct zones_check *
zones_check_create(void)
{
	const struct store_options options = { .reader_max = 1,
		.reservation = (size_t)64 << 20 };
	struct zones_check *check = calloc(1, sizeof(*check));

	must(check != NULL, "calloc");
	must(store_create(&options, &check->store) == NSD_OK, "store_create");
	must(store_writer_open(check->store, &check->writer) == NSD_OK,
		"store_writer_open");
	return check;
}

void
zones_check_destroy(struct zones_check *check)
{
	store_writer_close(check->writer);
	store_destroy(check->store);
	free(check->expected.octets);
	free(check->found.octets);
	free(check);
}

static bool
check_zone(struct zones_check *check, const struct store_view *view,
	const struct zone *zone, unsigned z)
{
	const struct store_view *own = store_writer_view(check->writer);
	uint8_t apex[NAME_MAX_LEN];
	store_ref ref;

	zone_name(z, apex);
	must(zones_build(check->writer, z, zone->serial, &ref) == NSD_OK,
		"zones_build");
	check->expected.len = check->found.len = 0;
	must(zone_walk(own, store_get(own, ref), apex, dump_rr,
		     &check->expected)
			== NSD_OK,
		"zone_walk");
	release_zone(store_writer_heap(check->writer), ref);
	must(zone_walk(view, zone, apex, dump_rr, &check->found) == NSD_OK,
		"zone_walk");
	return check->expected.len == check->found.len
		&& memcmp(check->expected.octets, check->found.octets,
			   check->found.len)
		== 0;
}

/* True if the octets are those of push_changeset. */
static bool
check_changeset(const struct zone_changeset *changeset)
{
	unsigned soas = 0, others = 0;
	struct history_rr rr;
	struct cursor c;
	uint32_t serial;

	cursor_init(&c, changeset->data, changeset->len);
	while (cursor_left(&c) > 0) {
		if (history_read(&c, &rr) != NSD_OK)
			return false;
		if (rr.type != TYPE_SOA) {
			others++;
			continue;
		}
		if (!history_read_serial(rr.rdata, rr.rdlen, &serial)
			|| serial != changeset->from + soas++)
			return false;
	}
	return soas == 2 && others == changeset->from % 20
		&& changeset->to == changeset->from + 1;
}

/* most: changesets. A reader may go on from one that is let go of while it
 * walks, so it may see more than are kept. */
static bool
check_path(const struct store_view *view, const struct history_path *path,
	size_t most)
{
	bool fine = path->count <= most;

	for (size_t i = 0; i < path->count; i++)
		fine = fine && check_changeset(store_get(view,
			path->changesets[i]));
	free(path->changesets);
	return fine;
}

/* Looks at what leads to a version that was found in the entry. */
static bool
check_history(const struct store_view *view, const struct zone_entry *entry,
	const struct zone *zone, size_t most)
{
	struct history_path path;

	must(history_list(view, entry, zone->serial, &path) == NSD_OK,
		"history_list");
	return check_path(view, &path, most);
}

const char *
zones_check_all(struct zones_check *check, const struct store_view *view,
	unsigned count, bool alone)
{
	const size_t most = alone ? kept.number + 1 : HISTORY_CHANGESETS_MAX;
	const struct zone_table *table = table_get(view);
	struct trie_iter iter;
	const char *what;
	store_ref ref;

	if (table == NULL)
		return NULL;
	trie_iter_init(&iter, view, &table->apexes.root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE) {
		const struct zone_entry *entry = store_get(view, ref);
		store_ref zone = store_load_ref(&entry->zone);

		if (entry->id >= count || zone == STORE_NONE)
			continue;
		if (!check_zone(check, view, store_get(view, zone), entry->id))
			what = "is";
		else if (!check_history(view, entry, store_get(view, zone),
				 most))
			what = "has a history that is";
		else
			continue;
		snprintf(check->wrong, sizeof(check->wrong),
			"zone %u at serial %u, now %u, %s not what it should"
			" be",
			entry->id, ((const struct zone *)store_get(view,
				zone))->serial,
			zones_serial(view, entry->id), what);
		return check->wrong;
	}
	return NULL;
}

struct zones_pinned
zones_pin(const struct store_view *view, unsigned z)
{
	store_ref at;
	const struct zone_entry *entry = find_entry(view, z, &at);
	struct zones_pinned pinned = { .z = z, .zone = STORE_NONE };

	if (entry != NULL)
		pinned.zone = store_load_ref(&entry->zone);
	if (pinned.zone != STORE_NONE)
		must(history_list(view, entry,
			     ((const struct zone *)store_get(view,
				     pinned.zone))->serial,
			     &pinned.path) == NSD_OK,
			"history_list");
	return pinned;
}

const char *
zones_check_pinned(struct zones_check *check, const struct store_view *view,
	struct zones_pinned pinned)
{
	if (!check_path(view, &pinned.path, HISTORY_CHANGESETS_MAX))
		return "a pinned changeset has changed";
	if (pinned.zone == STORE_NONE
		|| check_zone(check, view, store_get(view, pinned.zone),
			pinned.z))
		return NULL;
	return "a pinned zone has changed";
}
