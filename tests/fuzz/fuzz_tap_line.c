/* fuzz_tap_line.c - lines of the query log, of records with any octets: each
 * has its fields and one end, and no other program is shown control
 * characters. */
#include <string.h>

#include "fuzz/mutate_dns.h"
#include "lib/chance.h"
#include "tap/line.h"
#include "target.h"

/* The input: these octets, then those of the query and of the response. */
struct head {
	int64_t query_nsec;
	int64_t response_nsec;
	uint16_t query_len;
	uint8_t zone_len;
	uint8_t peer_len;
	uint8_t protocol;
	uint8_t parts;
	uint8_t first_field;
	uint8_t fields; /* bit 7: JSON */
};

#define HEAD sizeof(struct head)

static struct log_format
make_format(const struct head *head)
{
	struct log_format format = {
		.json = (head->fields & 0x80) != 0,
		.count = (uint8_t)(1 + (head->fields & 0x7f) % LOG_FIELD_COUNT),
	};

	for (unsigned i = 0; i < format.count; i++)
		format.fields[i] = (uint8_t)((head->first_field + i)
			% LOG_FIELD_COUNT);
	return format;
}

/* Words, none of them empty, as many as there are fields. */
static void
check_words(const char *line, size_t len, unsigned count)
{
	unsigned words = 1;

	MUST(line[0] != ' ' && line[len - 1] != ' ');
	for (size_t i = 1; i < len; i++)
		if (line[i] == ' ') {
			words++;
			MUST(line[i - 1] != ' ');
		}
	MUST(words == count);
}

/* An object on one level, with as many keys as there are fields. */
static void
check_object(const char *line, size_t len, unsigned count)
{
	bool in_text = false;
	unsigned keys = 0;

	MUST(line[0] == '{' && line[len - 1] == '}');
	for (size_t i = 1; i < len - 1; i++) {
		if (in_text && line[i] == '\\') {
			i++;
			MUST(line[i] == '\\' || line[i] == '"');
		} else if (line[i] == '"') {
			in_text = !in_text;
		} else if (!in_text) {
			MUST(strchr("{} \\", line[i]) == NULL);
			keys += line[i] == ':';
		}
	}
	MUST(!in_text && keys == count);
}

static void
check_line(const struct tap_record *record, const struct log_format *format)
{
	char line[TAP_LINE_MAX];
	size_t len = tap_line_print(record, format, line);

	MUST(len >= 2 && len <= TAP_LINE_MAX && line[--len] == '\n');
	for (size_t i = 0; i < len; i++)
		MUST(line[i] >= ' ' && line[i] <= '~');
	if (format->json)
		check_object(line, len, format->count);
	else
		check_words(line, len, format->count);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tap_record record = {.kind = TAP_AUTH};
	struct log_format format;
	struct head head;

	if (size < HEAD)
		return 0;
	memcpy(&head, data, HEAD);
	data += HEAD;
	size -= HEAD;
	format = make_format(&head);
	record.parts = 1 + head.parts % 7;
	record.protocol = (enum tap_protocol)(1 + head.protocol % 3);
	record.query_nsec = head.query_nsec & INT64_MAX;
	record.response_nsec = head.response_nsec & INT64_MAX;
	record.zone_len = head.zone_len;
	record.query = data;
	record.query_len = head.query_len < size ? head.query_len
		: (uint32_t)size;
	size -= record.query_len;
	record.response_len = size > TAP_MESSAGE_MAX ? TAP_MESSAGE_MAX
		: (uint32_t)size;
	record.response = record.response_len > 0 ? data + record.query_len
		: NULL;
	record.peer.len = head.peer_len % 3 == 0 ? 0
		: head.peer_len % 3 == 1 ? 4 : 16;
	memcpy(record.peer.octets, &head, 16);
	check_line(&record, &format);
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint64_t chance = seed;
	struct head head;
	size_t len, half;

	if (size < HEAD || max <= HEAD || chance_below(&chance, 3) == 0)
		return mutate_octets(&chance, data, size, max);
	memcpy(&head, data, HEAD);
	len = size - HEAD;
	half = (max - HEAD) / 2;
	/* The query, which the response then repeats; or the response. */
	if (head.query_len > len || chance_below(&chance, 2) == 0) {
		len = mutate_dns_message(&mutate_dns_plain, data + HEAD,
			len < half ? len : half, half, &chance);
		head.query_len = (uint16_t)len;
		memcpy(data, &head, HEAD);
		memcpy(data + HEAD + len, data + HEAD, len);
		return HEAD + 2 * len;
	}
	return HEAD + head.query_len + mutate_dns_message(&mutate_dns_plain,
		data + HEAD + head.query_len, len - head.query_len,
		max - HEAD - head.query_len, &chance);
}
