/* nsd-checkconf.c - checks nsd.conf, and prints values of it. */
#include "config.h"

#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkconf_around.h"
#include "checkconf_report.h"
#include "conf/anchors.h"
#include "conf/chroot.h"
#include "conf/conf.h"
#include "conf/migrate.h"
#include "zonefile/anchors.h"

/* Exit codes (doc/surface.md 2.3). */
#define EXIT_USAGE 1
#define EXIT_ABSENT 1
#define EXIT_BAD_CONF 2

/* The command line's questions; NULL: not asked. */
struct question {
	const char *file;
	unsigned verbose;
	bool full_paths;
	const char *option;
	const char *zone;
	const char *pattern;
	const char *secret;    /* name of a key: its secret */
	const char *algorithm; /* name of a key: its algorithm */
	const char *tls_auth;
	bool migrate;
	bool json;
};

static void
usage(void)
{
	fprintf(stderr,
		"usage: nsd-checkconf [-v] [-f] [-o option] [-z zone] "
		"[-p pattern]\n"
		"                     [-s key] [-a key] [-t tls-auth] FILE\n"
		"       nsd-checkconf --migrate [--json] FILE\n"
		"Checks FILE, a configuration of nsd, for errors.\n"
		"\n"
		"-v            print the configuration in effect; -vv: and "
		"the parts of each\n"
		"              access control element\n"
		"-f            print whole paths, with the chroot in front\n"
		"-o option     print the value of an option, or of the lists "
		"zones and patterns\n"
		"-z zone       print the option of this zone\n"
		"-p pattern    print the option of this pattern\n"
		"-s key        print the secret of a TSIG key\n"
		"-a key        print the algorithm of a TSIG key\n"
		"-t tls-auth   print the authentication domain name of a "
		"tls-auth\n"
		"--migrate     say what becomes of FILE, of an NSD 4, and "
		"of the files around it;\n"
		"              the exit status is 3 if there is something "
		"to do\n"
		"--json        the same as JSON\n"
		"-h            print this help\n"
		"Version " PACKAGE_VERSION ".\n");
}

static void
print_diag(struct diag_sink *sink, const struct diag *d)
{
	char text[4096];

	conf_print_diag(d, text, sizeof(text));
	fprintf(stderr, "%s\n", text);
}

/* ---- answers: each function returns the exit code ---------------------- */

static int
print_key(const struct conf *conf, const char *name, bool secret)
{
	const struct conf_key *key = conf_find_key(conf, name);

	if (key == NULL)
		printf("Could not find key %s\n", name);
	else
		printf("%s\n", secret ? key->secret : key->algorithm);
	return 0;
}

static int
print_tls_auth(const struct conf *conf, const char *name)
{
	const struct conf_tls_auth *auth = conf_find_tls_auth(conf, name);

	if (auth == NULL)
		printf("Could not find tls-auth %s\n", name);
	else
		printf("%s\n", auth->auth_domain_name);
	return 0;
}

/* Says that there is no such option. A - in its name is printed as _. */
static int
not_handled(const char *what, const char *name, const char *option)
{
	printf("%s option not handled: %s%s", what, name,
		name[0] != '\0' ? " " : "");
	for (; *option != '\0'; option++)
		putchar(*option == '-' ? '_' : *option);
	putchar('\n');
	return EXIT_ABSENT;
}

static int
print_zone_option(const struct conf *conf, const struct question *q)
{
	const struct conf_zone *zone = conf_find_zone_text(conf, q->zone);

	if (zone == NULL) {
		printf("Zone does not exist: %s\n", q->zone);
		return EXIT_ABSENT;
	}
	if (conf_print_zone_option(conf, zone, q->option, q->full_paths,
		stdout) != NSD_OK)
		return not_handled("Zone", q->zone, q->option);
	return 0;
}

static int
print_pattern_option(const struct conf *conf, const struct question *q)
{
	static const char implicit[] = "_implicit_";
	const struct conf_pattern *pattern =
		conf_find_pattern(conf, q->pattern);
	const struct conf_zone *zone = NULL;
	enum nsd_err err;

	/* The implicit pattern of a zone has the zone's name as the file has
	 * it. */
	if (pattern == NULL
		&& strncmp(q->pattern, implicit, sizeof(implicit) - 1) == 0)
		zone = conf_find_zone_text(conf,
			q->pattern + sizeof(implicit) - 1);
	if (zone != NULL && strcmp(q->option, "name") == 0) {
		printf("%s%s\n", implicit, zone->name);
		return 0;
	}
	if (zone != NULL)
		err = conf_print_zone_option(conf, zone, q->option,
			q->full_paths, stdout);
	else if (pattern != NULL)
		err = conf_print_pattern_option(conf, pattern, q->option,
			q->full_paths, stdout);
	else {
		printf("Pattern does not exist: %s\n", q->pattern);
		return EXIT_ABSENT;
	}
	if (err != NSD_OK)
		return not_handled("Pattern", q->pattern, q->option);
	return 0;
}

static int
compare_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Prints the names of all patterns, sorted. Each zone has an implicit one,
 * _implicit_ZONE. */
static int
print_patterns(const struct conf *conf)
{
	size_t count = conf->pattern_count + conf->zone_count, i, made = 0;
	char **names = calloc(count + 1, sizeof(*names));
	int exit_code = 0;

	for (i = 0; names != NULL && i < count; i++, made++) {
		bool zone = i >= conf->pattern_count;

		if (asprintf(&names[i], "%s%s", zone ? "_implicit_" : "",
			zone ? conf->zones[i - conf->pattern_count]->name
				: conf->patterns[i]->name) < 0)
			break;
	}
	if (names == NULL || made < count) {
		fprintf(stderr, "out of memory\n");
		exit_code = EXIT_BAD_CONF;
	} else {
		qsort(names, count, sizeof(*names), compare_text);
		for (i = 0; i < count; i++)
			printf("%s\n", names[i]);
	}
	for (i = 0; i < made; i++)
		free(names[i]);
	free(names);
	return exit_code;
}

static int
print_server_option(const struct conf *conf, const struct question *q)
{
	size_t i;

	if (strcmp(q->option, "patterns") == 0)
		return print_patterns(conf);
	if (strcmp(q->option, "zones") == 0) {
		for (i = 0; i < conf->zone_count; i++)
			printf("%s\n", conf->zones[i]->name);
		return 0;
	}
	if (conf_print_option(conf, q->option, q->full_paths, stdout) !=
		NSD_OK)
		return not_handled("Server", "", q->option);
	return 0;
}

static int
answer(const struct conf *conf, const struct question *q)
{
	if (q->secret != NULL)
		return print_key(conf, q->secret, true);
	if (q->algorithm != NULL)
		return print_key(conf, q->algorithm, false);
	if (q->tls_auth != NULL)
		return print_tls_auth(conf, q->tls_auth);
	if (q->option != NULL && q->zone != NULL)
		return print_zone_option(conf, q);
	if (q->option != NULL && q->pattern != NULL)
		return print_pattern_option(conf, q);
	if (q->option != NULL)
		return print_server_option(conf, q);
	if (q->verbose > 0) {
		printf("# Read file %s: %zu patterns, %zu fixed-zones, "
			"%zu keys, %zu tls-auth.\n", q->file,
			conf->pattern_count + conf->zone_count,
			conf->zone_count, conf->key_count,
			conf->tls_auth_count);
		conf_print(conf, q->verbose > 1, stdout);
	}
	return 0;
}

/* Scripts that ask for a value want nothing else. */
static bool
asks_for_a_value(const struct question *q)
{
	return q->option != NULL || q->secret != NULL || q->algorithm != NULL
		|| q->tls_auth != NULL;
}

struct anchors_reader {
	const struct conf *conf;
	struct diag_sink *sink;
	const char *absent; /* zonesdir, if it cannot be entered, or NULL */
};

/* Reads a file of trust anchors where the server finds it. */
static void
check_anchors(void *ctx, const char *path)
{
	const struct anchors_reader *reader = ctx;
	struct anchors_file file;
	char outside[PATH_MAX];

	if (reader->absent != NULL && path[0] != '/')
		diag_emit(reader->sink, DIAG_ERROR, path, 0, 0,
			"the path is relative to zonesdir %s, which cannot be "
			"entered", reader->absent);
	else if (!conf_path_outside_chroot(
			 reader->conf->server.chroot, path, outside))
		diag_emit(reader->sink, DIAG_ERROR, path, 0, 0,
			"the path is too long");
	else if (anchors_read(outside, NULL, reader->sink, &file) == NSD_OK)
		anchors_fini(&file);
}

/* Looks whether all that was printed could be written, and says if not. */
static bool
output_is_whole(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	fprintf(stderr, "cannot write to the standard output\n");
	return false;
}

static int
check_and_answer(const struct question *q)
{
	struct diag_sink sink = { .on_diag = print_diag };
	struct anchors_reader reader = { .sink = &sink };
	char folder[PATH_MAX];
	struct conf *conf;
	unsigned errors;
	int exit_code;

	if (conf_load(q->file, NULL, &sink, &conf) != NSD_OK)
		return EXIT_BAD_CONF;
	errors = conf_check(conf, &sink);
	if (!asks_for_a_value(q)) {
		conf_list_without_effect(conf, NULL, &sink);
		reader.conf = conf;
		if (!checkconf_enter_zonesdir(conf, folder))
			reader.absent = folder;
		conf_walk_anchors(conf, check_anchors, &reader);
		errors = sink.errors;
	}
	if (errors > 0) {
		fprintf(stderr, "%s: %u semantic errors in %zu zones, "
			"%zu keys, %zu tls-auth.\n", q->file, errors,
			conf->zone_count, conf->key_count,
			conf->tls_auth_count);
		exit_code = EXIT_BAD_CONF;
	} else {
		exit_code = answer(conf, q);
	}
	conf_destroy(conf);
	return output_is_whole() ? exit_code : EXIT_BAD_CONF;
}

static int
migrate_and_report(const struct question *q)
{
	char folder[PATH_MAX];
	struct checkconf_report report = { .json = q->json, .file = q->file };
	const struct conf_migrate_reader reader = {
		.ctx = &report, .on_note = checkconf_report_note };
	const struct conf_migrate_note no_folder = {
		.kind = CONF_MIGRATE_TO_DO,
		.file = folder,
		.text = "zonesdir cannot be entered: the server does not "
			"start, and files are not looked at",
	};
	struct anchors_reader anchors = { .sink = &report.sink };
	struct conf *conf;
	enum nsd_err err;
	int exit_code;

	checkconf_report_begin(&report);
	err = conf_migrate(q->file, &report.sink, &reader, &conf);
	if (err == NSD_E_MEMORY && report.errors == 0)
		diag_emit(&report.sink, DIAG_ERROR, NULL, 0, 0,
			"out of memory");
	if (err == NSD_OK) {
		(void)conf_check(conf, &report.sink);
		anchors.conf = conf;
		if (!checkconf_enter_zonesdir(conf, folder)) {
			anchors.absent = folder;
			checkconf_report_note(&report, &no_folder);
		}
		conf_walk_anchors(conf, check_anchors, &anchors);
		if (anchors.absent == NULL)
			checkconf_around(conf, &report);
		conf_destroy(conf);
	}
	exit_code = checkconf_report_end(&report);
	return output_is_whole() ? exit_code : EXIT_BAD_CONF;
}

enum { FLAG_MIGRATE = 256, FLAG_JSON };

static const struct option long_options[] = {
	{ "migrate", no_argument, NULL, FLAG_MIGRATE },
	{ "json", no_argument, NULL, FLAG_JSON },
	{ NULL, 0, NULL, 0 },
};

int
main(int argc, char *argv[])
{
	struct question q = { .file = NULL };
	int c;

	while ((c = getopt_long(argc, argv, "vfo:z:p:s:a:t:h", long_options,
		NULL)) != -1) {
		switch (c) {
		case FLAG_MIGRATE:
			q.migrate = true;
			break;
		case FLAG_JSON:
			q.json = true;
			break;
		case 'v':
			q.verbose++;
			break;
		case 'f':
			q.full_paths = true;
			break;
		case 'o':
			q.option = optarg;
			break;
		case 'z':
			q.zone = optarg;
			break;
		case 'p':
			q.pattern = optarg;
			break;
		case 's':
			q.secret = optarg;
			break;
		case 'a':
			q.algorithm = optarg;
			break;
		case 't':
			q.tls_auth = optarg;
			break;
		default:
			usage();
			return EXIT_USAGE;
		}
	}
	if (argc - optind != 1 || (q.json && !q.migrate)
		|| (q.migrate && (asks_for_a_value(&q) || q.verbose > 0))) {
		usage();
		return EXIT_USAGE;
	}
	q.file = argv[optind];
	return q.migrate ? migrate_and_report(&q) : check_and_answer(&q);
}
