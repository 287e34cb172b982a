/*
 * image_fixture.h - a good image of a store in a file, for tests that spoil it
 * or keep others from using it.
 */
#ifndef IMAGE_FIXTURE_H
#define IMAGE_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/store.h"

struct store_writer;

#define CONTENTS 77u
#define PAGE 4096u
#define SPAN (64u << 10)
#define RESERVATION ((size_t)64 << 20)
#define DATA_AT ((size_t)2 << 20)

extern const struct store_options options;

extern char directory[64]; /* of this test alone */
extern char path[96];      /* of the store, in there */

/* The octets of a good image. */
extern uint8_t *image;
extern size_t image_len;

uint64_t rng_next(void);

enum nsd_err open_at(const char *name, uint64_t contents,
	struct store **store, struct store_file_report *report);
/* Opens the store at the path, which must be in that state; NULL if that means
 * that it is refused. */
struct store *open_expect(enum store_file_state state);
struct store_writer *writer_open(struct store *store);

/* Replaces what the root refers to; about every other object stays. */
void fill(struct store_writer *writer);
/* True if all that the root refers to is whole; its octets if so. */
bool contents_are_whole(const struct store_view *view, uint64_t *octets);
/* ... and nothing else is in use. */
void check_contents(struct store_writer *writer);
void check_empty(struct store *store);

void file_write(const void *data, size_t len);
uint8_t *file_read(size_t *len);
ino_t file_inode(void);

/* Makes the path and the image anew, in a directory below base. */
void make_image(void);
int image_setup_in(const char *base);
int image_setup(void **state);
int image_teardown(void **state);

#endif
