/* ixfr_file.c - reads files with the differences between versions of a zone. */
#include "config.h"

#include "loader/ixfr_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/grow.h"
#include "dns/name.h"
#include "dns/rrbatch.h"
#include "dns/rrtype.h"
#include "zone/history.h"
#include "zonefile/zonefile.h"

/* Octets of text in one file, whatever its limits say. */
#define TEXT_MAX ((size_t)256 << 20)
/* Octets of text for one octet of a changeset: owners are whole there, each
 * octet of a name may take four. */
#define TEXT_RATIO 16u
#define DEFAULT_TTL_SEC 3600

void
ixfr_file_print_name(const char *path, unsigned index, char *out)
{
	if (index == 0)
		sprintf(out, "%s.ixfr", path);
	else
		sprintf(out, "%s.ixfr.%u", path, index + 1);
}

/* ---- text ---------------------------------------------------------------- */

/* The records of a file, one after the other: the new SOA, the old SOA, removed
 * records, the new SOA, added records, the new SOA. */
struct ixfr_reading {
	struct history_draft *draft;
	unsigned soas;     /* seen */
	uint32_t serials[4];
	const char *why;   /* reason why the file is no such one; NULL: it may
			    * be */
};

static enum nsd_err
reading_fail(struct ixfr_reading *r, const char *why)
{
	r->why = why;
	return NSD_E_WIRE;
}

static enum nsd_err
reading_take_soa(struct ixfr_reading *r, const struct zone_rr *rr)
{
	if (!name_equal(rr->owner, r->draft->apex))
		return reading_fail(r, "an SOA below the apex");
	if (r->soas == 4)
		return reading_fail(r, "records behind the last SOA");
	if (!history_read_serial(rr->rdata, rr->rdlen,
		    &r->serials[r->soas++]))
		return reading_fail(r, "an SOA without a serial");
	return NSD_OK;
}

static enum nsd_err
reading_take(struct ixfr_reading *r, const struct zone_rr *rr)
{
	enum nsd_err err = NSD_OK;

	if (!name_is_within(rr->owner, r->draft->apex))
		return reading_fail(r, "a record of another zone");
	if (rr->type == TYPE_SOA)
		err = reading_take_soa(r, rr);
	else if (r->soas < 2 || r->soas == 4)
		return reading_fail(r, "a record where an SOA should be");
	/* The first SOA and the last are those of the answer. */
	if (err == NSD_OK && r->soas > 1 && r->soas < 4)
		history_draft_add(r->draft, rr);
	if (err == NSD_OK && r->draft->lost)
		err = NSD_E_LIMIT;
	return err;
}

static enum nsd_err
reading_on_batch(void *ctx, const struct rrbatch *batch)
{
	const struct rrbatch_rr *rr = rrbatch_first(batch);
	const uint8_t *owner = rr->data;
	enum nsd_err err = NSD_OK;

	for (size_t i = 0; i < batch->count && err == NSD_OK; i++) {
		struct zone_rr record = {
			.ttl_sec = rr->ttl_sec,
			.type = rr->type,
			.rdlen = rr->rdlen,
			.rdata = rrbatch_rr_rdata(rr),
		};

		if (rr->owner_len > 0)
			owner = rr->data;
		record.owner = owner;
		err = reading_take(ctx, &record);
		rr = rrbatch_next(rr);
	}
	return err;
}

static enum nsd_err
reading_end(struct ixfr_reading *r)
{
	if (r->soas < 4)
		return reading_fail(r, "it ends too early");
	if (r->serials[0] != r->serials[2] || r->serials[0] != r->serials[3]
		|| r->serials[0] == r->serials[1])
		return reading_fail(r, "its serials do not fit");
	return NSD_OK;
}

enum nsd_err
ixfr_file_parse(const char *text, size_t len, struct history_draft *draft,
	const char **why)
{
	struct ixfr_reading r = {.draft = draft};
	const struct zonefile_options options = {
		.apex = draft->apex,
		.default_ttl_sec = DEFAULT_TTL_SEC,
		.piece_size = (size_t)64 << 10,
		.secondary = true,
		.on_batch = reading_on_batch,
		.batch_ctx = &r,
	};
	struct zonefile_result result;
	enum nsd_err err = zonefile_parse_text("ixfr", text, len, &options,
		NULL, &result);

	zonefile_result_fini(&result);
	if (err == NSD_OK)
		err = reading_end(&r);
	if (err == NSD_E_SYNTAX)
		err = reading_fail(&r, "its records cannot be read");
	*why = r.why;
	return err;
}

/* ---- files --------------------------------------------------------------- */

static void
file_tell(struct diag_sink *sink, const char *path, const char *why)
{
	diag_emit(sink, DIAG_WARNING, NULL, 0, 0,
		"%s is not used, nor are older ones: %s", path, why);
}

static size_t
file_text_max(const struct history_limits *limits)
{
	uint64_t most = limits->octets;

	return most == 0 || most > TEXT_MAX / TEXT_RATIO ? TEXT_MAX
		: (size_t)most * TEXT_RATIO;
}

/* True if a file was changed after a moment, and not in times to come. */
static bool
file_is_since(const struct stat *st, const struct timespec *moment)
{
	struct timespec now;

	return fs_is_later(&st->st_ctim, moment)
		&& clock_gettime(CLOCK_REALTIME, &now) == 0
		&& !fs_is_later(&st->st_ctim, &now);
}

/* Reads a file as a whole. NSD_E_NOT_FOUND: there is none; NSD_E_DENIED: it is
 * older than `since`. */
static enum nsd_err
file_load(const char *path, size_t max, const struct timespec *since,
	char **text, size_t *len)
{
	struct stat st;
	ssize_t n = 0;
	int fd;

	if (fs_open_to_read(path, false, &fd, &st) != NSD_OK)
		return errno == ENOENT ? NSD_E_NOT_FOUND : NSD_E_SYSTEM;
	*text = NULL;
	*len = 0;
	if (since != NULL && !file_is_since(&st, since)) {
		close(fd);
		return NSD_E_DENIED;
	}
	if (st.st_size < 0 || (uint64_t)st.st_size > max) {
		close(fd);
		return NSD_E_LIMIT;
	}
	*text = malloc((size_t)st.st_size + 1);
	while (*text != NULL && *len < (size_t)st.st_size
		&& ((n = read(fd, *text + *len, (size_t)st.st_size - *len)) > 0
			|| (n == -1 && errno == EINTR)))
		*len += n > 0 ? (size_t)n : 0;
	close(fd);
	if (*text == NULL)
		return NSD_E_MEMORY;
	if (n >= 0)
		return NSD_OK;
	free(*text);
	return NSD_E_SYSTEM;
}

/* Reads the file of a changeset that leads to a serial. True: it is in the
 * draft. */
static bool
differences_read(const char *path, uint32_t to,
	const struct ixfr_wanted *wanted, struct diag_sink *sink,
	struct ixfr_drafts *drafts)
{
	struct history_draft *draft = &drafts->items[drafts->count];
	const char *why = NULL;
	char *text;
	size_t len;
	enum nsd_err err = file_load(path, file_text_max(wanted->limits),
		wanted->since, &text, &len);

	if (err == NSD_E_NOT_FOUND)
		return false;
	if (err == NSD_E_DENIED) {
		drafts->stale = true;
		why = "it is not newer than the zone file";
	}
	if (err == NSD_OK) {
		err = ixfr_file_parse(text, len, draft, &why);
		free(text);
	}
	if (err == NSD_OK && draft->to == to)
		return true;
	file_tell(sink, path, err == NSD_OK ? "it leads to another serial"
		: why != NULL ? why : err_text(err));
	return false;
}

void
ixfr_file_read(const char *path, const struct ixfr_wanted *wanted,
	struct diag_sink *sink, struct ixfr_drafts *drafts)
{
	const struct history_limits *limits = wanted->limits;
	uint32_t serial = wanted->serial;
	unsigned max = limits->number < HISTORY_CHANGESETS_MAX ? limits->number
		: HISTORY_CHANGESETS_MAX;
	char *name = malloc(strlen(path) + IXFR_FILE_SUFFIX_MAX);
	uint64_t octets = 0;
	size_t room = 0;

	*drafts = (struct ixfr_drafts){.items = NULL};
	for (unsigned i = 0; name != NULL && i < max; i++) {
		struct history_draft *items = grow_array(drafts->items,
			drafts->count, &room, sizeof(*items));

		if (items == NULL)
			break;
		drafts->items = items;
		items += drafts->count;
		history_draft_init(items, wanted->apex, limits);
		ixfr_file_print_name(path, i, name);
		if (!differences_read(name, serial, wanted, sink, drafts)
			|| (limits->octets != 0
				&& octets + items->len > limits->octets)) {
			history_draft_fini(items);
			break;
		}
		drafts->count++;
		octets += items->len;
		serial = items->from;
	}
	free(name);
}

void
ixfr_file_release(struct ixfr_drafts *drafts)
{
	for (size_t i = 0; i < drafts->count; i++)
		history_draft_fini(&drafts->items[i]);
	free(drafts->items);
	*drafts = (struct ixfr_drafts){.items = NULL};
}
