/* sandbox_seccomp.c - the filter of system calls, made by libseccomp. */
#include "config.h"

#include <errno.h>
#include <seccomp.h>
#include <unistd.h>

#include "process/sandbox_calls.h"
#include "process/sandbox_seccomp.h"

/* Rows are found by a tree, and not one after another. */
#define OPTIMIZE_BY_TREE 2

bool
sandbox_seccomp_is_built(void)
{
	return true;
}

static struct scmp_arg_cmp
seccomp_compare(const struct sandbox_condition *c)
{
	struct scmp_arg_cmp compare = {
		.arg = c->argument,
		.op = SCMP_CMP_EQ,
		.datum_a = c->value,
	};

	switch (c->kind) {
	case SANDBOX_BITS:
		compare.op = SCMP_CMP_MASKED_EQ;
		compare.datum_a = c->mask;
		compare.datum_b = c->value;
		break;
	case SANDBOX_SELF:
		compare.datum_a = (scmp_datum_t)getpid();
		break;
	case SANDBOX_IS:
	case SANDBOX_NO_CONDITION:
		break;
	}
	return compare;
}

/* Returns 0, or a negative errno. */
static int
seccomp_add_call(scmp_filter_ctx filter, const struct sandbox_call *call)
{
	struct scmp_arg_cmp compare[SANDBOX_CONDITIONS_MAX];
	int number = seccomp_syscall_resolve_name(call->name);
	unsigned count = 0;

	/* A call that libseccomp does not know yet is neither made nor
	 * allowed. */
	if (number == __NR_SCMP_ERROR)
		return 0;
	while (count < SANDBOX_CONDITIONS_MAX
		&& call->conditions[count].kind != SANDBOX_NO_CONDITION) {
		compare[count] = seccomp_compare(&call->conditions[count]);
		count++;
	}
	return seccomp_rule_add_array(filter,
		call->verdict == SANDBOX_KILL ? SCMP_ACT_KILL_PROCESS
					      : SCMP_ACT_ALLOW,
		number, count, compare);
}

enum nsd_err
sandbox_seccomp_enter(enum ipc_role role)
{
	/* Calls without a row fail as calls that the kernel does not have. C
	 * libraries are prepared for that; a new library may well try. */
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int rc;

	if (filter == NULL)
		return NSD_E_MEMORY;
	/* Of another machine's numbers nothing good can be meant. */
	rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH,
		SCMP_ACT_KILL_PROCESS);
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE,
			OPTIMIZE_BY_TREE);
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	/* Before Linux 5.16 a filter made loads wait for stores, which is for
	 * programs that run the code of others. */
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
	for (const struct sandbox_call *call = sandbox_calls;
		rc == 0 && call->name != NULL; call++)
		if ((call->roles & role) != 0)
			rc = seccomp_add_call(filter, call);
	if (rc == 0)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	if (rc == 0)
		return NSD_OK;
	errno = -rc;
	return rc == -ENOMEM ? NSD_E_MEMORY : NSD_E_SYSTEM;
}
