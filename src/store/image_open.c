/* image_open.c - opens a store in a named file, if what stands there can be
 * used. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "store/create.h"
#include "store/image.h"

#define OPEN_TRIES 16 /* another process may replace the file at the same
		       * time */
#define EPOCH_MAX (UINT64_MAX / 2) /* no server ever gets there */

/* Octets of the file that are locked: the first by the server that writes, the
 * second by all processes that read. */
enum lock_octet { LOCK_OWNER, LOCK_READERS };

const char *
store_file_state_text(enum store_file_state state)
{
#define TEXT(code, text) [code] = text,
	static const char *const texts[] = { STORE_FILE_LIST(TEXT) };
#undef TEXT

	if ((size_t)state >= sizeof(texts) / sizeof(texts[0]))
		return "unknown";
	return texts[state];
}

/* ---- judging a file */

static bool
page_is_zero(const uint8_t *page)
{
	return page[0] == 0 && memcmp(page, page + 1, STORE_PAGE - 1) == 0;
}

static bool
header_is_sound(const struct store_header *h)
{
	return h->epoch > 0 && h->epoch <= EPOCH_MAX
		&& h->reservation <= STORE_ROOM_MAX && h->reservation > 0
		&& h->reservation % STORE_EXTENT == 0
		&& h->data_at == layout_data_at(h->reservation)
		&& h->data_at < h->reservation
		&& h->span_count <= layout_span_max(h->reservation);
}

static bool
lock_take(int fd, enum lock_octet octet, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET,
		.l_start = octet, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static bool
has_readers(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
		.l_start = LOCK_READERS, .l_len = 1 };

	return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

/* Judges a file by its header alone. The page is filled with zeros behind the
 * end of the file. */
static enum store_file_state
check_image_header(const uint8_t *page, uint64_t size, uint64_t contents)
{
	struct store_header h;
	size_t len = size < sizeof(h.magic) ? (size_t)size : sizeof(h.magic);

	memcpy(&h, page, sizeof(h));
	/* The power went just after the file was made. */
	if (page_is_zero(page))
		return STORE_FILE_UNCLEAN;
	if (memcmp(h.magic, STORE_MAGIC, len) != 0)
		return STORE_FILE_FOREIGN;
	if (size < STORE_PAGE)
		return STORE_FILE_LENGTH;
	if (h.machine != STORE_MACHINE)
		return STORE_FILE_MACHINE;
	if (h.layout != STORE_LAYOUT_VERSION || h.contents != contents)
		return STORE_FILE_LAYOUT;
	if (h.clean != STORE_CLEAN)
		return STORE_FILE_UNCLEAN;
	if (!header_is_sound(&h))
		return STORE_FILE_ALTERED;
	if (size != image_length(&h))
		return STORE_FILE_LENGTH;
	if (!create_reservation_fits(h.reservation))
		return STORE_FILE_SPACE;
	return STORE_FILE_ATTACHED;
}

static enum store_file_state
file_check(int fd, uint64_t size, uint64_t contents, struct store *store,
	uint64_t *octets)
{
	uint8_t page[STORE_PAGE] = { 0 };
	struct store_header h;
	enum store_file_state state;
	struct sum sum;

	if (!image_read(fd, page, size < STORE_PAGE ? size : STORE_PAGE, 0))
		return STORE_FILE_SYSTEM;
	state = check_image_header(page, size, contents);
	if (state != STORE_FILE_ATTACHED)
		return state;
	memcpy(&h, page, sizeof(h));
	if (has_readers(fd))
		return STORE_FILE_READERS;
	if (image_sum(fd, page, &sum, octets) != NSD_OK)
		return STORE_FILE_SYSTEM;
	if (memcmp(&sum, &h.sum, sizeof(sum)) != 0)
		return STORE_FILE_ALTERED;
	store->reservation = h.reservation;
	return STORE_FILE_ATTACHED;
}

/* ---- opening */

/* Gives a new file to its owner, if that is not us. Only root can. */
static bool
give_to_owner(int fd, uid_t owner)
{
	return owner == geteuid() || fchown(fd, owner, (gid_t)-1) == 0;
}

/* Says why a file could not be opened. errno stays. */
static enum store_file_state
file_refusal(const struct store_file *file)
{
	int saved = errno;
	struct stat st;

	if (lstat(file->path, &st) == 0 && st.st_uid != file->owner)
		return STORE_FILE_OWNER;
	errno = saved;
	return STORE_FILE_SYSTEM;
}

/* True if the path leads to the file that is open. */
static bool
is_named(const char *path, const struct stat *st)
{
	struct stat named;

	return lstat(path, &named) == 0 && named.st_dev == st->st_dev
		&& named.st_ino == st->st_ino;
}

/* Opens the regular file at the path, or makes one. *again: the file came or
 * went between two steps; try again. */
static enum store_file_state
open_once(const struct store_file *file, int *fd, bool *again)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
	struct stat st;

	if (lstat(file->path, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return STORE_FILE_KIND;
		*fd = open(file->path, flags | O_NONBLOCK);
		if (*fd >= 0)
			return STORE_FILE_ATTACHED;
		*again = errno == ENOENT;
		return file_refusal(file);
	}
	if (errno != ENOENT)
		return STORE_FILE_SYSTEM;
	*fd = open(file->path, flags | O_CREAT | O_EXCL, 0600);
	if (*fd < 0) {
		*again = errno == EEXIST;
		return STORE_FILE_SYSTEM;
	}
	if (give_to_owner(*fd, file->owner))
		return STORE_FILE_CREATED;
	(void)unlink(file->path);
	return STORE_FILE_SYSTEM;
}

static enum store_file_state
check_open(const struct store_file *file, int fd, struct stat *st)
{
	if (fstat(fd, st) != 0)
		return STORE_FILE_SYSTEM;
	if (!S_ISREG(st->st_mode))
		return STORE_FILE_KIND;
	if (st->st_uid != file->owner)
		return STORE_FILE_OWNER;
	if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return STORE_FILE_MODE;
	if (!lock_take(fd, LOCK_OWNER, F_WRLCK))
		return errno == EAGAIN || errno == EACCES ? STORE_FILE_IN_USE
							  : STORE_FILE_SYSTEM;
	/* Look again: its size may have changed before we had the lock. */
	return fstat(fd, st) == 0 ? STORE_FILE_ATTACHED : STORE_FILE_SYSTEM;
}

/* Opens and locks the file at the path. While we hold the lock, no other server
 * replaces it. */
static enum store_file_state
open_locked(const struct store_file *file, int *fd, uint64_t *size)
{
	for (int i = 0; i < OPEN_TRIES; i++) {
		bool again = false;
		enum store_file_state state = open_once(file, fd, &again);
		struct stat st;

		if (again)
			continue;
		if (state > STORE_FILE_CREATED)
			return state;
		state = check_open(file, *fd, &st);
		if (state != STORE_FILE_ATTACHED)
			return state;
		*size = (uint64_t)st.st_size;
		if (is_named(file->path, &st))
			return st.st_size == 0 ? STORE_FILE_CREATED : state;
		close(*fd);
		*fd = -1;
	}
	errno = EAGAIN;
	return STORE_FILE_SYSTEM;
}

/* Makes an empty store of a file that is empty. */
static enum nsd_err
fill_new(const struct store_file *file, const struct store *store, int fd)
{
	enum nsd_err err = create_header(fd, store->reservation,
		file->contents);

	if (err == NSD_OK && fsync(fd) == 0
		&& fs_flush_folder(file->path) == NSD_OK)
		return NSD_OK;
	(void)ftruncate(fd, 0);
	return NSD_E_SYSTEM;
}

/* Puts an empty store in place of a file that is of no use. */
static enum nsd_err
file_replace(const struct store_file *file, struct store *store)
{
	struct fs_replace r;
	enum nsd_err err = fs_replace_open(&r, file->path, 0600);
	int old = store->fd;

	if (err != NSD_OK)
		return err;
	if (!give_to_owner(r.fd, file->owner)
		|| !lock_take(r.fd, LOCK_OWNER, F_WRLCK)
		|| create_header(r.fd, store->reservation,
			   file->contents)
			!= NSD_OK) {
		fs_replace_abort(&r);
		return NSD_E_SYSTEM;
	}
	err = fs_replace_commit(&r, &store->fd);
	if (err != NSD_OK)
		return err;
	close(old);
	return fs_flush_folder(file->path);
}

/* Opens the same file read-only, with the lock that tells a later server that
 * there may be readers. */
static enum nsd_err
open_for_readers(const struct store_file *file, struct store *store)
{
	struct stat st;

	store->read_fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (store->read_fd < 0 || fstat(store->fd, &st) != 0)
		return NSD_E_SYSTEM;
	if (!is_named(file->path, &st)) {
		errno = EAGAIN;
		return NSD_E_SYSTEM;
	}
	return lock_take(store->read_fd, LOCK_READERS, F_RDLCK)
		? NSD_OK
		: NSD_E_SYSTEM;
}

/* Opens the file, checks it, and replaces it if need be. */
static enum nsd_err
open_or_replace(const struct store_file *file, struct store *store,
	struct store_file_report *report)
{
	uint64_t size = 0;
	enum nsd_err err = NSD_OK;

	report->state = open_locked(file, &store->fd, &size);
	if (report->state == STORE_FILE_ATTACHED)
		report->state = file_check(store->fd, size, file->contents,
			store, &report->octets);
	if (report->state == STORE_FILE_SYSTEM)
		return NSD_E_SYSTEM;
	if (report->state >= STORE_FILE_FOREIGN)
		return NSD_E_DENIED;
	if (report->state == STORE_FILE_CREATED)
		err = fill_new(file, store, store->fd);
	else if (report->state != STORE_FILE_ATTACHED)
		err = file_replace(file, store);
	return err == NSD_OK ? open_for_readers(file, store) : err;
}

enum nsd_err
store_open_file(const struct store_options *options,
	const struct store_file *file, struct store **store,
	struct store_file_report *report)
{
	struct store *s = NULL;
	enum nsd_err err;

	memset(report, 0, sizeof(*report));
	report->state = STORE_FILE_SYSTEM;
	err = create_prepare(options, &s);
	if (err == NSD_OK) {
		s->named = true;
		s->huge_pages = false;
		s->path = strdup(file->path);
		err = s->path != NULL ? open_or_replace(file, s, report)
				      : NSD_E_MEMORY;
		if (err == NSD_OK) {
			*store = s;
			return NSD_OK;
		}
	}
	if (err != NSD_E_DENIED) {
		report->state = STORE_FILE_SYSTEM;
		report->error = err == NSD_E_SYSTEM ? errno : ENOMEM;
	}
	store_destroy(s);
	errno = report->error;
	return err;
}
