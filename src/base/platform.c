/* platform.c - differences between the C libraries of Linux. */
#include "config.h"

#include <glob.h>
#ifdef HAVE_MALLOC_H
#include <malloc.h>
#endif
#include <sys/syscall.h>
#include <unistd.h>

#include "base/platform.h"

/* The count of arenas of glibc's malloc. With an arena for each thread, each
 * keeps about 100 KiB for good and live blocks lie in more places. Threads do
 * not wait for the one arena: large blocks are mapped, small ones come from the
 * thread's cache. 100,000 small zones: 8.7 MB instead of 14 to 17, in the same
 * time. */
#define ARENAS 1
/* Blocks of this size and more go back to the system when they are freed. By
 * default malloc keeps room of the size of the largest block that was freed, in
 * each thread's arena: 10 MB after a zone of a million names. */
#define LARGE_BLOCK (256 << 10)

#ifndef GLOB_BRACE
#define GLOB_BRACE 0
#endif
#ifndef GLOB_TILDE
#define GLOB_TILDE 0
#endif

#ifdef HAVE_MALLOPT
void
platform_heap_bound(void)
{
	mallopt(M_ARENA_MAX, ARENAS);
	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
	mallopt(M_TRIM_THRESHOLD, LARGE_BLOCK);
}
#else
void
platform_heap_bound(void)
{
}
#endif

#ifdef HAVE_MALLOC_TRIM
void
platform_heap_trim(void)
{
	malloc_trim(0);
}
#else
void
platform_heap_trim(void)
{
}
#endif

#ifdef HAVE_MALLINFO2
bool
platform_heap_measure(size_t *used, size_t *kept)
{
	struct mallinfo2 info = mallinfo2();

	*used = info.uordblks + info.hblkhd;
	*kept = info.fordblks;
	return true;
}
#else
bool
platform_heap_measure(size_t *used, size_t *kept)
{
	*used = *kept = 0;
	return false;
}
#endif

/* By number: glibc before 2.34 and musl have no function for it. */
bool
platform_close_range(int first, int last)
{
#ifdef SYS_close_range
	return syscall(SYS_close_range, (unsigned)first, (unsigned)last, 0u)
		== 0;
#else
	(void)first;
	(void)last;
	return false;
#endif
}

int
platform_glob_flags(void)
{
	return GLOB_BRACE | GLOB_TILDE;
}
