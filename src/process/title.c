/* title.c - the names under which people find the processes in ps and top. */
#include "config.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "process/title.h"

/* The area of the arguments, which ps reads. */
static struct {
	char *start;
	size_t size;
	char **copy;
} title_area;

char **
title_init(int argc, char **argv)
{
	char *end = argv[0];

	title_area.copy = calloc((size_t)argc + 1, sizeof(char *));
	for (int i = 0; i < argc; i++)
		if (title_area.copy == NULL
			|| (title_area.copy[i] = strdup(argv[i])) == NULL)
			return NULL;
	for (int i = 0; i < argc && argv[i] == end; i++)
		end += strlen(argv[i]) + 1;
	title_area.start = argv[0];
	title_area.size = (size_t)(end - argv[0]);
	return title_area.copy;
}

void
title_set(const char *format, ...)
{
	char text[64];
	size_t len;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)prctl(PR_SET_NAME, text, 0, 0, 0);
	if (title_area.size < 2)
		return;
	len = strlen(text);
	if (len > title_area.size - 1)
		len = title_area.size - 1;
	memset(title_area.start, 0, title_area.size);
	memcpy(title_area.start, text, len);
}
