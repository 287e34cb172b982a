/* sandbox.c - finds out what a process can be confined by, and does it. */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/log.h"
#include "base/trial.h"
#include "process/sandbox.h"
#include "process/sandbox_landlock.h"
#include "process/sandbox_seccomp.h"

/* Tries the sandbox, in a child: a filter of a service manager may kill it for
 * that. */
static enum nsd_err
sandbox_try(void *arg, char text[TRIAL_TEXT_MAX])
{
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return sandbox_enter(arg, ROLE_WORKER, NULL);
}

static bool
sandbox_is_possible(struct sandbox *sandbox)
{
	char text[TRIAL_TEXT_MAX];

	return trial_run(sandbox_try, sandbox, TRIAL_MSEC, text) == NSD_OK;
}

static void
sandbox_probe_calls(struct sandbox *sandbox)
{
	struct sandbox trial = {.calls = true};

	if (!sandbox_seccomp_is_built())
		log_warning("sandbox: system calls are not filtered, as this"
			    " program was built without libseccomp");
	else if (sandbox_is_possible(&trial))
		sandbox->calls = true;
	else
		log_warning("sandbox: system calls are not filtered: the"
			    " kernel does not allow it");
}

static void
sandbox_ask_version(void)
{
	(void)sandbox_landlock_version();
}

static void
sandbox_probe_landlock(struct sandbox *sandbox)
{
	struct sandbox trial = {.landlock = 0};
	int error = EPERM;

	if (trial_may_call(sandbox_ask_version)) {
		trial.landlock = sandbox_landlock_version();
		error = errno;
	}
	if (trial.landlock == 0)
		log_warning("sandbox: the processes are not confined to"
			    " folders, as landlock cannot be asked for: %s",
			strerror(error));
	else if (sandbox_is_possible(&trial))
		sandbox->landlock = trial.landlock;
	else
		log_warning("sandbox: the processes are not confined to"
			    " folders: the kernel does not allow it");
}

void
sandbox_probe(struct sandbox *sandbox, bool wanted)
{
	*sandbox = (struct sandbox){0};
	if (!wanted) {
		log_notice("sandbox: no; the processes are not confined");
		return;
	}
	sandbox_probe_calls(sandbox);
	sandbox_probe_landlock(sandbox);
}

enum nsd_err
sandbox_enter_folders(const struct sandbox *sandbox, enum ipc_role role,
	const char *const *folders)
{
	return sandbox->landlock > 0
		? sandbox_landlock_enter(sandbox->landlock, role, folders,
			  sandbox->lists)
		: NSD_OK;
}

enum nsd_err
sandbox_enter_calls(const struct sandbox *sandbox, enum ipc_role role)
{
	return sandbox->calls ? sandbox_seccomp_enter(role) : NSD_OK;
}

void
sandbox_enter_program(const struct sandbox *sandbox)
{
	/* The program is the operator's, and runs without that as well. */
	if (sandbox->landlock > 0)
		(void)!sandbox_landlock_leave_others(sandbox->landlock);
}

enum nsd_err
sandbox_enter(const struct sandbox *sandbox, enum ipc_role role,
	const char *const *folders)
{
	/* The filter does not know the calls of landlock: it comes last. */
	enum nsd_err err = sandbox_enter_folders(sandbox, role, folders);

	return err == NSD_OK ? sandbox_enter_calls(sandbox, role) : err;
}
