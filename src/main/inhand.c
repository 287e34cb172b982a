/* inhand.c - keeps the message that a process had in hand when it died. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "main/child.h"
#include "main/inhand.h"
#include "main/supervisor.h"
#include "net/socket.h"
#include "process/child_page.h"
#include "process/counts.h"

/* Messages in the log, and octets of each. The file has all. */
#define LINES_MAX 8u
#define LINE_OCTETS_MAX 512u
/* Octets of all messages of a file. No batch has more: a process that leaves
 * more has been taken over. */
#define FILE_OCTETS_MAX ((size_t)EXCHANGE_BATCH_MAX * NET_ROOM_DATAGRAM       \
	+ CHILD_PAGE_OCTETS_MAX)
/* Characters before and behind the octets of a message. */
#define WORDS_MAX 160u

#define TOLD_AT_ONCE 3u
#define REST_MSEC 1000
#define REST_MAX_MSEC (60 * 60 * 1000)

/* ---- how often ----------------------------------------------------------- */

bool
inhand_may_tell(struct inhand_pace *pace, int64_t now_msec, uint64_t *left_out)
{
	if (pace->last_msec == 0
		|| now_msec - pace->last_msec >= REST_MAX_MSEC)
		*pace = (struct inhand_pace){.left_out = pace->left_out};
	pace->last_msec = now_msec;
	if (pace->told >= TOLD_AT_ONCE && now_msec < pace->next_msec) {
		pace->left_out++;
		return false;
	}
	if (++pace->told >= TOLD_AT_ONCE) {
		pace->rest_msec = pace->rest_msec == 0 ? REST_MSEC
			: pace->rest_msec < REST_MAX_MSEC / 2
			? pace->rest_msec * 2
			: REST_MAX_MSEC;
		pace->next_msec = now_msec + pace->rest_msec;
	}
	*left_out = pace->left_out;
	pace->left_out = 0;
	return true;
}

/* ---- as text ------------------------------------------------------------- */

struct inhand_text {
	char *octets;
	size_t len;
};

static size_t
print_hex(const uint8_t *octets, size_t len, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		out[2 * i] = digits[octets[i] >> 4];
		out[2 * i + 1] = digits[octets[i] & 15];
	}
	out[2 * len] = '\0';
	return 2 * len;
}

static const char *
print_peer(const struct child_page_message *m, char out[NET_ADDRESS_TEXT_MAX])
{
	if (m->peer.ss_family == AF_UNSPEC)
		return "-";
	net_print_address(&m->peer, true, out);
	return out;
}

/* Returns how many of the messages go into a file. */
static size_t
file_choose(const struct child_page_message *messages, size_t count)
{
	size_t octets = 0, i;

	for (i = 0; i < count; i++) {
		octets += messages[i].len;
		if (octets > FILE_OCTETS_MAX)
			break;
	}
	return i;
}

/* Prints the head of the file, which tests/fuzz/replay-message reads. */
static void
file_print_head(const struct child *child, int status, size_t count,
	struct inhand_text *text, size_t size)
{
	time_t now = time(NULL);
	char date[32] = "";
	struct tm tm;

	if (gmtime_r(&now, &tm) != NULL)
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	text->len = (size_t)snprintf(text->octets, size,
		"; what a process of nsd had in hand when it died. It has what"
		" clients or\n; primaries sent: SECURITY.md says how to report"
		" it.\n"
		"in-hand 1\nversion %s\nrole %s\npid %ld\n%s %d\ntime %s\n"
		"messages %zu\n", PACKAGE_VERSION, child_name(child),
		(long)child->pid, WIFSIGNALED(status) ? "signal" : "status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
		date, count);
}

static bool
file_print(const struct child *child, int status,
	const struct child_page_message *messages, size_t count,
	struct inhand_text *text)
{
	size_t size = 1024, written = file_choose(messages, count);
	char peer[NET_ADDRESS_TEXT_MAX];

	for (size_t i = 0; i < written; i++)
		size += WORDS_MAX + 2 * messages[i].len;
	text->octets = malloc(size);
	if (text->octets == NULL)
		return false;
	file_print_head(child, status, count, text, size);
	for (size_t i = 0; i < written; i++) {
		const struct child_page_message *m = &messages[i];

		text->len += (size_t)snprintf(text->octets + text->len,
			WORDS_MAX, "message %s from %s octets %zu\n",
			child_page_kind_text(m->kind), print_peer(m, peer),
			m->len);
		text->len += print_hex(m->octets, m->len,
			text->octets + text->len);
		text->octets[text->len++] = '\n';
	}
	assert(text->len < size);
	return true;
}

/* ---- the file ------------------------------------------------------------ */

static bool
is_folder(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* True if no file can be written there: not in the place of a folder, nor by
 * way of one. */
static bool
file_is_blocked(const char *path)
{
	char temp[PATH_MAX + 1];

	snprintf(temp, sizeof(temp), "%s~", path);
	return is_folder(path) || is_folder(temp);
}

/* Returns the number of a file that is not there, or else of the oldest. */
static unsigned
file_choose_number(const struct supervisor *s)
{
	struct timespec oldest = {.tv_sec = 0};
	char path[PATH_MAX];
	unsigned chosen = 1;
	bool found = false;
	struct stat st;

	for (unsigned i = 1; i <= INHAND_FILES; i++) {
		if (!server_find_in_hand(&s->server, i, path, sizeof(path)))
			return i;
		if (file_is_blocked(path))
			continue;
		if (lstat(path, &st) == -1)
			return i;
		if (found && !fs_is_later(&oldest, &st.st_mtim))
			continue;
		found = true;
		oldest = st.st_mtim;
		chosen = i;
	}
	return chosen;
}

/* Writes the file without a flush, as main waits for no disk. False: see
 * errno. */
static bool
message_file_write(const char *path, const struct inhand_text *text)
{
	struct fs_replace file;
	int fd;

	if (fs_replace_open_tilde(&file, path, O_WRONLY, S_IRUSR | S_IWUSR)
		!= NSD_OK)
		return false;
	if (fs_write_all(file.fd, text->octets, text->len) != NSD_OK) {
		fs_replace_abort(&file);
		return false;
	}
	if (fs_replace_take(&file, &fd) != NSD_OK)
		return false;
	close(fd);
	return true;
}

/* Returns the file's number, and its path; 0: there is none, which is
 * logged. */
static unsigned
file_keep(const struct supervisor *s, const struct inhand_text *text,
	char path[PATH_MAX])
{
	unsigned number = file_choose_number(s);

	if (server_find_in_hand(&s->server, number, path, PATH_MAX)
		&& message_file_write(path, text))
		return number;
	log_error("cannot write %s: %s", path, strerror(errno));
	return 0;
}

/* ---- telling ------------------------------------------------------------- */

static void
log_messages(const struct child *child,
	const struct child_page_message *messages, size_t count)
{
	char hex[2 * LINE_OCTETS_MAX + 1], peer[NET_ADDRESS_TEXT_MAX];

	for (size_t i = 0; i < count && i < LINES_MAX; i++) {
		const struct child_page_message *m = &messages[i];
		size_t len = m->len < LINE_OCTETS_MAX ? m->len
						      : LINE_OCTETS_MAX;

		print_hex(m->octets, len, hex);
		log_error("in hand of %s (pid %ld), %zu of %zu: %s from %s,"
			  " %zu octets: %s%s", child_name(child),
			(long)child->pid, i + 1, count,
			child_page_kind_text(m->kind), print_peer(m, peer),
			m->len,
			hex, len < m->len ? "..." : "");
	}
}

static void
tell_messages(struct supervisor *s, const struct child *child, int status,
	const struct child_page_message *messages, size_t count)
{
	struct inhand_text text;
	char path[PATH_MAX] = "", root[PATH_MAX];
	unsigned number = 0;

	if (file_print(child, status, messages, count, &text)) {
		number = file_keep(s, &text, path);
		free(text.octets);
	}
	log_messages(child, messages, count);
	log_error("%s (pid %ld) had %zu messages in hand when it died%s%s%s;"
		  " please report it, see SECURITY.md",
		child_name(child), (long)child->pid, count,
		number != 0 ? ", all of them are in " : "",
		number != 0 ? server_find_root(&s->server, root) : "",
		number != 0 ? path : "");
	counts_note_in_hand(s->server.counts, child->role, child->index,
		number, clock_now_msec());
}

void
inhand_tell(struct supervisor *s, const struct child *child, int status)
{
	struct child_page_message messages[CHILD_PAGE_MESSAGES_MAX];
	uint64_t left_out;
	size_t count;

	if (child->told_stop || s->stopping || status == 0
		|| child->page == NULL)
		return;
	count = child_page_read(child->page, messages);
	if (count == 0)
		return;
	if (!inhand_may_tell(&s->inhand_pace, clock_now_msec(), &left_out))
		return;
	tell_messages(s, child, status, messages, count);
	if (left_out > 0)
		log_error("%llu more processes have died with something in"
			  " hand; that of the last ones is not kept",
			(unsigned long long)left_out);
}
