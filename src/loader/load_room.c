/* load_room.c - says why there is no room for a zone. */
#include "config.h"

#include <stdio.h>
#include <sys/resource.h>

#include "loader/load_room.h"

/* Limits of a process that malloc and mmap meet. */
static const struct room_limit {
	int resource;
	const char *name;
} room_limits[] = {
	{RLIMIT_DATA, "RLIMIT_DATA: ulimit -d, LimitDATA="},
	{RLIMIT_AS, "RLIMIT_AS: ulimit -v, LimitAS="},
};

static void
room_explain_own(char *text, size_t size)
{
	for (unsigned i = 0; i < sizeof(room_limits) / sizeof(*room_limits);
		i++) {
		const struct room_limit *limit = &room_limits[i];
		struct rlimit value;

		if (getrlimit(limit->resource, &value) != 0
			|| value.rlim_cur == RLIM_INFINITY)
			continue;
		snprintf(text, size, "the loader itself may have %llu MiB (%s)",
			(unsigned long long)value.rlim_cur >> 20,
			limit->name);
		return;
	}
	snprintf(text, size, "the system gives the loader no more memory"
		" (vm.overcommit_memory, vm.max_map_count)");
}

void
load_room_explain(struct store_writer *writer, uint32_t lacks,
	char text[LOAD_ROOM_TEXT_MAX])
{
	if (store_count_lacks(writer) != lacks)
		store_explain_lack(writer, text, LOAD_ROOM_TEXT_MAX);
	else
		room_explain_own(text, LOAD_ROOM_TEXT_MAX);
}
