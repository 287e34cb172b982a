/* sandbox_seccomp.h - the filter of system calls. */
#ifndef PROCESS_SANDBOX_SECCOMP_H
#define PROCESS_SANDBOX_SECCOMP_H

#include <stdbool.h>

#include "base/err.h"
#include "ipc/message.h"

/* False: this program was built without libseccomp. */
bool sandbox_seccomp_is_built(void);

/* Filters the calls of this process from now on, by the rows of
 * sandbox_calls.h. Returns NSD_OK; NSD_E_MEMORY; NSD_E_SYSTEM (errno). */
enum nsd_err sandbox_seccomp_enter(enum ipc_role role) MUST_USE;

#endif
