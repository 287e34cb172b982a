/* zone_fixture.c - zones from strings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/build.h"
#include "dns/name.h"
#include "lib/zone_fixture.h"
#include "store/writer.h"
#include "zone/table.h"
#include "zonedb/table_edit.h"
#include "zonefile/zonefile.h"

static void
must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "zone_fixture: %s failed\n", what);
	abort();
}

static void
fixture_on_diag(struct diag_sink *sink, const struct diag *d)
{
	static const char *const words[] = {
		[DIAG_WARNING] = "warning", [DIAG_ERROR] = "error"};
	struct zone_fixture *f = (struct zone_fixture *)((char *)sink
		- offsetof(struct zone_fixture, sink));
	size_t at = strlen(f->findings);

	snprintf(f->findings + at, sizeof(f->findings) - at, "%s:%u: %s: %s\n",
		d->file != NULL ? d->file : "-", (unsigned)d->line,
		words[d->severity], d->text);
}

void
zone_fixture_init(struct zone_fixture *f)
{
	const struct store_options options = {
		.reservation = (size_t)1 << 30,
		.reader_max = 4,
	};

	memset(f, 0, sizeof(*f));
	f->threads = 1;
	must(store_create(&options, &f->store) == NSD_OK, "store_create");
	must(store_writer_open(f->store, &f->writer) == NSD_OK,
		"store_writer_open");
	f->view = store_writer_view(f->writer);
}

void
zone_fixture_fini(struct zone_fixture *f)
{
	store_writer_close(f->writer);
	store_destroy(f->store);
}

const uint8_t *
zone_fixture_name(const char *text)
{
	static uint8_t names[8][NAME_MAX_LEN];
	static unsigned next;
	uint8_t *name = names[next++ % 8];
	static const uint8_t root[1];
	const char *why;
	size_t len;

	must(name_parse_text(text, strlen(text), root, name, &len, &why)
		== NSD_OK, text);
	return name;
}

enum nsd_err
zone_fixture_build(struct zone_fixture *f, const char *apex, const char *text,
	store_ref *zone)
{
	static const char *const files[] = {"text"};
	const uint8_t *name = zone_fixture_name(apex);
	const struct zonefile_options options = {
		.apex = name,
		.default_ttl_sec = 3600,
	};
	struct zone_build_input input = {
		.apex = name,
		.files = files,
		.file_count = 1,
		.threads = f->threads,
		.secondary = f->secondary,
		.nsec3_iterations_max = f->nsec3_iterations_max,
	};
	struct zonefile_result parsed;
	enum nsd_err err;

	f->findings[0] = '\0';
	f->sink = (struct diag_sink){.on_diag = fixture_on_diag};
	err = zonefile_parse_text("text", text, strlen(text), &options,
		&f->sink, &parsed);
	if (err == NSD_OK) {
		input.batches = parsed.batches;
		err = build_zone(&input, f->writer,
			store_writer_heap(f->writer), &f->sink, zone);
	}
	zonefile_result_fini(&parsed);
	return err;
}

static store_ref
fixture_find_entry(const struct zone_fixture *f, const uint8_t *apex)
{
	const struct zone_table *table = table_get(f->view);
	struct trie_iter iter;
	store_ref ref;

	if (table == NULL)
		return STORE_NONE;
	trie_iter_init(&iter, f->view, &table->apexes.root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE) {
		const struct zone_entry *e = store_get(f->view, ref);

		if (name_equal(e->name, apex))
			return ref;
	}
	return STORE_NONE;
}

enum nsd_err
zone_fixture_load(struct zone_fixture *f, const char *apex, const char *text,
	store_ref *entry)
{
	const struct zone_setup setup = {.apex = zone_fixture_name(apex)};
	store_ref zone, at = fixture_find_entry(f, setup.apex);
	enum nsd_err err = zone_fixture_build(f, apex, text, &zone);

	if (err != NSD_OK)
		return err;
	if (at == STORE_NONE)
		must(table_add(f->writer, &setup, 1, &at) == NSD_OK,
			"table_add");
	table_set_zone(f->writer, at, zone);
	store_reclaim(f->writer);
	if (entry != NULL)
		*entry = at;
	return NSD_OK;
}

const struct node *
zone_fixture_find(const struct zone_fixture *f, store_ref zone,
	const char *apex, const char *name)
{
	const struct zone *z = store_get(f->view, zone);
	size_t apex_len = name_len(zone_fixture_name(apex));
	const uint8_t *wire = zone_fixture_name(name);
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct trie_walk walk = {.root = &z->names.root};

	must(name_len(wire) >= apex_len, "name in zone");
	trie_name_split(&walk.name, wire,
		(unsigned)(name_len(wire) - apex_len), label_at);
	trie_find(f->view, &walk);
	if (walk.exact != STORE_NONE)
		return store_get(f->view, walk.exact);
	/* Owners of NSEC3 have a trie of their own. */
	walk.root = &z->nsec3.root;
	trie_find(f->view, &walk);
	return walk.exact == STORE_NONE ? NULL
					: store_get(f->view, walk.exact);
}
