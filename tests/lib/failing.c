/* failing.c - memory that runs out: which allocation fails. */
#include <stdatomic.h>

#include "lib/failing.h"

static atomic_int fail_at = -1; /* counts down to the one that fails */
static atomic_bool once;        /* and those after it do not */
static atomic_bool has_failed;
static _Thread_local bool spared;

static void
fail(int n, bool only_one)
{
	if (n >= 0)
		atomic_store(&has_failed, false);
	atomic_store(&once, only_one);
	atomic_store(&fail_at, n);
}

void
failing_from(int n)
{
	fail(n, false);
}

void
failing_once(int n)
{
	fail(n, true);
}

bool
failing_has_failed(void)
{
	return atomic_load(&has_failed);
}

void
failing_spare(bool spares)
{
	spared = spares;
}

bool
failing_now(void)
{
	if (spared || atomic_load(&fail_at) < 0)
		return false;
	if ((once || atomic_load(&fail_at) > 0)
		&& atomic_fetch_sub(&fail_at, 1) != 0)
		return false;
	atomic_store(&has_failed, true);
	return true;
}
