/* main.c - nsd-checkzone: reads a zone file as the server does, and says what
 * is wrong with it. */
#include "config.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/log.h"
#include "checkzone.h"
#include "compile/build.h"
#include "dns/name.h"
#include "store/store.h"
#include "store/writer.h"
#include "zone/walk.h"
#include "zone/zonemd.h"
#include "zonefile/writer.h"
#include "zonefile/zonefile.h"

#define THREADS_MAX 16
#define OPTION_ZONEMD 256 /* no character */
#define EXIT_OTHER_DIGEST 2 /* the zone is right, but for its ZONEMD records */
#define TRIES 3 /* to read a file that changes meanwhile */

static void
usage(FILE *out)
{
	fprintf(out, "Usage: nsd-checkzone [-p] [-D] [-t <time>] "
		"[--zonemd[=<hashes>]] <zone name> <zone file>\n"
		"\t-p\tprint the zone if the zone is ok\n"
		"\t-D\tDNSSEC: verify signatures; what a validator would "
		"fail at is\n"
		"\t\tan error and not a warning\n"
		"\t-t <time>\tjudge signatures as of then: "
		"YYYYMMDDHHMMSS, seconds since\n"
		"\t\t1970, or +N or -N from now with unit s, m, h, d or w\n"
		"\t-i <old zone file>\tcreate an IXFR from the differences "
		"between the\n"
		"\t\told zone file and the new zone file. Writes to "
		"<zone file>.ixfr;\n"
		"\t\tothers that are there become <zone file>.ixfr.2 and "
		"so on\n"
		"\t-n <ixfr number>\tnumber of IXFR versions to store, at "
		"most (5)\n"
		"\t-s <ixfr size>\tsize of IXFR to store, at most "
		"(1048576)\n"
		"\t--zonemd[=sha384|sha512|sha384,sha512]\n"
		"\t\tprint the ZONEMD record that the zone should have; "
		"exit code 2:\n"
		"\t\tthe zone is ok, but has another one\n"
		"\t-h\tprint this help\n"
		"Version " PACKAGE_VERSION ".\n");
}

/* Reads the file; if it changes meanwhile, tries again. Faults may have been
 * reported then. NSD_OK also if records were left out because of errors: the
 * sink has counted these. */
static enum nsd_err
read_zone(struct check *c, struct zonefile_result *result)
{
	const struct zonefile_options options = {
		.apex = c->apex,
		.default_ttl_sec = TTL_FALLBACK,
		.threads = c->threads,
	};
	enum nsd_err err;
	int tries;

	for (tries = 1;; tries++) {
		err = zonefile_parse(c->file, &options,
			c->told ? NULL : &c->sink, result);
		if (err != NSD_E_AGAIN)
			break;
		if (tries == TRIES) {
			diag_emit(&c->sink, DIAG_ERROR, c->file, 0, 0,
				"the file changed while it was read");
			break;
		}
		zonefile_result_fini(result);
	}
	return err == NSD_E_SYNTAX ? NSD_OK : err;
}

static enum nsd_err
print_rr(void *ctx, const struct zone_rr *rr)
{
	return zonefile_writer_rr(ctx, rr->owner, rr->ttl_sec, rr->type,
		rr->rdata, rr->rdlen);
}

static void
print_zone(struct check *c, const struct store_view *view, store_ref zone)
{
	struct zonefile_writer writer;
	enum nsd_err err = zonefile_writer_init(&writer, stdout, c->apex);

	if (err == NSD_OK) {
		err = zone_walk(view, store_get(view, zone), c->apex, print_rr,
			&writer);
		zonefile_writer_fini(&writer);
	}
	if (err == NSD_OK && fflush(stdout) != 0)
		err = NSD_E_SYSTEM;
	if (err != NSD_OK)
		diag_emit(&c->sink, DIAG_ERROR, NULL, 0, 0,
			"cannot print zone %s: %s", c->name,
			err_text(err));
}

/* Says what would make a validator fail, if the zone is signed. */
static enum nsd_err
check_dnssec(struct check *c, const struct store_view *view, store_ref zone,
	const struct zone_build_input *input)
{
	const struct audit_options options = {
		.apex = c->apex,
		.now_sec = c->now_sec,
		.verify = c->dnssec,
		.strict = c->dnssec,
		.threads = c->threads,
		.batches = input->batches,
		.files = input->files,
		.file_count = input->file_count,
	};
	struct audit_report report;

	return audit_zone(view, store_get(view, zone), &options, &c->sink,
		&report);
}

static enum nsd_err
digest_rr(void *ctx, const struct zone_rr *rr)
{
	return zonemd_take(ctx, rr);
}

/* Says whether the zone is what its ZONEMD records are of (RFC 8976). */
static enum nsd_err
check_digest(struct check *c, const struct store_view *view, store_ref zone)
{
	struct zonemd *zonemd;
	enum nsd_err err = checkzone_begin_digest(c, &zonemd);

	if (err != NSD_OK)
		return err;
	err = zone_walk(view, store_get(view, zone), c->apex, digest_rr,
		zonemd);
	if (err == NSD_OK || err == NSD_E_NOT_FOUND)
		err = checkzone_end_digest(c, zonemd);
	zonemd_destroy(zonemd);
	return err;
}

/* Builds the zone as the server does, since some faults show only then. Checks
 * and prints it, as was asked for. */
static void
check_build(struct check *c, const struct zonefile_result *result,
	struct store_writer *writer)
{
	const struct store_view *view = store_writer_view(writer);
	const char **files = zonefile_list_names(result);
	struct zone_build_input input = {
		.apex = c->apex,
		.batches = result->batches,
		.files = files,
		.file_count = result->source_count,
		.threads = c->threads,
	};
	enum nsd_err err = NSD_E_MEMORY;
	store_ref zone;

	if (files != NULL)
		err = build_zone(&input, writer, store_writer_heap(writer),
			&c->sink, &zone);
	if (err == NSD_OK)
		err = check_dnssec(c, view, zone, &input);
	if (err == NSD_OK)
		err = check_digest(c, view, zone);
	if (err == NSD_OK && c->sink.errors == 0 && c->print)
		print_zone(c, view, zone);
	if (err != NSD_OK && c->sink.errors == 0)
		diag_emit(&c->sink, DIAG_ERROR, c->file, 0, 0, "%s",
			err_text(err));
	free(files);
}

static void
check_records(struct check *c, const struct zonefile_result *result)
{
	const struct store_options options = { .reader_max = 1 };
	struct store_writer *writer;
	struct store *store;
	enum nsd_err err = store_create(&options, &store);

	if (err == NSD_OK) {
		err = store_writer_open(store, &writer);
		if (err == NSD_OK) {
			check_build(c, result, writer);
			store_writer_close(writer);
		}
		store_destroy(store);
	}
	if (err != NSD_OK)
		diag_emit(&c->sink, DIAG_ERROR, NULL, 0, 0,
			"cannot make room for the zone: %s",
			err_text(err));
}

/* Checks the zone with all its records in memory. */
static void
check_whole(struct check *c)
{
	struct zonefile_result result;

	/* A part of a zone would seem to break rules that the whole obeys. */
	if (read_zone(c, &result) == NSD_OK && !result.is_cut)
		check_records(c, &result);
	zonefile_result_fini(&result);
}

static int
check_zone(struct check *c)
{
	enum nsd_err err = checkzone_stream(c);

	if (err == NSD_E_LIMIT)
		check_whole(c);
	else if (err != NSD_OK && c->sink.errors == 0)
		diag_emit(&c->sink, DIAG_ERROR, c->file, 0, 0, "%s",
			err_text(err));
	if (c->sink.errors > 0) {
		printf("zone %s file %s has %u errors\n", c->name, c->file,
			(unsigned)c->sink.errors);
		return 1;
	}
	if (c->old != NULL && !checkzone_ixfr(c))
		return 1;
	printf("%szone %s is ok\n", c->print || checkzone_wants_digest(c)
			? "; " : "", c->name);
	if (fflush(stdout) != 0)
		return 1;
	return c->is_other ? EXIT_OTHER_DIGEST : 0;
}

static unsigned
count_processors(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	if (n < 1)
		return 1;
	return n < THREADS_MAX ? (unsigned)n : THREADS_MAX;
}

/* Seconds in a unit of time; 0: there is no such unit. */
static uint64_t
unit_get_sec(char unit)
{
	switch (unit) {
	case 's':
		return 1;
	case 'm':
		return 60;
	case 'h':
		return 3600;
	case 'd':
		return 86400;
	case 'w':
		return 604800;
	}
	return 0;
}

/* Parses YYYYMMDDHHMMSS, in UTC. */
static bool
parse_date(const char *text, uint64_t *now_sec)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y%m%d%H%M%S", &tm);
	time_t value;

	if (end == NULL || *end != '\0')
		return false;
	value = timegm(&tm);
	*now_sec = (uint64_t)value;
	return value >= 0;
}

/* Parses the argument of -t. *now_sec is the present time before. */
static bool
parse_time(const char *text, uint64_t *now_sec)
{
	bool relative = *text == '+' || *text == '-';
	const char *digits = text + relative;
	size_t len = strspn(digits, "0123456789");
	uint64_t value, unit = 1;

	if (len == 0 || len > (relative ? 10 : 14)
		|| (!relative && digits[len] != '\0'))
		return false;
	if (!relative && len == 14)
		return parse_date(digits, now_sec);
	value = strtoull(digits, NULL, 10);
	if (!relative) {
		*now_sec = value;
		return true;
	}
	if (digits[len] != '\0') {
		unit = unit_get_sec(digits[len]);
		if (unit == 0 || digits[len + 1] != '\0')
			return false;
	}
	if (*text == '+')
		*now_sec += value * unit;
	else if (value * unit > *now_sec)
		return false;
	else
		*now_sec -= value * unit;
	return true;
}

static bool
parse_number(int option, const char *text, uint64_t *number)
{
	size_t len = strspn(text, "0123456789");

	if (len == 0 || len > 18 || text[len] != '\0') {
		fprintf(stderr, "nsd-checkzone: -%c: '%s' is no number\n",
			option, text);
		return false;
	}
	*number = strtoull(text, NULL, 10);
	return true;
}

/* Reads the options. Returns the exit code, or -1 to go on. */
static int
read_options(struct check *c, int argc, char **argv)
{
	static const struct option long_options[] = {
		{"zonemd", optional_argument, NULL, OPTION_ZONEMD},
		{NULL, 0, NULL, 0},
	};
	uint64_t number;
	int option;

	while ((option = getopt_long(argc, argv, "Dhi:n:ps:t:", long_options,
			NULL)) != -1) {
		switch (option) {
		case 'h':
			usage(stderr);
			return 0;
		case 'p':
			c->print = true;
			break;
		case 'D':
			c->dnssec = true;
			break;
		case 't':
			if (parse_time(optarg, &c->now_sec))
				break;
			fprintf(stderr, "nsd-checkzone: -t: '%s' is no time\n",
				optarg);
			return 1;
		case OPTION_ZONEMD:
			if (checkzone_read_hashes(c, optarg))
				break;
			fprintf(stderr, "nsd-checkzone: --zonemd: '%s' is not"
				" sha384, sha512 or both\n", optarg);
			return 1;
		case 'i':
			c->old = optarg;
			break;
		case 'n':
			if (!parse_number(option, optarg, &number))
				return 1;
			c->ixfr_number = number < UINT32_MAX
				? (uint32_t)number : UINT32_MAX;
			break;
		case 's':
			if (!parse_number(option, optarg, &c->ixfr_size))
				return 1;
			break;
		default:
			usage(stderr);
			return 1;
		}
	}
	return -1;
}

int
main(int argc, char **argv)
{
	static const uint8_t root[1] = { 0 };
	struct check c = { .sink = { log_diag, 0, 0 }, .ixfr_number = 5,
		.ixfr_size = 1048576 };
	const char *why;
	size_t size;
	int code;

	log_set_program("nsd-checkzone");
	c.now_sec = (uint64_t)time(NULL);
	code = read_options(&c, argc, argv);
	if (code >= 0)
		return code;
	if (argc - optind != 2) {
		fprintf(stderr, "wrong number of arguments.\n");
		usage(stderr);
		return 1;
	}
	c.name = argv[optind];
	c.file = argv[optind + 1];
	if (strcmp(c.file, "-") == 0)
		c.file = "/dev/stdin";
	c.threads = count_processors();
	if (name_parse_text(c.name, strlen(c.name), root, c.apex, &size, &why)
			!= NSD_OK) {
		log_error("cannot parse zone name '%s': expected %s", c.name,
			why);
		return 1;
	}
	name_lower(c.apex);
	return check_zone(&c);
}
