/* affinity.h - binds the processes to processors. */
#ifndef PROCESS_AFFINITY_H
#define PROCESS_AFFINITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "base/err.h"
#include "conf/conf.h"

/* Checks cpu-affinity, server-N-cpu-affinity and xfrd-cpu-affinity against each
 * other and the machine. NSD_E_SYNTAX: they contradict each other or the
 * machine, with an error to the sink. */
enum nsd_err affinity_check(const struct conf_server *options,
	struct diag_sink *sink) MUST_USE;

/* Binds the calling process; a failure is a warning. */
void affinity_set_all(const struct conf_server *options);
void affinity_set_server(const struct conf_server *options, unsigned server);
void affinity_set_xfrd(const struct conf_server *options);
/* Binds the running xfrd with this pid, from main; without xfrd-cpu-affinity,
 * like main. */
void affinity_follow_xfrd(const struct conf_server *options, pid_t pid);

/* The processor that a worker (from 0) is bound to. False: to none alone. */
bool affinity_find_cpu(const struct conf_server *options, unsigned server,
	uint32_t *cpu);

/* Processors that this process may use, at least 1. */
unsigned affinity_count(void);

#endif
