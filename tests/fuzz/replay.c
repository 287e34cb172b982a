/*
 * replay.c - a main for a fuzz target that feeds it files, with any compiler.
 *
 * usage: fuzz_NAME [FILE-OR-DIRECTORY...]
 * Without arguments: all of $srcdir/tests/fuzz/corpus/NAME; it is an error if
 * there is nothing, so that a lost corpus does not look like a test passed.
 * If the target changes its inputs itself, it gets some mutants of each, too,
 * always the same.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MUTANTS 8u
#define MUTANT_ROOM 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
	unsigned seed) __attribute__((weak));

static unsigned replayed;

static void
fail(const char *path)
{
	fprintf(stderr, "%s: %s\n", path, strerror(errno));
	exit(1);
}

/* The input is a block of its own size, so that ASan sees its end. */
static void
replay_octets(const uint8_t *octets, size_t size, const char *path)
{
	uint8_t *data = malloc(size > 0 ? size : 1);

	if (data == NULL)
		fail(path);
	memcpy(data, octets, size);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

static void
replay_mutants(const uint8_t *octets, size_t size, const char *path)
{
	size_t max = size + MUTANT_ROOM, len;
	uint8_t *data = malloc(max);

	if (data == NULL)
		fail(path);
	for (unsigned seed = 1; seed <= MUTANTS; seed++) {
		memcpy(data, octets, size);
		len = LLVMFuzzerCustomMutator(data, size, max, seed);
		replay_octets(data, len, path);
	}
	free(data);
}

static void
replay_file(const char *path, size_t size)
{
	uint8_t *data = malloc(size > 0 ? size : 1);
	FILE *file = fopen(path, "rb");

	if (data == NULL || file == NULL
		|| fread(data, 1, size, file) != size)
		fail(path);
	fclose(file);
	replay_octets(data, size, path);
	if (LLVMFuzzerCustomMutator != NULL)
		replay_mutants(data, size, path);
	replayed++;
	free(data);
}

static void
replay(const char *path)
{
	struct dirent *entry;
	struct stat st;
	char *inner;
	DIR *dir;

	if (stat(path, &st) != 0)
		fail(path);
	if (!S_ISDIR(st.st_mode)) {
		replay_file(path, (size_t)st.st_size);
		return;
	}
	dir = opendir(path);
	if (dir == NULL)
		fail(path);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&inner, "%s/%s", path, entry->d_name) < 0)
			fail(path);
		replay(inner);
		free(inner);
	}
	closedir(dir);
}

int
main(int argc, char *argv[])
{
	const char *top = getenv("srcdir"), *name = strrchr(argv[0], '/');
	char *corpus;
	int i;

	for (i = 1; i < argc; i++)
		replay(argv[i]);
	if (argc < 2) {
		name = name != NULL ? name + 1 : argv[0];
		if (strncmp(name, "fuzz_", 5) == 0)
			name += 5;
		if (asprintf(&corpus, "%s/tests/fuzz/corpus/%s",
			top != NULL ? top : ".", name) < 0)
			fail("corpus");
		replay(corpus);
		free(corpus);
	}
	printf("%u inputs\n", replayed);
	return replayed > 0 ? 0 : 1;
}
