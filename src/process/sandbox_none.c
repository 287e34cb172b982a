/* sandbox_none.c - no sandbox: in a build with sanitizers, whose runtime makes
 * system calls of its own and starts programs to tell what it has found. */
#include "config.h"

#include "base/log.h"
#include "process/sandbox.h"

void
sandbox_probe(struct sandbox *sandbox, bool wanted)
{
	(void)wanted;
	*sandbox = (struct sandbox){0};
	log_notice("sandbox: none in a build with sanitizers");
}

enum nsd_err
sandbox_enter(const struct sandbox *sandbox, enum ipc_role role,
	const char *const *folders)
{
	(void)sandbox;
	(void)role;
	(void)folders;
	return NSD_OK;
}

enum nsd_err
sandbox_enter_folders(const struct sandbox *sandbox, enum ipc_role role,
	const char *const *folders)
{
	return sandbox_enter(sandbox, role, folders);
}

enum nsd_err
sandbox_enter_calls(const struct sandbox *sandbox, enum ipc_role role)
{
	return sandbox_enter(sandbox, role, NULL);
}

void
sandbox_enter_program(const struct sandbox *sandbox)
{
	(void)sandbox;
}
