/* affinity.c - which processors the processes run on. */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/log.h"
#include "base/trial.h"
#include "process/affinity.h"

static bool
affinity_has(const struct conf_numbers *cpus, uint32_t cpu)
{
	for (uint32_t i = 0; i < cpus->count; i++)
		if (cpus->items[i] == cpu)
			return true;
	return false;
}

/* Tells whether processes are bound to a processor each: without cpu-affinity
 * none is, as in NSD. */
static bool
affinity_is_used(const struct conf_server *options)
{
	return options->cpu_affinity.count > 0;
}

enum nsd_err
affinity_check(const struct conf_server *options, struct diag_sink *sink)
{
	const struct conf_numbers *cpus = &options->cpu_affinity;
	const struct conf_server_cpus *servers = &options->server_cpu_affinity;
	cpu_set_t present;

	if (!affinity_is_used(options)) {
		if (servers->count > 0 || options->xfrd_cpu_affinity >= 0)
			diag_emit(sink, DIAG_WARNING, NULL, 0, 0,
				"server-N-cpu-affinity and xfrd-cpu-affinity"
				" have no effect without cpu-affinity");
		return NSD_OK;
	}
	CPU_ZERO(&present);
	if (sched_getaffinity(0, sizeof(present), &present) == -1) {
		diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
			"sched_getaffinity: %s", strerror(errno));
		return NSD_E_SYNTAX;
	}
	for (uint32_t i = 0; i < cpus->count; i++) {
		if (cpus->items[i] < CPU_SETSIZE
			&& CPU_ISSET(cpus->items[i], &present))
			continue;
		diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
			"invalid cpu %u specified in cpu-affinity",
			(unsigned)cpus->items[i]);
		return NSD_E_SYNTAX;
	}
	for (uint32_t i = 0; i < servers->count; i++) {
		const struct conf_server_cpu *s = &servers->items[i];

		if (affinity_has(cpus, s->cpu))
			continue;
		diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
			"cpu %u specified in server-%u-cpu-affinity is not"
			" specified in cpu-affinity",
			(unsigned)s->cpu, (unsigned)s->server);
		return NSD_E_SYNTAX;
	}
	if (options->xfrd_cpu_affinity >= 0
		&& !affinity_has(cpus, (uint32_t)options->xfrd_cpu_affinity)) {
		diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
			"cpu %d specified in xfrd-cpu-affinity is not"
			" specified in cpu-affinity",
			(int)options->xfrd_cpu_affinity);
		return NSD_E_SYNTAX;
	}
	return NSD_OK;
}

/* Asks for the processors that we have: a trial of the call. */
static void
affinity_ask(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		(void)sched_setaffinity(0, sizeof(set), &set);
}

static void
affinity_apply(const cpu_set_t *set, pid_t pid)
{
	if (!trial_may_call(affinity_ask))
		log_warning("cannot set the CPU affinity: a filter of system"
			    " calls forbids it");
	else if (sched_setaffinity(pid, sizeof(*set), set) == -1)
		log_warning("cannot set the CPU affinity: %s",
			strerror(errno));
}

void
affinity_set_all(const struct conf_server *options)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (uint32_t i = 0; i < options->cpu_affinity.count; i++)
		CPU_SET(options->cpu_affinity.items[i], &set);
	if (options->cpu_affinity.count > 0)
		affinity_apply(&set, 0);
}

static void
affinity_set_one(uint32_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	affinity_apply(&set, 0);
}

bool
affinity_find_cpu(const struct conf_server *options, unsigned server,
	uint32_t *cpu)
{
	const struct conf_server_cpus *servers = &options->server_cpu_affinity;
	bool found = false;

	for (uint32_t i = 0; i < servers->count; i++) {
		if (servers->items[i].server != server + 1
			|| !affinity_is_used(options))
			continue;
		*cpu = servers->items[i].cpu;
		found = true;
	}
	return found;
}

void
affinity_set_server(const struct conf_server *options, unsigned server)
{
	uint32_t cpu;

	if (affinity_find_cpu(options, server, &cpu))
		affinity_set_one(cpu);
}

void
affinity_set_xfrd(const struct conf_server *options)
{
	if (affinity_is_used(options) && options->xfrd_cpu_affinity >= 0)
		affinity_set_one((uint32_t)options->xfrd_cpu_affinity);
}

void
affinity_follow_xfrd(const struct conf_server *options, pid_t pid)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (affinity_is_used(options) && options->xfrd_cpu_affinity >= 0)
		CPU_SET((uint32_t)options->xfrd_cpu_affinity, &set);
	else if (sched_getaffinity(0, sizeof(set), &set) == -1)
		return;
	affinity_apply(&set, pid);
}

unsigned
affinity_count(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == -1)
		return 1;
	return CPU_COUNT(&set) > 0 ? (unsigned)CPU_COUNT(&set) : 1;
}
