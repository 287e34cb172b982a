/* descriptors.h - a process without descriptors, for tests. */
#ifndef TESTS_LIB_DESCRIPTORS_H
#define TESTS_LIB_DESCRIPTORS_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#define DESCRIPTORS_MAX 256u /* more than a test has open by then */

struct descriptors {
	struct rlimit before;
	int held[DESCRIPTORS_MAX];
	size_t count;
};

/* Takes all that are left, of DESCRIPTORS_MAX. */
static inline void
descriptors_take(struct descriptors *d)
{
	struct rlimit small;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &d->before), 0);
	small = d->before;
	small.rlim_cur = DESCRIPTORS_MAX;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
	for (d->count = 0; d->count < DESCRIPTORS_MAX; d->count++) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		if (fd == -1)
			break;
		d->held[d->count] = fd;
	}
	assert_in_range(d->count, 1, DESCRIPTORS_MAX - 1);
}

static inline void
descriptors_give_one(struct descriptors *d)
{
	assert_true(d->count > 0);
	close(d->held[--d->count]);
}

static inline void
descriptors_give_all(struct descriptors *d)
{
	while (d->count > 0)
		descriptors_give_one(d);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &d->before), 0);
}

#endif
