/* flags.c - the command line of nsd. */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/log.h"
#include "main/flags.h"
#include "main/version.h"
#include "net/socket.h"

#define NSID_MAX 65535

/* The effect of a flag. */
enum flag_kind {
	FLAG_IGNORED,
	FLAG_YES,     /* the option, a bool, is yes */
	FLAG_ONLY,    /* this option is yes, and that of the other address
		       * family no */
	FLAG_TEXT,    /* the option, a const char *, is the argument */
	FLAG_NUMBER,  /* the option, a uint32_t, is the argument */
	FLAG_LEVEL,   /* the same, unless it is above 0 already */
	FLAG_NSID,
	FLAG_ADDRESS, /* in front of the option's list */
	FLAG_HEX,     /* a mask that nothing is bound to */
	FLAG_CONFIG,
	FLAG_VERSION,
	FLAG_HELP,
};

struct flag {
	char letter;
	uint8_t kind;     /* enum flag_kind */
	uint16_t offset;  /* of the option in struct conf_server */
	int32_t least, most;
	const char *argument; /* NULL: none */
	const char *help;
};

/* A kind and the option's field, which must be of the kind's type. */
#define OPTION(kind, field, type) \
	kind, offsetof(struct conf_server, field) \
		+ _Generic(((struct conf_server *)0)->field, type: 0)
#define NONE(kind) kind, 0, 0, 0
#define YES(field) OPTION(FLAG_YES, field, bool), 0, 0
#define ONLY(field) OPTION(FLAG_ONLY, field, bool), 0, 0
#define WORD(field) OPTION(FLAG_TEXT, field, const char *), 0, 0
#define NUMBER(field, least, most) \
	OPTION(FLAG_NUMBER, field, uint32_t), least, most

/* Without --enable-checking they are taken and ignored. */
#define CHECKED(kind) (WITH_CHECKING ? (kind) : FLAG_IGNORED)
#define CHECKED_HELP " (see --enable-checking)"

static const struct flag table[] = {
	{'4', ONLY(do_ip4), NULL, "IPv4 only"},
	{'6', ONLY(do_ip6), NULL, "IPv6 only"},
	{'a', OPTION(FLAG_ADDRESS, ip_address, struct conf_interfaces), 0, 0, "ADDR[@PORT]", "listen there too; may be repeated"},
	{'c', NONE(FLAG_CONFIG), "FILE", "configuration (" CONFIGFILE ")"},
	{'d', YES(debug_mode), NULL, "stay in the foreground"},
	{'f', NONE(FLAG_IGNORED), "FILE", "accepted and ignored"},
	{'h', NONE(FLAG_HELP), NULL, "this help"},
	{'i', WORD(identity), "TEXT", "identity"},
	{'I', OPTION(FLAG_NSID, nsid, const char *), 0, 0, "NSID", "name server id, hex or ascii_TEXT"},
	{'l', WORD(logfile), "FILE", "log file"},
	{'N', NUMBER(server_count, 1, CONF_SERVERS_MAX), "COUNT", "query processes"},
	{'n', NUMBER(tcp_count, 1, INT32_MAX), "COUNT", "TCP connections for each of them"},
	{'P', WORD(pidfile), "FILE", "pid file"},
	{'p', NUMBER(port, 1, 65535), "PORT", "port"},
	{'s', NUMBER(statistics, 0, INT32_MAX), "SECONDS", "period of statistics in the log"},
	{'t', WORD(chroot), "DIR", "change the root directory"},
	{'u', WORD(username), "USER", "user, id or id.gid to become"},
	{'V', NUMBER(verbosity, 0, INT32_MAX), "LEVEL", "verbosity"},
	{'v', NONE(FLAG_VERSION), NULL, "version"},
	/* NSD's for debugging. -L is behind -V, which it gives way to. */
	{'F', NONE(CHECKED(FLAG_HEX)), "FACILITIES", "facilities to debug, in hex" CHECKED_HELP},
	{'L', OPTION(CHECKED(FLAG_LEVEL), verbosity, uint32_t), 0, INT32_MAX, "LEVEL", "debug level" CHECKED_HELP},
};

#define ROWS (sizeof(table) / sizeof(*table))

_Static_assert(sizeof(table) / sizeof(*table) <= FLAGS_MAX,
	"struct flags has too little room");

/* Makes the letters for getopt. */
static void
flags_letters(char letters[2 * FLAGS_MAX + 1])
{
	for (size_t i = 0; i < ROWS; i++) {
		*letters++ = table[i].letter;
		if (table[i].argument != NULL)
			*letters++ = ':';
	}
	*letters = '\0';
}

static void
flags_usage(void)
{
	fprintf(stderr,
		"usage: nsd [OPTION]...\n"
		"Answers DNS queries with the zones of its configuration.\n");
	for (size_t i = 0; i < ROWS; i++)
		fprintf(stderr, "  -%c %-12s %s\n", table[i].letter,
			table[i].argument != NULL ? table[i].argument : "",
			table[i].help);
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
	const char **list;

	if (text == NULL)
		return false;
	list = grow_array(flags->addresses, flags->address_count,
		&flags->address_room, sizeof(*list));
	if (list == NULL)
		return false;
	flags->addresses = list;
	list[flags->address_count++] = text;
	return true;
}

/* Checks -F: a mask of facilities. No message depends on it. */
static bool
flags_hex(const char *text)
{
	if (*text != '\0' && text[strspn(text, "0123456789abcdefABCDEF")]
		== '\0')
		return true;
	fprintf(stderr, "nsd: -F wants a number in hex\n");
	return false;
}

/* Takes one flag. False: it is wrong. */
static bool
flags_take(struct flags *f, size_t row, const char *text)
{
	const struct flag *flag = &table[row];

	f->given[row] = true;
	f->texts[row] = text;
	switch ((enum flag_kind)flag->kind) {
	case FLAG_ADDRESS:
		return flags_add_address(f, text);
	case FLAG_CONFIG:
		f->config = text;
		return true;
	case FLAG_HEX:
		return flags_hex(text);
	case FLAG_NUMBER:
	case FLAG_LEVEL:
		return flags_number(flag->letter, text, flag->least,
			flag->most, &f->numbers[row]);
	default:
		return true;
	}
}

/* Returns the row of a flag; ROWS: there is none. */
static size_t
flags_find(int letter)
{
	size_t row = 0;

	while (row < ROWS && table[row].letter != letter)
		row++;
	return row;
}

enum flags_outcome
flags_parse(int argc, char **argv, struct flags *flags)
{
	char letters[2 * FLAGS_MAX + 1];
	int letter;

	*flags = (struct flags){.config = CONFIGFILE};
	flags_letters(letters);
	while ((letter = getopt(argc, argv, letters)) != -1) {
		size_t row = flags_find(letter);

		if (row == ROWS) {
			flags_usage();
			return FLAGS_EXIT_FAILURE;
		}
		if (table[row].kind == FLAG_HELP) {
			flags_usage();
			return FLAGS_EXIT_OK;
		}
		if (table[row].kind == FLAG_VERSION) {
			version_print(stderr);
			return FLAGS_EXIT_OK;
		}
		if (!flags_take(flags, row, optarg))
			return FLAGS_EXIT_FAILURE;
	}
	if (optind < argc) {
		flags_usage();
		return FLAGS_EXIT_FAILURE;
	}
	return FLAGS_RUN;
}

/* Takes "ascii_TEXT", or hex digits, two for an octet. */
static enum nsd_err
flags_apply_nsid(struct flags *flags, const char *text,
	struct conf_server *options)
{
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

/* Parses an address of -a as the parser of nsd.conf would. */
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

static enum nsd_err
flags_apply_one(struct flags *flags, size_t row, struct conf_server *o)
{
	void *option = (char *)o + table[row].offset;

	switch ((enum flag_kind)table[row].kind) {
	case FLAG_ONLY:
		o->do_ip4 = o->do_ip6 = false;
		*(bool *)option = true;
		return NSD_OK;
	case FLAG_YES:
		*(bool *)option = true;
		return NSD_OK;
	case FLAG_TEXT:
		*(const char **)option = flags->texts[row];
		return NSD_OK;
	case FLAG_LEVEL:
		if (*(uint32_t *)option == 0)
			*(uint32_t *)option = (uint32_t)flags->numbers[row];
		return NSD_OK;
	case FLAG_NUMBER:
		*(uint32_t *)option = (uint32_t)flags->numbers[row];
		return NSD_OK;
	case FLAG_NSID:
		return flags_apply_nsid(flags, flags->texts[row], o);
	case FLAG_ADDRESS:
		return flags_apply_addresses(flags, o);
	default:
		return NSD_OK;
	}
}

enum nsd_err
flags_apply(struct flags *flags, struct conf *conf)
{
	enum nsd_err err = NSD_OK;

	if (flags->given[flags_find('4')] && flags->given[flags_find('6')]) {
		log_error("-4 and -6 leave no address to listen on");
		return NSD_E_SYNTAX;
	}
	for (size_t row = 0; row < ROWS && err == NSD_OK; row++)
		if (flags->given[row])
			err = flags_apply_one(flags, row, &conf->server);
	return err;
}

void
flags_fini(struct flags *flags)
{
	/* The interfaces behind these belong to the configuration. */
	for (unsigned i = 0; flags->interfaces != NULL
		&& i < flags->address_count; i++)
		free((char *)(uintptr_t)flags->interfaces[i].host);
	free(flags->interfaces);
	free(flags->nsid_data);
	free(flags->addresses);
}
