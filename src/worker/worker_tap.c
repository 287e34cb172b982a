/* worker_tap.c - a worker's records of queries and answers. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "dns/message.h"
#include "worker/worker_tap.h"

/* A record whose response is the first message of a stream. */
struct kept_record {
	struct tap_record record;
	uint8_t query[];
};

void
worker_tap_serve(struct worker_tap *tap, const struct tap_switch *wanted,
	struct tap_ring *ring, const struct tap_cursor *cursor)
{
	tap->wanted = wanted;
	tap_writer_init(&tap->writer, ring, cursor, (uint64_t)getpid());
}

/* The date; a date before 1970 counts as 1970. */
static int64_t
date_nsec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec >= 0
		? (int64_t)now.tv_sec * 1000000000 + now.tv_nsec : 0;
}

/* ---- the sample ---------------------------------------------------------- */

/* Chooses the gap to the next query of the sample, as if each query were chosen
 * with a chance of 1 to `sample`: whoever knows all that were chosen so far
 * knows nothing of the next ones. */
static void
gap_draw(struct worker_tap *tap)
{
	double share, gap;

	if (tap->random_count == 0) {
		if (getrandom(tap->random, sizeof(tap->random), GRND_NONBLOCK)
			!= (ssize_t)sizeof(tap->random)) {
			tap->gap = tap->sample - 1;
			return;
		}
		tap->random_count = WORKER_TAP_RANDOM;
	}
	share = (tap->random[--tap->random_count] + 1.0) / 4294967296.0;
	gap = log(share) / tap->log_left;
	tap->gap = gap < UINT32_MAX ? (uint32_t)gap : UINT32_MAX;
}

static uint64_t
choose_sample(struct worker_tap *tap, uint32_t sample, size_t count)
{
	uint64_t chosen = 0;
	size_t at = 0;

	if (tap->sample != sample) {
		tap->sample = sample;
		tap->log_left = log1p(-1.0 / sample);
		gap_draw(tap);
	}
	while (tap->gap < count - at) {
		at += tap->gap;
		chosen |= UINT64_C(1) << at++;
		gap_draw(tap);
	}
	tap->gap -= (uint32_t)(count - at);
	return chosen;
}

bool
worker_tap_choose(struct worker_tap *tap, uint32_t wants, size_t count)
{
	uint32_t sample = __atomic_load_n(&tap->wanted->sample,
		__ATOMIC_RELAXED);

	ASSERT_HOT(count >= 1 && count <= EXCHANGE_BATCH_MAX);
	tap->wants = wants;
	tap->chosen = sample > 1 ? choose_sample(tap, sample, count)
		: UINT64_MAX >> (64 - count);
	if (tap->chosen != 0)
		tap->query_nsec = date_nsec();
	return tap->chosen != 0;
}

/* ---- records ------------------------------------------------------------- */

static enum tap_kind
find_kind(const struct exchange *x)
{
	unsigned opcode = x->request_len >= MESSAGE_HEADER_LEN
		? message_get_opcode(x->request) : (unsigned)OPCODE_QUERY;

	return opcode == OPCODE_UPDATE ? TAP_UPDATE
		: opcode == OPCODE_NOTIFY ? TAP_NOTIFY
					  : TAP_AUTH;
}

static enum tap_protocol
find_protocol(const struct exchange *x)
{
	return x->transport == TRANSPORT_UDP ? TAP_UDP
		: x->transport == TRANSPORT_TCP ? TAP_TCP
						: TAP_DOT;
}

/* Fills a record without a response. False: nobody wants it. */
static bool
record_fill(const struct worker_tap *tap, const struct exchange *x, size_t i,
	struct tap_record *r)
{
	r->kind = find_kind(x);
	r->parts = (tap->wants & TAP_WANT(r->kind, TAP_QUERY)) != 0
		? TAP_QUERY : 0;
	if ((tap->wants & TAP_WANT(r->kind, TAP_RESPONSE)) != 0)
		r->parts |= TAP_RESPONSE;
	if (r->parts == 0)
		return false;
	r->protocol = find_protocol(x);
	r->query_nsec = tap->query_nsec;
	r->response_nsec = 0;
	tap_address_set(&r->peer, (const struct sockaddr *)x->peer);
	tap_address_set(&r->local, x->local);
	r->zone_len = tap->zone_len[i];
	r->query = x->request;
	r->query_len = x->request_len;
	r->response = NULL;
	r->response_len = 0;
	return true;
}

/* True if the zone of a request may be in a set, which the collector looks at
 * again, name by name. */
static bool
zone_is_wanted(const struct tap_zones *zones, const struct exchange *x,
	uint8_t zone_len)
{
	const struct tap_record r = {
		.zone_len = zone_len,
		.query = x->request,
		.query_len = x->request_len,
		.response = x->reply_len > 0 ? x->reply : NULL,
		.response_len = x->reply_len,
	};
	uint8_t zone[255];
	size_t len = tap_find_zone(&r, zone);

	return len > 0 && tap_zones_may_have(zones, zone, len);
}

void
worker_tap_note_zones(struct worker_tap *tap, const struct query_ctx *query,
	const struct exchange *exchanges, size_t count)
{
	uint32_t chosen = __atomic_load_n(&tap->wanted->chosen,
		__ATOMIC_ACQUIRE);

	for (size_t i = 0; i < count; i++)
		if ((tap->chosen >> i & 1) != 0)
			tap->zone_len[i] = query_zone_len(query, i);
	if (chosen == 0)
		return;
	for (size_t i = 0; i < count; i++)
		if ((tap->chosen >> i & 1) != 0
			&& !zone_is_wanted(&tap->wanted->sets[(chosen - 1) & 1],
				&exchanges[i], tap->zone_len[i]))
			tap->chosen &= ~(UINT64_C(1) << i);
}

/* Keeps a record with the stream that its response comes from. Without memory
 * the response has no record. */
static void
keep_for_stream(const struct exchange *x, const struct tap_record *r)
{
	struct kept_record *kept = malloc(sizeof(*kept) + x->request_len);

	if (kept == NULL)
		return;
	kept->record = *r;
	kept->record.parts = TAP_RESPONSE;
	kept->record.query = kept->query;
	memcpy(kept->query, x->request, x->request_len);
	*query_stream_note(x->stream) = kept;
}

/* Writes the record of one request. A request of a stream that comes again
 * after it was answered has a record already. */
static void
write_one(struct worker_tap *tap, const struct exchange *x, size_t i,
	int64_t now_nsec)
{
	bool again = x->seen == EXCHANGE_ANSWERED;
	struct tap_record r;

	if (x->put_off || (again && x->stream == NULL)
		|| !record_fill(tap, x, i, &r))
		return;
	if (x->stream != NULL && (r.parts & TAP_RESPONSE) != 0)
		keep_for_stream(x, &r);
	if (again)
		return;
	if (x->stream != NULL || x->later != NULL) {
		r.parts &= ~(unsigned)TAP_RESPONSE;
		if (r.parts == 0)
			return;
		r.parts |= TAP_PENDING;
	} else if (x->reply_len == 0 || (r.parts & TAP_RESPONSE) == 0) {
		r.parts &= ~(unsigned)TAP_RESPONSE;
	} else {
		r.response_nsec = now_nsec;
		r.response = x->reply;
		r.response_len = x->reply_len;
	}
	if (r.parts != 0)
		(void)tap_write(&tap->writer, &r);
}

void
worker_tap_write(struct worker_tap *tap, const struct exchange *exchanges,
	size_t count)
{
	int64_t now_nsec;

	if (tap->chosen == 0)
		return;
	now_nsec = date_nsec();
	for (size_t i = 0; i < count; i++)
		if ((tap->chosen >> i & 1) != 0)
			write_one(tap, &exchanges[i], i, now_nsec);
}

/* ---- responses that are made later --------------------------------------- */

bool
worker_tap_keep(const struct worker_tap *tap, const struct exchange *exchanges,
	size_t i, struct tap_record *r)
{
	if ((tap->chosen >> i & 1) == 0
		|| !record_fill(tap, &exchanges[i], i, r)
		|| (r->parts & TAP_RESPONSE) == 0)
		return false;
	r->parts = TAP_RESPONSE;
	return true;
}

void
worker_tap_write_later(struct worker_tap *tap, struct tap_record *r,
	const uint8_t *response, size_t len)
{
	ASSERT_HOT(r->parts == TAP_RESPONSE && len <= TAP_MESSAGE_MAX);
	/* The record may not be wanted any more. */
	if (__atomic_load_n(&tap->wanted->wants, __ATOMIC_RELAXED) == 0)
		return;
	r->response_nsec = date_nsec();
	r->response = response;
	r->response_len = (uint32_t)len;
	(void)tap_write(&tap->writer, r);
}

void
worker_tap_write_stream(struct worker_tap *tap, void *stream,
	const uint8_t *response, size_t len)
{
	struct kept_record *kept = *query_stream_note(stream);

	if (kept == NULL)
		return;
	worker_tap_write_later(tap, &kept->record, response, len);
	worker_tap_end_stream(stream);
}

void
worker_tap_end_stream(void *stream)
{
	void **note = query_stream_note(stream);

	free(*note);
	*note = NULL;
}
