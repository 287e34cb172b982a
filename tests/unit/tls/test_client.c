/* test_client.c - connections to servers over TLS: one that cannot be made is
 * freed once. */
#include "config.h"

#include <event2/event.h>
#include <openssl/ssl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "tls/client.h"

static bool fails;     /* libevent gets no memory */
static unsigned freed; /* OpenSSL's states of connections */

static void *
give_memory(size_t size)
{
	return fails ? NULL : malloc(size);
}

static void *
give_more_memory(void *old, size_t size)
{
	return fails ? NULL : realloc(old, size);
}

static void
count_freed(void *parent, void *ptr, CRYPTO_EX_DATA *ad, int index, long argl,
	void *argp)
{
	freed++;
}

/* Opens a connection, which fails. The socket is the caller's then. */
static void
open_none(const char *domain)
{
	const struct tls_client_options options = {
		.name = "a",
		.domain = domain,
		.not_dns = true,
	};
	struct diag_sink sink = {.on_diag = NULL};
	struct event_base *base = event_base_new();
	struct tls_client *client;
	int fds[2];

	assert_non_null(base);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(tls_client_create(&options, &sink, &client), NSD_OK);
	freed = 0;
	fails = domain == NULL;
	assert_null(tls_client_open(client, base, fds[0]));
	fails = false;
	assert_int_equal(freed, 1);
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(close(fds[1]), 0);
	tls_client_destroy(client);
	event_base_free(base);
}

static void
connection_without_memory_is_freed_once(void **state)
{
	open_none(NULL);
}

/* OpenSSL takes no name of more than 255 octets. */
static void
connection_to_a_long_name_is_freed_once(void **state)
{
	char domain[301];

	memset(domain, 'a', sizeof(domain) - 1);
	domain[sizeof(domain) - 1] = '\0';
	open_none(domain);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connection_without_memory_is_freed_once),
		cmocka_unit_test(connection_to_a_long_name_is_freed_once),
	};

	event_set_mem_functions(give_memory, give_more_memory, free);
	if (SSL_get_ex_new_index(0, NULL, NULL, NULL, count_freed) == -1)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
