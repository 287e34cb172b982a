/* fake_clock.h - time that a test lets pass, for a whole program: libevent's,
 * too. Only the time that a processor has worked for is real. */
#ifndef TESTS_LIB_FAKE_CLOCK_H
#define TESTS_LIB_FAKE_CLOCK_H

#include <stdint.h>

/* Since some moment. */
extern int64_t fake_clock_msec;

#endif
