/* ixfr_write.c - writes files with the differences between versions of a
 * zone. */
#include "config.h"

#include "loader/ixfr_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/grow.h"
#include "dns/name.h"
#include "dns/rdata.h"
#include "dns/rrtype.h"
#include "zone/history.h"

#define RECORD_FIXED 10u /* octets of TYPE, CLASS, TTL and RDLENGTH */
#define NSD_CHANGESET 128u /* octets that NSD keeps of a changeset besides */

/* ---- records ------------------------------------------------------------- */

/* A walk over the records of a changeset. */
struct ixfr_writing {
	struct history_unpacked *rr; /* the one at hand */
	struct history_rr head;
	FILE *out;
	char *line;
	size_t line_room;
};

static enum nsd_err
writing_init(struct ixfr_writing *w, FILE *out)
{
	*w = (struct ixfr_writing){.out = out, .rr = malloc(sizeof(*w->rr))};
	return w->rr != NULL ? NSD_OK : NSD_E_MEMORY;
}

static void
writing_fini(struct ixfr_writing *w)
{
	free(w->rr);
	free(w->line);
}

/* Prints the record at hand on a line. */
static enum nsd_err
writing_print(struct ixfr_writing *w)
{
	char owner[NAME_TEXT_MAX], type[RRTYPE_TEXT_MAX];
	size_t need = 1024;
	char *line;

	for (;;) {
		line = grow_octets(w->line, need + 1, &w->line_room);
		if (line == NULL)
			return NSD_E_MEMORY;
		w->line = line;
		need = rdata_print(w->head.type, w->rr->rdata, w->rr->rdlen,
			line, w->line_room);
		if (need < w->line_room)
			break;
	}
	name_print_text(w->rr->owner, owner);
	rrtype_print(w->head.type, type);
	return fprintf(w->out, "%s\t%" PRIu32 "\tIN\t%s\t%s\n", owner,
		       w->head.ttl_sec, type, line) > 0
		? NSD_OK : NSD_E_SYSTEM;
}

/* Finds the SOA of the new version. */
static enum nsd_err
find_new_soa(const struct ixfr_octets *octets, struct history_rr *soa)
{
	struct cursor c;
	unsigned soas = 0;

	cursor_init(&c, octets->octets, octets->len);
	while (soas < 2) {
		if (history_read(&c, soa) != NSD_OK)
			return NSD_E_WIRE;
		soas += soa->type == TYPE_SOA;
	}
	return NSD_OK;
}

/* A function that is given the records, with its context. */
struct visitor {
	enum nsd_err (*on_rr)(struct ixfr_writing *w, void *ctx);
	void *ctx;
};

static enum nsd_err
writing_visit(struct ixfr_writing *w, const uint8_t *apex,
	const struct history_rr *rr, const struct visitor *visitor)
{
	enum nsd_err err = history_unpack(apex, rr, w->rr);

	w->head = *rr;
	return err == NSD_OK ? visitor->on_rr(w, visitor->ctx) : err;
}

/* Visits each record of a file: the new SOA is before the records of the
 * changeset, and once more behind them (RFC 1995 section 4). */
static enum nsd_err
writing_walk(struct ixfr_writing *w, const uint8_t *apex,
	const struct ixfr_octets *octets, const struct visitor *visitor)
{
	struct history_rr soa, rr;
	struct cursor c;
	enum nsd_err err = find_new_soa(octets, &soa);

	if (err == NSD_OK)
		err = writing_visit(w, apex, &soa, visitor);
	cursor_init(&c, octets->octets, octets->len);
	while (err == NSD_OK && cursor_left(&c) > 0) {
		err = history_read(&c, &rr);
		if (err == NSD_OK)
			err = writing_visit(w, apex, &rr, visitor);
	}
	return err == NSD_OK ? writing_visit(w, apex, &soa, visitor) : err;
}

static enum nsd_err
count_rr(struct ixfr_writing *w, void *ctx)
{
	uint64_t *octets = ctx;

	*octets += name_len(w->rr->owner) + RECORD_FIXED + w->rr->rdlen;
	return NSD_OK;
}

static enum nsd_err
print_rr(struct ixfr_writing *w, void *ctx)
{
	(void)ctx;
	return writing_print(w);
}

uint64_t
ixfr_file_measure(const uint8_t *apex, const struct ixfr_octets *octets)
{
	uint64_t count = NSD_CHANGESET;
	struct ixfr_writing w;

	if (writing_init(&w, NULL) != NSD_OK)
		return 0;
	if (writing_walk(&w, apex, octets,
		    &(struct visitor){count_rr, &count}) != NSD_OK)
		count = 0;
	writing_fini(&w);
	return count;
}

static enum nsd_err
ixfr_print_comments(FILE *out, const struct ixfr_text *text,
	const struct ixfr_octets *octets)
{
	uint64_t size = ixfr_file_measure(text->apex, octets);
	time_t time = (time_t)text->time_sec;
	char date[64] = "", apex[NAME_TEXT_MAX];

	if (size == 0)
		return NSD_E_WIRE;
	/* ctime's text ends the line. */
	if (ctime_r(&time, date) == NULL)
		snprintf(date, sizeof(date), "%" PRId64 "\n", text->time_sec);
	name_print_text(text->apex, apex);
	return fprintf(out, "; IXFR data file\n; zone %s\n"
		       "; from_serial %" PRIu32 "\n; to_serial %" PRIu32 "\n"
		       "; data_size %" PRIu64 "\n; IXFR created by NSD %s for"
		       " %s %" PRIu32 " to %" PRIu32 " of %" PRIu64
		       " bytes at time %s", text->name, octets->from,
		       octets->to, size, text->version, apex, octets->from,
		       octets->to, size, date) > 0
		? NSD_OK : NSD_E_SYSTEM;
}

enum nsd_err
ixfr_file_print(FILE *out, const struct ixfr_text *text,
	const struct ixfr_octets *octets)
{
	struct ixfr_writing w;
	enum nsd_err err = writing_init(&w, out);

	if (err == NSD_OK) {
		err = ixfr_print_comments(out, text, octets);
		if (err == NSD_OK)
			err = writing_walk(&w, text->apex, octets,
				&(struct visitor){print_rr, NULL});
		writing_fini(&w);
	}
	if (err == NSD_OK && fflush(out) != 0)
		err = NSD_E_SYSTEM;
	return err;
}

/* ---- files --------------------------------------------------------------- */

static enum nsd_err
ixfr_write_new(struct fs_replace *file, const struct ixfr_text *text,
	const struct ixfr_octets *octets)
{
	enum nsd_err err, closed;
	FILE *out;
	int error;

	if (fs_replace_open_stream(file, &out) != NSD_OK)
		return NSD_E_SYSTEM;
	err = ixfr_file_print(out, text, octets);
	error = errno;
	closed = fs_replace_close_stream(out);
	if (err == NSD_OK)
		return closed;
	errno = error;
	return err;
}

/* The new file is FILE~, as that of a zone file is. */
enum nsd_err
ixfr_file_replace(const char *path, const struct ixfr_text *text,
	const struct ixfr_octets *octets)
{
	struct fs_replace file;
	enum nsd_err err = fs_replace_open_tilde(&file, path, O_WRONLY, 0666);
	int none;

	if (err != NSD_OK)
		return err;
	err = ixfr_write_new(&file, text, octets);
	if (err == NSD_OK)
		return fs_replace_take(&file, &none);
	fs_replace_abort(&file);
	return err;
}

static void
files_tell(struct diag_sink *sink, const char *path, enum nsd_err err)
{
	int error = errno;

	diag_emit(sink, DIAG_ERROR, NULL, 0, 0, "cannot write %s: %s", path,
		err == NSD_E_SYSTEM ? strerror(error) : err_text(err));
	errno = error;
}

/* Removes the files from one on. */
static void
files_remove(const char *path, size_t from, char *name)
{
	for (size_t i = from; i <= HISTORY_CHANGESETS_MAX; i++) {
		ixfr_file_print_name(path, (unsigned)i, name);
		if (unlink(name) == -1)
			break;
	}
}

bool
ixfr_file_is_new(const char *path)
{
	char *name = malloc(strlen(path) + IXFR_FILE_SUFFIX_MAX);
	struct stat zone, changeset;
	bool is_new;

	if (name == NULL)
		return false;
	ixfr_file_print_name(path, 0, name);
	is_new = stat(path, &zone) == 0 && stat(name, &changeset) == 0
		&& fs_is_later(&changeset.st_ctim, &zone.st_ctim);
	free(name);
	return is_new;
}

enum nsd_err
ixfr_file_write(const struct store_view *view,
	const struct history_path *history, const char *path,
	const struct ixfr_text *text, struct diag_sink *sink)
{
	char *name = malloc(strlen(path) + IXFR_FILE_SUFFIX_MAX);
	enum nsd_err err = NSD_OK;

	if (name == NULL) {
		files_tell(sink, path, NSD_E_MEMORY);
		return NSD_E_MEMORY;
	}
	for (size_t i = 0; err == NSD_OK && i < history->count; i++) {
		const struct zone_changeset *changeset = store_get(view,
			history->changesets[i]);

		ixfr_file_print_name(path, (unsigned)i, name);
		err = ixfr_file_replace(name, text, &(struct ixfr_octets){
			changeset->from, changeset->to, changeset->data,
			changeset->len});
		if (err != NSD_OK)
			files_tell(sink, name, err);
	}
	if (err == NSD_OK)
		files_remove(path, history->count, name);
	free(name);
	return err;
}
