/* test_pool.c - which connection a question goes on, and which leave theirs. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "xfr/pool.h"

#define CONNS 40u
#define QUESTIONS 300u

struct world {
	struct xfr_pool pool;
	struct xfr_pool_server servers[2];
	struct xfr_pool_conn conns[CONNS];
	unsigned conn_count; /* opened so far */
	struct xfr_pool_question questions[QUESTIONS];
	int64_t now;
};

static void
begin(struct world *w, unsigned conns_max, unsigned per_conn)
{
	*w = (struct world){.pool = {.conns_max = conns_max,
		.per_conn = per_conn}, .now = 1000};
	xfr_pool_init(&w->pool);
	for (unsigned i = 0; i < 2; i++)
		xfr_pool_server_init(&w->servers[i]);
	for (unsigned i = 0; i < QUESTIONS; i++)
		w->questions[i].is_urgent = true;
}

static enum xfr_pool_place
find(struct world *w, unsigned server, unsigned question,
	struct xfr_pool_conn **conn)
{
	*conn = NULL;
	return xfr_pool_find(&w->pool, &w->servers[server],
		&w->questions[question], w->now, conn);
}

/* The connection that a question goes on, opened at once; NULL: it waits. */
static struct xfr_pool_conn *
ask(struct world *w, unsigned server, unsigned question)
{
	struct xfr_pool_conn *conn;

	switch (find(w, server, question, &conn)) {
	case XFR_POOL_WAIT:
		return NULL;
	case XFR_POOL_OPEN:
		assert_true(w->conn_count < CONNS);
		conn = &w->conns[w->conn_count++];
		xfr_pool_add(&w->pool, &w->servers[server], conn, w->now);
		xfr_pool_on_open(conn, w->now);
		break;
	case XFR_POOL_END:
		fail();
	case XFR_POOL_JOIN:
		break;
	}
	xfr_pool_join(conn, &w->questions[question], w->now);
	return conn;
}

/* Looks at all until nothing is due. */
static void
pass(struct world *w, int64_t msec)
{
	w->now += msec;
	for (unsigned i = 0; i < w->conn_count; i++)
		if (w->conns[i].open > 0)
			xfr_pool_look(&w->conns[i], w->now);
}

static void
hear(struct world *w, unsigned question, size_t len)
{
	xfr_pool_on_message(w->questions[question].conn,
		&w->questions[question], len, w->now);
}

static void
first_questions_have_connections_of_their_own(void **state)
{
	struct world w;

	begin(&w, 128, 128);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(ask(&w, 0, i)->open, 1);
	/* Further questions go on the connection with the fewest. */
	for (unsigned i = 8; i < 16; i++)
		assert_int_equal(ask(&w, 0, i)->open, 2);
	assert_int_equal(w.conn_count, 8);
	/* An idle connection is used before another is opened. */
	hear(&w, 3, 100);
	xfr_pool_leave(&w.questions[3], false, w.now);
	xfr_pool_leave(&w.questions[11], false, w.now);
	assert_ptr_equal(ask(&w, 0, 20), &w.conns[3]);
}

static void
question_leaves_a_connection_that_is_held_up(void **state)
{
	struct world w;
	struct xfr_pool_question *mover;

	begin(&w, 128, 128);
	for (unsigned i = 0; i < 24; i++)
		ask(&w, 0, i);
	hear(&w, 0, 50);
	pass(&w, XFR_POOL_HELD_MSEC - 1);
	assert_null(xfr_pool_find_mover(&w.conns[0], w.now));
	pass(&w, 1);
	/* The questions behind the first one leave, in their order. */
	mover = xfr_pool_find_mover(&w.conns[0], w.now);
	assert_ptr_equal(mover, &w.questions[8]);
	xfr_pool_leave(mover, true, w.now);
	mover = xfr_pool_find_mover(&w.conns[0], w.now);
	assert_ptr_equal(mover, &w.questions[16]);
	xfr_pool_leave(mover, true, w.now);
	assert_null(xfr_pool_find_mover(&w.conns[0], w.now));
	/* A connection without any answer yet is the same. */
	assert_ptr_equal(xfr_pool_find_mover(&w.conns[1], w.now),
		&w.questions[9]);
	/* The questions go to connections that are not held up. */
	assert_ptr_equal(ask(&w, 0, 8), &w.conns[8]);
	assert_ptr_equal(ask(&w, 0, 16), &w.conns[9]);
}

static void
late_timer_is_no_fault_of_a_connection(void **state)
{
	struct world w;
	int64_t msec;

	begin(&w, 1, 128);
	ask(&w, 0, 0);
	ask(&w, 0, 1);
	pass(&w, 0);
	w.now += 10 * XFR_POOL_HELD_MSEC;
	msec = xfr_pool_look(&w.conns[0], w.now);
	assert_null(xfr_pool_find_mover(&w.conns[0], w.now));
	/* A late timer counts the second time: a machine may always be late. */
	w.now += msec + 10 * XFR_POOL_HELD_MSEC;
	xfr_pool_look(&w.conns[0], w.now);
	assert_non_null(xfr_pool_find_mover(&w.conns[0], w.now));
}

static void
what_we_do_not_read_is_not_held_up(void **state)
{
	struct world w;

	begin(&w, 1, 128);
	ask(&w, 0, 0);
	ask(&w, 0, 1);
	xfr_pool_pause(&w.pool, true, w.now);
	for (unsigned i = 0; i < 10; i++)
		pass(&w, XFR_POOL_HELD_MSEC);
	assert_null(xfr_pool_find_mover(&w.conns[0], w.now));
	xfr_pool_pause(&w.pool, false, w.now);
	pass(&w, XFR_POOL_HELD_MSEC - 1);
	assert_null(xfr_pool_find_mover(&w.conns[0], w.now));
}

static void
server_leaves_places_to_others(void **state)
{
	struct world w;
	unsigned count = 0;

	begin(&w, 16, 1);
	for (unsigned i = 0; i < 40; i++)
		count += ask(&w, 0, i) != NULL;
	assert_int_equal(count, 14);
	assert_non_null(ask(&w, 1, 50));
	assert_non_null(ask(&w, 1, 51));
	assert_null(ask(&w, 1, 52));
}

static void
slowest_is_given_up_for_those_that_wait(void **state)
{
	struct world w;
	struct xfr_pool_conn *conn;

	begin(&w, 3, 1);
	for (unsigned i = 0; i < 3; i++)
		ask(&w, i == 2, i);
	hear(&w, 0, 100000);
	hear(&w, 1, 300);
	hear(&w, 2, 200);
	for (unsigned i = 0; i < XFR_POOL_SLOW_MSEC / 100 - 1; i++)
		pass(&w, 100);
	assert_int_equal(find(&w, 0, 5, &conn), XFR_POOL_WAIT);
	for (unsigned i = 0; i < 10; i++) {
		pass(&w, 100);
		for (unsigned j = 0; j < 2; j++)
			hear(&w, j, j == 0 ? 100000 : 10);
	}
	assert_int_equal(find(&w, 0, 5, &conn), XFR_POOL_END);
	assert_ptr_equal(conn, &w.conns[2]);
	/* A question that has failed before ends no other transfer. */
	w.questions[5].is_urgent = false;
	assert_int_equal(find(&w, 0, 5, &conn), XFR_POOL_WAIT);
}

/* The server works, and accepts fewer connections than before. */
static void
question_of_one_that_was_not_taken_is_asked_again(void **state)
{
	for (unsigned heard = 0; heard < 2; heard++) {
		struct world w;
		bool again;

		begin(&w, 128, 128);
		ask(&w, 0, 0);
		xfr_pool_add(&w.pool, &w.servers[0], &w.conns[1], w.now);
		xfr_pool_join(&w.conns[1], &w.questions[1], w.now);
		w.now++;
		if (heard)
			hear(&w, 0, 100);
		xfr_pool_leave(&w.questions[0], false, w.now);
		xfr_pool_remove(&w.conns[0]);
		assert_ptr_equal(xfr_pool_end(&w.conns[1], w.now, &again),
			&w.questions[1]);
		assert_int_equal(again, heard);
	}
}

/* The first one is to blame, if the connection has answered nothing. */
static void
questions_of_a_connection_that_ends_are_asked_again(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		struct world w;
		bool again;

		begin(&w, 1, 128);
		for (unsigned j = 0; j < 4; j++)
			ask(&w, 0, j);
		if (i == 1) {
			hear(&w, 0, 100);
			xfr_pool_leave(&w.questions[0], false, w.now);
		}
		for (unsigned j = i; j < 4; j++) {
			assert_ptr_equal(xfr_pool_end(&w.conns[0], w.now,
				&again), &w.questions[j]);
			assert_int_equal(again, j > 0);
			assert_int_equal(w.questions[j].past.is_repeated,
				i == 1 && j == 1);
		}
		assert_null(xfr_pool_end(&w.conns[0], w.now, &again));
		xfr_pool_remove(&w.conns[0]);
		if (i == 0)
			continue;
		/* Once. */
		ask(&w, 0, 5);
		hear(&w, 5, 100);
		xfr_pool_leave(&w.questions[5], false, w.now);
		w.questions[1].past.is_repeated = true;
		xfr_pool_join(&w.conns[1], &w.questions[1], w.now);
		assert_ptr_equal(xfr_pool_end(&w.conns[1], w.now, &again),
			&w.questions[1]);
		assert_false(again);
	}
}

static void
dead_connection_is_left_by_its_first_question_too(void **state)
{
	struct world w;

	begin(&w, 1, 128);
	ask(&w, 0, 0);
	hear(&w, 0, 100);
	xfr_pool_leave(&w.questions[0], false, w.now);
	ask(&w, 0, 1);
	for (unsigned i = 0; i < 49; i++)
		pass(&w, 100);
	assert_null(xfr_pool_find_mover(&w.conns[0], w.now));
	pass(&w, 100);
	assert_ptr_equal(xfr_pool_find_mover(&w.conns[0], w.now),
		&w.questions[1]);
	assert_true(w.questions[1].past.is_repeated);
}

/* The server's thread for a connection may be busy with a large zone. */
static void
first_question_leaves_a_silent_connection_if_others_are_heard(void **state)
{
	struct world w;
	int64_t pause = 2 * XFR_POOL_HELD_MSEC;

	begin(&w, 128, 128);
	ask(&w, 0, 0);
	ask(&w, 0, 1);
	pass(&w, 10 * pause);
	assert_null(xfr_pool_find_mover(&w.conns[1], w.now));
	for (unsigned i = 1; i <= 4; i++, pause *= 2) {
		pass(&w, 1);
		hear(&w, 0, 50);
		if (i == 1) {
			assert_ptr_equal(xfr_pool_find_mover(&w.conns[1],
				w.now), &w.questions[1]);
		} else {
			pass(&w, pause - 2);
			assert_null(xfr_pool_find_mover(&w.conns[i], w.now));
			pass(&w, 1);
			assert_ptr_equal(xfr_pool_find_mover(&w.conns[i],
				w.now), &w.questions[1]);
		}
		xfr_pool_leave(&w.questions[1], true, w.now);
		xfr_pool_wear(&w.conns[i]);
		assert_ptr_equal(ask(&w, 0, 1), &w.conns[i + 1]);
	}
	/* The server may never answer it. */
	pass(&w, 1);
	hear(&w, 0, 50);
	pass(&w, 10 * pause);
	assert_null(xfr_pool_find_mover(&w.conns[5], w.now));
}

/* A server that takes some connections, and no more. */
static void
connection_that_is_not_taken_is_left(void **state)
{
	struct xfr_pool_conn *conn;
	struct world w;
	bool again;

	for (unsigned i = 0; i < 2; i++) {
		begin(&w, 128, 128);
		ask(&w, 0, 0);
		assert_int_equal(find(&w, 0, 1, &conn), XFR_POOL_OPEN);
		conn = &w.conns[w.conn_count++];
		xfr_pool_add(&w.pool, &w.servers[0], conn, w.now);
		xfr_pool_join(conn, &w.questions[1], w.now);
		if (i == 0) { /* refused */
			assert_ptr_equal(xfr_pool_end(conn, w.now, &again),
				&w.questions[1]);
			assert_true(again);
		} else {
			for (unsigned j = 0; j < 25; j++)
				pass(&w, 100);
			assert_ptr_equal(xfr_pool_find_mover(conn, w.now),
				&w.questions[1]);
			xfr_pool_leave(&w.questions[1], true, w.now);
			xfr_pool_wear(conn);
			hear(&w, 0, 100);
			xfr_pool_leave(&w.questions[0], false, w.now);
		}
		xfr_pool_remove(conn);
		assert_ptr_equal(ask(&w, 0, 1), &w.conns[0]);
		assert_ptr_equal(ask(&w, 0, 2), &w.conns[0]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_questions_have_connections_of_their_own),
		cmocka_unit_test(question_leaves_a_connection_that_is_held_up),
		cmocka_unit_test(late_timer_is_no_fault_of_a_connection),
		cmocka_unit_test(what_we_do_not_read_is_not_held_up),
		cmocka_unit_test(server_leaves_places_to_others),
		cmocka_unit_test(slowest_is_given_up_for_those_that_wait),
		cmocka_unit_test(
			questions_of_a_connection_that_ends_are_asked_again),
		cmocka_unit_test(
			question_of_one_that_was_not_taken_is_asked_again),
		cmocka_unit_test(
			dead_connection_is_left_by_its_first_question_too),
		cmocka_unit_test(
			first_question_leaves_a_silent_connection_if_others_are_heard),
		cmocka_unit_test(connection_that_is_not_taken_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
