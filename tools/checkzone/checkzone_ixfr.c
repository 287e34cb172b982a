/* checkzone_ixfr.c - makes a file of what a zone file changes in an older one,
 * and numbers those that are there anew. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "checkzone.h"
#include "compile/build.h"
#include "dns/serial.h"
#include "loader/ixfr_file.h"
#include "store/writer.h"
#include "update/diff_history.h"
#include "zone/zone.h"
#include "zonefile/zonefile.h"

#define COMPARE_MEMORY ((size_t)4 << 30) /* octets of what differs */
#define COMMENTS_MAX 20u /* lines of a file that are looked at for its size */

/* The two files, and the difference between them. */
struct ixfr_making {
	struct check *c;
	struct zonefile_result before, after;
	struct history_draft draft;
	uint32_t from, to; /* serials */
	char *path;        /* room for a name, and for another one */
	char *other;
};

/* ---- differences --------------------------------------------------------- */

static bool
read_file(struct ixfr_making *m, const char *file, struct diag_sink *sink,
	struct zonefile_result *result)
{
	const struct zonefile_options options = {
		.apex = m->c->apex,
		.default_ttl_sec = TTL_FALLBACK,
		.threads = m->c->threads,
		.only_files = true,
	};
	enum nsd_err err = zonefile_parse(file, &options, sink, result);

	if (err == NSD_OK)
		return true;
	if (sink == NULL || sink->errors == 0)
		log_error("%s: %s", file, err_text(err));
	return false;
}

/* Compares the new file with the zone of the old one, which is in a store. */
static enum nsd_err
compare_with(struct ixfr_making *m, const struct zone *zone,
	struct diff *diff)
{
	const struct history_limits any = {1, 0};
	const struct diff_change *changes;
	enum nsd_err err = NSD_OK;
	size_t count;
	bool equal;

	m->from = m->to = zone->serial;
	for (const struct rrbatch *b = m->after.batches;
		err == NSD_OK && b != NULL; b = b->next)
		err = diff_sum(diff, b);
	if (err == NSD_OK)
		err = diff_compare(diff, &equal);
	for (const struct rrbatch *b = m->after.batches;
		err == NSD_OK && b != NULL; b = b->next)
		err = diff_collect(diff, b);
	if (err == NSD_OK)
		err = diff_finish(diff, &changes, &count);
	if (err != NSD_OK)
		return err;
	history_draft_init(&m->draft, m->c->apex, &any);
	diff_history_fill(&m->draft, changes, count);
	for (size_t i = 0; i < count; i++)
		if (changes[i].add && changes[i].rr.type == TYPE_SOA)
			(void)history_read_serial(changes[i].rr.rdata,
				changes[i].rr.rdlen, &m->to);
	return NSD_OK;
}

static enum nsd_err
compare_in(struct ixfr_making *m, struct store_writer *writer,
	struct diag_sink *sink)
{
	const struct store_view *view = store_writer_view(writer);
	const char **files = zonefile_list_names(&m->before);
	const struct zone_build_input input = {
		.apex = m->c->apex,
		.batches = m->before.batches,
		.files = files,
		.file_count = m->before.source_count,
		.threads = m->c->threads,
	};
	const struct zone *zone;
	struct diff *diff;
	uint64_t key[2];
	store_ref ref;
	enum nsd_err err = NSD_E_MEMORY;

	if (files != NULL)
		err = build_zone(&input, writer, store_writer_heap(writer),
			sink, &ref);
	free(files);
	if (err != NSD_OK)
		return err;
	zone = store_get(view, ref);
	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return NSD_E_SYSTEM;
	err = diff_create(view, zone, m->c->apex, key, COMPARE_MEMORY, &diff);
	if (err != NSD_OK)
		return err;
	err = compare_with(m, zone, diff);
	diff_destroy(diff);
	return err;
}

static enum nsd_err
compare(struct ixfr_making *m, struct diag_sink *sink)
{
	const struct store_options options = {.reader_max = 1};
	struct store_writer *writer;
	struct store *store;
	enum nsd_err err = store_create(&options, &store);

	if (err != NSD_OK)
		return err;
	err = store_writer_open(store, &writer);
	if (err == NSD_OK) {
		err = compare_in(m, writer, sink);
		store_writer_close(writer);
	}
	store_destroy(store);
	return err;
}

/* ---- files --------------------------------------------------------------- */

/* The size that a file says it has; 0: it is not there, or says none. */
static uint64_t
read_size(const char *path)
{
	FILE *in = fopen(path, "r");
	uint64_t size = 0;
	char line[256];

	if (in == NULL)
		return 0;
	for (unsigned i = 0; i < COMMENTS_MAX && size == 0
		&& fgets(line, sizeof(line), in) != NULL; i++)
		if (sscanf(line, "; data_size %" SCNu64, &size) != 1)
			size = 0;
	fclose(in);
	return size;
}

static void
remove_from(struct ixfr_making *m, unsigned index)
{
	do
		ixfr_file_print_name(m->c->file, index++, m->path);
	while (unlink(m->path) == 0);
}

/* Moves the files on by one, as many as there may be beside one of this
 * size. */
static void
make_place(struct ixfr_making *m, uint64_t size)
{
	unsigned keep = 0;
	uint64_t more;

	while (keep + 1 < m->c->ixfr_number) {
		ixfr_file_print_name(m->c->file, keep, m->path);
		more = read_size(m->path);
		if (more == 0 || more > m->c->ixfr_size - size)
			break;
		size += more;
		keep++;
	}
	remove_from(m, keep);
	while (keep > 0) {
		ixfr_file_print_name(m->c->file, keep, m->other);
		ixfr_file_print_name(m->c->file, --keep, m->path);
		if (rename(m->path, m->other) == -1)
			log_error("cannot rename %s: %s", m->path,
				strerror(errno));
	}
}

/* True if the newest file there leads from the one version to the other. */
static bool
is_there(struct ixfr_making *m)
{
	const struct history_limits one = {1, 0};
	const struct ixfr_wanted wanted = {
		.apex = m->c->apex,
		.serial = m->to,
		.limits = &one,
	};
	struct ixfr_drafts drafts;
	bool found;

	ixfr_file_read(m->c->file, &wanted, NULL, &drafts);
	found = drafts.count == 1 && drafts.items[0].from == m->from;
	ixfr_file_release(&drafts);
	return found;
}

static bool
write_file(struct ixfr_making *m)
{
	const struct ixfr_text text = {.apex = m->c->apex,
		.name = m->c->name, .version = PACKAGE_VERSION,
		.time_sec = (int64_t)time(NULL)};
	const struct ixfr_octets octets = {m->draft.from, m->draft.to,
		m->draft.octets, m->draft.len};
	uint64_t size = m->draft.lost ? 0
		: ixfr_file_measure(m->c->apex, &octets);
	char apex[NAME_TEXT_MAX];
	enum nsd_err err;

	if (size == 0 || size > m->c->ixfr_size) {
		name_print_text(m->c->apex, apex);
		log_error("the ixfr for %s exceeds size %" PRIu64
			", it is not created", apex, m->c->ixfr_size);
		remove_from(m, 0);
		return false;
	}
	make_place(m, size);
	ixfr_file_print_name(m->c->file, 0, m->path);
	err = ixfr_file_replace(m->path, &text, &octets);
	if (err == NSD_OK) {
		printf("zone %s created IXFR %s\n", m->c->name, m->path);
		return true;
	}
	log_error("cannot write %s: %s", m->path, err_reason(err));
	return false;
}

/* ---- the file ------------------------------------------------------------ */

static bool
make_file(struct ixfr_making *m)
{
	char apex[NAME_TEXT_MAX];

	name_print_text(m->c->apex, apex);
	if (!serial_is_newer(m->to, m->from)) {
		log_error("zone %s ixfr could not be created because the "
			"serial is the same or moves backwards, from %" PRIu32
			" to %" PRIu32, apex, m->from, m->to);
		remove_from(m, 0);
		return false;
	}
	if (is_there(m)) {
		ixfr_file_print_name(m->c->file, 0, m->path);
		log_info("IXFR already exists in file %s, nothing to do",
			m->path);
		return false;
	}
	return write_file(m);
}

static bool
make_of_files(struct ixfr_making *m)
{
	struct diag_sink sink = {log_diag, 0, 0};
	enum nsd_err err = NSD_E_ZONE;

	if (read_file(m, m->c->old, &sink, &m->before)) {
		if (!read_file(m, m->c->file, NULL, &m->after))
			return false;
		err = compare(m, &sink);
	}
	if (err != NSD_OK && err != NSD_E_ZONE) {
		log_error("%s", err_text(err));
		return false;
	}
	if (sink.errors > 0 || err != NSD_OK) {
		printf("zone %s file %s has %u errors\n", m->c->name,
			m->c->old, (unsigned)sink.errors);
		return false;
	}
	if (make_file(m))
		return true;
	log_error("could not create IXFR");
	return false;
}

bool
checkzone_ixfr(struct check *c)
{
	size_t room = strlen(c->file) + IXFR_FILE_SUFFIX_MAX;
	struct ixfr_making m = {.c = c, .path = malloc(room),
		.other = malloc(room)};
	bool made = false;

	if (m.path != NULL && m.other != NULL)
		made = make_of_files(&m);
	else
		log_error("out of memory");
	zonefile_result_fini(&m.before);
	zonefile_result_fini(&m.after);
	history_draft_fini(&m.draft);
	free(m.path);
	free(m.other);
	return made;
}
