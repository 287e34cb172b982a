/* journal_fixture.c - journals for tests. */
#include "lib/journal_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
must(bool condition, const char *what)
{
	if (condition)
		return;
	perror(what);
	abort();
}

void
journal_fixture_folder(char path[JOURNAL_FIXTURE_PATH])
{
	strcpy(path, "/dev/shm/journal.XXXXXX");
	if (mkdtemp(path) != NULL)
		return;
	strcpy(path, "/tmp/journal.XXXXXX");
	must(mkdtemp(path) != NULL, "mkdtemp");
}

void
journal_fixture_remove(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;

	must(dir != NULL, "opendir");
	while ((d = readdir(dir)) != NULL)
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			must(unlinkat(dirfd(dir), d->d_name, 0) == 0, "unlink");
	closedir(dir);
	must(rmdir(path) == 0, "rmdir");
}

void
journal_fixture_on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct journal_fixture_told *told = (struct journal_fixture_told *)sink;
	size_t used = strlen(told->text);

	snprintf(told->text + used, sizeof(told->text) - used, "%s: %s\n",
		d->file, d->text);
}

const uint8_t *
journal_fixture_apex(unsigned n)
{
	static char names[4][16];
	static unsigned next;
	char *name = names[next++ % 4];

	name[0] = (char)snprintf(name + 1, 14, "z%u", n);
	return (const uint8_t *)name;
}

struct journal *
journal_fixture_open(const char *path, uint64_t segment_size,
	struct diag_sink *sink)
{
	const struct journal_options options = {.path = path,
		.segment_size = segment_size};
	struct journal *journal;

	must(journal_open(&options, sink, &journal) == NSD_OK, "journal_open");
	return journal;
}

void
journal_fixture_fill(uint8_t *out, size_t len, uint64_t at, unsigned zone,
	uint32_t to)
{
	uint64_t seed = ((uint64_t)zone << 32 | to) * 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < len;) {
		uint64_t x = (seed ^ (at + i) / 8) * 0xff51afd7ed558ccdu;
		size_t skip = (at + i) % 8, n = 8 - skip;

		if (n > len - i)
			n = len - i;
		memcpy(out + i, (uint8_t *)&x + skip, n);
		i += n;
	}
}

uint64_t
journal_fixture_send(struct journal *journal, unsigned zone, uint32_t from,
	uint32_t to, uint64_t len)
{
	struct journal_transfer *transfer = journal_begin(journal,
		journal_fixture_apex(zone));
	const struct journal_end end = {
		.kind = from == 0 ? JOURNAL_WHOLE : JOURNAL_DIFFS,
		.from = from, .to = to, .time_sec = to,
		.source = "127.0.0.1 TSIG verified with key k"};
	uint8_t piece[5000];

	if (transfer == NULL)
		return 0;
	for (uint64_t at = 0; at < len; at += sizeof(piece)) {
		size_t n = len - at < sizeof(piece) ? (size_t)(len - at)
						    : sizeof(piece);

		journal_fixture_fill(piece, n, at, zone, to);
		if (journal_put(transfer, piece, n) != NSD_OK) {
			journal_abandon(transfer);
			return 0;
		}
	}
	return journal_end(transfer, &end);
}

void
journal_fixture_wait(struct journal *journal, struct journal_done *done)
{
	struct pollfd pollfd = {.fd = journal_fd(journal), .events = POLLIN};

	while (!journal_next(journal, done))
		must(poll(&pollfd, 1, 60000) == 1, "waiting for the journal");
}

uint64_t
journal_fixture_commit(struct journal *journal, unsigned zone, uint32_t from,
	uint32_t to, uint64_t len)
{
	uint64_t id = journal_fixture_send(journal, zone, from, to, len);
	struct journal_done done;

	if (id == 0)
		return 0;
	journal_fixture_wait(journal, &done);
	if (done.id != id || done.err != NSD_OK)
		return 0;
	journal_accept(journal, done.apex, id);
	return id;
}

bool
journal_fixture_check(int dirfd, const struct journal_entry *entry,
	unsigned zone)
{
	static uint8_t expected[65536];
	struct journal_reader *reader;
	const uint8_t *data;
	uint64_t at = 0;
	size_t len = 0;
	bool right = true;

	if (journal_reader_open(dirfd, entry, &reader) != NSD_OK)
		return false;
	while (right && journal_reader_next(reader, &data, &len) == NSD_OK
		&& len > 0) {
		journal_fixture_fill(expected, len, at, zone, entry->to);
		right = memcmp(expected, data, len) == 0;
		at += len;
	}
	journal_reader_close(reader);
	return right && len == 0 && at == entry->text_len;
}
