/* control_progress.c - nsd-control -v: shows how far a command is. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "control_progress.h"
#include "control_talk.h"
#include "ctl/command.h"

/* Time for the server's answer; after it the server is asked again later. */
#define LIMIT_MSEC 2000u
#define TELL_MSEC 5000
#define BAR_WIDTH 30u
#define TEXT_MAX 300

/* The server's answer. */
struct progress_answer {
	char text[16384];
	size_t len;
};

static bool
progress_on_answer(void *ctx, const char *octets, size_t len)
{
	struct progress_answer *answer = ctx;
	size_t room = sizeof(answer->text) - 1 - answer->len;

	if (len > room)
		len = room;
	memcpy(answer->text + answer->len, octets, len);
	answer->len += len;
	return true;
}

/* False: the server has not answered. */
static bool
progress_ask(const struct control_progress *progress,
	struct progress_answer *answer)
{
	struct control_talk talk = {
		.fd = -1,
		.on_answer = progress_on_answer,
		.ctx = answer,
		.limit_msec = LIMIT_MSEC,
		.silent = true,
	};

	if (control_talk_open(&talk, progress->server, progress->conf) == 0) {
		talk.out_len = (size_t)snprintf(talk.out, sizeof(talk.out),
			CTL_MAGIC "  progress\n");
		control_talk_run(&talk);
	}
	control_talk_close(&talk);
	answer->text[answer->len] = '\0';
	return answer->len > 0;
}

/* Finds the command in the server's answer, of several equal ones the first.
 * *out: the server's text about it, without a line's end; empty: none. */
static void
progress_find(const struct control_progress *progress, const char *text,
	char out[TEXT_MAX])
{
	const char *verb = progress->words[0], *zone = progress->words[1];
	char head[TEXT_MAX];
	size_t len;

	*out = '\0';
	snprintf(head, sizeof(head), "%s%s%s: ", verb, zone != NULL ? " " : "",
		zone != NULL ? zone : "");
	len = strlen(head);
	for (; *text != '\0'; text += strcspn(text, "\n") + 1) {
		if (strncmp(text, head, len) == 0) {
			snprintf(out, TEXT_MAX, "%.*s",
				(int)strcspn(text + len, "\n"), text + len);
			return;
		}
		if (strchr(text, '\n') == NULL)
			return;
	}
}

static void
progress_draw(struct control_progress *progress, const char *state,
	int64_t sec)
{
	char bar[BAR_WIDTH + 1];
	uint64_t done, all;
	unsigned full = 0;

	if (sscanf(state, "%" SCNu64 " of %" SCNu64, &done, &all) == 2
		&& all > 0 && done <= all)
		full = (unsigned)((double)done / (double)all * BAR_WIDTH);
	for (unsigned i = 0; i < BAR_WIDTH; i++)
		bar[i] = i < full ? '#' : '-';
	bar[BAR_WIDTH] = '\0';
	fprintf(stderr, "\r\033[K%s [%s] %s%s%lld s", progress->words[0], bar,
		state, *state != '\0' ? ", " : "", (long long)sec);
	progress->drawn = true;
}

void
control_progress_show(struct control_progress *progress)
{
	static struct progress_answer answer; /* large */
	int64_t now = clock_now_msec(), sec;
	char state[TEXT_MAX] = "";
	bool bar = isatty(STDERR_FILENO) != 0;

	if (progress->begun_msec == 0)
		progress->begun_msec = now - CONTROL_PROGRESS_MSEC;
	if (!bar && progress->told_msec != 0
		&& now - progress->told_msec < TELL_MSEC)
		return;
	progress->told_msec = now;
	answer.len = 0;
	if (!progress->unknown && progress_ask(progress, &answer)) {
		progress->unknown = strncmp(answer.text, "error", 5) == 0;
		progress_find(progress, answer.text, state);
	}
	sec = (clock_now_msec() - progress->begun_msec) / 1000;
	if (bar)
		progress_draw(progress, state, sec);
	else
		fprintf(stderr, "%s: %s%s%lld s\n", progress->words[0], state,
			*state != '\0' ? ", " : "", (long long)sec);
	fflush(stderr);
}

void
control_progress_clear(struct control_progress *progress)
{
	if (progress->drawn)
		fprintf(stderr, "\r\033[K");
	progress->drawn = false;
}
