/* replay_input.c - see replay_input.h. */
#include "config.h"

#include "replay_input.h"

#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "query_list.h"

#define HEAD_LEN 12

/* The length of the question of a query; 0: the message is none. */
static size_t
question_of(const uint8_t *message, size_t len)
{
	size_t at = HEAD_LEN;

	if (len < HEAD_LEN || (message[2] & 0xf8) != 0 || message[4] != 0
	    || message[5] != 1)
		return 0;
	while (at < len && message[at] != 0) {
		if (message[at] > 63)
			return 0;
		at += message[at] + 1u;
	}
	at += 5;
	return at <= len ? at - HEAD_LEN : 0;
}

void
input_add(struct replay_input *in, const struct replay_query *like,
	const uint8_t *message, size_t len)
{
	size_t question = question_of(message, len);
	struct replay_query *q;

	if (question == 0 || len > UINT16_MAX) {
		in->skipped++;
		return;
	}
	if (in->count == in->room) {
		in->room = in->room * 2 + 1024;
		in->queries = realloc(in->queries,
			in->room * sizeof(*in->queries));
	}
	if (in->used + len > in->size) {
		in->size = in->size * 2 + 2 * UINT16_MAX;
		in->octets = realloc(in->octets, in->size);
	}
	if (in->queries == NULL || in->octets == NULL)
		err(1, NULL);
	q = &in->queries[in->count++];
	*q = *like;
	q->at = in->used;
	q->len = (uint16_t)len;
	q->question_len = (uint16_t)question;
	memcpy(in->octets + in->used, message, len);
	in->used += len;
}

struct list_reading {
	struct replay_input *in;
	struct query_edns edns;
};

static void
add_line(void *ctx, const char *name, uint16_t type)
{
	const struct list_reading *reading = ctx;
	struct replay_query like = {
		.source = (uint32_t)reading->in->count * 2654435761u };
	uint8_t message[QUERY_LIST_MAX];
	uint16_t question;
	size_t len = query_list_write(message, name, type, &reading->edns,
		&question);

	input_add(reading->in, &like, message, len);
}

void
input_read(struct replay_input *in, const char *file, uint16_t port,
	bool dnssec)
{
	struct list_reading reading = { .in = in, .edns = {
		.size = dnssec ? 1232 : 0, .dnssec = true } };
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *data;

	if (fd == -1 || fstat(fd, &status) != 0)
		err(1, "%s", file);
	if (status.st_size > 0) {
		data = mmap(NULL, (size_t)status.st_size, PROT_READ,
			MAP_PRIVATE, fd, 0);
		if (data == MAP_FAILED)
			err(1, "%s", file);
		in->timed = capture_read(in, data, (size_t)status.st_size,
			port);
		munmap(data, (size_t)status.st_size);
	}
	close(fd);
	if (!in->timed)
		query_list_read(file, add_line, &reading);
	if (in->count == 0)
		errx(1, "%s: no queries", file);
}
