/* load_journal.c - brings zones to the versions that the journal of transfers
 * has beyond zone files. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "dns/serial.h"
#include "journal/journal_index.h"
#include "loader/load_expiry.h"
#include "loader/load_journal.h"
#include "loader/load_loop.h"
#include "loader/load_reading.h"
#include "loader/load_transfer.h"
#include "loader/load_update.h"
#include "loader/load_verify.h"
#include "loader/load_versions.h"
#include "store/writer.h"

/* Octets that are parsed at once, for the first record of a file. */
#define PEEK_PIECE ((size_t)64 << 10)

struct load_journal {
	int dirfd;
	struct journal_index *index;
};

/* ---- the folder ---------------------------------------------------------- */

struct load_journal *
load_journal_open(const char *path)
{
	struct diag_sink sink = {.on_diag = log_diag};
	struct load_journal *journal;
	enum nsd_err err;

	journal = calloc(1, sizeof(*journal));
	if (journal == NULL)
		return NULL;
	journal->dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = journal->dirfd == -1 ? NSD_E_SYSTEM
		: journal_index_open(journal->dirfd, &sink, &journal->index);
	if (err == NSD_OK && journal_index_count(journal->index) > 0)
		return journal;
	if (err != NSD_OK && (journal->dirfd != -1 || errno != ENOENT))
		log_error("journal %s cannot be read: %s", path,
			err_reason(err));
	load_journal_close(journal);
	return NULL;
}

void
load_journal_close(struct load_journal *journal)
{
	if (journal == NULL)
		return;
	journal_index_close(journal->index);
	if (journal->dirfd != -1)
		close(journal->dirfd);
	free(journal);
}

bool
load_journal_has(const struct load_context *context,
	const struct load_zone *zone)
{
	return context->journal != NULL
		&& journal_index_newest(context->journal->index,
			   zone->conf->wire) != NULL;
}

/* ---- where to begin ------------------------------------------------------ */

/* A serial, or none. */
struct journal_base {
	bool known;
	uint32_t serial;
};

static bool
journal_is_newer(uint32_t serial, const struct journal_base *than)
{
	return !than->known || serial_is_newer(serial, than->serial);
}

struct journal_peek {
	const uint8_t *apex;
	struct journal_base found;
};

static enum nsd_err
journal_on_peek(void *ctx, const struct rrbatch *batch)
{
	struct journal_peek *peek = ctx;

	peek->found.known = load_reading_find_serial(batch, peek->apex,
		&peek->found.serial);
	return peek->found.known ? NSD_E_DENIED : NSD_OK;
}

/* The serial of a file: it is read as far as its SOA. *files: to be freed. */
static struct journal_base
journal_peek_file(const char *file, const uint8_t *apex,
	struct zonefile_result *files)
{
	struct journal_peek peek = {.apex = apex};
	const struct zonefile_options options = {
		.apex = apex,
		.piece_size = PEEK_PIECE,
		.secondary = true,
		.only_files = true,
		.on_batch = journal_on_peek,
		.batch_ctx = &peek,
	};

	/* Faults are reported when the file is read as a whole. */
	if (zonefile_parse(file, &options, NULL, files) == NSD_E_DENIED)
		peek.found.known = true;
	return peek.found;
}

static struct journal_base
journal_get_served(const struct load_context *context,
	const struct load_zone *zone)
{
	struct journal_base base = {.known = false};
	const struct zone *served;

	pthread_mutex_lock(context->busy_lock);
	served = load_zone_published(store_writer_view(context->writer), zone);
	if (served != NULL)
		base = (struct journal_base){true, served->serial};
	pthread_mutex_unlock(context->busy_lock);
	return base;
}

/* True if a chain ends at a newer version than this one. Its serials may go
 * round (RFC 1982 section 3.2), so that the last one counts as older: each step
 * goes forward. */
static bool
journal_leads_on(const struct journal_base *base,
	const struct journal_chain *chain)
{
	/* Differences begin at the base, else there would be a whole zone. */
	if (chain->count > 0 && chain->entries[0].kind == JOURNAL_DIFFS)
		return true;
	for (size_t i = 0; i < chain->count; i++)
		if (journal_is_newer(chain->entries[i].to, base))
			return true;
	return false;
}

/* Finds the entries that lead from a serial to the newest one, if that is
 * newer. before: see struct journal_query. NSD_E_NOT_FOUND: nothing does. */
static enum nsd_err
journal_find_chain(const struct load_context *context,
	const struct load_zone *zone, const struct journal_base *base,
	uint64_t before, struct journal_chain *chain)
{
	const struct journal_query query = {
		.apex = zone->conf->wire,
		.has_serial = base->known,
		.serial = base->serial,
		.before = before,
	};
	enum nsd_err err = journal_find(context->journal->index, &query,
		chain);

	if (err == NSD_OK && !journal_leads_on(base, chain)) {
		journal_chain_fini(chain);
		err = NSD_E_NOT_FOUND;
	}
	return err;
}

/* ---- a whole zone -------------------------------------------------------- */

/* Builds a zone from an entry. False: it could not be built. */
static bool
journal_build_entry(const struct load_context *context,
	struct load_zone *zone, const struct journal_entry *entry,
	const struct load_task *task, struct load_result *result)
{
	const struct load_text text = load_text_of_entry(
		context->journal->dirfd, entry);
	const struct load_task of_text = {
		.heap = task->heap,
		.large = task->large,
		.text = &text,
	};

	load_transfer_read(context, zone, &of_text, result);
	if (result->outcome == LOAD_LARGE)
		return true;
	/* The entry was read from the journal: the result must not have
	 * files. */
	zonefile_result_fini(&result->files);
	if (result->outcome != LOAD_FAILED)
		return true;
	if (result->refusal != NULL)
		log_error("zone %s: serial %u in the journal is not served:"
			  " %s", zone->conf->name, (unsigned)entry->to,
			result->refusal->why);
	free(result->refusal);
	result->refusal = NULL;
	result->outcome = LOAD_UNCHANGED;
	/* The file may be put off, and the zone be changed until then. */
	load_zone_end_busy(context, zone);
	return false;
}

/* The relation of a zone's file to the journal, if the file's serial is
 * known. */
struct journal_file {
	struct journal_base of;
	bool is_back; /* the zone went back from that, or from a newer one */
	bool is_kept; /* the last entry is the whole zone of that version: a
		       * text in the journal has sums, and a file may have been
		       * cut short */
};

/* *files: to be freed. */
static struct journal_file
journal_look_at_file(const struct load_context *context,
	const struct load_zone *zone, const char *path,
	const struct journal_base *served, struct zonefile_result *files)
{
	const struct journal_index *index = context->journal->index;
	const uint8_t *apex = zone->conf->wire;
	const struct journal_entry *newest = journal_index_newest(index, apex);
	struct journal_file file = {
		.of = journal_peek_file(path, apex, files)};

	if (!file.of.known)
		return file;
	file.is_back = journal_index_went_back(index, apex, file.of.serial);
	/* The file of a primary may be the operator's. */
	file.is_kept = load_zone_is_from_xfrd(zone)
		&& newest->kind == JOURNAL_WHOLE
		&& newest->to == file.of.serial
		&& (!served->known || served->serial == newest->to);
	return file;
}

static void
journal_raise(struct journal_base *base, const struct journal_base *to)
{
	if (to->known && journal_is_newer(to->serial, base))
		*base = *to;
}

/* False if no whole zone that is sound leads on from base, or from the file. */
static bool
journal_build(const struct load_context *context, struct load_zone *zone,
	struct journal_base base, const struct journal_file *file,
	const struct load_task *task, struct load_result *result)
{
	struct journal_chain chain;
	uint64_t before = 0;
	bool done = false, whole = true;

	if (!file->is_back && !file->is_kept)
		journal_raise(&base, &file->of);
	while (!done && whole && journal_find_chain(context, zone, &base,
				before, &chain) == NSD_OK) {
		whole = chain.entries[0].kind == JOURNAL_WHOLE;
		before = chain.entries[0].id;
		done = whole && journal_build_entry(context, zone,
			&chain.entries[0], task, result);
		journal_chain_fini(&chain);
		/* If the entry is damaged, the file is next. */
		if (!file->is_back)
			journal_raise(&base, &file->of);
	}
	return done;
}

/* ---- zones that take updates --------------------------------------------- */

/* True if the comment of a file that this server has written says that it has
 * this version. */
static bool
journal_file_says(const char *path, uint32_t serial)
{
	char text[1024], said[64];
	size_t len = 0;
	const char *line;

	/* Of a longer file the begin is read. */
	if (fs_read_small(path, (uint8_t *)text, sizeof(text) - 1, &len)
		== NSD_E_SYSTEM)
		return false;
	text[len] = '\0';
	line = strchr(text, '\n');
	snprintf(said, sizeof(said), "\n; received update to serial %lu at ",
		(unsigned long)serial);
	return line != NULL && strncmp(line, said, strlen(said)) == 0;
}

/* True if the journal leads on from the zone's file: from what it was when the
 * first of the updates came, or from what was written to it since. Any other
 * file was changed by hand, and has the serial of an update by chance. */
static bool
journal_begins_at(const struct load_context *context,
	const struct load_zone *zone, const char *path, uint32_t serial)
{
	const struct journal_base base = {true, serial};
	struct journal_chain chain;

	if (journal_index_oldest(context->journal->index, zone->conf->wire)
			->from == serial)
		return true;
	if (journal_find_chain(context, zone, &base, 0, &chain) != NSD_OK)
		return journal_index_newest(context->journal->index,
			       zone->conf->wire)->to == serial
			&& journal_file_says(path, serial);
	journal_chain_fini(&chain);
	return journal_file_says(path, serial);
}

/* Notes that updates are not served that the journal has. */
static void
journal_set_behind(const struct load_context *context, struct load_zone *zone)
{
	zone->is_behind = true;
	zone->lacks = journal_index_newest(context->journal->index,
		zone->conf->wire)->to;
}

/* Refuses the file of a zone: what the journal has does not lead on from it. */
static void
journal_refuse_file(const struct load_context *context, struct load_zone *zone,
	const char *path, uint32_t serial, struct load_result *result)
{
	const struct journal_entry *oldest = journal_index_oldest(
		context->journal->index, zone->conf->wire);

	journal_set_behind(context, zone);
	if (asprintf(&result->reasons, "zone %s takes updates, and the journal"
			" has those from serial %u to %u: they do not lead on"
			" from its file %s, which was changed by hand and has"
			" serial %u. The zone is not served. Start with the"
			" file of serial %u, or give the file a serial newer"
			" than %u and reload, which drops the updates\n",
		    zone->conf->name, (unsigned)oldest->from,
		    (unsigned)zone->lacks, path, (unsigned)serial,
		    (unsigned)oldest->from, (unsigned)zone->lacks)
		== -1)
		result->reasons = NULL;
	log_error("%.*s", result->reasons != NULL
			? (int)strlen(result->reasons) - 1 : 0,
		result->reasons != NULL ? result->reasons : "");
	result->outcome = LOAD_FAILED;
	result->note = LOAD_NOTE_FAILED;
}

/* Decides between file and journal for a zone of which no version is served.
 * Returns true if *result has the outcome. */
static bool
journal_decide(const struct load_context *context, struct load_zone *zone,
	const char *path, const struct load_task *task,
	struct load_result *result)
{
	const struct journal_file none = {.is_kept = true};
	const struct journal_entry *newest = journal_index_newest(
		context->journal->index, zone->conf->wire);
	struct zonefile_result files = {.batches = NULL};
	struct journal_base file = {.known = false};
	bool done;

	if (path != NULL)
		file = journal_peek_file(path, zone->conf->wire, &files);
	if (file.known && serial_is_newer(file.serial, newest->to)) {
		log_warning("zone %s: its file %s has serial %u, which is newer"
			    " than %u of the last update: the file counts,"
			    " without updates that it lacks",
			zone->conf->name, path, (unsigned)file.serial,
			(unsigned)newest->to);
		zonefile_result_fini(&files);
		return false;
	}
	done = journal_build(context, zone, (struct journal_base){false, 0},
		&none, task, result);
	if (!done && !file.known) {
		journal_set_behind(context, zone);
	} else if (!done && !journal_begins_at(context, zone, path,
				file.serial)) {
		journal_refuse_file(context, zone, path, file.serial, result);
		done = true;
	}
	if (!done || result->outcome == LOAD_LARGE) {
		zonefile_result_fini(&files);
		return done;
	}
	result->files = files;
	result->is_passed_over = file.known && result->outcome != LOAD_FAILED;
	result->file_serial = file.serial;
	return true;
}

/* ---- a zone of the journal ----------------------------------------------- */

bool
load_journal_build(const struct load_context *context, struct load_zone *zone,
	const char *path, const struct load_task *task,
	struct load_result *result)
{
	const struct journal_base served = journal_get_served(context, zone);
	struct zonefile_result files = {.batches = NULL};
	struct journal_file file = {.is_back = false};
	bool passed, done;

	if (load_zone_takes_updates(zone))
		return !served.known && journal_decide(context, zone, path,
			task, result);
	if (path != NULL)
		file = journal_look_at_file(context, zone, path, &served,
			&files);
	passed = file.is_back || file.is_kept;
	/* The served version came later than a file that is passed over. */
	done = (passed && served.known)
		|| journal_build(context, zone, served, &file, task, result);
	/* A file that is passed over counts as read. */
	if (!done || !passed || result->outcome == LOAD_LARGE) {
		zonefile_result_fini(&files);
		return done;
	}
	result->files = files;
	result->is_passed_over = file.of.known;
	result->file_serial = file.of.serial;
	return true;
}

/* ---- differences --------------------------------------------------------- */

bool
load_journal_is_ahead(const struct load_context *context,
	const struct load_zone *zone)
{
	const struct journal_base base = journal_get_served(context, zone);
	struct journal_chain chain;

	if (!base.known || journal_find_chain(context, zone, &base, 0, &chain)
			!= NSD_OK)
		return false;
	journal_chain_fini(&chain);
	return true;
}

void
load_journal_hold(const struct load_context *context,
	struct load_zone *zone)
{
	const struct store_view *view = store_writer_view(context->writer);

	if (load_zone_published(view, zone) == NULL
		&& journal_index_newest(context->journal->index,
			   zone->conf->wire) != NULL)
		load_expiry_hold(context->writer, zone);
}

static void
journal_on_diag(struct diag_sink *sink, const struct diag *d)
{
	log_write(log_diag_level(d), "journal: %s", d->text);
}

/* Entries that lead on from the served version, and the heap to apply them
 * with. */
struct journal_replay {
	const struct load_context *context;
	struct load_zone *zone;
	struct store_heap *heap; /* of a thread; NULL: of the loop */
	struct journal_chain chain;
};

/* Prepares to apply entries. Only the last one is verified: those before it
 * were accepted when they came, or they would not be there. */
static void
journal_init_versions(const struct journal_replay *r, size_t end,
	struct diag_sink *sink, struct load_versions *v)
{
	*v = (struct load_versions){
		.context = r->context,
		.entry = r->zone->entry,
		.secondary = true,
		.heap = r->heap,
		.names_max = r->heap == NULL ? LOAD_UPDATE_NAMES_AT_ONCE : 0,
		.cancelled = &r->context->cancelled,
		.history = load_zone_get_history(r->zone),
		.verify = end == r->chain.count ? r->zone : NULL,
		.accepted = load_text_of_entry(r->context->journal->dirfd,
			&r->chain.entries[end - 1]).accepted,
		.verify_records_max = r->heap == NULL ? LOAD_VERIFY_AT_ONCE
						      : UINT64_MAX,
		.sink = sink,
	};
}

static enum nsd_err
journal_read_entry(const struct journal_replay *r,
	const struct journal_entry *entry, struct load_octets *part,
	uint8_t **data)
{
	const struct load_text text = load_text_of_entry(
		r->context->journal->dirfd, entry);
	uint64_t max = load_update_served_max(
		store_writer_view(r->context->writer), r->zone->entry);
	enum nsd_err err = entry->kind != JOURNAL_DIFFS ? NSD_E_INEXACT
		: load_update_read(&text, max, data);

	if (err == NSD_OK)
		*part = (struct load_octets){*data, entry->text_len};
	return err;
}

/* Applies entries as one change. */
static enum nsd_err
journal_apply_at_once(const struct journal_replay *r, size_t first,
	size_t count)
{
	struct load_octets *parts = calloc(count, sizeof(*parts));
	uint8_t **data = calloc(count, sizeof(*data));
	struct diag_sink sink = {.on_diag = journal_on_diag};
	struct load_refusal refusal = {.check = 0};
	struct load_versions v;
	enum nsd_err err = parts != NULL && data != NULL ? NSD_OK
							 : NSD_E_MEMORY;

	journal_init_versions(r, first + count, &sink, &v);
	v.refusal = &refusal;
	for (size_t i = 0; i < count && err == NSD_OK; i++)
		err = journal_read_entry(r, &r->chain.entries[first + i],
			&parts[i], &data[i]);
	if (err == NSD_OK)
		err = load_versions_apply(&v, parts, count);
	for (size_t i = 0; data != NULL && i < count; i++)
		free(data[i]);
	free(data);
	free(parts);
	return err;
}

/* Applies entries, as one change if that can be; else those before the first
 * that is to blame. */
static enum nsd_err
journal_apply(const struct journal_replay *r, size_t first, size_t count)
{
	const struct journal_entry *entry = &r->chain.entries[first];
	enum nsd_err err;

	assert(count > 0 && count <= r->chain.count - first);
	err = journal_apply_at_once(r, first, count);
	if (err == NSD_OK || err == NSD_E_AGAIN
		|| (err == NSD_E_LIMIT && r->heap == NULL))
		return err;
	if (count == 1) {
		log_error("zone %s: what the journal has to get to serial %u"
			  " cannot be applied: %s",
			r->zone->conf->name, (unsigned)entry->to,
			err_reason(err));
		return err;
	}
	err = journal_apply(r, first, count / 2);
	return err != NSD_OK ? err
		: journal_apply(r, first + count / 2, count - count / 2);
}

/* Returns how many entries, from one on, fit into the octets that one transfer
 * may have. */
static size_t
journal_count_fitting(const struct journal_chain *chain, size_t first)
{
	uint64_t octets = chain->entries[first].text_len;
	size_t at = first + 1;

	assert(first < chain->count);
	while (at < chain->count && (octets += chain->entries[at].text_len)
			<= LOAD_UPDATE_DIFFS_MAX)
		at++;
	return at - first;
}

static bool
journal_is_long(const struct journal_chain *chain)
{
	uint64_t octets = 0;

	for (size_t i = 0; i < chain->count; i++)
		octets += chain->entries[i].text_len;
	return octets > LOAD_UPDATE_AT_ONCE;
}

static enum nsd_err
journal_apply_all(const struct journal_replay *r)
{
	enum nsd_err err = NSD_OK;
	size_t count;

	if (r->heap == NULL && journal_is_long(&r->chain))
		return NSD_E_LIMIT;
	for (size_t i = 0; i < r->chain.count && err == NSD_OK; i += count) {
		count = journal_count_fitting(&r->chain, i);
		err = journal_apply(r, i, count);
	}
	return err;
}

static void
journal_tell_gap(const struct load_context *context,
	const struct load_zone *zone, const struct journal_base *base)
{
	const struct journal_entry *newest = journal_index_newest(
		context->journal->index, zone->conf->wire);

	if (newest != NULL && journal_is_newer(newest->to, base))
		log_warning("zone %s: the journal has serial %u, and nothing"
			    " that leads there from %u",
			zone->conf->name, (unsigned)newest->to,
			(unsigned)base->serial);
}

/* Applies entries by a thread, which has the zone to itself: it is not changed
 * by others, and the served version stays. */
static enum nsd_err
journal_apply_alone(const struct journal_replay *r)
{
	enum nsd_err err;

	if (r->heap == NULL)
		return journal_apply_all(r);
	pthread_mutex_lock(r->context->busy_lock);
	assert(!r->zone->busy);
	r->zone->busy = true;
	pthread_mutex_unlock(r->context->busy_lock);
	load_loop_begin_edit(r->context->loop);
	err = journal_apply_all(r);
	load_loop_end_edit(r->context->loop);
	return err == NSD_E_LIMIT ? NSD_OK : err;
}

/* A zone that has not come to its last update is not served. */
static void
journal_check_arrival(const struct load_context *context,
	struct load_zone *zone, const struct journal_base *now)
{
	const struct journal_entry *newest = journal_index_newest(
		context->journal->index, zone->conf->wire);

	if (!journal_is_newer(newest->to, now))
		return;
	journal_set_behind(context, zone);
	log_error("zone %s takes updates, and the journal has those to serial"
		  " %u, which cannot be applied to serial %u of its file: it"
		  " was changed by hand. The zone is not served. Start with the"
		  " file as it was, or give the file a serial newer than %u and"
		  " reload, which drops the updates", zone->conf->name,
		(unsigned)newest->to, (unsigned)now->serial,
		(unsigned)newest->to);
}

enum nsd_err
load_journal_catch_up(const struct load_context *context,
	struct load_zone *zone, struct store_heap *heap)
{
	const struct journal_base base = journal_get_served(context, zone);
	struct journal_replay r = {
		.context = context,
		.zone = zone,
		.heap = heap,
	};
	struct journal_base now;
	enum nsd_err err;

	if (!base.known)
		return NSD_OK;
	if (journal_find_chain(context, zone, &base, 0, &r.chain) != NSD_OK) {
		journal_tell_gap(context, zone, &base);
		return NSD_OK;
	}
	err = journal_apply_alone(&r);
	journal_chain_fini(&r.chain);
	now = journal_get_served(context, zone);
	/* A version that was served before stays served. */
	if (load_zone_takes_updates(zone) && zone->held && err != NSD_E_LIMIT
		&& err != NSD_E_AGAIN)
		journal_check_arrival(context, zone, &now);
	if (now.serial != base.serial)
		log_info("zone %s: from serial %u to %u by the journal",
			zone->conf->name, (unsigned)base.serial,
			(unsigned)now.serial);
	return err == NSD_E_LIMIT ? err : NSD_OK;
}
