/*
 * replay.c - sends the queries of a capture, or of a list, to a server again:
 * at the times of the capture, or at a rate. A share of them is asked once more
 * over TCP right after the answer over UDP, as a resolver does after TC. Prints
 * one line of JSON: answers, losses, how long answers took, and what the
 * processes of the server used meanwhile, in all and by interval.
 *
 *	replay [options] PORT FILE
 *	  -a ADDRESS    the server (127.0.0.1); one of IPv4 and one of IPv6 get
 *	                the queries of their family
 *	  -r RATE       queries a second on average; a list needs it, and has
 *	                even gaps
 *	  -x FACTOR     how many times faster than captured (1)
 *	  -n COUNT      queries at most    -t SEC   seconds at most
 *	  -l            starts again at the end of the file; needs -n or -t
 *	  -s PERCENT    share of UDP's queries that is asked again over TCP (0)
 *	  -C            queries with a truncated answer are asked again, too
 *	  -T            all over TCP, at once
 *	  -k N          N connections that stay, in place of one each
 *	  -o N          connections at a time, at most (16384)
 *	  -c N          UDP sockets: ports (16); a client keeps to one
 *	  -f ADDRESS/N  N local addresses of IPv4, each 256 after the last;
 *	                0: as the system chooses. Without it 127.1.0.1/64 if
 *	                the server is on loopback, else 0
 *	  -w MSEC       how long an answer is waited for (5000)
 *	  -i SEC        length of the intervals (30)
 *	  -p PID,...    processes of the server
 *	  -P PORT       port of the queries in the capture (53)
 *	  -d            queries of a list: EDNS of 1232 octets, and DO
 *
 * A capture is pcap: "tcpdump -r A -w B" makes it of pcapng, and "tcpdump -i
 * any" needs "-y LINUX_SLL". Its queries over TCP are asked over TCP. A reply
 * counts if its id is under way, it has the QR bit and the question is the one
 * that was asked.
 */
#include "config.h"

#include <arpa/inet.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "replay.h"

#define SEC_NS 1000000000ull
/* Queries that are sent before replies are looked for. */
#define BURST_MAX 64
/* Shorter waits poll, and set no timer. */
#define SPIN_NS 30000
#define SWEEP_NS 50000000ull

/* The progress of a run. */
struct pace {
	uint64_t start_ns;
	uint64_t next;      /* number of the next query */
	double step;        /* of a list: nanoseconds from one to the next */
	double scale;       /* of a capture: real time for its time */
	double lap_ns;      /* of the whole input */
	double share_sum;   /* of queries so far, less those asked again */
	uint64_t note_ns, sweep_ns;
	int timer;
};

static struct replay replay = { .options = {
	.factor = 1, .sockets = 16, .open_max = 16384,
	.timeout_ns = 5 * SEC_NS, .interval_ns = 30 * SEC_NS,
	.captured_port = 53, .from_count = 64 } };

/* ---- shared by the parts */

uint64_t
replay_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SEC_NS + (uint64_t)now.tv_nsec;
}

void
replay_watch(struct replay *r, int fd, struct replay_source *source,
	uint32_t events)
{
	struct epoll_event event = { .events = events,
		.data = { .ptr = source } };

	if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		err(1, "epoll_ctl");
}

const struct sockaddr_storage *
replay_server(const struct replay *r, const struct replay_query *q)
{
	const struct sockaddr_storage *server = r->options.server;

	return &server[server[q->ip6].ss_family != 0 ? q->ip6 : !q->ip6];
}

void
replay_bind(const struct replay *r, int fd, int family, uint32_t number)
{
	const struct replay_options *o = &r->options;
	struct sockaddr_in from = { .sin_family = AF_INET };
	int on = 1;

	if (family != AF_INET || o->from_count == 0)
		return;
	from.sin_addr.s_addr = htonl(ntohl(o->from.s_addr)
		+ number % o->from_count * 256);
	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&from, sizeof(from)) != 0)
		err(1, "%s", inet_ntoa(from.sin_addr));
}

bool
replay_check(struct replay *r, uint32_t query, const uint8_t *reply,
	size_t len)
{
	const struct replay_query *q = &r->in.queries[query];
	const uint8_t *message = r->in.octets + q->at;

	if (len < 12u + q->question_len || (reply[2] & 0x80) == 0
	    || memcmp(reply + 12, message + 12, q->question_len) != 0)
		return false;
	r->counts.rcodes[reply[3] & 15]++;
	r->counts.truncated += reply[2] >> 1 & 1;
	return true;
}

/* ---- the run */

static bool
is_over(const struct replay *r, const struct pace *p, uint64_t now)
{
	const struct replay_options *o = &r->options;

	return (!o->loops && p->next == r->in.count)
		|| (o->count != 0 && p->next == o->count)
		|| (o->seconds > 0
			&& (double)(now - p->start_ns) >= o->seconds * 1e9);
}

/* When the next query is due. */
static uint64_t
due_ns(const struct replay *r, const struct pace *p)
{
	uint64_t lap = p->next / r->in.count;
	const struct replay_query *q = &r->in.queries[p->next % r->in.count];

	if (!r->in.timed)
		return p->start_ns + (uint64_t)((double)p->next * p->step);
	return p->start_ns + (uint64_t)(((double)lap * p->lap_ns
		+ (double)q->ns) * p->scale);
}

/* True for the share of the queries, spread evenly: so the count is exact. */
static bool
is_asked_again(const struct replay *r, struct pace *p)
{
	p->share_sum += r->options.share;
	if (p->share_sum < 1 - 1e-9)
		return false;
	p->share_sum -= 1;
	return true;
}

static void
send_next(struct replay *r, struct pace *p)
{
	uint32_t query = (uint32_t)(p->next++ % r->in.count);

	if (r->options.only_tcp || r->in.queries[query].tcp)
		tcp_ask(r, query, 0);
	else
		udp_send(r, query, is_asked_again(r, p));
}

/* Sends the queries that are due. Returns when the next one is. */
static uint64_t
send_due(struct replay *r, struct pace *p)
{
	uint64_t now = replay_now_ns(), due;

	for (int i = 0; i < BURST_MAX && !is_over(r, p, now); i++) {
		due = due_ns(r, p);
		if (due > now)
			return due;
		histogram_add(&r->late, now - due);
		send_next(r, p);
	}
	return now;
}

static void
wait_until(const struct replay *r, const struct pace *p, uint64_t due)
{
	uint64_t now = replay_now_ns();
	struct epoll_event events[256];
	struct itimerspec when = { .it_value = {
		.tv_sec = (time_t)(due / SEC_NS),
		.tv_nsec = (long)(due % SEC_NS) } };
	bool rests = due > now + SPIN_NS;
	int count;

	if (rests)
		timerfd_settime(p->timer, TFD_TIMER_ABSTIME, &when, NULL);
	count = epoll_wait(r->epoll, events, 256, rests ? -1 : 0);
	for (int i = 0; i < count; i++) {
		struct replay_source *source = events[i].data.ptr;

		source->on_ready(source, events[i].events);
	}
	tcp_recycle();
}

static void
sweep(struct replay *r, struct pace *p, uint64_t now)
{
	uint64_t before = now - r->options.timeout_ns;

	if (now >= p->note_ns) {
		report_note(r, (double)(now - p->start_ns) / 1e9);
		p->note_ns += r->options.interval_ns;
	}
	if (now < p->sweep_ns)
		return;
	udp_expire(r, before);
	tcp_expire(r, before);
	p->sweep_ns = now + SWEEP_NS;
}

static uint64_t
earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void
run_all(struct replay *r, struct pace *p)
{
	uint64_t due, now;

	p->start_ns = p->sweep_ns = replay_now_ns();
	p->note_ns = p->start_ns + r->options.interval_ns;
	report_note(r, 0);
	for (;;) {
		due = send_due(r, p);
		now = replay_now_ns();
		if (is_over(r, p, now)) {
			if (r->pending == 0)
				break;
			due = UINT64_MAX;
		}
		wait_until(r, p, earliest(due, earliest(p->note_ns,
			p->sweep_ns)));
		sweep(r, p, replay_now_ns());
	}
	report_note(r, (double)(replay_now_ns() - p->start_ns) / 1e9);
}

static void
on_timer(struct replay_source *source, uint32_t events)
{
	(void)source;
	(void)events;
}

static void
pace_init(struct replay *r, struct pace *p)
{
	static struct replay_source timer = { .on_ready = on_timer };
	const struct replay_options *o = &r->options;
	double mean;

	memset(p, 0, sizeof(*p));
	if (!r->in.timed && o->rate <= 0)
		errx(1, "a list needs a rate");
	p->step = o->rate > 0 ? 1e9 / o->rate : 0;
	/* A lap ends a mean gap after its last query. */
	mean = r->in.count < 2 ? 1e9 : (double)r->in.queries[
		r->in.count - 1].ns / (double)(r->in.count - 1);
	p->lap_ns = mean * (double)r->in.count;
	/* Packets of one time have a rate like a list. */
	if (mean <= 0 && o->rate > 0)
		r->in.timed = false;
	p->scale = o->rate > 0 && mean > 0 ? p->step / mean : 1 / o->factor;
	p->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	if (p->timer == -1)
		err(1, "timerfd_create");
	replay_watch(r, p->timer, &timer, EPOLLIN | EPOLLET);
}

/* ---- options */

static double
parse_number(const char *text, double least)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || *end != '\0' || !(number >= least))
		errx(1, "%s: not a number from %g on", text, least);
	return number;
}

static unsigned
parse_count(const char *text, unsigned least, unsigned most)
{
	double number = parse_number(text, least);

	if (number > most)
		errx(1, "%s: more than %u", text, most);
	return (unsigned)number;
}

static void
parse_server(struct replay_options *o, const char *text)
{
	struct sockaddr_in *four = (struct sockaddr_in *)&o->server[0];
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&o->server[1];

	if (inet_pton(AF_INET, text, &four->sin_addr) == 1)
		four->sin_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1)
		six->sin6_family = AF_INET6;
	else
		errx(1, "%s: not an address", text);
}

static void
parse_from(struct replay_options *o, const char *text)
{
	const char *slash = strchr(text, '/');
	char address[INET_ADDRSTRLEN];

	if (strcmp(text, "0") == 0) {
		o->from_count = 0;
		return;
	}
	snprintf(address, sizeof(address), "%.*s",
		slash == NULL ? 0 : (int)(slash - text), text);
	if (inet_pton(AF_INET, address, &o->from) != 1)
		errx(1, "%s: not ADDRESS/N", text);
	o->from_count = parse_count(slash + 1, 1, 65535);
}

static void
parse_option(struct replay_options *o, int letter, const char *text)
{
	switch (letter) {
	case 'a': parse_server(o, text); break;
	case 'r': o->rate = parse_number(text, 0.001); break;
	case 'x': o->factor = parse_number(text, 0.001); break;
	case 'n': o->count = (uint64_t)parse_number(text, 1); break;
	case 't': o->seconds = parse_number(text, 0.001); break;
	case 'l': o->loops = true; break;
	case 's': o->share = parse_count(text, 0, 100) / 100.0; break;
	case 'C': o->cut_again = true; break;
	case 'T': o->only_tcp = true; break;
	case 'k': o->kept = parse_count(text, 1, REPLAY_KEPT_MAX); break;
	case 'o': o->open_max = parse_count(text, 1, 1000000); break;
	case 'c': o->sockets = parse_count(text, 1, REPLAY_SOCKETS_MAX);
		break;
	case 'f': parse_from(o, text); break;
	case 'w': o->timeout_ns = (uint64_t)(parse_number(text, 1) * 1e6);
		break;
	case 'i': o->interval_ns = (uint64_t)(parse_number(text, 0.01) * 1e9);
		break;
	case 'p': o->pid_count = usage_parse_pids(text, o->pids,
			REPLAY_PIDS_MAX);
		break;
	case 'P': o->captured_port = (uint16_t)parse_count(text, 1, 65535);
		break;
	case 'd': o->dnssec = true; break;
	default: errx(2, "usage: replay [options] PORT FILE");
	}
}

static bool
is_loopback(const struct sockaddr_storage *server)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)server;

	return ntohl(four->sin_addr.s_addr) >> 24 == 127;
}

static void
parse_options(struct replay_options *o, int argc, char **argv)
{
	int letter;

	while ((letter = getopt(argc, argv, "a:r:x:n:t:ls:CTk:o:c:f:w:i:p:P:d"))
		!= -1)
		parse_option(o, letter, optarg);
	if (argc - optind != 2)
		errx(2, "usage: replay [options] PORT FILE");
	o->port = (uint16_t)parse_count(argv[optind], 1, 65535);
	o->file = argv[optind + 1];
	if (o->loops && o->count == 0 && o->seconds <= 0)
		errx(2, "-l needs -n or -t");
	if (o->server[0].ss_family == 0 && o->server[1].ss_family == 0)
		parse_server(o, "127.0.0.1");
	if (!is_loopback(&o->server[0]) && o->from.s_addr == 0)
		o->from_count = 0;
	if (o->from.s_addr == 0)
		inet_pton(AF_INET, "127.1.0.1", &o->from);
	((struct sockaddr_in *)&o->server[0])->sin_port = htons(o->port);
	((struct sockaddr_in6 *)&o->server[1])->sin6_port = htons(o->port);
}

/* Raises the limit of descriptors to the most that is allowed. */
static void
raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		err(1, "RLIMIT_NOFILE");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		err(1, "RLIMIT_NOFILE");
}

int
main(int argc, char **argv)
{
	struct replay *r = &replay;
	struct pace pace;

	parse_options(&r->options, argc, argv);
	raise_limit();
	input_read(&r->in, r->options.file, r->options.captured_port,
		r->options.dnssec);
	r->epoll = epoll_create1(0);
	if (r->epoll == -1)
		err(1, "epoll_create1");
	udp_begin(r);
	tcp_begin(r);
	pace_init(r, &pace);
	run_all(r, &pace);
	report_print(r);
	return 0;
}
