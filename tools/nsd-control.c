/* nsd-control.c - tells a running server what to do (doc/surface.md 2.2). */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"
#include "control_progress.h"
#include "control_talk.h"
#include "ctl/command.h"
#include "ctl/verbs.h"

#define EXIT_STOPPED 3

/* The command line. */
struct control_ask {
	const char *config;
	const char *server;   /* -s; NULL: of the configuration */
	bool no_wait, json, verbose;
	char **words;         /* the command, ended by NULL */
	enum ctl_verb verb;   /* CTL_VERB_COUNT: an unknown one */
};

static void
usage(void)
{
	printf("usage: nsd-control [-c FILE] [-s SERVER] [-jv] [--no-wait]"
	       " COMMAND [ARGUMENT...]\n"
	       "Tells a running nsd what to do.\n"
	       "\n"
	       "-c FILE    configuration, default %s\n"
	       "-s SERVER  ADDRESS[@PORT] or /PATH, in place of"
	       " control-interface\n"
	       "-j         an answer in JSON, where there is one\n"
	       "-v         show how far a command is that takes long\n"
	       "--no-wait  do not wait until it is done\n"
	       "-h         print this help\n"
	       "\n", CONFIGFILE);
	for (unsigned i = 0; i < CTL_VERB_COUNT; i++) {
		const struct ctl_verb_row *row = &ctl_verb_rows[i];
		int n = printf("  %s%s%s", row->word,
			*row->arguments != '\0' ? " " : "", row->arguments);

		printf("%*s%s\n", n < 32 ? 32 - n : 1, "", row->help);
	}
	printf("Version " PACKAGE_VERSION ".\n");
}

/* ---- the answer ---------------------------------------------------------- */

static bool
talk_says(const char *line, size_t len, const char *word)
{
	return len >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

/* Answers of NSD 4 that are whole, and do not end as ours do. */
static const struct nsd_answer {
	enum ctl_verb verb;
	const char *begin, *end; /* of the last line, which may be two that no
				  * end of a line parts */
	int status;
} nsd_answers[] = {
	{CTL_CHANGEZONE, "zone ", " creatingok\n", 0},
	{CTL_CHANGEZONE, "Repatt", " group property.\n", EXIT_ERROR},
	{CTL_DELZONE, "Remove ", " delete this zone.\n", EXIT_ERROR},
	{CTL_DEL_TSIG, "key ", ", nothing to be deleted\n", 0},
	{CTL_ADD_COOKIE_SECRET, "please ", " hex encoded secret\n", 0},
	/* The same line goes on with "error: writing to ...". */
	{CTL_ADD_COOKIE_SECRET, "unable ", "\"\n", EXIT_ERROR},
	{CTL_ACTIVATE_COOKIE_SECRET, "unable ", "\"\n", EXIT_ERROR},
	{CTL_DROP_COOKIE_SECRET, "unable ", "\"\n", EXIT_ERROR},
};

/* NULL: NSD has no such answer. */
static const struct nsd_answer *
talk_find_nsd_answer(const struct control_talk *talk, enum ctl_verb verb)
{
	for (size_t i = 0; i < sizeof(nsd_answers) / sizeof(*nsd_answers);
		i++) {
		const struct nsd_answer *one = &nsd_answers[i];
		size_t end = strlen(one->end);

		if (one->verb == verb && talk->tail_len >= end
			&& talk_says(talk->last, talk->last_len, one->begin)
			&& talk_says(talk->tail + talk->tail_len - end, end,
				one->end))
			return one;
	}
	return NULL;
}

/* True if the answer has the end that its verb's row promises. */
static bool
talk_has_end(const struct control_talk *talk, uint16_t flags)
{
	const char *last = talk->last;
	size_t len = talk->last_len;

	if (!talk->begun)
		return (flags & CTL_MAY_BE_EMPTY) != 0 && !talk->deserted;
	/* The last line has the count. */
	if ((flags & CTL_LINES) != 0)
		return talk_says(last, len, "added ")
			|| talk_says(last, len, "deleted");
	if ((flags & CTL_ENDS_IN_COMMENT) != 0)
		return talk_says(last, len, "; end");
	return (flags & CTL_SAYS_OK) == 0 || talk_says(last, len, "ok")
		|| ((flags & CTL_WARNS) != 0
			&& talk_says(last, len, "warning"));
}

/* Returns the exit code. */
static int
talk_check(const struct control_talk *talk, const struct control_ask *ask)
{
	uint16_t flags = ask->verb != CTL_VERB_COUNT
		? ctl_verb_rows[ask->verb].flags
		: 0;
	const struct nsd_answer *of_nsd;

	if (talk->input_failed
		|| talk_says(talk->first, talk->first_len, "error"))
		return EXIT_ERROR;
	if ((flags & (CTL_SAYS_OK | CTL_LATE_ERROR)) != 0
		&& talk_says(talk->last, talk->last_len, "error"))
		return EXIT_ERROR;
	of_nsd = talk_find_nsd_answer(talk, ask->verb);
	if (talk->clean && of_nsd != NULL)
		return of_nsd->status;
	/* The server may have died. */
	if (!talk->clean || !talk_has_end(talk, flags)) {
		fprintf(stderr, "error: the answer has no end: it was cut"
				" short, or the server has refused\n");
		return EXIT_ERROR;
	}
	return 0;
}

static void
talk_begin(struct control_talk *talk, const struct control_ask *ask)
{
	char *out = talk->out;
	size_t size = sizeof(talk->out);
	int n = snprintf(out, size, CTL_MAGIC " %s%s",
		ask->no_wait ? " --no-wait" : "", ask->json ? " -j" : "");

	for (char **word = ask->words; *word != NULL
		&& (size_t)n < size; word++)
		n += snprintf(out + n, size - (size_t)n, " %s", *word);
	if ((size_t)n < size)
		n += snprintf(out + n, size - (size_t)n, "\n");
	if ((size_t)n >= size) {
		fprintf(stderr, "error: the command is too long\n");
		exit(EXIT_ERROR);
	}
	talk->out_len = (size_t)n;
}

static bool
ask_has_lines(const struct control_ask *ask)
{
	const char *word = ask->words[0];

	if (ask->verb != CTL_VERB_COUNT)
		return (ctl_verb_rows[ask->verb].flags & CTL_LINES) != 0;
	return strcmp(word, "addzones") == 0 || strcmp(word, "delzones") == 0;
}

/* Ends after a failed write. A reader that has enough, as head(1), is no error
 * to report: we end by SIGPIPE as other programs do. */
static void
ask_end_unheard(void)
{
	if (errno == EPIPE) {
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	exit(control_talk_fail("cannot write", "standard output"));
}

/* Prints a part of the answer as it comes. */
static bool
ask_on_answer(void *ctx, const char *octets, size_t len)
{
	control_progress_clear(ctx);
	if (fwrite(octets, 1, len, stdout) != len || fflush(stdout) == EOF)
		ask_end_unheard();
	return true;
}

static void
ask_on_tick(void *ctx)
{
	control_progress_show(ctx);
}

static int
ask_server(const struct control_ask *ask, const struct conf *conf)
{
	struct control_progress progress = {
		.server = ask->server,
		.conf = conf,
		.words = ask->words,
	};
	struct control_talk talk = {
		.fd = -1,
		.on_answer = ask_on_answer,
		.on_tick = ask->verbose ? ask_on_tick : NULL,
		.tick_msec = CONTROL_PROGRESS_MSEC,
		.ctx = &progress,
	};
	int status;

	if (!conf->remote_control.control_enable)
		fprintf(stderr, "warning: control-enable is no in %s\n",
			ask->config);
	status = control_talk_open(&talk, ask->server, conf);
	if (talk.refused && ask->verb == CTL_STATUS) {
		printf("nsd is stopped\n");
		status = EXIT_STOPPED;
	}
	if (status == 0) {
		talk_begin(&talk, ask);
		talk.lines = ask_has_lines(ask);
		control_talk_run(&talk);
		control_progress_clear(&progress);
		status = talk_check(&talk, ask);
	}
	control_talk_close(&talk);
	return status;
}

/* ---- start --------------------------------------------------------------- */

static int
start_server(const struct control_ask *ask)
{
	const char *path = getenv("NSD_PATH");

	if (path == NULL)
		path = SBINDIR "/nsd";
	execl(path, path, "-c", ask->config, (char *)NULL);
	return control_talk_fail("cannot start", path);
}

/* Reads the command line. Returns false if there is no command. */
static bool
ask_parse(int argc, char **argv, struct control_ask *ask)
{
	static const struct option longs[] = {
		{"no-wait", no_argument, NULL, 'n'},
		{NULL, 0, NULL, 0},
	};
	int c;

	*ask = (struct control_ask){.config = CONFIGFILE};
	while ((c = getopt_long(argc, argv, "c:s:jhv", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			ask->config = optarg;
			break;
		case 's':
			ask->server = optarg;
			break;
		case 'j':
			ask->json = true;
			break;
		case 'v':
			ask->verbose = true;
			break;
		case 'n':
			ask->no_wait = true;
			break;
		default:
			return false;
		}
	}
	ask->words = argv + optind;
	if (optind == argc)
		return false;
	ask->verb = ctl_verbs_find(ask->words[0], true);
	return true;
}

int
main(int argc, char **argv)
{
	struct diag_sink sink = {.on_diag = control_talk_print_diag};
	struct control_ask ask;
	struct conf *conf;
	int status;

	if (!ask_parse(argc, argv, &ask)) {
		usage();
		return EXIT_ERROR;
	}
	if (ask.verb == CTL_START)
		return start_server(&ask);
	signal(SIGPIPE, SIG_IGN);
	if (conf_load(ask.config, NULL, &sink, &conf) != NSD_OK)
		return EXIT_ERROR;
	conf_wipe_secrets(conf);
	status = ask_server(&ask, conf);
	conf_destroy(conf);
	return status;
}
