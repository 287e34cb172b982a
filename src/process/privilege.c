/* privilege.c - giving up root and the view of the file system. */
#include "config.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "process/privilege.h"

#define CAPABILITY(number) ((uint64_t)1 << (number))
/* Makes processes of another user. */
#define TO_CHANGE_USER (CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID))
/* Root's ways with the files of others. */
#define TO_USE_FILES                                                         \
	(CAPABILITY(CAP_DAC_OVERRIDE) | CAPABILITY(CAP_DAC_READ_SEARCH))

/* "123" or "123.456". */
static bool
privilege_parse_ids(const char *text, struct privilege_user *user)
{
	char *end;
	unsigned long uid, gid;

	if (*text < '0' || *text > '9')
		return false;
	uid = strtoul(text, &end, 10);
	gid = uid;
	if (*end == '.' && end[1] >= '0' && end[1] <= '9') {
		gid = strtoul(end + 1, &end, 10);
	} else if (*end == '\0') {
		struct passwd *pw = getpwuid((uid_t)uid);

		if (pw == NULL)
			return false;
		gid = pw->pw_gid;
	}
	if (*end != '\0' || uid >= UINT32_MAX || gid >= UINT32_MAX)
		return false;
	user->uid = (uid_t)uid;
	user->gid = (gid_t)gid;
	return true;
}

/* Looks up the groups before the chroot. There may be no /etc in it, or one of
 * another owner, whose NSS modules would run as root. */
static enum nsd_err
privilege_find_groups(const struct passwd *pw, struct privilege_user *user)
{
	int size = 16;

	for (;;) {
		gid_t *groups = reallocarray(user->groups, (size_t)size,
			sizeof(*groups));

		if (groups == NULL) {
			log_error("out of memory for the groups of %s",
				pw->pw_name);
			return NSD_E_MEMORY;
		}
		user->groups = groups;
		user->group_count = size;
		if (getgrouplist(pw->pw_name, user->gid, groups,
			    &user->group_count)
			!= -1)
			return NSD_OK;
		size *= 2;
	}
}

enum nsd_err
privilege_find_user(const char *username, struct privilege_user *user)
{
	struct passwd *pw;

	memset(user, 0, sizeof(*user));
	user->uid = (uid_t)-1;
	user->gid = (gid_t)-1;
	if (username == NULL || *username == '\0')
		return NSD_OK;
	pw = getpwnam(username);
	if (pw != NULL) {
		user->uid = pw->pw_uid;
		user->gid = pw->pw_gid;
	} else if (privilege_parse_ids(username, user)) {
		pw = getpwuid(user->uid);
	} else {
		log_error("user '%s' does not exist.", username);
		return NSD_E_NOT_FOUND;
	}
	user->change = user->uid != geteuid() || user->gid != getegid();
	return pw != NULL && user->change ? privilege_find_groups(pw, user)
					  : NSD_OK;
}

enum nsd_err
privilege_chroot(const char *path)
{
	if (chroot(path) == -1 || chdir("/") == -1) {
		log_error("unable to chroot: %s (%s)", strerror(errno), path);
		return NSD_E_SYSTEM;
	}
	return NSD_OK;
}

/* ---- capabilities -------------------------------------------------------- */

/* The kernel takes them in words of 32 bits; the C library has no function for
 * it. */
static bool
privilege_read_capabilities(uint64_t *permitted, uint64_t *effective)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, data) == -1)
		return false;
	*permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	*effective = data[0].effective | (uint64_t)data[1].effective << 32;
	return true;
}

/* Keeps those of the set that we have, and no others. */
static bool
privilege_keep_capabilities(uint64_t set)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	uint64_t permitted, effective;

	if (!privilege_read_capabilities(&permitted, &effective))
		return false;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		data[i] = (struct __user_cap_data_struct){
			.permitted = (uint32_t)((set & permitted) >> 32 * i),
			.effective = (uint32_t)((set & permitted) >> 32 * i),
		};
	return syscall(SYS_capset, &head, data) == 0;
}

/* ---- another user -------------------------------------------------------- */

enum nsd_err
privilege_find_worker(const char *username,
	const struct privilege_user *main_user, struct privilege_user *worker)
{
	uid_t uid = main_user->change ? main_user->uid : geteuid();
	gid_t gid = main_user->change ? main_user->gid : getegid();
	uint64_t permitted, effective;
	enum nsd_err err = privilege_find_user(username, worker);

	if (err != NSD_OK)
		return err;
	worker->change = worker->uid != (uid_t)-1
		&& (worker->uid != uid || worker->gid != gid);
	if (!worker->change)
		return NSD_OK;
	if (privilege_read_capabilities(&permitted, &effective)
		&& (effective & TO_CHANGE_USER) == TO_CHANGE_USER)
		return NSD_OK;
	log_error("worker-username: only root can have workers be another"
		  " user");
	return NSD_E_DENIED;
}

void
privilege_forget_user(struct privilege_user *user)
{
	free(user->groups);
	user->groups = NULL;
	user->group_count = 0;
}

static enum nsd_err
privilege_become(const struct privilege_user *user)
{
	if (setgroups((size_t)user->group_count, user->groups) == 0
		&& setresgid(user->gid, user->gid, user->gid) == 0
		&& setresuid(user->uid, user->uid, user->uid) == 0)
		return NSD_OK;
	log_error("cannot become user %lu: %s", (unsigned long)user->uid,
		strerror(errno));
	return NSD_E_SYSTEM;
}

static enum nsd_err
privilege_check_root_is_gone(void)
{
	if (geteuid() == 0 || setuid(0) == -1)
		return NSD_OK;
	log_error("root could be regained");
	return NSD_E_DENIED;
}

/* Processes of one user may look into each other, and open each other's files
 * by way of /proc: a worker the store, to write it. This denies it, also for
 * children, and cores. A change of the user undoes it. */
static void
privilege_hide(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

enum nsd_err
privilege_drop(const struct privilege_user *user,
	const struct privilege_user *worker)
{
	enum nsd_err err = NSD_OK;

	/* Root's capabilities outlast the change, unused. */
	if (worker->change)
		(void)prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	if (user->change)
		err = privilege_become(user);
	if (err == NSD_OK && user->change)
		err = privilege_check_root_is_gone();
	if (err != NSD_OK)
		return err;
	if (worker->change && geteuid() != 0
		&& !privilege_keep_capabilities(TO_CHANGE_USER)) {
		log_error("cannot keep what changes users: %s",
			strerror(errno));
		return NSD_E_SYSTEM;
	}
	(void)prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	/* No program that is run from here on has more rights than we. */
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	privilege_hide();
	return NSD_OK;
}

enum nsd_err
privilege_leave_main(const struct privilege_user *user, bool uses_files)
{
	if (user != NULL && user->change && privilege_become(user) != NSD_OK)
		return NSD_E_SYSTEM;
	if (!privilege_keep_capabilities(uses_files ? TO_USE_FILES : 0)) {
		log_error("cannot drop capabilities: %s", strerror(errno));
		return NSD_E_SYSTEM;
	}
	privilege_hide();
	return privilege_check_root_is_gone();
}

void
privilege_kill(const struct privilege_user *user, pid_t pid, int number)
{
	uid_t us = geteuid();

	if (kill(pid, number) == 0 || errno != EPERM || user == NULL)
		return;
	/* The signal is sent with the user's rights. Meanwhile processes of
	 * that user may not signal us, since our real user stays. */
	if (seteuid(user->uid) == -1)
		return;
	(void)kill(pid, number);
	if (seteuid(us) == -1)
		log_error("cannot become user %lu again: %s",
			(unsigned long)us, strerror(errno));
	privilege_hide();
}
