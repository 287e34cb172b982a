/* fuzz_tap.c - the reader of a ring of records, whose writer may be anybody. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/mutate_octets.h"
#include "lib/chance.h"
#include "tap/ring.h"
#include "target.h"

/* The input: the ring's position, the cursor, what was dropped, each 8 octets,
 * and the octets of the ring from the cursor on. */
#define HEAD 24u

static struct tap_ring ring;
static uint8_t copy[TAP_RECORD_MAX];

static void
check_record(const struct tap_record *r)
{
	uint8_t zone[255];
	uint32_t sum = 0;
	size_t len;

	MUST(r->kind < TAP_KIND_COUNT);
	MUST((r->parts & (TAP_QUERY | TAP_RESPONSE)) != 0);
	MUST(r->protocol >= TAP_UDP && r->protocol <= TAP_DOT);
	MUST(r->peer.len == 0 || r->peer.len == 4 || r->peer.len == 16);
	MUST(r->local.len == 0 || r->local.len == 4 || r->local.len == 16);
	MUST(r->query_nsec >= 0 && r->response_nsec >= 0);
	MUST(r->query == copy && r->query_len <= TAP_MESSAGE_MAX
		&& r->response_len <= TAP_MESSAGE_MAX);
	MUST((r->response == NULL) == (r->response_len == 0));
	for (uint32_t i = 0; i < r->query_len; i++)
		sum += r->query[i];
	for (uint32_t i = 0; i < r->response_len; i++)
		sum += r->response[i];
	MUST(sum <= 255u * (r->query_len + r->response_len));
	len = tap_find_zone(r, zone);
	MUST(len == 0 || (len == r->zone_len && zone[len - 1] == 0));
}

static void
fill_ring(uint64_t from, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		ring.octets[(from + i) % TAP_RING_SIZE] = data[i];
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tap_cursor cursor = {.read = 0};
	struct tap_reader reader = {&ring, &cursor, copy};
	struct tap_record record;
	enum tap_outcome outcome;
	uint64_t from;
	size_t count = 0;

	if (size < HEAD)
		return 0;
	memcpy(&ring.written, data, 8);
	memcpy(&cursor.read, data + 8, 8);
	memcpy(&ring.dropped, data + 16, 8);
	from = cursor.read;
	fill_ring(from, data + HEAD, size - HEAD);
	while ((outcome = tap_read(&reader, &record)) != TAP_NOTHING) {
		MUST(++count <= TAP_RING_SIZE / TAP_HEAD_LEN + 1);
		if (outcome == TAP_READ)
			check_record(&record);
		else
			MUST(cursor.read
				== ((ring.written + 7) & ~UINT64_C(7)));
	}
	MUST(tap_take_dropped(&reader) == ring.dropped);
	/* The next input finds a ring without octets of this one. */
	for (size_t i = 0; i < size - HEAD; i++)
		ring.octets[(from + i) % TAP_RING_SIZE] = 0;
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

/* Writes some records as a worker does, of messages with a question. */
static size_t
make_ring(uint8_t *out, size_t max, uint64_t *chance)
{
	static const uint8_t message[] = "\0\1\0\0\0\1\0\0\0\0\0\0"
		"\3wWw\7EXample\3com\0\0\1\0\1";
	struct tap_cursor cursor = {.read = 0};
	struct tap_writer w;
	uint64_t from = chance_below(chance, 2) == 0 ? 0
		: TAP_RING_SIZE - 8 * chance_below(chance, 40);
	size_t len;

	ring.written = cursor.read = from;
	tap_writer_init(&w, &ring, &cursor, 1);
	for (uint32_t i = 1 + chance_below(chance, 5); i > 0; i--) {
		struct tap_record r = {
			.kind = (enum tap_kind)chance_below(chance, 3),
			.parts = 1 + chance_below(chance, 7),
			.protocol = (enum tap_protocol)(1
				+ chance_below(chance, 3)),
			.peer.len = 4,
			.zone_len = (uint8_t)chance_below(chance, 18),
			.query = message,
			.query_len = chance_below(chance, sizeof(message)),
			.response = message,
			.response_len = chance_below(chance, sizeof(message)),
		};

		(void)tap_write(&w, &r);
	}
	len = (size_t)(ring.written - from);
	if (len > max - HEAD)
		len = max - HEAD;
	memcpy(out, &ring.written, 8);
	memcpy(out + 8, &from, 8);
	memcpy(out + 16, &ring.dropped, 8);
	for (size_t i = 0; i < len; i++)
		out[HEAD + i] = ring.octets[(from + i) % TAP_RING_SIZE];
	return HEAD + len;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint64_t chance = seed;

	if (max < HEAD || chance_below(&chance, 3) != 0)
		return mutate_octets(&chance, data, size, max);
	return make_ring(data, max, &chance);
}
