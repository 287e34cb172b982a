/* fuzz_changes.c - octets of a transfer, as a journal might have them: read at
 * once, in pieces, and written again. */
#include <stdlib.h>
#include <string.h>

#include "xfr/changes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool condition)
{
	if (!condition)
		abort();
}

/* Reads to the end, or to what is broken. What is read is written to out, which
 * has size octets of room. */
static enum nsd_err
read_records(struct changes *changes, uint8_t *out, size_t *len, size_t size)
{
	struct changes_rr rr;
	enum nsd_err err;

	while ((err = changes_read(changes, &rr)) == NSD_OK) {
		check(changes_rdata_offset(rr.owner_len) + rr.rdlen
			<= size - *len);
		*len += changes_write(out + *len, &rr);
		check((rr.part != CHANGES_RECORD) == (rr.type == 6));
	}
	return err;
}

/* The same in two pieces. */
static void
read_in_pieces(const uint8_t *data, size_t size, size_t split,
	uint64_t records)
{
	uint8_t *first = malloc(split + 1), *out = malloc(2 * size + 1);
	struct changes changes;
	size_t len = 0, left;

	check(first != NULL && out != NULL);
	memcpy(first, data, split);
	if (changes_open(&changes, first, split) == NSD_OK
		&& read_records(&changes, out, &len, 2 * size)
			== NSD_E_AGAIN) {
		left = changes_left(&changes);
		changes_feed(&changes, data + split - left,
			size - split + left);
		if (read_records(&changes, out, &len, 2 * size)
			== NSD_E_AGAIN)
			check(changes.records == records);
	}
	check(changes.records <= records || changes.kind == 0);
	free(first);
	free(out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *out = malloc(size + 1);
	struct changes changes;
	size_t len;
	uint32_t to;

	check(out != NULL);
	if (changes_open(&changes, data, size) == NSD_OK) {
		len = changes_write_head(out, changes.kind, changes.apex,
			changes.apex_len);
		if (read_records(&changes, out, &len, size) == NSD_E_AGAIN
			&& changes_close(&changes, &to) == NSD_OK)
			check(len == size);
		check(memcmp(out, data, len) == 0);
		read_in_pieces(data, size, size / 2, changes.records);
		read_in_pieces(data, size, size / 3, changes.records);
	}
	free(out);
	return 0;
}
