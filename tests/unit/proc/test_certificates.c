/* test_certificates.c - keys and certificates that main has read anew reach
 * those that serve. */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>

#include "proc/certificates.h"
#include "proc/supervisor.h"
#include "tls/server.h"

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);

static unsigned lacks; /* so often there is no descriptor */
static unsigned asked;

int
__wrap_memfd_create(const char *name, unsigned flags)
{
	asked++;
	if (lacks == 0)
		return __real_memfd_create(name, flags);
	lacks--;
	errno = EMFILE;
	return -1;
}

static struct secrets *
make_texts(void)
{
	struct secrets *texts;

	assert_int_equal(secrets_create(TLS_SERVER_TEXTS, TLS_SERVER_TEXTS,
				 &texts), NSD_OK);
	for (unsigned i = 0; i < TLS_SERVER_TEXTS; i++)
		secrets_add(texts,
			(struct secrets_octets){(const uint8_t *)"x", 1});
	return texts;
}

/* It may pass, and nobody touches the files again. */
static void
workers_are_told_again_if_that_failed(void **state)
{
	static struct conf conf;
	static struct supervisor s = {.server.conf = &conf};

	s.base = event_base_new();
	assert_non_null(s.base);
	assert_int_equal(certificates_init(&s), NSD_OK);
	s.server.tls = make_texts();
	asked = 0;
	lacks = 2;
	assert_true(certificates_take(&s, make_texts()));
	assert_int_equal(asked, 1);
	for (unsigned look = 1; look < 5; look++) {
		event_active(s.certificates.event, EV_TIMEOUT, 0);
		assert_int_equal(event_base_loop(s.base, EVLOOP_NONBLOCK), 0);
		assert_int_equal(asked, look < 2 ? 1 + look : 3);
	}
	secrets_drop(s.server.tls);
	event_free(s.certificates.event);
	event_base_free(s.base);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers_are_told_again_if_that_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
