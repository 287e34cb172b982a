/* lack.c - says why there is no room in the store. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>

#include "store/state.h"

#define TMPFS 0x01021994 /* f_type, see statfs(2) */

uint32_t
store_count_lacks(const struct store_writer *writer)
{
	return rcu_load_relaxed(&writer->lacks);
}

bool
store_is_full(struct store_writer *writer)
{
	bool full;

	pthread_mutex_lock(&writer->lock);
	full = rcu_load_relaxed(&writer->lacks) > 0 && writer->lack == 0;
	pthread_mutex_unlock(&writer->lock);
	return full;
}

/* Explains a full store: references reach no further, or the system gave no
 * more address space. */
static void
explain_full(const struct store *store, char *text, size_t size)
{
	unsigned long long mib = store->reservation >> 20;

	if (store->reservation >= STORE_ROOM_MAX)
		snprintf(text, size, "the zone store is full: %llu MiB, old"
			" versions included, is all that it can hold", mib);
	else
		snprintf(text, size, "the zone store is full: the system gave"
			" it %llu MiB of addresses when it was made (RLIMIT_AS:"
			" ulimit -v, LimitAS=)", mib);
}

static void
explain_file_size(char *text, size_t size)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) != 0
		|| limit.rlim_cur == RLIM_INFINITY)
		snprintf(text, size, "the file system has no files that large");
	else
		snprintf(text, size, "the zone store is a file, and may not be"
			" larger than %llu MiB, holes included (RLIMIT_FSIZE:"
			" ulimit -f, LimitFSIZE=)",
			(unsigned long long)limit.rlim_cur >> 20);
}

/* A file system is full, or the system promises no more memory: then files in
 * memory say the same. */
static void
explain_space(const struct store *store, uint64_t wanted, char *text,
	size_t size)
{
	struct statfs st;
	bool known = store->path != NULL && fstatfs(store->fd, &st) == 0;
	bool memory = store->path == NULL || (known && st.f_type == TMPFS);

	if (memory
		&& (!known || st.f_blocks == 0
			|| (uint64_t)st.f_bavail * (uint64_t)st.f_bsize
				>= wanted))
		snprintf(text, size, "the system promises no more memory"
			" (vm.overcommit_memory is 2: more swap or a higher"
			" vm.overcommit_ratio would help)");
	else if (!known)
		snprintf(text, size, "the file system of %s is full",
			store->path);
	else
		snprintf(text, size, "the file system of %s is full (%s%llu"
			" MiB)", store->path, memory ? "tmpfs, size=" : "",
			(unsigned long long)st.f_blocks
				* (unsigned long long)st.f_bsize >> 20);
}

void
store_explain_lack(struct store_writer *writer, char *text, size_t size)
{
	const struct store *store = writer->store;
	uint64_t wanted;
	int error;

	pthread_mutex_lock(&writer->lock);
	error = writer->lack;
	wanted = writer->lack_len;
	pthread_mutex_unlock(&writer->lock);
	if (error == 0)
		explain_full(store, text, size);
	else if (error == EFBIG)
		explain_file_size(text, size);
	else if (error == ENOSPC)
		explain_space(store, wanted, text, size);
	else if (error == EDQUOT && store->path != NULL)
		snprintf(text, size, "the quota of %s is used up", store->path);
	else if (error == ENOMEM)
		snprintf(text, size, "the machine or the control group has no"
			" memory left (memory.max, MemoryMax=)");
	else
		snprintf(text, size, "the zone store cannot grow: %s",
			strerror(error));
}
