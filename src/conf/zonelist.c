/* zonelist.c - reads the file of the zones that were added at run time. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "conf/zonelist.h"
#include "conf/zonelist_text.h"

/* Octets of a line that are quoted. */
#define QUOTE_MAX 300

/* ---- IDs ----------------------------------------------------------------- */

bool
zonelist_id_is_of_source(const char *id)
{
	size_t len = strlen(id);

	return len > 0 && id[len - 1] == '.';
}

/* ---- lines --------------------------------------------------------------- */

/* The state of reading a list. */
struct list_parse {
	const char *path;
	const struct zonelist_reader *reader;
	struct diag_sink *sink;
	uint32_t line;
};

static void
list_say(const struct list_parse *p, const char *what)
{
	diag_emit(p->sink, DIAG_WARNING, p->path, p->line, 0, "%s", what);
}

/* `NAME PATTERN`, and for the member of a catalog its ID. Pattern and ID have
 * no space. */
static enum nsd_err
list_read_zone(const struct list_parse *p, char *text, bool member,
	struct zonelist_line *line)
{
	char *space = strrchr(text, ' ');

	if (member && space != NULL) {
		*space = '\0';
		line->id = space + 1;
		space = strrchr(text, ' ');
	}
	if (space == NULL || space == text || space[1] == '\0') {
		list_say(p, "no name and pattern");
		return NSD_OK;
	}
	*space = '\0';
	line->name = text;
	line->pattern = space + 1;
	return p->reader->on_zone(p->reader->ctx, line);
}

static void
list_read_free(const struct list_parse *p, char *text,
	struct zonelist_line *line)
{
	char *space = strrchr(text, ' ');

	if (p->reader->on_free == NULL)
		return;
	line->name = text;
	line->pattern = "";
	if (space != NULL) {
		*space = '\0';
		line->pattern = space + 1;
	}
	p->reader->on_free(p->reader->ctx, line);
}

/* A line without its newline, but with a NUL. */
static enum nsd_err
list_read_line(const struct list_parse *p, char *text,
	struct zonelist_line *line)
{
	if (*text == '#' || *text == '\0')
		return NSD_OK;
	if (strlen(text) + 1 < line->len) {
		list_say(p, "NUL in a line");
		return NSD_OK;
	}
	if (line->len > ZONELIST_LINE_MAX)
		list_say(p, "line too long");
	else if (strncmp(text, ZONELIST_ADD, ZONELIST_WORD) == 0)
		return list_read_zone(p, text + ZONELIST_WORD, false, line);
	else if (strncmp(text, ZONELIST_CAT, ZONELIST_WORD) == 0
		|| strncmp(text, ZONELIST_MEM, ZONELIST_WORD) == 0)
		return list_read_zone(p, text + ZONELIST_WORD, true, line);
	else if (strncmp(text, ZONELIST_DEL, ZONELIST_WORD) != 0)
		list_say(p, "neither add nor del");
	else
		list_read_free(p, text + ZONELIST_WORD, line);
	return NSD_OK;
}

/* True for a list without octets, and for one of NULs alone: file systems leave
 * those of a list that was just made when the power failed. */
static bool
list_is_blank(const char *text, size_t len)
{
	while (len > 0 && text[len - 1] == '\0')
		len--;
	return len == 0;
}

enum nsd_err
zonelist_parse(const char *path, char *text, size_t len,
	const struct zonelist_reader *reader, struct diag_sink *sink,
	size_t *whole)
{
	struct list_parse p = {path, reader, sink, 0};
	size_t first = strlen(ZONELIST_FIRST), at = 0;
	enum nsd_err err = NSD_OK;

	*whole = 0;
	if (list_is_blank(text, len)) {
		diag_emit(sink, DIAG_WARNING, NULL, 0, 0, "zone list %s is"
			" empty, and has no header: zones that it had are"
			" lost", path);
		return NSD_OK;
	}
	if (len < first || memcmp(text, ZONELIST_FIRST, first) != 0) {
		diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
			"zone list %s contains bad header", path);
		return NSD_E_SYNTAX;
	}
	while (at < len && err == NSD_OK) {
		char *end = memchr(text + at, '\n', len - at);
		size_t next = end != NULL ? (size_t)(end - text) + 1 : len;
		struct zonelist_line line = {
			.offset = at,
			.line = ++p.line,
			.len = (uint32_t)(next - at)
				+ (end == NULL),
			.cut = end == NULL,
		};

		/* There is a NUL behind the text. */
		if (end != NULL) {
			*end = '\0';
			*whole = next;
		} else {
			diag_emit(sink, DIAG_WARNING, path, p.line, 0,
				"the list ends within the line '%.*s': it was"
				" cut short, and zones behind that are lost",
				QUOTE_MAX, text + at);
		}
		err = list_read_line(&p, text + at, &line);
		at = next;
	}
	return err;
}

/* ---- the file ------------------------------------------------------------ */

enum nsd_err
zonelist_read_fd(int fd, char **text, size_t *len)
{
	size_t room = 65536, got = 0;
	char *p = malloc(room), *more;
	ssize_t n;

	while (p != NULL) {
		n = pread(fd, p + got, room - got - 1, (off_t)got);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
		if (got < room - 1)
			continue;
		errno = EFBIG;
		if (room >= ZONELIST_SIZE_MAX) {
			n = -1;
			break;
		}
		more = realloc(p, room *= 2);
		if (more == NULL)
			free(p);
		p = more;
	}
	if (p == NULL)
		return NSD_E_MEMORY;
	if (n == -1) {
		free(p);
		return NSD_E_SYSTEM;
	}
	p[got] = '\0';
	*text = p;
	*len = got;
	return NSD_OK;
}

void
zonelist_say_closed(struct diag_sink *sink, const char *path)
{
	diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
		"could not open zone list %s: %s", path,
		fs_open_error_text(errno));
}

/* The target of zonelist_load. */
struct list_load {
	struct conf *conf;
	const char *path;
	struct diag_sink *sink;
	bool takes_cut; /* a line without its newline, too */
};

static enum nsd_err
list_load_zone(void *ctx, const struct zonelist_line *line)
{
	struct list_load *load = ctx;
	const struct conf_zone *zone;
	enum nsd_err err;

	if (line->cut && !load->takes_cut)
		return NSD_OK;
	err = conf_add_zone(load->conf, line->name, line->pattern, &zone);
	if (err == NSD_OK || err == NSD_E_MEMORY)
		return err;
	if (err == NSD_E_NOT_FOUND)
		diag_emit(load->sink, DIAG_WARNING, load->path, line->line, 0,
			"pattern does not exist for zone %s pattern %s",
			line->name, line->pattern);
	else
		diag_emit(load->sink, DIAG_WARNING, load->path, line->line, 0,
			"bad domain name or duplicate zone '%s' pattern %s",
			line->name, line->pattern);
	return NSD_OK;
}

static enum nsd_err
list_load_file(struct list_load *load, int fd, bool *cut)
{
	const struct zonelist_reader reader = {
		.ctx = load,
		.on_zone = list_load_zone,
	};
	size_t len, whole;
	char *text;
	enum nsd_err err = zonelist_read_fd(fd, &text, &len);

	if (err != NSD_OK)
		return err;
	err = zonelist_parse(load->path, text, len, &reader, load->sink,
		&whole);
	*cut = len == 0 || whole < len;
	free(text);
	return err;
}

enum nsd_err
zonelist_load(struct conf *conf, const char *path, struct diag_sink *sink,
	bool *cut)
{
	struct list_load load = {conf, path, sink, .takes_cut = true};
	enum nsd_err err;
	struct stat st;
	int fd;

	*cut = false;
	err = fs_open_to_read(path, false, &fd, &st);
	if (err != NSD_OK && errno == ENOENT)
		return NSD_OK;
	if (err == NSD_OK) {
		err = list_load_file(&load, fd, cut);
		close(fd);
	}
	if (err == NSD_E_SYSTEM)
		zonelist_say_closed(sink, path);
	return err;
}

enum nsd_err
zonelist_load_again(struct conf *conf, const char *path, int opened,
	bool was_cut)
{
	struct list_load load = {conf, path, NULL, .takes_cut = was_cut};
	enum nsd_err err;
	struct stat st;
	bool cut;
	int fd;

	err = fs_open_to_read(path, false, &fd, &st);
	if (err == NSD_OK) {
		err = list_load_file(&load, fd, &cut);
		close(fd);
		return err;
	}
	if (errno == EACCES || errno == EPERM)
		return opened == -1 ? NSD_OK
				    : list_load_file(&load, opened, &cut);
	return errno == ENOENT ? NSD_OK : err;
}
