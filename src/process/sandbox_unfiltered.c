/* sandbox_unfiltered.c - no filter of system calls, in a build without
 * libseccomp. */
#include "config.h"

#include <errno.h>

#include "process/sandbox_seccomp.h"

bool
sandbox_seccomp_is_built(void)
{
	return false;
}

enum nsd_err
sandbox_seccomp_enter(enum ipc_role role)
{
	(void)role;
	errno = ENOSYS;
	return NSD_E_SYSTEM;
}
