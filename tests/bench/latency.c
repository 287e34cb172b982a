/* latency.c - see latency.h. Each answer is kept, 16 octets of it. */
#include "latency.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "beside.h"

struct sample {
	uint64_t sent_ns;
	uint32_t bucket; /* of when it was sent */
	uint32_t took_ns;
};

static struct sample *samples;
static size_t count, room;
static uint64_t start_ns, bucket_len_ns;
static uint64_t turn_ns, away_ns;

uint64_t
latency_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void
latency_init(uint64_t bucket_ns)
{
	bucket_len_ns = bucket_ns;
	start_ns = latency_now_ns();
}

void
latency_enable(int fd)
{
	int on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) != 0)
		err(1, "SO_TIMESTAMPNS");
}

uint64_t
latency_heard_ns(struct msghdr *msg)
{
	struct cmsghdr *c;
	struct timespec t;

	for (c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET
			|| c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&t, CMSG_DATA(c), sizeof(t));
		return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	}
	return latency_now_ns();
}

void
latency_turn(uint64_t now_ns)
{
	if (turn_ns != 0 && now_ns - turn_ns > away_ns)
		away_ns = now_ns - turn_ns;
	turn_ns = now_ns;
}

void
latency_note(uint64_t sent_ns, uint64_t heard_ns)
{
	uint64_t took = heard_ns > sent_ns ? heard_ns - sent_ns : 0;

	if (count == room) {
		room = room * 2 + 65536;
		samples = realloc(samples, room * sizeof(*samples));
		if (samples == NULL)
			err(1, NULL);
	}
	samples[count++] = (struct sample){
		.sent_ns = sent_ns,
		.bucket = (uint32_t)((sent_ns - start_ns) / bucket_len_ns),
		.took_ns = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took,
	};
}

static int
compare(const void *a, const void *b)
{
	const struct sample *s = a, *t = b;

	if (s->bucket != t->bucket)
		return s->bucket < t->bucket ? -1 : 1;
	return (s->took_ns > t->took_ns) - (s->took_ns < t->took_ns);
}

/* Of n > 0 samples in order. */
static double
part_usec(const struct sample *s, size_t n, double part)
{
	size_t at = (size_t)((double)n * part);

	return s[at < n ? at : n - 1].took_ns / 1e3;
}

static void
print_parts(const char *form, const struct sample *s, size_t n)
{
	printf(form, part_usec(s, n, 0.5), part_usec(s, n, 0.99),
		part_usec(s, n, 0.999), part_usec(s, n, 1));
}

void
latency_save(const char *path)
{
	FILE *f = fopen(path, "wb");

	if (f == NULL)
		err(1, "%s", path);
	for (size_t i = 0; i < count; i++)
		fwrite(&samples[i].took_ns, sizeof(samples[i].took_ns), 1, f);
	if (ferror(f) != 0 || fclose(f) != 0)
		err(1, "%s", path);
}

void
latency_print(void)
{
	const char *comma = "";

	if (count == 0)
		return;
	qsort(samples, count, sizeof(*samples), compare);
	printf(",\"series\":[");
	for (size_t at = 0, end; at < count; at = end) {
		for (end = at; end < count
			&& samples[end].bucket == samples[at].bucket; end++)
			;
		printf("%s[%.3f", comma, (double)samples[at].bucket
			* (double)bucket_len_ns / 1e9);
		print_parts(",%.1f,%.1f,%.1f,%.1f]", samples + at, end - at);
		comma = ",";
	}
	for (size_t i = 0; i < count; i++)
		samples[i].bucket = 0;
	qsort(samples, count, sizeof(*samples), compare);
	print_parts("],\"p50\":%.1f,\"p99\":%.1f,\"p999\":%.1f,\"max\":%.1f",
		samples, count);
	printf(",\"away_us\":%.1f", (double)away_ns / 1e3);
	if (!beside_is_asked())
		return;
	for (size_t i = 0; i < count; i++)
		samples[i].took_ns -= (uint32_t)beside_stood_ns(
			samples[i].sent_ns,
			samples[i].sent_ns + samples[i].took_ns);
	qsort(samples, count, sizeof(*samples), compare);
	print_parts(",\"own_p50\":%.1f,\"own_p99\":%.1f,\"own_p999\":%.1f"
		",\"own_max\":%.1f", samples, count);
	beside_print();
}
