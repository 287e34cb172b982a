/* checkzone_stream.c - checks a zone while its file is read. */
#include "config.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "audit/audit.h"
#include "checkzone.h"
#include "compile/inspect.h"
#include "dns/rrbatch.h"
#include "zonefile/order.h"
#include "zonefile/zonefile.h"

/* A smaller file is checked in no time, and little memory, in any way. */
#define FILE_LEAST (8 << 20)

struct streaming {
	struct check *check;
	struct rrbatch_pool *pool;
	struct zone_inspect *inspect;
	struct audit *audit;
	struct zonemd *digest;
	bool is_signed; /* the audit wants more records */
	bool is_digested; /* digest wants more records */
	bool given_up;  /* only the syntax is looked at */
};

/* ---- records ------------------------------------------------------------- */

/* Without keys, a zone is not signed, and there is no more to audit. */
static enum nsd_err
audit_ended(struct streaming *s, enum nsd_err err)
{
	if (err != NSD_E_NOT_FOUND)
		return err;
	s->is_signed = false;
	return NSD_OK;
}

static enum nsd_err
on_owner(void *ctx, const uint8_t *owner, size_t len)
{
	struct streaming *s = ctx;

	return s->is_signed ? audit_ended(s, audit_next(s->audit, owner, len))
			    : NSD_OK;
}

static enum nsd_err
on_rr(void *ctx, const struct zone_rr *rr)
{
	struct streaming *s = ctx;
	enum nsd_err err = NSD_OK;

	if (s->is_digested)
		err = zonemd_take(s->digest, rr);
	if (err == NSD_E_NOT_FOUND)
		s->is_digested = false;
	else if (err != NSD_OK)
		return err;
	return s->is_signed ? audit_ended(s, audit_take(s->audit, rr))
			    : NSD_OK;
}

static enum nsd_err
on_part(void *ctx, const struct rrbatch *batches)
{
	struct streaming *s = ctx;
	enum nsd_err err;

	if (!s->is_signed)
		return NSD_OK;
	err = audit_ended(s, audit_settle(s->audit));
	if (err == NSD_OK)
		audit_find_lines(s->audit, batches);
	return err;
}

static enum nsd_err
on_batch(void *ctx, struct rrbatch *batch)
{
	struct streaming *s = ctx;
	enum nsd_err err;

	if (s->given_up) {
		rrbatch_destroy(batch);
		return NSD_OK;
	}
	err = inspect_take(s->inspect, batch);
	s->given_up = err == NSD_E_LIMIT;
	return s->given_up ? NSD_OK : err;
}

/* ---- lines --------------------------------------------------------------- */

static enum nsd_err
on_lines(void *ctx, const struct rrbatch *batch)
{
	struct streaming *s = ctx;

	audit_find_lines(s->audit, batch);
	return NSD_OK;
}

/* Reads the file again, for the lines of what only the whole zone has shown.
 * NSD_E_LIMIT: it is not what it was. */
static enum nsd_err
lines_find(struct streaming *s)
{
	const struct zonefile_options options = {
		.apex = s->check->apex,
		.default_ttl_sec = TTL_FALLBACK,
		.threads = s->check->threads,
		.on_batch = on_lines,
		.batch_ctx = s,
	};
	struct zonefile_result result;
	enum nsd_err err;

	if (!audit_lacks_line(s->audit))
		return NSD_OK;
	err = zonefile_parse(s->check->file, &options, NULL, &result);
	zonefile_result_fini(&result);
	return err == NSD_OK || err == NSD_E_MEMORY ? err : NSD_E_LIMIT;
}

/* ---- the file ------------------------------------------------------------ */

static enum nsd_err
stream_end(struct streaming *s, const struct zonefile_result *result)
{
	const char *const files[1] = {s->check->file};
	struct audit_report report;
	enum nsd_err err;

	/* Lines of several files have no order that is known here. */
	if (s->given_up || result->source_count != 1)
		return NSD_E_LIMIT;
	err = inspect_finish(s->inspect);
	if (err == NSD_OK)
		err = audit_finish(s->audit);
	if (err == NSD_OK)
		err = lines_find(s);
	if (err != NSD_OK)
		return err;
	inspect_tell(s->inspect, files, 1, &s->check->sink);
	audit_tell(s->audit, &s->check->sink, &report);
	return checkzone_end_digest(s->check, s->digest);
}

static enum nsd_err
stream_read(struct streaming *s)
{
	const struct zonefile_options options = {
		.apex = s->check->apex,
		.default_ttl_sec = TTL_FALLBACK,
		.threads = s->check->threads,
		.take_batch = on_batch,
		.batch_ctx = s,
		.pool = s->pool,
	};
	struct zonefile_result result;
	enum nsd_err err = zonefile_parse(s->check->file, &options,
		&s->check->sink, &result);

	s->check->told = err == NSD_OK || err == NSD_E_SYNTAX;
	if (err == NSD_OK)
		err = stream_end(s, &result);
	else if (err == NSD_E_SYNTAX || err == NSD_E_AGAIN)
		err = NSD_E_LIMIT;
	zonefile_result_fini(&result);
	return err;
}

static bool
file_is_for_stream(const struct check *c)
{
	struct stat st;

	return !c->print && !c->dnssec && stat(c->file, &st) == 0
		&& S_ISREG(st.st_mode) && st.st_size >= FILE_LEAST;
}

enum nsd_err
checkzone_stream(struct check *c)
{
	const char *const files[1] = {c->file};
	const struct audit_options audit = {
		.apex = c->apex,
		.now_sec = c->now_sec,
		.threads = c->threads,
		.files = files,
		.file_count = 1,
	};
	struct streaming s = {.check = c, .is_signed = true,
		.is_digested = true};
	const struct zone_inspect_input input = {
		.apex = c->apex,
		.sort = !order_is_likely(c->file),
		.on_owner = on_owner,
		.on_rr = on_rr,
		.on_part = on_part,
		.ctx = &s,
	};
	enum nsd_err err;

	if (!file_is_for_stream(c))
		return NSD_E_LIMIT;
	s.pool = rrbatch_pool_create();
	err = s.pool == NULL ? NSD_E_MEMORY : audit_create(&audit, &s.audit);
	if (err == NSD_OK)
		err = checkzone_begin_digest(c, &s.digest);
	if (err == NSD_OK)
		err = inspect_begin(&input, &s.inspect);
	if (err == NSD_OK)
		err = stream_read(&s);
	inspect_destroy(s.inspect);
	audit_destroy(s.audit);
	zonemd_destroy(s.digest);
	rrbatch_pool_destroy(s.pool);
	return err;
}
