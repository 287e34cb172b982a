/* image_fixture.c - makes a store in a file and looks at it. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/chance.h"
#include "store/writer.h"
#include "unit/store/image_fixture.h"

#define OBJECTS 64u
#define OBJECT_MAX 4000u /* octets */

/* The root object. */
struct index {
	uint32_t count;
	struct {
		store_ref ref;
		uint32_t len;
	} objects[OBJECTS];
};

char directory[64];
char path[96];
static uint64_t rng = 88172645463325252u;

uint8_t *image;
size_t image_len;

uint64_t
rng_next(void)
{
	return chance_next(&rng);
}

const struct store_options options = { .reader_max = 2,
	.reservation = RESERVATION, .huge_pages = true };

enum nsd_err
open_at(const char *name, uint64_t contents, struct store **store,
	struct store_file_report *report)
{
	struct store_file file = { name, geteuid(), contents };

	return store_open_file(&options, &file, store, report);
}

/* Opens; the store is given only if that is as expected. */
struct store *
open_expect(enum store_file_state state)
{
	struct store_file_report report;
	struct store *store = NULL;
	enum nsd_err err = open_at(path, CONTENTS, &store, &report);

	if (report.state != state)
		print_message("%s\n", store_file_state_text(report.state));
	assert_int_equal(report.state, state);
	assert_int_equal(err, state < STORE_FILE_FOREIGN ? NSD_OK
			: state < STORE_FILE_SYSTEM	 ? NSD_E_DENIED
							 : NSD_E_SYSTEM);
	return store;
}

struct store_writer *
writer_open(struct store *store)
{
	struct store_writer *writer;

	assert_int_equal(store_writer_open(store, &writer), NSD_OK);
	return writer;
}

/* ---- contents */

/* The octets of an object are some of these, by its reference. They are copied
 * and compared as a whole: a loop over octets takes most of the time of a test
 * with sanitizers. */
static const uint8_t *
object_octets(store_ref ref)
{
	static uint8_t octets[256 + OBJECT_MAX];

	if (octets[1] == 0)
		for (unsigned i = 0; i < sizeof(octets); i++)
			octets[i] = (uint8_t)i;
	return octets + (uint8_t)(ref * 31);
}

static void
object_fill(uint8_t *p, store_ref ref, uint32_t len)
{
	memcpy(p, object_octets(ref), len);
}

static bool
object_is_whole(const uint8_t *p, store_ref ref, uint32_t len)
{
	return memcmp(p, object_octets(ref), len) == 0;
}

/* Replaces what the root refers to; about every other object stays. */
void
fill(struct store_writer *writer)
{
	struct store_heap *heap = store_writer_heap(writer);
	store_ref ref, old_ref = store_root(store_writer_view(writer),
		STORE_ROOT_ZONES);
	struct index *new = store_alloc(heap, sizeof(*new), &ref);
	const struct index *old = store_get(store_writer_view(writer), old_ref);
	bool replaced[OBJECTS];

	assert_non_null(new);
	new->count = OBJECTS;
	for (unsigned i = 0; i < OBJECTS; i++) {
		uint32_t len = 1 + (uint32_t)(rng_next() % OBJECT_MAX);
		uint8_t *p;

		replaced[i] = old_ref == STORE_NONE || rng_next() % 2 == 0;
		if (!replaced[i]) {
			new->objects[i] = old->objects[i];
			continue;
		}
		p = store_alloc(heap, len, &new->objects[i].ref);
		assert_non_null(p);
		new->objects[i].len = len;
		object_fill(p, new->objects[i].ref, len);
	}
	store_publish(writer, STORE_ROOT_ZONES, ref);
	if (old_ref == STORE_NONE)
		return;
	for (unsigned i = 0; i < OBJECTS; i++)
		if (replaced[i])
			store_retire(writer, old->objects[i].ref,
				old->objects[i].len);
	store_retire(writer, old_ref, sizeof(*old));
}

/* True if all that the root refers to is whole; its octets if so. */
bool
contents_are_whole(const struct store_view *view, uint64_t *octets)
{
	store_ref ref = store_root(view, STORE_ROOT_ZONES);
	const struct index *index = store_get(view, ref);

	*octets = 0;
	if (ref == STORE_NONE)
		return true;
	*octets = (sizeof(*index) + 7) & ~7u;
	for (unsigned i = 0; i < index->count; i++) {
		if (!object_is_whole(store_get(view, index->objects[i].ref),
			    index->objects[i].ref, index->objects[i].len))
			return false;
		*octets += (index->objects[i].len + 7) & ~7u;
	}
	return true;
}

void
check_contents(struct store_writer *writer)
{
	struct store_stats stats;
	uint64_t octets;

	assert_true(contents_are_whole(store_writer_view(writer), &octets));
	store_get_stats(writer, &stats);
	assert_int_equal(stats.live, octets);
}

void
check_empty(struct store *store)
{
	struct store_writer *writer = writer_open(store);
	struct store_stats stats;

	store_get_stats(writer, &stats);
	assert_int_equal(stats.live, 0);
	assert_int_equal(store_root(store_writer_view(writer),
				 STORE_ROOT_ZONES),
		STORE_NONE);
	store_writer_close(writer);
}

/* ---- files */

void
file_write(const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	for (size_t at = 0; at < len;) {
		size_t n = len - at < PAGE ? len - at : PAGE;
		const uint8_t *p = (const uint8_t *)data + at;

		/* Holes stay holes, for speed. */
		if (p[0] != 0 || memcmp(p, p + 1, n - 1) != 0)
			assert_int_equal(pwrite(fd, p, n, (off_t)at), n);
		at += n;
	}
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	close(fd);
}

uint8_t *
file_read(size_t *len)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	uint8_t *data;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	data = malloc((size_t)st.st_size + 1);
	assert_non_null(data);
	assert_int_equal(read(fd, data, (size_t)st.st_size), st.st_size);
	close(fd);
	*len = (size_t)st.st_size;
	return data;
}

ino_t
file_inode(void)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_ino;
}

void
make_image(void)
{
	struct store *store;
	struct store_writer *writer;

	unlink(path);
	store = open_expect(STORE_FILE_CREATED);
	writer = writer_open(store);
	for (int i = 0; i < 3; i++) {
		fill(writer);
		store_reclaim(writer);
	}
	assert_int_equal(store_writer_close_clean(writer), NSD_OK);
	store_destroy(store);
	free(image);
	image = file_read(&image_len);
}

int
image_setup_in(const char *base)
{
	snprintf(directory, sizeof(directory), "%.40s/nsd-image-XXXXXX", base);
	if (mkdtemp(directory) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/store", directory);
	make_image();
	return 0;
}

int
image_setup(void **state)
{
	const char *base = getenv("TMPDIR");

	(void)state;
	return image_setup_in(base != NULL ? base : "/tmp");
}

int
image_teardown(void **state)
{
	(void)state;
	free(image);
	image = NULL;
	unlink(path);
	return rmdir(directory);
}
