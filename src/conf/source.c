/* source.c - the files that nsd.conf is made of: reading, include:, globs. */
#include <assert.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/grow.h"
#include "base/platform.h"
#include "conf/chroot.h"
#include "conf/parser.h"

/* The characters that make a name a pattern of glob(3). */
#define SOURCE_GLOBS "*?[]{}~"
#define SOURCE_READ_MIN 16384u
/* The most octets of a read: kernels may block the processor until a read is
 * done. */
#define SOURCE_READ_MAX 65536u

/* Reads all of fd; NULL with errno set. Two NULs follow the text. */
static char *
source_read(int fd, size_t expected, size_t *len)
{
	size_t size = expected + SOURCE_READ_MIN, room;
	char *text = malloc(size), *bigger;
	ssize_t n;

	*len = 0;
	while (text != NULL) {
		room = size - *len - 2;
		n = read(fd, text + *len,
			room < SOURCE_READ_MAX ? room : SOURCE_READ_MAX);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		if (n == 0) {
			text[*len] = text[*len + 1] = '\0';
			return text;
		}
		*len += (size_t)n;
		if (*len > CONF_FILE_SIZE_MAX) {
			errno = EFBIG;
			break;
		}
		bigger = grow_octets(text, *len + SOURCE_READ_MIN / 2, &size);
		if (bigger == NULL)
			break;
		text = bigger;
	}
	free(text);
	return NULL;
}

/* The lexer reads up to a NUL. So NULs in the text are found here: they are an
 * error, and become blanks. */
static void
source_replace_nul(struct conf_parser *p, const char *file, char *text,
	size_t len)
{
	char *nul = memchr(text, '\0', len), *at = text;
	uint32_t line = 1;

	if (nul == NULL)
		return;
	while ((at = memchr(at, '\n', (size_t)(nul - at))) != NULL) {
		line++;
		at++;
	}
	error_at(p, file, line, "NUL octet in the text");
	for (; nul != NULL; nul = memchr(nul, '\0', len - (size_t)(nul - text)))
		*nul = ' ';
}

/* Makes text the parser's source. Takes text, also when it fails. */
static enum nsd_err
source_push(struct conf_parser *p, const char *name, char *text, size_t len,
	const struct stat *st)
{
	struct conf_source *source = calloc(1, sizeof(*source));

	if (source != NULL)
		source->file = arena_copy_text(&p->owner->arena, name,
			strlen(name));
	if (source == NULL || source->file == NULL) {
		free(source);
		free(text);
		error_memory(p);
		return NSD_E_MEMORY;
	}
	source->text = text;
	source->len = len;
	source->line = 1;
	source->depth = p->source != NULL ? p->source->depth + 1 : 0;
	if (st != NULL) {
		source->is_file = true;
		source->dev = st->st_dev;
		source->ino = st->st_ino;
	}
	p->octets += len;
	source_replace_nul(p, source->file, text, len);
	source->outer = p->source;
	p->source = source;
	return NSD_OK;
}

/* Makes the path of a file, or of a pattern of glob(3); free() it. NULL: no
 * memory. */
static char *
source_find(const struct conf_origin *origin, const char *path, bool pattern)
{
	const char *inside = conf_path_in_chroot(origin->chroot, path);
	const char *folder = origin->folder;
	char *found, *at;

	/* Names that begin with ~, or with one of {}, need not be relative. */
	if (folder == NULL || strchr("/~{", *inside) != NULL)
		return strdup(inside);
	at = found = malloc(2 * strlen(folder) + 1 + strlen(inside) + 1);
	if (found == NULL)
		return NULL;
	for (; *folder != '\0'; folder++) {
		if (pattern && strchr(SOURCE_GLOBS "\\", *folder) != NULL)
			*at++ = '\\';
		*at++ = *folder;
	}
	*at++ = '/';
	strcpy(at, inside);
	return found;
}

/* Opens and reads a file; returns 0 or an errno. */
static int
source_load(struct conf_parser *p, const char *path, struct stat *st,
	char **text, size_t *len)
{
	/* The first file may come through a pipe. An included one may be
	 * /dev/null. */
	bool streams = p->source == NULL || strcmp(path, "/dev/null") == 0;
	char *found = source_find(&p->origin, path, false);
	int fd, err = 0;

	if (found == NULL)
		return ENOMEM;
	if (fs_open_to_read(found, streams, &fd, st) != NSD_OK)
		err = errno;
	free(found);
	if (err != 0)
		return err;
	if (S_ISREG(st->st_mode)
		&& (uint64_t)st->st_size > CONF_FILE_SIZE_MAX)
		err = EFBIG;
	if (err == 0) {
		errno = 0;
		*text = source_read(fd, S_ISREG(st->st_mode)
			? (size_t)st->st_size : 0, len);
		if (*text == NULL)
			err = errno != 0 ? errno : ENOMEM;
	}
	close(fd);
	return err;
}

enum nsd_err
source_open(struct conf_parser *p, const char *path)
{
	struct stat st;
	char *text;
	size_t len;
	int err = source_load(p, path, &st, &text, &len);

	if (err != 0) {
		diag_emit(p->sink, DIAG_ERROR, NULL, 0, 0,
			"Could not open %s: %s", path, fs_open_error_text(err));
		return err == ENOMEM ? NSD_E_MEMORY : NSD_E_SYSTEM;
	}
	return source_push(p, path, text, len, &st);
}

enum nsd_err
source_open_text(struct conf_parser *p, const char *name, const char *text,
	size_t len)
{
	char *copy = malloc(len + 2);

	if (copy == NULL)
		return NSD_E_MEMORY;
	memcpy(copy, text, len);
	copy[len] = copy[len + 1] = '\0';
	return source_push(p, name, copy, len, NULL);
}

/* True if no more files may be included, which is reported once. Text that was
 * read before is still parsed, without its includes. */
static bool
source_is_too_many(struct conf_parser *p, const char *file, uint32_t line)
{
	const struct conf_limits *limits = &p->limits;
	bool deep = p->source->depth + 1 >= CONF_INCLUDE_DEEP;

	if (p->too_many)
		return true;
	if (deep && p->deep == limits->deep) {
		p->too_many = true;
		error_at(p, file, line,
			"too much is included: %u files by files that are"
			" included in depth %u or more, no more are opened",
			(unsigned)p->deep, CONF_INCLUDE_DEEP - 1);
		return true;
	}
	if (p->includes < limits->includes
		&& p->octets < limits->octets) {
		p->includes++;
		p->deep += deep;
		return false;
	}
	p->too_many = true;
	error_at(p, file, line,
		"too much is included: %u files and %llu octets by now, no"
		" more are opened after %u or %llu", (unsigned)p->includes,
		(unsigned long long)p->octets,
		(unsigned)limits->includes,
		(unsigned long long)limits->octets);
	return true;
}

/* Opens one included file; line is the include: directive's. */
static void
source_open_include(struct conf_parser *p, const char *path, uint32_t line)
{
	const struct conf_source *outer;
	const char *file = p->source->file;
	struct stat st;
	char *text;
	size_t len;
	int err;

	if (p->source->depth + 1 > CONF_INCLUDE_DEPTH_MAX) {
		error_at(p, file, line,
			"include file '%s': nested deeper than %u", path,
			CONF_INCLUDE_DEPTH_MAX);
		return;
	}
	if (source_is_too_many(p, file, line))
		return;
	err = source_load(p, path, &st, &text, &len);
	if (err != 0) {
		error_at(p, file, line,
			"cannot open include file '%s': %s", path,
			fs_open_error_text(err));
		return;
	}
	for (outer = p->source; outer != NULL; outer = outer->outer)
		if (outer->is_file && outer->dev == st.st_dev
			&& outer->ino == st.st_ino) {
			error_at(p, file, line,
				"include loop: '%s' is being read already",
				path);
			/* The octets were read, so they count. */
			p->octets += len;
			free(text);
			return;
		}
	(void)source_push(p, path, text, len, &st);
}

static void
source_free_pending(struct conf_source *source)
{
	while (source->pending_count > 0)
		free(source->pending[--source->pending_count]);
	free(source->pending);
	source->pending = NULL;
	source->pending_next = 0;
}

/* Opens the files that wait, up to the first one that can be read. */
static void
source_open_pending(struct conf_parser *p)
{
	struct conf_source *source = p->source;

	while (p->source == source && p->failed == NSD_OK && !p->too_many
		&& source->pending_next < source->pending_count)
		source_open_include(p,
			source->pending[source->pending_next++],
			source->pending_line);
	if (p->source == source)
		source_free_pending(source);
}

/* The errno by which glob(3) has given up: it is passed to the callback
 * alone. */
static _Thread_local int source_glob_error;

/* Judges an error of a folder. A missing folder has no files. The files of an
 * unreadable one are not known: their zones must not be removed for that. */
static int
source_on_glob_error(const char *path, int error)
{
	if (error == ENOENT || error == ENOTDIR)
		return 0;
	source_glob_error = error;
	return 1;
}

/* Keeps the names that the pattern matches, sorted. No match is no error. */
static void
source_glob(struct conf_parser *p, const char *pattern)
{
	char *inside = source_find(&p->origin, pattern, true);
	struct conf_source *source = p->source;
	glob_t found;
	int rc;

	memset(&found, 0, sizeof(found));
	source_glob_error = 0;
	rc = inside == NULL ? GLOB_NOSPACE
		: glob(inside, platform_glob_flags(), source_on_glob_error,
			&found);
	free(inside);
	/* The glob of musl returns no match for such a folder. */
	if (source_glob_error != 0) {
		error_at(p, source->file, source->line,
			"cannot open include file '%s': %s", pattern,
			strerror(source_glob_error));
	} else if (rc == 0) {
		/* The paths are copied: glob promises no malloc of its own for
		 * each (as in glibc and musl). */
		source->pending = calloc(found.gl_pathc,
			sizeof(*source->pending));
		while (source->pending != NULL
			&& source->pending_count < found.gl_pathc) {
			char *path = strdup(
				found.gl_pathv[source->pending_count]);

			if (path == NULL)
				break;
			source->pending[source->pending_count++] = path;
		}
		if (source->pending_count < found.gl_pathc)
			error_memory(p);
	} else if (rc == GLOB_NOSPACE) {
		error_memory(p);
	}
	globfree(&found);
}

void
source_include(struct conf_parser *p, const char *pattern)
{
	struct conf_source *source = p->source;
	const char *chroot = p->origin.chroot;
	size_t chroot_len = chroot != NULL ? strlen(chroot) : 0;

	if (!p->files) {
		error_at(p, source->file, source->line,
			"include is not possible here");
		return;
	}
	if (chroot_len > 0 && strncmp(pattern, chroot, chroot_len) != 0) {
		error_at(p, source->file, source->line,
			"include file '%s' is not relative to chroot '%s'",
			pattern, chroot);
		return;
	}
	source->pending_line = source->line;
	if (strpbrk(pattern, SOURCE_GLOBS) != NULL) {
		source_glob(p, pattern);
		source_open_pending(p);
	} else {
		source_open_include(p, pattern, source->line);
	}
}

static void
source_free(struct conf_source *source)
{
	source_free_pending(source);
	/* The text may have secrets. */
	explicit_bzero(source->text, source->len);
	free(source->text);
	free(source);
}

bool
source_end(struct conf_parser *p)
{
	struct conf_source *done = p->source;

	assert(done != NULL);
	p->source = done->outer;
	source_free(done);
	if (p->source == NULL)
		return false;
	if (p->source->pending != NULL)
		source_open_pending(p);
	return true;
}

void
source_close_all(struct conf_parser *p)
{
	struct conf_source *source;

	while ((source = p->source) != NULL) {
		p->source = source->outer;
		source_free(source);
	}
}
