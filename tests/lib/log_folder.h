/* log_folder.h - a folder for tests that write a log: they run in it. */
#ifndef TESTS_LIB_LOG_FOLDER_H
#define TESTS_LIB_LOG_FOLDER_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static char log_folder[64];

/* Makes it, and opens the file "log" in it. A setup of a group. */
static inline int
log_folder_setup(void **state)
{
	struct log_options options = {.program = "test", .file = "log"};

	strcpy(log_folder, "/tmp/nsd-test.XXXXXX");
	if (mkdtemp(log_folder) == NULL || chdir(log_folder) == -1)
		return -1;
	return log_open(&options) == NSD_OK ? 0 : -1;
}

/* A teardown: the test has left nothing else in it. */
static inline int
log_folder_teardown(void **state)
{
	log_close();
	unlink("log");
	if (chdir("/") == -1)
		return -1;
	return rmdir(log_folder);
}

#endif
