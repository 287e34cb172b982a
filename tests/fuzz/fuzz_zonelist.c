/* fuzz_zonelist.c - any octets as a zone list: what is read is written at
 * the same places again, and a list that was changed has what was put there. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/zonelist.h"
#include "fuzz/mutate_tokens.h"
#include "lib/chance.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz {
	const uint8_t *data;
	size_t size;
	uint64_t end; /* of the line before */
};

static void
check_place(struct fuzz *f, uint64_t offset, uint32_t len)
{
	if (offset < f->end || len < 5 || offset + len > f->size + 1)
		abort();
	f->end = offset + len;
}

static enum nsd_err
on_zone(void *ctx, const struct zonelist_line *line)
{
	struct fuzz *f = ctx;
	size_t name = strlen(line->name);

	check_place(f, line->offset, line->len);
	if (name == 0 || *line->pattern == '\0'
		|| strchr(line->pattern, ' ') != NULL
		|| strchr(line->name, '\n') != NULL
		|| name + strlen(line->pattern) + 6 > line->len
		|| memcmp(f->data + line->offset + 4, line->name, name) != 0)
		abort();
	return NSD_OK;
}

static void
on_free(void *ctx, const struct zonelist_line *line)
{
	check_place(ctx, line->offset, line->len);
}

/* ---- writing ------------------------------------------------------------- */

#define MEMORY "/dev/shm"
#define TEMPLATE "/fuzz_zonelist.XXXXXX"
#define SIZE_MAX_WRITTEN 8192u

static enum nsd_err
on_any(void *ctx, const struct zonelist_line *line)
{
	return NSD_OK;
}

static struct conf *
load_conf(void)
{
	static const char text[] = "pattern:\n name: p\npattern:\n name: q\n"
		"pattern:\n name: master\n";
	struct conf *conf;

	if (conf_load_text("conf", text, sizeof(text) - 1, false, NULL, &conf)
		!= NSD_OK)
		abort();
	return conf;
}

/* Zones of nsd.conf, as it were. */
#define ZONES 4u

/* Writes it anew with a line of which we know, if it has to be, or if the free
 * places are many. */
static void
renew(struct zonelist *list, uint64_t *known)
{
	uint64_t at;
	int fd;

	if (!list->renew && !zonelist_wants_renewal(list, ZONES))
		return;
	if (zonelist_renew_begin(list) != NSD_OK
		|| zonelist_renew_copy(list, *known, known) != NSD_OK
		|| zonelist_renew_add(list, "anew.fuzz", "q", "id", &at)
			!= NSD_OK
		|| zonelist_renew_end(list, &fd) != NSD_OK
		|| zonelist_take_renewed(list) != NSD_OK || list->renew)
		abort();
}

static void
change_list(struct zonelist *list)
{
	uint64_t offset = 0, other;
	enum nsd_err err;

	renew(list, &offset);
	if (zonelist_add(list, "added.by.fuzz", "p", NULL, &offset) != NSD_OK)
		abort();
	if (zonelist_add(list, "b.fuzz", "p", NULL, &other) != NSD_OK)
		abort();
	err = zonelist_replace(list, offset, "added.by.fuzz", "q", NULL);
	if (err != NSD_OK && err != NSD_E_LIMIT)
		abort();
	zonelist_note_change(list, ZONES, (const uint8_t *)"\1a");
	if (zonelist_remove(list, other) != NSD_OK
		|| zonelist_restore(list, other, NULL) != NSD_OK
		|| zonelist_remove(list, other) != NSD_OK)
		abort();
	zonelist_free_place(list, other);
	renew(list, &offset);
	if (offset == 0)
		abort();
}

/* The list in a file is changed, and read as at a start. */
static void
write_list(const uint8_t *data, size_t size)
{
	static const struct zonelist_reader reader = {NULL, on_any, NULL};
	char folder[sizeof(MEMORY TEMPLATE)], path[sizeof(folder) + 8];
	struct diag_sink sink = {.on_diag = NULL};
	struct conf *conf = load_conf();
	struct zonelist *list;
	bool cut;
	int fd;

	snprintf(folder, sizeof(folder), "%s" TEMPLATE,
		access(MEMORY, W_OK) == 0 ? MEMORY : "/tmp");
	if (mkdtemp(folder) == NULL)
		abort();
	snprintf(path, sizeof(path), "%s/list", folder);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	if (fd == -1 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
	if (zonelist_load(conf, path, &sink, &cut) == NSD_OK
		&& zonelist_open(path, -1, &reader, &sink, &list)
			== NSD_OK) {
		if (conf_find_zone_text(conf, "added.by.fuzz") == NULL)
			change_list(list);
		zonelist_close(list);
		conf_destroy(conf);
		conf = load_conf();
		if (zonelist_load(conf, path, &sink, &cut) != NSD_OK)
			abort();
	}
	conf_destroy(conf);
	unlink(path);
	if (rmdir(folder) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = {data, size, 0};
	const struct zonelist_reader reader = {&f, on_zone, on_free};
	struct diag_sink sink = {.on_diag = NULL};
	char *text = malloc(size + 1);
	size_t whole;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (zonelist_parse("f", text, size, &reader, &sink, &whole) == NSD_OK
		&& whole > size)
		abort();
	free(text);
	if (size <= SIZE_MAX_WRITTEN)
		write_list(data, size);
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

static void
put_word(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	static const char *const words[] = {"add", "del", "cat", "#",
		"example.", "a", "b.test", "p", "pattern", "a\\.b", "..",
		"abc", "addx",
		"# NSD zone list"};

	mutate_pick(out, words, sizeof(words) / sizeof(*words), chance);
}

static const struct mutate_text text = {.put_word = put_word};

TOKENS_FOR_FUZZER(&text)
