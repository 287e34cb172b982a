/* failing_libc.c - memory of libc that runs out. */
#include <stddef.h>

#include "lib/failing.h"

/* The linker puts these in front of libc's (--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *text);

void *
__wrap_malloc(size_t size)
{
	return failing_now() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t count, size_t size)
{
	return failing_now() ? NULL : __real_calloc(count, size);
}

void *
__wrap_realloc(void *p, size_t size)
{
	return failing_now() ? NULL : __real_realloc(p, size);
}

char *
__wrap_strdup(const char *text)
{
	return failing_now() ? NULL : __real_strdup(text);
}
