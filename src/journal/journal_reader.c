/* journal_reader.c - the text of an entry, checked block by block. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "journal/fetch.h"
#include "journal/journal_index.h"

/* Sums that are read at once; they lie in the file by the page. */
#define TABLE_PIECE 4096u

struct journal_reader {
	int fd;
	uint64_t text_at;  /* offset of the text in the file */
	uint64_t text_len;
	uint64_t padded;
	uint64_t block;    /* the next one */
	_Alignas(8) uint8_t table[TABLE_PIECE];
	_Alignas(8) uint8_t data[FORMAT_BLOCK];
};

/* Checks the table by the sum in the head. */
static enum nsd_err
check_table(struct journal_reader *reader, const uint8_t said[FORMAT_SUM])
{
	uint64_t size = format_pad(format_blocks(reader->text_len)
		* FORMAT_SUM);
	uint64_t at = reader->text_at + reader->padded;
	uint8_t is[FORMAT_SUM];
	struct sum sum;

	format_sum_init(&sum);
	while (size > 0) {
		size_t len = size < FORMAT_BLOCK ? (size_t)size : FORMAT_BLOCK;
		enum nsd_err err = fetch_octets(reader->fd, at, reader->data,
			len);

		if (err != NSD_OK)
			return err;
		sum_add(&sum, reader->data, len);
		at += len;
		size -= len;
	}
	format_sum_put(&sum, is);
	return memcmp(is, said, FORMAT_SUM) == 0 ? NSD_OK : NSD_E_WIRE;
}

/* Has the text read from its first block on. at: its offset in the file. */
static void
reader_set_text(struct journal_reader *reader, uint64_t at, uint64_t text_len)
{
	reader->text_at = at;
	reader->text_len = text_len;
	reader->padded = format_pad(text_len);
	reader->block = 0;
}

static enum nsd_err
begin_text(struct journal_reader *reader, int dirfd,
	const struct journal_entry *entry, const struct format_head *head)
{
	enum nsd_err err;

	reader_set_text(reader, entry->in_file
		? 0 : entry->offset + entry->head_len, entry->text_len);
	if (entry->in_file) {
		int fd;

		err = fetch_file(dirfd, entry->id, &fd);
		if (err != NSD_OK)
			return err;
		close(reader->fd);
		reader->fd = fd;
	}
	return check_table(reader, head->table_sum);
}

enum nsd_err
journal_reader_open(int dirfd, const struct journal_entry *entry,
	struct journal_reader **result)
{
	struct journal_reader *reader = malloc(sizeof(*reader));
	struct format_head head;
	enum nsd_err err;

	if (reader == NULL)
		return NSD_E_MEMORY;
	err = fetch_head(dirfd, entry, reader->data, &reader->fd, &head);
	if (err != NSD_OK) {
		free(reader);
		return err;
	}
	err = begin_text(reader, dirfd, entry, &head);
	if (err != NSD_OK) {
		journal_reader_close(reader);
		return err;
	}
	*result = reader;
	return NSD_OK;
}

enum nsd_err
journal_reader_open_text(int fd, uint64_t offset, uint64_t text_len,
	struct journal_reader **result)
{
	struct journal_reader *reader = malloc(sizeof(*reader));

	if (reader == NULL)
		return NSD_E_MEMORY;
	reader->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (reader->fd == -1) {
		free(reader);
		return NSD_E_SYSTEM;
	}
	reader_set_text(reader, offset, text_len);
	*result = reader;
	return NSD_OK;
}

/* Reads the sum that the table has for the next block. */
static enum nsd_err
get_sum(struct journal_reader *reader, const uint8_t **sum)
{
	const uint64_t sums = TABLE_PIECE / FORMAT_SUM;
	uint64_t first = reader->block / sums * sums;
	enum nsd_err err = NSD_OK;

	if (reader->block == first) {
		uint64_t left = format_blocks(reader->text_len) - first;

		err = fetch_octets(reader->fd, reader->text_at + reader->padded
			+ first * FORMAT_SUM, reader->table,
			(size_t)(left < sums ? left : sums) * FORMAT_SUM);
	}
	*sum = reader->table + (reader->block - first) * FORMAT_SUM;
	return err;
}

enum nsd_err
journal_reader_next(struct journal_reader *reader, const uint8_t **data,
	size_t *len)
{
	uint64_t at = reader->block * FORMAT_BLOCK;
	uint8_t is[FORMAT_SUM];
	const uint8_t *said;
	enum nsd_err err;
	size_t size;

	*data = reader->data;
	*len = 0;
	if (at >= reader->text_len)
		return NSD_OK;
	size = format_block_len(reader->padded, reader->block);
	err = get_sum(reader, &said);
	if (err == NSD_OK)
		err = fetch_octets(reader->fd, reader->text_at + at,
			reader->data, size);
	if (err != NSD_OK)
		return err;
	format_sum(reader->data, size, is);
	if (memcmp(is, said, FORMAT_SUM) != 0)
		return NSD_E_WIRE;
	reader->block++;
	*len = reader->text_len - at < size ? (size_t)(reader->text_len - at)
					    : size;
	return NSD_OK;
}

void
journal_reader_close(struct journal_reader *reader)
{
	int saved_errno = errno;

	if (reader == NULL)
		return;
	close(reader->fd);
	free(reader);
	errno = saved_errno;
}
