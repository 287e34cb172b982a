/* test_acceptor.c - connections that come while there are no descriptors, or
 * while there is no room (faults 42). */
#include "config.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <event2/event.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "ctl/acceptor.h"
#include "lib/descriptors.h"

#define CLIENTS 3u
#define PATIENCE_MSEC 60000
#define WATCH_MSEC 350

struct world {
	struct event_base *base;
	struct acceptor *acceptor;
	int listener, clients[CLIENTS], taken[CLIENTS];
	unsigned count, asked; /* connections taken; how often for room */
	bool has_room;
};

static bool
has_room(void *ctx)
{
	struct world *w = ctx;

	w->asked++;
	return w->has_room;
}

static bool
on_conn(void *ctx, int fd, const struct sockaddr_storage *peer)
{
	struct world *w = ctx;

	assert_in_range(w->count, 0, CLIENTS - 1);
	assert_int_equal(peer->ss_family, AF_INET);
	w->taken[w->count++] = fd;
	return true;
}

/* Three connections wait at the socket. */
static void
begin(struct world *w)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *where = (struct sockaddr *)&address;
	socklen_t len = sizeof(address);
	const struct acceptor_hooks hooks = { .ctx = w, .has_room = has_room,
		.on_conn = on_conn };

	*w = (struct world){ .base = event_base_new(), .has_room = true };
	w->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(w->listener, where, len), 0);
	assert_int_equal(listen(w->listener, 16), 0);
	assert_int_equal(getsockname(w->listener, where, &len), 0);
	for (unsigned i = 0; i < CLIENTS; i++) {
		w->clients[i] = socket(AF_INET, SOCK_STREAM, 0);
		assert_int_equal(connect(w->clients[i], where, len), 0);
	}
	assert_int_equal(acceptor_open(w->base, w->listener, &hooks,
		&w->acceptor), NSD_OK);
}

static void
end(struct world *w)
{
	acceptor_close(w->acceptor);
	for (unsigned i = 0; i < w->count; i++)
		close(w->taken[i]);
	for (unsigned i = 0; i < CLIENTS; i++)
		close(w->clients[i]);
	close(w->listener);
	event_base_free(w->base);
}

/* Runs the loop for so long; how often it woke up. */
static unsigned
watch(struct world *w, unsigned msec)
{
	int64_t over = clock_now_msec() + msec;
	unsigned turns = 0;

	while (clock_now_msec() < over) {
		const struct timeval step = { .tv_usec = 10000 };

		event_base_loopexit(w->base, &step);
		turns += event_base_loop(w->base, EVLOOP_ONCE) == 0;
	}
	return turns;
}

static void
wait_for_all(struct world *w)
{
	int64_t over = clock_now_msec() + PATIENCE_MSEC;

	while (w->count < CLIENTS) {
		assert_true(clock_now_msec() < over);
		(void)watch(w, 10);
	}
}

/* Without descriptors the listener is tried now and then, not in a busy loop,
 * and accepts again by itself. */
static void
acceptor_waits_for_descriptors(void **state)
{
	struct descriptors descriptors;
	struct world w;

	begin(&w);
	descriptors_take(&descriptors);
	(void)watch(&w, WATCH_MSEC);
	assert_int_equal(w.count, 0);
	assert_in_range(w.asked, 1, WATCH_MSEC / 50);
	/* Room for one. */
	descriptors_give_one(&descriptors);
	(void)watch(&w, WATCH_MSEC);
	assert_int_equal(w.count, 1);
	descriptors_give_all(&descriptors);
	wait_for_all(&w);
	end(&w);
}

static void
acceptor_waits_for_room(void **state)
{
	struct world w;

	begin(&w);
	w.has_room = false;
	(void)watch(&w, WATCH_MSEC);
	assert_int_equal(w.count, 0);
	assert_in_range(w.asked, 1, WATCH_MSEC / 50);
	w.has_room = true;
	wait_for_all(&w);
	end(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acceptor_waits_for_descriptors),
		cmocka_unit_test(acceptor_waits_for_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
