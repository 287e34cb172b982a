/*
 * fuzz_journal.c - a segment of any octets: as a reader finds it, and as a
 * writer puts it in order. The input is a segment's records; the sums of heads
 * and texts are made right where the first octet says so, so that what is
 * behind them is reached.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/octets.h"
#include "fuzz/mutate_octets.h"
#include "journal/format.h"
#include "journal/journal.h"
#include "journal/journal_index.h"
#include "lib/chance.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM (64u << 10)

/* Most of the time would be spent in fsync where the folder is on a disk. */
#define MEMORY "/dev/shm"
#define TEMPLATE "/fuzz_journal.XXXXXX"

static const uint8_t salt[FORMAT_SALT] = {1, 2, 3};

static void
check(bool condition)
{
	if (!condition)
		abort();
}

/* Makes the head at a place right, and its text: places and sums. Returns where
 * the next one may be. */
static size_t
mend(uint8_t *segment, size_t at, size_t len)
{
	uint8_t *head = segment + at;
	uint32_t head_len = octets_get_u32(head + 4);
	uint32_t text_len;
	uint64_t size = head_len;
	struct sum sum;

	if (memcmp(head, "Jrec", 4) != 0 || head_len < FORMAT_RECORD_HEAD
		|| head_len % FORMAT_ALIGN != 0 || head_len > len - at)
		return at + FORMAT_ALIGN;
	text_len = octets_get_u32(head + 36);
	if (head[12] == FORMAT_TEXT_HERE && text_len < ROOM
		&& format_text_size(text_len) <= len - at - head_len) {
		format_put_text(head + head_len, text_len, head + 64);
		size = head_len + format_text_size(text_len);
	}
	octets_put_u32(head + 8, 1);
	octets_put_u32(head + 16, 0);
	octets_put_u32(head + 20, (uint32_t)at);
	memset(head + 80, 0, FORMAT_SUM);
	for (unsigned k = 0; k < SUM_LANES; k++)
		sum.lanes[k] = octets_get_u32(salt + 4 * k);
	sum_add(&sum, head, head_len);
	format_sum_put(&sum, head + 80);
	return at + (size_t)size;
}

static void
read_texts(int dirfd, const struct journal_index *index)
{
	static const uint8_t *const apexes[] = {(const uint8_t *)"",
		(const uint8_t *)"\1a", (const uint8_t *)"\2z1"};

	for (unsigned i = 0; i < 3; i++) {
		const struct journal_query query = {.apex = apexes[i],
			.has_serial = i == 1, .serial = 1};
		struct journal_chain chain;

		if (journal_find(index, &query, &chain) != NSD_OK)
			continue;
		for (size_t k = 0; k < chain.count; k++) {
			struct journal_reader *reader;
			const uint8_t *text;
			uint64_t octets = 0;
			size_t len;

			if (journal_reader_open(dirfd, &chain.entries[k],
				&reader) != NSD_OK)
				continue;
			while (journal_reader_next(reader, &text, &len)
				== NSD_OK && len > 0)
				octets += len;
			check(octets <= chain.entries[k].text_len);
			journal_reader_close(reader);
		}
		journal_chain_fini(&chain);
	}
}

static void
write_segment(int dirfd, const uint8_t *segment, size_t len)
{
	int fd = openat(dirfd, "0000000001.seg", O_WRONLY | O_CREAT | O_TRUNC,
		0600);

	check(fd != -1 && write(fd, segment, len) == (ssize_t)len);
	close(fd);
}

static void
empty_folder(int dirfd)
{
	DIR *dir = fdopendir(dup(dirfd));
	struct dirent *d;

	check(dir != NULL);
	rewinddir(dir);
	while ((d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.')
			unlinkat(dirfd, d->d_name, 0);
	closedir(dir);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_Alignas(8) static uint8_t segment[ROOM];
	char path[sizeof(MEMORY TEMPLATE)];
	const struct journal_options options = {.path = path};
	struct journal_index *index;
	struct journal *journal;
	struct journal_usage usage;
	size_t len;
	int dirfd;

	if (size < 1 || size > ROOM - FORMAT_SEGMENT_HEAD)
		return 0;
	snprintf(path, sizeof(path), "%s" TEMPLATE,
		access(MEMORY, W_OK) == 0 ? MEMORY : "/tmp");
	check(mkdtemp(path) != NULL);
	dirfd = open(path, O_RDONLY | O_DIRECTORY);
	check(dirfd != -1);
	format_put_segment(segment, 1, salt);
	len = FORMAT_SEGMENT_HEAD + size - 1;
	memcpy(segment + FORMAT_SEGMENT_HEAD, data + 1, size - 1);
	if ((data[0] & 1) != 0)
		for (size_t at = FORMAT_SEGMENT_HEAD;
			at + FORMAT_RECORD_HEAD <= len;)
			at = mend(segment, at, len);
	write_segment(dirfd, segment, len);
	check(journal_index_open(dirfd, NULL, &index) == NSD_OK);
	read_texts(dirfd, index);
	if ((data[0] & 2) != 0) {
		check(journal_open(&options, NULL, &journal) == NSD_OK);
		journal_get_usage(journal, &usage);
		check(usage.entries == journal_index_count(index));
		journal_close(journal);
	}
	journal_index_close(index);
	empty_folder(dirfd);
	close(dirfd);
	check(rmdir(path) == 0);
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

/* The fields of a head, and the octets that each has. */
static const struct {
	uint8_t at, len;
} fields[] = {{4, 4}, {12, 1}, {13, 1}, {14, 2}, {24, 8}, {32, 8}, {40, 8},
	{48, 4}, {52, 4}, {56, 1}, {57, 7}, {96, 1}};

static void
put_number(uint8_t *at, size_t len, uint64_t number)
{
	for (size_t i = len; i-- > 0; number >>= 8)
		at[i] = (uint8_t)number;
}

/* Writes a record whose sums are made right when it is read. Returns its
 * length, a multiple of FORMAT_ALIGN. */
static size_t
make_record(uint8_t *out, uint64_t *chance)
{
	static const char *const apexes[] = {"", "\1a", "\2z1"};
	const char *apex = apexes[chance_below(chance, 3)];
	size_t source_len = chance_below(chance, 4) * 10;
	size_t head = (size_t)format_pad(FORMAT_RECORD_HEAD + strlen(apex) + 1
		+ source_len);
	uint32_t text_len = 1 + chance_below(chance, 4) * 40;
	uint8_t record = (uint8_t)(1 + chance_below(chance, 10) / 4);

	memset(out, 0, 1024);
	memcpy(out, "Jrec", 4);
	put_number(out + 4, 4, head);
	out[12] = record;
	out[13] = (uint8_t)(record == FORMAT_DEAD ? 0
		: JOURNAL_WHOLE + chance_below(chance, 2));
	put_number(out + 14, 2, source_len);
	put_number(out + 24, 8, 1 + chance_below(chance, 6));
	put_number(out + 32, 8, record == FORMAT_DEAD
		? 1 + chance_below(chance, 6) : text_len);
	put_number(out + 48, 4, chance_below(chance, 4));
	put_number(out + 52, 4, 1 + chance_below(chance, 4));
	out[56] = (uint8_t)(strlen(apex) + 1);
	memcpy(out + FORMAT_RECORD_HEAD, apex, strlen(apex));
	memset(out + FORMAT_RECORD_HEAD + strlen(apex) + 1, 's', source_len);
	if (record == FORMAT_TEXT_HERE)
		head += (size_t)format_text_size(text_len);
	return head;
}

/* The place of a record by chance, or where the next one would be. */
static size_t
pick_record(const uint8_t *data, size_t size, uint64_t *chance)
{
	size_t found = 1 + (size - 1) / FORMAT_ALIGN * FORMAT_ALIGN;
	uint32_t seen = 0;

	for (size_t at = 1; at + FORMAT_RECORD_HEAD <= size;
		at += FORMAT_ALIGN)
		if (memcmp(data + at, "Jrec", 4) == 0
			&& chance_below(chance, ++seen) == 0)
			found = at;
	return found;
}

static size_t
change_head(uint8_t *head, size_t size, uint64_t *chance)
{
	unsigned i = chance_below(chance, sizeof(fields) / sizeof(*fields));
	uint64_t number = chance_below(chance, 2) == 0
		? chance_below(chance, 300)
		: chance_next(chance) >> chance_below(chance, 64);

	put_number(head + fields[i].at, fields[i].len, chance_below(chance, 8)
		== 0 ? UINT64_MAX - chance_below(chance, 3) : number);
	return size;
}

/* Puts a new record, or a copy of one, before another. */
static size_t
add_record(uint8_t *data, size_t size, size_t max, size_t at, uint64_t *chance)
{
	uint8_t record[1024];
	size_t len = make_record(record, chance);
	size_t from = pick_record(data, size, chance);

	if (chance_below(chance, 3) == 0 && from + FORMAT_RECORD_HEAD <= size) {
		len = size - from < sizeof(record) ? size - from
			: sizeof(record);
		len -= len % FORMAT_ALIGN;
		memcpy(record, data + from, len);
	}
	if (at > size || size + len > max)
		return size;
	memmove(data + at + len, data + at, size - at);
	memcpy(data + at, record, len);
	return size + len;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint64_t chance = seed;
	size_t at, len;

	if (size == 0 && max > 0)
		data[size++] = 3;
	for (uint32_t i = 1 + chance_below(&chance, 3); i > 0 && size > 0;
		i--) {
		at = pick_record(data, size, &chance);
		switch (chance_below(&chance, 8)) {
		case 0:
			size = mutate_octets(&chance, data, size, max);
			break;
		case 1:
			data[0] = (uint8_t)(chance_next(&chance) | 1);
			break;
		case 2: /* octets of it are gone */
			len = FORMAT_ALIGN * (1 + chance_below(&chance, 4));
			if (at + len > size)
				break;
			memmove(data + at, data + at + len, size - at - len);
			size -= len;
			break;
		case 3:
		case 4:
			size = add_record(data, size, max, at, &chance);
			break;
		default:
			if (at + FORMAT_RECORD_HEAD <= size)
				size = change_head(data + at, size, &chance);
		}
	}
	return size;
}
