/* nsd-control.c - tells a running server what to do (doc/surface.md 2.2). */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "conf/conf.h"
#include "ctl/command.h"
#include "ctl/tls.h"
#include "ctl/verbs.h"
#include "net/socket.h"

#define EXIT_ERROR 1
#define EXIT_STOPPED 3
#define HOST_MAX 256

/* What the command line asks for. */
struct control_ask {
	const char *config;
	const char *server;   /* -s; NULL: of the configuration */
	bool no_wait, json;
	char **words;         /* the command, ended by NULL */
	enum ctl_verb verb;   /* CTL_VERB_COUNT: one that we do not know */
};

/* Whom to ask. */
struct control_server {
	union {
		struct sockaddr any;
		struct sockaddr_un path;
		struct sockaddr_storage address;
	} to;
	socklen_t len;
	bool tls;
	char text[HOST_MAX]; /* for people */
};

/* What is on its way. */
struct control_talk {
	int fd;
	struct ctl_tls *tls;
	SSL *ssl;             /* NULL: plain */
	char out[16384];      /* to be sent */
	size_t out_len;
	bool lines;           /* standard input is to follow */
	bool input_failed;    /* it could not be read to its end */
	bool want_write;      /* TLS has to write before it can read */
	bool begun;           /* a first octet of the answer has come */
	bool clean;           /* the server has said that it is at the end */
	bool deserted;        /* it reads no more either */
	/* The begins of the first line and of the latest one. */
	char first[8], last[8];
	size_t first_len, last_len;
	bool in_first;
};

static void
usage(void)
{
	printf("usage: nsd-control [-c FILE] [-s SERVER] [-j] [--no-wait]"
	       " COMMAND [ARGUMENT...]\n"
	       "Tells a running nsd what to do.\n"
	       "\n"
	       "-c FILE    configuration, default %s\n"
	       "-s SERVER  ADDRESS[@PORT] or /PATH, in place of"
	       " control-interface\n"
	       "-j         an answer in JSON, where there is one\n"
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

static void
print_diag(struct diag_sink *sink, const struct diag *d)
{
	char text[4096];

	conf_print_diag(d, text, sizeof(text));
	fprintf(stderr, "%s\n", text);
}

static int
fail(const char *what, const char *where)
{
	fprintf(stderr, "error: %s (%s): %s\n", what, where, strerror(errno));
	return EXIT_ERROR;
}

/* ---- whom ---------------------------------------------------------------- */

/* One that listens everywhere listens here. */
static void
server_make_local(struct sockaddr_storage *address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;

	if (address->ss_family == AF_INET && v4->sin_addr.s_addr == INADDR_ANY)
		v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else if (address->ss_family == AF_INET6
		&& IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr))
		v6->sin6_addr = in6addr_loopback;
}

/* The first address of a network interface. */
static bool
server_find_device(const char *text, uint16_t port,
	struct sockaddr_storage *address)
{
	char name[HOST_MAX], *at;
	struct ifaddrs *all, *i;
	size_t len;

	snprintf(name, sizeof(name), "%s", text);
	at = strchr(name, '@');
	if (at != NULL) {
		*at = '\0';
		port = (uint16_t)atoi(at + 1);
	}
	if (getifaddrs(&all) == -1)
		return false;
	for (i = all; i != NULL; i = i->ifa_next)
		if (i->ifa_addr != NULL && strcmp(i->ifa_name, name) == 0
			&& (i->ifa_addr->sa_family == AF_INET
				|| i->ifa_addr->sa_family == AF_INET6))
			break;
	if (i != NULL) {
		len = i->ifa_addr->sa_family == AF_INET
			? sizeof(struct sockaddr_in)
			: sizeof(struct sockaddr_in6);
		memset(address, 0, sizeof(*address));
		memcpy(address, i->ifa_addr, len);
		if (address->ss_family == AF_INET)
			((struct sockaddr_in *)address)->sin_port =
				htons(port);
		else
			((struct sockaddr_in6 *)address)->sin6_port =
				htons(port);
	}
	freeifaddrs(all);
	return i != NULL;
}

static bool
server_find(const char *text, const struct conf *conf,
	struct control_server *server)
{
	const struct conf_interfaces *own =
		&conf->remote_control.control_interface;
	uint16_t port = (uint16_t)conf->remote_control.control_port;

	memset(server, 0, sizeof(*server));
	if (text == NULL)
		text = own->count > 0 ? own->items[0].text : "127.0.0.1";
	snprintf(server->text, sizeof(server->text), "%s", text);
	if (text[0] == '/') {
		if (strlen(text) >= sizeof(server->to.path.sun_path)) {
			errno = ENAMETOOLONG;
			return false;
		}
		server->to.path.sun_family = AF_UNIX;
		strcpy(server->to.path.sun_path, text);
		server->len = sizeof(server->to.path);
		return true;
	}
	if (net_parse_address(text, port, &server->to.address) != NSD_OK
		&& !server_find_device(text, port, &server->to.address)) {
		errno = EINVAL;
		return false;
	}
	server_make_local(&server->to.address);
	net_print_address(&server->to.address, true, server->text);
	server->len = net_address_len(&server->to.address);
	/* A server whose first control-interface is a path has no TLS. */
	server->tls = own->count == 0 || own->items[0].text[0] != '/';
	return true;
}

/* ---- the connection ------------------------------------------------------ */

static int
talk_fail_tls(const char *what)
{
	char reason[128];

	fprintf(stderr, "error: %s: %s\n", what,
		tls_print_reason(reason, sizeof(reason)));
	return EXIT_ERROR;
}

static int
talk_open_tls(struct control_talk *talk, const struct conf *conf)
{
	const struct conf_remote_control *o = &conf->remote_control;
	const struct ctl_tls_files files = {
		.key = o->control_key_file,
		.cert = o->control_cert_file,
		.authority = o->server_cert_file,
	};
	struct diag_sink sink = {.on_diag = print_diag};

	if (ctl_tls_create_client(&files, &sink, &talk->tls) != NSD_OK)
		return EXIT_ERROR;
	talk->ssl = ctl_tls_open(talk->tls);
	if (talk->ssl == NULL || SSL_set_fd(talk->ssl, talk->fd) != 1)
		return talk_fail_tls("no memory for TLS");
	if (SSL_connect(talk->ssl) != 1) {
		if (SSL_get_verify_result(talk->ssl) != X509_V_OK)
			fprintf(stderr, "error: the server's certificate: %s\n",
				X509_verify_cert_error_string(
					SSL_get_verify_result(talk->ssl)));
		return talk_fail_tls("could not connect with TLS");
	}
	/* So that each side can be read while the other is waited for. */
	SSL_set_mode(talk->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE
		| SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	return 0;
}

static int
talk_open(struct control_talk *talk, const struct control_ask *ask,
	const struct conf *conf)
{
	struct control_server server;
	bool stopped;
	int status;

	if (!server_find(ask->server, conf, &server))
		return fail("cannot parse the server's address", ask->server
				? ask->server : server.text);
	talk->fd = socket(server.to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC,
		0);
	if (talk->fd == -1)
		return fail("socket", server.text);
	if (connect(talk->fd, &server.to.any, server.len) == -1) {
		stopped = errno == ECONNREFUSED || errno == ENOENT;
		status = fail("connect", server.text);
		if (stopped && ask->verb == CTL_STATUS) {
			printf("nsd is stopped\n");
			return EXIT_STOPPED;
		}
		return status;
	}
	status = server.tls ? talk_open_tls(talk, conf) : 0;
	if (status == 0 && fcntl(talk->fd, F_SETFL, O_NONBLOCK) == -1)
		return fail("fcntl", server.text);
	return status;
}

/* ---- octets -------------------------------------------------------------- */

/* Notes how lines begin. */
static void
talk_note(struct control_talk *talk, const char *octets, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		/* A line begins behind the end of another. */
		if (!talk->begun || (talk->last_len > 0
				&& talk->last[talk->last_len - 1] == '\n')) {
			talk->in_first = !talk->begun;
			talk->last_len = 0;
		}
		talk->begun = true;
		if (octets[i] == '\n') {
			if (talk->last_len == sizeof(talk->last))
				talk->last_len--;
			talk->last[talk->last_len++] = '\n';
		} else if (talk->last_len < sizeof(talk->last) - 1) {
			talk->last[talk->last_len++] = octets[i];
		}
		if (talk->in_first && talk->first_len < sizeof(talk->first)
			&& octets[i] != '\n')
			talk->first[talk->first_len++] = octets[i];
	}
}

/* A UNIX socket tells no end of an answer from that of the server's process. A
 * server that lives has said that it sends no more, and reads on until we
 * close. */
static bool
talk_is_deserted(const struct control_talk *talk)
{
	return send(talk->fd, "", 0, MSG_DONTWAIT | MSG_NOSIGNAL) == -1
		&& errno == EPIPE;
}

/* Takes what has come. Returns false at the end, whatever its reason. */
static bool
talk_read(struct control_talk *talk)
{
	char in[16384];
	ssize_t n;
	int why;

	for (;;) {
		if (talk->ssl == NULL) {
			n = read(talk->fd, in, sizeof(in));
			if (n == -1 && (errno == EAGAIN || errno == EINTR))
				return true;
			talk->clean = n == 0;
			talk->deserted = n == 0 && talk_is_deserted(talk);
		} else {
			ERR_clear_error();
			n = SSL_read(talk->ssl, in, sizeof(in));
			why = n > 0 ? SSL_ERROR_NONE
				    : SSL_get_error(talk->ssl, (int)n);
			talk->want_write = why == SSL_ERROR_WANT_WRITE;
			if (why == SSL_ERROR_WANT_READ || talk->want_write)
				return true;
			talk->clean = why == SSL_ERROR_ZERO_RETURN;
		}
		if (n <= 0)
			return false;
		talk_note(talk, in, (size_t)n);
		if (fwrite(in, 1, (size_t)n, stdout) != (size_t)n
			|| fflush(stdout) == EOF)
			return false;
	}
}

/* Sends what there is. False: the server takes no more. What it has answered
 * before is still to be read. */
static bool
talk_write(struct control_talk *talk)
{
	while (talk->out_len > 0) {
		ssize_t n;
		int why;

		if (talk->ssl == NULL) {
			n = send(talk->fd, talk->out, talk->out_len,
				MSG_NOSIGNAL);
			if (n == -1)
				return errno == EAGAIN || errno == EINTR;
		} else {
			ERR_clear_error();
			n = SSL_write(talk->ssl, talk->out,
				(int)talk->out_len);
			why = n > 0 ? SSL_ERROR_NONE
				    : SSL_get_error(talk->ssl, (int)n);
			if (n <= 0)
				return why == SSL_ERROR_WANT_READ
					|| why == SSL_ERROR_WANT_WRITE;
		}
		talk->out_len -= (size_t)n;
		memmove(talk->out, talk->out + n, talk->out_len);
	}
	return true;
}

/* Reads on from standard input; its end is the octet 4. False: it fails within
 * a line, and half of one is not to be done. */
static bool
talk_feed(struct control_talk *talk)
{
	static const char end[] = {'\n', CTL_LINES_END, '\n'};
	static char before = '\n';
	ssize_t n = read(STDIN_FILENO, talk->out, sizeof(talk->out));
	size_t skip = before == '\n';

	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n > 0) {
		talk->out_len = (size_t)n;
		before = talk->out[n - 1];
		return true;
	}
	if (n == -1) {
		(void)fail("cannot read", "standard input");
		talk->input_failed = true;
		if (before != '\n')
			return false;
	}
	/* A last line may lack its end. */
	memcpy(talk->out, end + skip, sizeof(end) - skip);
	talk->out_len = sizeof(end) - skip;
	talk->lines = false;
	return true;
}

/* Until the server closes. */
static void
talk_run(struct control_talk *talk)
{
	bool goes_on = true;

	while (goes_on) {
		struct pollfd fds[2] = {
			{.fd = talk->fd, .events = POLLIN},
			{.fd = STDIN_FILENO, .events = POLLIN},
		};
		bool feed = talk->lines && talk->out_len == 0;

		if (talk->out_len > 0 || talk->want_write)
			fds[0].events |= POLLOUT;
		if ((talk->ssl == NULL || SSL_pending(talk->ssl) == 0)
			&& poll(fds, feed ? 2 : 1, -1) == -1 && errno != EINTR)
			return;
		if (feed && fds[1].revents != 0 && !talk_feed(talk))
			return;
		if (!talk_write(talk)) {
			talk->out_len = 0;
			talk->lines = false;
		}
		goes_on = talk_read(talk);
	}
}

/* ---- the answer ---------------------------------------------------------- */

static bool
talk_says(const char *line, size_t len, const char *word)
{
	return len >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
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
talk_judge(const struct control_talk *talk, const struct control_ask *ask)
{
	uint16_t flags = ask->verb != CTL_VERB_COUNT
		? ctl_verb_rows[ask->verb].flags
		: 0;

	if (talk->input_failed
		|| talk_says(talk->first, talk->first_len, "error"))
		return EXIT_ERROR;
	if ((flags & (CTL_SAYS_OK | CTL_LATE_ERROR)) != 0
		&& talk_says(talk->last, talk->last_len, "error"))
		return EXIT_ERROR;
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

static void
talk_close(struct control_talk *talk)
{
	SSL_free(talk->ssl);
	ctl_tls_destroy(talk->tls);
	if (talk->fd != -1)
		close(talk->fd);
}

static bool
ask_has_lines(const struct control_ask *ask)
{
	const char *word = ask->words[0];

	if (ask->verb != CTL_VERB_COUNT)
		return (ctl_verb_rows[ask->verb].flags & CTL_LINES) != 0;
	return strcmp(word, "addzones") == 0 || strcmp(word, "delzones") == 0;
}

static int
ask_server(const struct control_ask *ask, const struct conf *conf)
{
	struct control_talk talk = {.fd = -1};
	int status;

	if (!conf->remote_control.control_enable)
		fprintf(stderr, "warning: control-enable is no in %s\n",
			ask->config);
	status = talk_open(&talk, ask, conf);
	if (status == 0) {
		talk_begin(&talk, ask);
		talk.lines = ask_has_lines(ask);
		talk_run(&talk);
		status = talk_judge(&talk, ask);
	}
	talk_close(&talk);
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
	return fail("cannot start", path);
}

/* Returns false if there is nothing to ask. */
static bool
ask_parse(int argc, char **argv, struct control_ask *ask)
{
	static const struct option longs[] = {
		{"no-wait", no_argument, NULL, 'n'},
		{NULL, 0, NULL, 0},
	};
	int c;

	*ask = (struct control_ask){.config = CONFIGFILE};
	while ((c = getopt_long(argc, argv, "+c:s:jh", longs, NULL)) != -1) {
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
	struct diag_sink sink = {.on_diag = print_diag};
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
