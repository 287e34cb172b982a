/* load_diff.c - reads a zone file beside the version that is served. */
#include "config.h"

#include <assert.h>
#include <sys/random.h>

#include "loader/load_diff.h"
#include "loader/load_files.h"
#include "store/writer.h"

/* Memory for collected records, for each record of the zone. The store has
 * about 32 octets for a record, and all together is not to take more than 1.3
 * times that. */
#define MEMORY_PER_RECORD 4u
#define MEMORY_LEAST (1u << 20)

/* The context of the first reading, which is given batches. */
struct first_reading {
	struct diff *diff;
	struct load_age *age;
};

static enum nsd_err
load_diff_on_sum(void *ctx, const struct rrbatch *batch)
{
	const struct first_reading *first = ctx;
	enum nsd_err err = load_reading_check_age(first->age, batch);

	return err == NSD_OK ? diff_sum(first->diff, batch) : err;
}

static enum nsd_err
load_diff_on_collect(void *ctx, const struct rrbatch *batch)
{
	return diff_collect(ctx, batch);
}

/* The second reading. The first one has told all findings. */
static enum nsd_err
load_diff_collect(const struct load_reading *r, struct diff *diff)
{
	struct zonefile_options options = r->options;
	struct zonefile_result again;
	enum nsd_err err;

	options.on_batch = load_diff_on_collect;
	options.batch_ctx = diff;
	err = load_reading_parse(r, &options, NULL, &again);
	if (err == NSD_OK && !load_files_are_equal(&r->result->files, &again))
		err = NSD_E_AGAIN;
	zonefile_result_fini(&again);
	if (err == NSD_OK)
		err = diff_finish(diff, &r->result->changes,
			&r->result->change_count);
	return err;
}

static enum nsd_err
load_diff_run(const struct load_reading *r, struct diff *diff)
{
	struct first_reading first = {diff, r->age};
	struct zonefile_options options = r->options;
	enum nsd_err err;
	bool equal;

	options.on_batch = load_diff_on_sum;
	options.batch_ctx = &first;
	err = load_reading_parse(r, &options, r->sink,
		&r->result->files);
	if (err == NSD_E_ZONE) /* the file was not read to its end */
		zonefile_result_fini(&r->result->files);
	if (err == NSD_OK)
		err = diff_compare(diff, &equal);
	if (err == NSD_OK && !equal)
		err = load_diff_collect(r, diff);
	return err;
}

enum nsd_err
load_diff_read(const struct load_reading *r)
{
	struct diff *diff;
	uint64_t key[2];
	enum nsd_err err;

	assert(r->served != NULL && r->zone->busy);
	if (getrandom(key, sizeof(key), 0) != sizeof(key)
		|| diff_create(store_writer_view(r->context->writer),
			   r->served, r->zone->conf->wire, key,
			   r->served->rr_count * MEMORY_PER_RECORD
				   + MEMORY_LEAST,
			   &diff)
			!= NSD_OK)
		return NSD_E_LIMIT;
	err = load_diff_run(r, diff);
	if (err != NSD_OK) {
		diff_destroy(diff);
		return err == NSD_E_ZONE ? NSD_E_LIMIT : err;
	}
	r->result->outcome = LOAD_COMPARED;
	r->result->diff = diff;
	return NSD_OK;
}
