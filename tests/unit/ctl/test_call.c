/* test_call.c - a connection of the control channel for which there is no
 * memory: it is closed, and freed once. */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <openssl/ssl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/inside.h"
#include "lib/tls_identity.h"

static int left = -1;  /* allocations that libevent still gets; -1: all */
static unsigned freed; /* OpenSSL's states of connections */

static bool
is_left(void)
{
	if (left > 0)
		left--;
	else if (left == 0)
		return false;
	return true;
}

static void *
give_memory(size_t size)
{
	return is_left() ? malloc(size) : NULL;
}

static void *
give_more_memory(void *old, size_t size)
{
	return is_left() ? realloc(old, size) : NULL;
}

static void
count_freed(void *parent, void *ptr, CRYPTO_EX_DATA *ad, int index, long argl,
	void *argp)
{
	freed++;
}

static void
connection_without_memory_is_freed_once(void **state)
{
	static struct tls_identity identity;
	const struct sockaddr_storage peer = {.ss_family = AF_UNIX};
	struct diag_sink sink = {.on_diag = NULL};
	struct ctl_channel channel = {.options.base = event_base_new()};
	struct ctl_listener listener = {.channel = &channel};
	int fds[2];

	assert_non_null(channel.options.base);
	tls_identity_make(&identity, "nsd");
	assert_int_equal(ctl_tls_create_server(
		(struct tls_text){identity.key, identity.key_len},
		(struct tls_text){identity.cert, identity.cert_len}, &sink,
		&listener.tls), NSD_OK);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	freed = 0;
	left = 2; /* a connection has two events */
	assert_false(call_open(&listener, fds[0], &peer));
	assert_int_equal(left, 0);
	left = -1;
	assert_int_equal(freed, 1);
	assert_int_equal(close(fds[0]), -1);
	assert_int_equal(errno, EBADF);
	close(fds[1]);
	ctl_tls_destroy(listener.tls);
	event_base_free(channel.options.base);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connection_without_memory_is_freed_once),
	};

	event_set_mem_functions(give_memory, give_more_memory, free);
	if (SSL_get_ex_new_index(0, NULL, NULL, NULL, count_freed) == -1)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
