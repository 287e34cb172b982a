/* crash.c - crashes that a damaged store may have caused. */
#include "config.h"

#include <event2/event.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "proc/child.h"
#include "proc/crash.h"
#include "proc/supervisor.h"
#include "role/counts.h"

/* The store is looked through after so many crashes in so long, not after each:
 * a look costs the loader some 2 s of processor time for a gigabyte, and the
 * reason of a crash may be a bug that has nothing to do with the store. */
#define CRASHES_MAX 2
#define CRASHES_MSEC (10 * 60 * 1000)
/* The pause between two looks: it doubles each time, up to the longest, and
 * starts anew when there was no look for twice the longest. Crashes that
 * somebody causes at will must not keep the loader busy, and a bug of ours must
 * not have stores filled again and again. */
#define REST_MSEC (60 * 1000)
#define REST_MAX_MSEC (60 * 60 * 1000)
/* The pause while nobody is answered, when a look cannot make things worse. It
 * doubles each time. Only for workers that die without a message has it a
 * longest value: with messages that kill, their sender would set the pace. */
#define REST_ALONE_MSEC 250
#define REST_ALONE_MAX_MSEC 2000
/* Nobody counts as answered if so many workers in a row have died of messages,
 * and before each death all workers together gave fewer answers than this. */
#define IN_VAIN 2
#define ANSWERS_FEW 4
/* A worker counts as serving if it has lived for this long, or for half of the
 * time since the last look. */
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

/* Replaces the loader at once: the new one looks the store through, or fills
 * another one. */
static void
crash_replace_loader(struct supervisor *s, const struct child *crashed)
{
	static const struct timeval at_once = {.tv_sec = 0};
	struct child *loader = s->loader.current;

	if (loader != NULL && loader->generation != crashed->generation)
		return;
	s->loader.failures = 0; /* none of its own */
	if (loader == NULL && s->loader.timer != NULL)
		event_add(s->loader.timer, &at_once);
	else if (loader != NULL && loader != crashed)
		child_kill(loader);
}

/* True if some worker serves and has lived for so long. */
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
	struct counters_book book;
	uint64_t sum = 0;

	for (unsigned i = 0; s->server.counts != NULL && i < s->worker_count;
		i++) {
		counts_get_book(s->server.counts, i, &book);
		for (unsigned r = 0; r < COUNTER_RCODES; r++)
			sum += __atomic_load_n(&book.rows->rcode[r],
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

/* True if nobody is answered and the pause for that case is over. */
static bool
crash_may_look_alone(const struct supervisor *s, struct crashes *c,
	bool has_read, int64_t now)
{
	int64_t since_msec = now - c->looked_msec, lived_msec = since_msec / 2;
	int64_t rest_msec = c->rest_alone_msec;

	if (!has_read && rest_msec > REST_ALONE_MAX_MSEC)
		rest_msec = REST_ALONE_MAX_MSEC;
	if (lived_msec > LIVED_MSEC)
		lived_msec = LIVED_MSEC;
	if (since_msec < rest_msec || crash_is_served(s, now, lived_msec)
		|| (has_read && c->in_vain < IN_VAIN))
		return false;
	c->rest_alone_msec = 2 * rest_msec;
	return true;
}

/* False: the pause after the last look is not over. */
static bool
crash_may_look(const struct supervisor *s, struct crashes *c, bool has_read,
	int64_t now)
{
	int64_t since_msec = now - c->looked_msec;

	if (c->looked_msec != 0 && since_msec < c->rest_msec) {
		if (!crash_may_look_alone(s, c, has_read, now))
			return false;
		c->looked_msec = now;
		return true;
	}
	if (c->looked_msec == 0 || since_msec >= 2 * REST_MAX_MSEC)
		c->rest_msec = REST_MSEC;
	else
		c->rest_msec = c->rest_msec < REST_MAX_MSEC / 2
			? 2 * c->rest_msec
			: REST_MAX_MSEC;
	c->rest_alone_msec = REST_ALONE_MSEC;
	c->looked_msec = now;
	return true;
}

/* Counts a crash. True: the store is to be looked through now. */
static bool
crash_count(struct supervisor *s, const struct child *child, int64_t now)
{
	struct crashes *c = &s->crashes;

	if (c->count == 0 || now - c->first_msec > CRASHES_MSEC) {
		c->count = 0;
		c->first_msec = now;
	}
	c->count++;
	crash_count_answers(s, c);
	return c->count >= CRASHES_MAX
		&& crash_may_look(s, c, child->has_read, now);
}

void
crash_note(struct supervisor *s, const struct child *child, int status)
{
	struct generation *g = child->generation;

	if (!crash_is_one(status) || g->damaged || s->stopping)
		return;
	/* Somebody has cut the file short, or the disk fails. Readers would
	 * crash again and again, and the loader may never read that page. */
	if (WTERMSIG(status) == SIGBUS && g->in_file) {
		log_error("the database cannot be read any more");
		g->damaged = true;
		crash_replace_loader(s, child);
		return;
	}
	/* A store that is being filled replaces this one anyway. */
	if (!child->is_reader || g != s->serving || s->building != NULL
		|| g->suspect || !crash_count(s, child, clock_now_msec()))
		return;
	log_error("%u processes that read the zone store have crashed; the"
		  " store is looked through",
		s->crashes.count);
	g->suspect = true;
	crash_replace_loader(s, child);
}

void
crash_forget(struct supervisor *s)
{
	s->crashes.count = 0;
}
