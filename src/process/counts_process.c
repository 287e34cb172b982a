/* counts_process.c - the figures of processes. */
#include "config.h"

#include <stdio.h>

#include "ipc/channel.h"
#include "process/counts.h"
#include "process/counts_part.h"

/* The place of a role's process. NULL: the role is the writer, the
 * verifier or the collector, which are there only at times. */
static struct counts_process *
counts_find_process(const struct counts *c, enum ipc_role role, unsigned index)
{
	struct counts_process *all = counts_part_get(c, PART_PROCESSES, 0);

	switch (role) {
	case ROLE_MAIN:
		return &all[0];
	case ROLE_LOADER:
		return &all[1];
	case ROLE_XFRD:
		return &all[2];
	case ROLE_WORKER:
		return &all[COUNTS_OTHERS + index];
	case ROLE_WRITER:
	case ROLE_VERIFIER:
	case ROLE_COLLECTOR:
		break;
	}
	return NULL;
}

void
counts_set_process(const struct counts *c, enum ipc_role role, unsigned index,
	int64_t pid, int64_t started_msec)
{
	struct counts_process *process = counts_find_process(c, role, index);

	if (process == NULL)
		return;
	if (role == ROLE_WORKER)
		snprintf(process->name, sizeof(process->name), "server%u",
			index);
	else
		snprintf(process->name, sizeof(process->name), "%s",
			ipc_role_name(role));
	process->restarts += process->pid != 0;
	process->pid = pid;
	process->started_msec = started_msec;
}

void
counts_note_death(const struct counts *c, enum ipc_role role, unsigned index,
	int64_t died_msec)
{
	struct counts_process *process = counts_find_process(c, role, index);

	if (process == NULL)
		return;
	process->deaths++;
	process->died_msec = died_msec;
}

void
counts_note_in_hand(const struct counts *c, enum ipc_role role, unsigned index,
	unsigned number, int64_t now_msec)
{
	struct counts_process *process = counts_find_process(c, role, index);

	if (process == NULL)
		return;
	process->in_hand = number;
	process->in_hand_msec = now_msec;
}

bool
counts_get_process(const struct counts *c, unsigned place,
	struct counts_process *process)
{
	const struct counts_process *all
		= counts_part_get(c, PART_PROCESSES, 0);

	if (place >= counts_workers(c) + COUNTS_OTHERS || all[place].pid == 0)
		return false;
	*process = all[place];
	process->name[sizeof(process->name) - 1] = '\0';
	return true;
}
