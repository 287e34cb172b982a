/* flags.c - the command line of nsd. */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "net/socket.h"
#include "proc/flags.h"
#include "proc/version.h"

#define NSID_MAX 65535

#define LETTERS "46a:c:df:hi:I:l:N:n:P:p:s:t:u:V:v"
#define LETTERS_CHECKING "F:L:"

static void
flags_usage(void)
{
	fprintf(stderr,
		"usage: nsd [OPTION]...\n"
		"Answers DNS queries with the zones of its configuration.\n"
		"  -4              IPv4 only\n"
		"  -6              IPv6 only\n"
		"  -a ADDR[@PORT]  listen there too; may be repeated\n"
		"  -c FILE         configuration (%s)\n"
		"  -d              stay in the foreground\n"
		"  -f FILE         accepted and ignored\n"
		"  -h              this help\n"
		"  -i TEXT         identity\n"
		"  -I NSID         name server id, hex or ascii_TEXT\n"
		"  -l FILE         log file\n"
		"  -N COUNT        query processes\n"
		"  -n COUNT        TCP connections for each of them\n"
		"  -P FILE         pid file\n"
		"  -p PORT         port\n"
		"  -s SECONDS      period of statistics in the log\n"
		"  -t DIR          change the root directory\n"
		"  -u USER         user, id or id.gid to become\n"
		"  -V LEVEL        verbosity\n"
		"  -v              version\n",
		CONFIGFILE);
	if (WITH_CHECKING)
		fprintf(stderr,
			"  -F FACILITIES   facilities to debug, in hex\n"
			"  -L LEVEL        debug level\n");
}

static bool
flags_number(char letter, const char *text, int64_t least, int64_t most,
	int64_t *out)
{
	char *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 || n < least
		|| n > most) {
		fprintf(stderr, "nsd: -%c wants a number from %lld to %lld\n",
			letter, (long long)least, (long long)most);
		return false;
	}
	*out = n;
	return true;
}

static bool
flags_add_address(struct flags *flags, const char *text)
{
	const char **list = reallocarray(flags->addresses,
		flags->address_count + 1u, sizeof(*list));

	if (list == NULL || text == NULL)
		return false;
	flags->addresses = list;
	list[flags->address_count++] = text;
	return true;
}

/* -F: a mask of facilities, which no message is bound to. */
static bool
flags_hex(const char *text)
{
	if (*text != '\0' && text[strspn(text, "0123456789abcdefABCDEF")]
		== '\0')
		return true;
	fprintf(stderr, "nsd: -F wants a number in hex\n");
	return false;
}

/* One option; false: wrong. */
static bool
flags_take(struct flags *f, int letter, const char *text)
{
	switch (letter) {
	case '4':
		f->only_ip4 = true;
		return true;
	case '6':
		f->only_ip6 = true;
		return true;
	case 'a':
		return flags_add_address(f, text);
	case 'c':
		f->config = text;
		return true;
	case 'd':
		f->foreground = true;
		return true;
	case 'f':
		return true;
	case 'F':
		return flags_hex(text);
	case 'L':
		return flags_number('L', text, 0, INT32_MAX, &f->debug_level);
	case 'i':
		f->identity = text;
		return true;
	case 'I':
		f->nsid = text;
		return true;
	case 'l':
		f->logfile = text;
		return true;
	case 'N':
		return flags_number('N', text, 1, 999, &f->server_count);
	case 'n':
		return flags_number('n', text, 1, INT32_MAX, &f->tcp_count);
	case 'P':
		f->pidfile = text;
		return true;
	case 'p':
		return flags_number('p', text, 1, 65535, &f->port);
	case 's':
		return flags_number('s', text, 0, INT32_MAX, &f->statistics);
	case 't':
		f->chroot = text;
		return true;
	case 'u':
		f->username = text;
		return true;
	case 'V':
		return flags_number('V', text, 0, INT32_MAX, &f->verbosity);
	}
	return false;
}

enum flags_outcome
flags_parse(int argc, char **argv, struct flags *flags)
{
	int letter;

	*flags = (struct flags){
		.config = CONFIGFILE,
		.debug_level = -1,
		.port = -1,
		.server_count = -1,
		.statistics = -1,
		.tcp_count = -1,
		.verbosity = -1,
	};
	while ((letter = getopt(argc, argv,
			WITH_CHECKING ? LETTERS LETTERS_CHECKING : LETTERS))
		!= -1) {
		if (letter == 'h') {
			flags_usage();
			return FLAGS_EXIT_OK;
		}
		if (letter == 'v') {
			version_print(stderr);
			return FLAGS_EXIT_OK;
		}
		if (letter == '?')
			flags_usage();
		if (letter == '?' || !flags_take(flags, letter, optarg))
			return FLAGS_EXIT_FAILURE;
	}
	if (optind < argc) {
		flags_usage();
		return FLAGS_EXIT_FAILURE;
	}
	return FLAGS_RUN;
}

/* "ascii_TEXT", or hex digits, two for an octet. */
static enum nsd_err
flags_apply_nsid(struct flags *flags, struct conf_server *options)
{
	const char *text = flags->nsid;
	size_t len;

	if (strncmp(text, "ascii_", 6) == 0) {
		len = strlen(text + 6);
		options->nsid_data = (const uint8_t *)text + 6;
	} else {
		len = strlen(text) / 2;
		flags->nsid_data = malloc(len + 1);
		if (flags->nsid_data == NULL)
			return NSD_E_MEMORY;
		for (size_t i = 0; i < len; i++) {
			unsigned octet;
			int used = 0;

			if (sscanf(text + 2 * i, "%2x%n", &octet, &used) != 1
				|| used != 2)
				goto wrong;
			flags->nsid_data[i] = (uint8_t)octet;
		}
		if (strlen(text) % 2 != 0
			|| strspn(text, "0123456789abcdefABCDEF")
				!= strlen(text))
			goto wrong;
		options->nsid_data = flags->nsid_data;
	}
	if (len > NSID_MAX)
		goto wrong;
	options->nsid = text;
	options->nsid_len = (uint32_t)len;
	return NSD_OK;
wrong:
	log_error("-I %s: not hex of even length, nor ascii_TEXT", text);
	return NSD_E_SYNTAX;
}

/* An address of -a, as the parser of nsd.conf would have made it. */
static enum nsd_err
flags_make_interface(const char *text, struct conf_interface *out)
{
	struct sockaddr_storage address;
	char *host = strdup(text), *at;

	if (host == NULL)
		return NSD_E_MEMORY;
	*out = (struct conf_interface){.text = text, .host = host,
		.setfib = -1};
	at = strchr(host, '@');
	if (net_parse_address(text, 0, &address) == NSD_OK) {
		if (at != NULL)
			*at = '\0';
		if (address.ss_family == AF_INET) {
			const struct sockaddr_in *in =
				(const struct sockaddr_in *)&address;

			out->family = 4;
			out->port = ntohs(in->sin_port);
			memcpy(out->address, &in->sin_addr, 4);
		} else {
			const struct sockaddr_in6 *in6 =
				(const struct sockaddr_in6 *)&address;

			out->family = 6;
			out->port = ntohs(in6->sin6_port);
			memcpy(out->address, &in6->sin6_addr, 16);
		}
		return NSD_OK;
	}
	/* The name of a network device. */
	if (at != NULL) {
		int64_t port = 0;

		*at = '\0';
		if (!flags_number('a', at + 1, 1, 65535, &port))
			return NSD_E_SYNTAX;
		out->port = (uint16_t)port;
	}
	return NSD_OK;
}

static enum nsd_err
flags_apply_addresses(struct flags *flags, struct conf_server *options)
{
	struct conf_interfaces *list = &options->ip_address;
	uint32_t count = flags->address_count + list->count;
	struct conf_interface *items;

	if (flags->address_count == 0)
		return NSD_OK;
	items = calloc(count, sizeof(*items));
	if (items == NULL)
		return NSD_E_MEMORY;
	flags->interfaces = items;
	for (unsigned i = 0; i < flags->address_count; i++) {
		enum nsd_err err = flags_make_interface(flags->addresses[i],
			&items[i]);

		if (err != NSD_OK)
			return err;
	}
	if (list->count > 0)
		memcpy(items + flags->address_count, list->items,
			list->count * sizeof(*items));
	list->items = items;
	list->count = count;
	return NSD_OK;
}

enum nsd_err
flags_apply(struct flags *flags, struct conf *conf)
{
	struct conf_server *o = &conf->server;
	enum nsd_err err;

	if (flags->only_ip4 && flags->only_ip6) {
		log_error("-4 and -6 leave no address to listen on");
		return NSD_E_SYNTAX;
	}
	if (flags->only_ip4 || flags->only_ip6) {
		o->do_ip4 = flags->only_ip4;
		o->do_ip6 = flags->only_ip6;
	}
	if (flags->foreground)
		o->debug_mode = true;
	if (flags->chroot != NULL)
		o->chroot = flags->chroot;
	if (flags->identity != NULL)
		o->identity = flags->identity;
	if (flags->logfile != NULL)
		o->logfile = flags->logfile;
	if (flags->pidfile != NULL)
		o->pidfile = flags->pidfile;
	if (flags->username != NULL)
		o->username = flags->username;
	if (flags->port >= 0)
		o->port = (uint32_t)flags->port;
	if (flags->server_count >= 0)
		o->server_count = (uint32_t)flags->server_count;
	if (flags->statistics >= 0)
		o->statistics = (uint32_t)flags->statistics;
	if (flags->tcp_count >= 0)
		o->tcp_count = (uint32_t)flags->tcp_count;
	if (flags->verbosity >= 0)
		o->verbosity = (uint32_t)flags->verbosity;
	if (o->verbosity == 0 && flags->debug_level > 0)
		o->verbosity = (uint32_t)flags->debug_level;
	err = flags->nsid != NULL ? flags_apply_nsid(flags, o) : NSD_OK;
	return err != NSD_OK ? err : flags_apply_addresses(flags, o);
}

void
flags_fini(struct flags *flags)
{
	/* Those behind are the configuration's. */
	for (unsigned i = 0; flags->interfaces != NULL
		&& i < flags->address_count; i++)
		free((char *)(uintptr_t)flags->interfaces[i].host);
	free(flags->interfaces);
	free(flags->nsid_data);
	free(flags->addresses);
}
