/* crash.c - crashes that a damaged store may have caused. */
#include "config.h"

#include <assert.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "main/child.h"
#include "main/crash.h"
#include "main/generation.h"
#include "main/supervisor.h"
#include "process/counts.h"

/* A store is filled after this many crashes in this time, not after each:
 * filling costs as much as a start, and a crash may be due to a bug that has
 * nothing to do with the store. */
#define CRASHES_MAX 2
#define CRASHES_MSEC (10 * 60 * 1000)
/* The pause from the end of one filling to the next: it doubles each time, up
 * to the longest, and starts anew when no store was filled for twice the
 * longest. No pause is shorter than the filling was. Crashes that an attacker
 * causes must not keep the loader busy. */
#define REST_MSEC (60 * 1000)
#define REST_MAX_MSEC (60 * 60 * 1000)
/* The pause while no client is answered, when another store cannot make things
 * worse. It doubles each time, too. */
#define REST_ALONE_MSEC 250
/* No client counts as answered if this many readers in a row have crashed, all
 * workers together gave fewer answers than this before each crash, and no
 * worker has lived for this long, or for half of the time since the last
 * filling. */
#define IN_VAIN 2
#define ANSWERS_FEW 4
#define LIVED_MSEC 5000

bool
crash_is_one(int status)
{
	if (!WIFSIGNALED(status))
		return false;
	switch (WTERMSIG(status)) {
	case SIGBUS:
	case SIGSEGV:
	case SIGABRT: /* an assert */
	case SIGILL:
	case SIGFPE:
		return true;
	default:
		return false;
	}
}

/* True if some worker serves and has lived for this long. */
static bool
crash_is_served(const struct supervisor *s, int64_t now, int64_t lived_msec)
{
	for (unsigned i = 0; i < s->worker_count; i++) {
		const struct child *worker = s->workers[i].current;

		if (worker != NULL && worker->serving
			&& now - worker->started_msec >= lived_msec)
			return true;
	}
	return false;
}

/* The number of answers of all workers so far, dead ones included. */
static uint64_t
crash_sum_answers(const struct supervisor *s)
{
	struct counters_block block;
	uint64_t sum = 0;

	for (unsigned i = 0; s->server.counts != NULL && i < s->worker_count;
		i++) {
		counts_get_block(s->server.counts, i, &block);
		for (unsigned r = 0; r < COUNTER_RCODES; r++)
			sum += __atomic_load_n(&block.rows->rcode[r],
				__ATOMIC_RELAXED);
	}
	return sum;
}

static void
crash_count_answers(const struct supervisor *s, struct crashes *c)
{
	uint64_t answers = crash_sum_answers(s);

	c->in_vain = answers - c->answers < ANSWERS_FEW ? c->in_vain + 1 : 0;
	c->answers = answers;
}

static bool
crash_is_in_vain(const struct supervisor *s, int64_t now)
{
	int64_t lived_msec = (now - s->fill_ended_msec) / 2;

	if (lived_msec > LIVED_MSEC)
		lived_msec = LIVED_MSEC;
	return s->crashes.in_vain >= IN_VAIN
		&& !crash_is_served(s, now, lived_msec);
}

static int64_t
crash_double(int64_t rest_msec)
{
	return rest_msec < REST_MAX_MSEC / 2 ? 2 * rest_msec : REST_MAX_MSEC;
}

/* True if the pause after the last filling is over; sets the next. */
static bool
crash_may_fill(const struct supervisor *s, struct crashes *c, int64_t now)
{
	int64_t since_msec = now - s->fill_ended_msec;
	int64_t took_msec = s->fill_ended_msec - s->fill_begun_msec;

	if (s->fill_ended_msec == 0 || c->rest_msec == 0
		|| since_msec >= 2 * REST_MAX_MSEC) {
		c->rest_msec = REST_MSEC;
		c->rest_alone_msec = REST_ALONE_MSEC;
		return true;
	}
	if (since_msec < took_msec)
		return false;
	if (since_msec >= c->rest_msec) {
		c->rest_msec = crash_double(c->rest_msec);
		return true;
	}
	if (since_msec < c->rest_alone_msec || !crash_is_in_vain(s, now))
		return false;
	c->rest_alone_msec = crash_double(c->rest_alone_msec);
	return true;
}

/* Counts a crash. True: another store is to be filled now. */
static bool
crash_count(struct supervisor *s, int64_t now)
{
	struct crashes *c = &s->crashes;

	assert(s->serving != NULL && !s->serving->yields);
	if (c->count == 0 || now - c->first_msec > CRASHES_MSEC) {
		c->count = 0;
		c->first_msec = now;
	}
	c->count++;
	crash_count_answers(s, c);
	return c->count >= CRASHES_MAX && crash_may_fill(s, c, now);
}

void
crash_note(struct supervisor *s, const struct child *child, int status)
{
	struct generation *g = child->generation;
	int64_t now = clock_now_msec();

	assert(child->reaped);
	if (!crash_is_one(status) || g == NULL || g->damaged || s->stopping)
		return;
	/* SIGBUS on a database means that its file was cut short, or that the
	 * disk fails. Readers would crash again and again, and the loader may
	 * never read that page. */
	if (WTERMSIG(status) == SIGBUS && g == s->in_file) {
		log_error("the database cannot be read any more");
		g->damaged = true;
		generation_replace_loader(s, g);
		return;
	}
	/* A store that is being filled replaces this one anyway. */
	if (!child->is_reader || g != s->serving || s->building != NULL
		|| g->yields || !crash_count(s, now))
		return;
	log_error("%u processes that read the zone store have crashed",
		s->crashes.count);
	s->crashes.count = 0;
	generation_yield(s, g, "readers of this one have crashed");
}
