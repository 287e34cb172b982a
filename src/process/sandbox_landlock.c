/* sandbox_landlock.c - limits the files and sockets that a process may reach,
 * by the kernel's landlock. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/sandbox_landlock.h"

/* The kernel's numbers (landlock(7)): headers of today lack the newer ones, and
 * older ones know nothing of it. They are the same on all machines. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define ASK_VERSION 1u
#define RULE_BENEATH 1

#define FS_WRITE_FILE 0x0002u
#define FS_READ_FILE 0x0004u
#define FS_READ_DIR 0x0008u
#define FS_REMOVE_DIR 0x0010u
#define FS_REMOVE_FILE 0x0020u
#define FS_MAKE_DIR 0x0080u
#define FS_MAKE_REG 0x0100u
#define FS_VERSION_1 0x1fffu /* all of the first version */
#define FS_REFER 0x2000u
#define FS_TRUNCATE 0x4000u
#define FS_IOCTL_DEV 0x8000u
#define NET_BIND_TCP 0x1u
#define NET_CONNECT_TCP 0x2u
#define SCOPE_ABSTRACT_SOCKET 0x1u
#define SCOPE_SIGNAL 0x2u

/* The accesses that are refused unless a rule allows them. */
struct sandbox_ruleset {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
};

/* A rule: what is allowed in a folder and below. */
struct sandbox_beneath {
	uint64_t allowed;
	int32_t folder;
} __attribute__((packed));

unsigned
sandbox_landlock_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
		ASK_VERSION);

	return version > 0 ? (unsigned)version : 0;
}

/* Returns the accesses that a version knows. The kernel refuses a set with
 * unknown ones. */
static struct sandbox_ruleset
landlock_know(unsigned version)
{
	struct sandbox_ruleset known = {.fs = FS_VERSION_1};

	if (version >= 2)
		known.fs |= FS_REFER;
	if (version >= 3)
		known.fs |= FS_TRUNCATE;
	if (version >= 4)
		known.net = NET_BIND_TCP | NET_CONNECT_TCP;
	if (version >= 5)
		known.fs |= FS_IOCTL_DEV;
	if (version >= 6)
		known.scoped = SCOPE_ABSTRACT_SOCKET | SCOPE_SIGNAL;
	return known;
}

/* The accesses of a role below its folders: files are read, made, replaced and
 * removed. The writer reads none. */
#define BELOW_ALL (FS_READ_DIR | FS_WRITE_FILE | FS_MAKE_REG | FS_MAKE_DIR     \
	| FS_REMOVE_FILE)
#define BELOW_OTHERS (FS_READ_FILE | FS_REMOVE_DIR | FS_TRUNCATE | FS_REFER)

/* A folder that is not there needs no rule. */
static bool
landlock_allow(int ruleset, const struct sandbox_ruleset *handled,
	uint64_t below, const char *folder)
{
	struct sandbox_beneath rule = {
		.allowed = below & handled->fs,
		.folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC),
	};
	bool done;

	if (rule.folder == -1)
		return true;
	done = syscall(SYS_landlock_add_rule, ruleset, RULE_BENEATH, &rule, 0u)
		== 0;
	close(rule.folder);
	return done;
}

static bool
landlock_restrict(const struct sandbox_ruleset *handled, uint64_t below,
	const char *const *folders)
{
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, handled,
		sizeof(*handled), 0u);
	bool done = ruleset != -1;
	int error;

	for (; done && folders != NULL && *folders != NULL; folders++)
		done = landlock_allow(ruleset, handled, below, *folders);
	if (done)
		done = syscall(SYS_landlock_restrict_self, ruleset, 0u) == 0;
	error = errno;
	if (ruleset != -1)
		close(ruleset);
	errno = error;
	return done;
}

enum nsd_err
sandbox_landlock_leave_others(unsigned version)
{
	struct sandbox_ruleset handled = {
		.scoped = landlock_know(version).scoped & SCOPE_SIGNAL,
	};

	errno = ENOSYS;
	return handled.scoped != 0 && landlock_restrict(&handled, 0, NULL)
		? NSD_OK : NSD_E_SYSTEM;
}

enum nsd_err
sandbox_landlock_enter(unsigned version, enum ipc_role role,
	const char *const *folders, bool lists)
{
	struct sandbox_ruleset handled = landlock_know(version);

	/* Zone files, and what they include, lie anywhere. A terminal may be
	 * asked whether it is one. */
	if (role == ROLE_LOADER)
		handled.fs &= ~(uint64_t)(FS_READ_FILE | FS_READ_DIR
			| FS_IOCTL_DEV);
	/* Transfers come over TCP, and queries go by UDP. */
	if (role == ROLE_XFRD)
		handled.net = 0;
	if (lists)
		handled.fs &= ~(uint64_t)FS_READ_DIR;
	return landlock_restrict(&handled, role == ROLE_WRITER
			? BELOW_ALL
			: BELOW_ALL | BELOW_OTHERS, folders)
		? NSD_OK
		: NSD_E_SYSTEM;
}
