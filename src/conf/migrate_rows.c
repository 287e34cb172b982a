/* migrate_rows.c - the table of options that differ from NSD 4's: what is said
 * of their lines. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "conf/migrate.h"
#include "conf/parser.h"

/* ---- conditions, on the first word of a line ----------------------------- */

static bool
word_is_yes(const struct conf_line *line, const struct conf *conf)
{
	return strcmp(line->word, "yes") == 0;
}

static bool
word_is_no(const struct conf_line *line, const struct conf *conf)
{
	return strcmp(line->word, "no") == 0;
}

static bool
word_is_something(const struct conf_line *line, const struct conf *conf)
{
	return line->word[0] != '\0';
}

static bool
word_is_not_zero(const struct conf_line *line, const struct conf *conf)
{
	return strtoull(line->word, NULL, 10) > 0;
}

static bool
word_is_range(const struct conf_line *line, const struct conf *conf)
{
	return strchr(line->word, '-') != NULL;
}

static bool
word_is_consumer(const struct conf_line *line, const struct conf *conf)
{
	return strcmp(line->word, "consumer") == 0;
}

static bool
number_is_cut(const struct conf_line *line, const struct conf *conf)
{
	return strtoull(line->word, NULL, 10) > 4096;
}

static bool
server_is_alone(const struct conf_line *line, const struct conf *conf)
{
	return word_is_yes(line, conf) && conf->server.server_count == 1;
}

static bool
sockets_are_apart(const struct conf_line *line, const struct conf *conf)
{
	return word_is_no(line, conf) && conf->server.server_count > 1;
}

static bool
dnstap_is_missing(const struct conf_line *line, const struct conf *conf)
{
	return !USE_DNSTAP && word_is_yes(line, conf);
}

/* ---- the table ----------------------------------------------------------- */

#define ROW(c, n, k, w, t)                                           \
	{ .clause = CLAUSE_##c, .kind = CONF_MIGRATE_##k, .name = n, \
		.applies = w, .text = t },
#define RANGE "the addresses of a range are compared as numbers, which NSD " \
	"4.6 does otherwise: see that those are in it that have to be"

/*
 * Each row is one difference that doc/surface.md tells of. Options without a
 * row, of those that have no effect or that no NSD 4 knows, are said by their
 * flags in the table of options.
 */
const struct migrate_row migrate_rows[] = {
	ROW(SERVER, "database", DIFFERS, word_is_something, "the file keeps all zones over a clean stop, and is of another form: one of NSD's is left alone and not read")
	ROW(SERVER, "difffile", NO_EFFECT, NULL, "no NSD 4 has such a file, and this server has none: take the line out")
	ROW(SERVER, "use-systemd", NO_EFFECT, NULL, "the service manager is told if NOTIFY_SOCKET says where: take the line out")
	ROW(SERVER, "xfrd-reload-timeout", NO_EFFECT, NULL, "a transfer is served at once, without a reload: take the line out")
	ROW(SERVER, "reuseport", NO_EFFECT, server_is_alone, "with server-count: 1 there is nobody to share with")
	ROW(SERVER, "reuseport", DIFFERS, sockets_are_apart, "several query processes have sockets of their own in any case")
	ROW(SERVER, "pidfile", DIFFERS, word_is_something, "it has the number of nsd: main, which takes the signals and holds no zones")
	ROW(SERVER, "zonefiles-check", DIFFERS, word_is_no, "this is for SIGHUP alone: a start and nsd-control reload look at the files in any case")
	ROW(SERVER, "xfrdir", DIFFERS, NULL, "transfers are kept in a folder beside xfrdfile; here are copies of zone files that could not be written")
	ROW(SERVER, "reload-config", DIFFERS, word_is_yes, "SIGHUP takes all that nsd-control reconfig takes, most options of server: among them")
	ROW(SERVER, "log-only-syslog", DIFFERS, word_is_yes, "until the server has started, errors go to stderr, too")
	ROW(SERVER, "statistics", DIFFERS, word_is_not_zero, "lines XSTATS have RLost=N at their end, datagrams that the kernel dropped")
	ROW(SERVER, "confine-to-zone", DIFFERS, word_is_no, "CNAME and DNAME lead to other zones, but no additional data comes from there")
	ROW(SERVER, "xdp-interface", TO_DO, word_is_something, "queries do not come by XDP here, and the queues of the device do not count: say server-count")
	ROW(DNSTAP, "dnstap-enable", TO_DO, dnstap_is_missing, "this program was built without dnstap: build it with --enable-dnstap")
	ROW(VERIFY, "enable", DIFFERS, word_is_yes, "a verifier that ends by a signal refuses the version, which NSD up to 4.12 serves; what it leaves behind is killed; it sees no NOTIFY_SOCKET")
	ROW(VERIFY, "verifier-feed-zone", DIFFERS, word_is_no, "the input of a verifier is /dev/null then")
	ROW(PATTERN, "verifier-feed-zone", DIFFERS, word_is_no, "the input of a verifier is /dev/null then")
	ROW(PATTERN, "allow-query", DIFFERS, word_is_range, RANGE)
	ROW(PATTERN, "allow-notify", DIFFERS, word_is_range, RANGE)
	ROW(PATTERN, "provide-xfr", DIFFERS, word_is_range, RANGE)
	ROW(PATTERN, "allow-axfr-fallback", DIFFERS, word_is_no, "a zone without data is asked for whole all the same")
	ROW(PATTERN, "size-limit-xfr", DIFFERS, word_is_not_zero, "what is over 16 MiB ends, too, if it is more than the disk of the journal has left")
	ROW(PATTERN, "multi-primary-check", DIFFERS, word_is_yes, "eight primaries are asked at once")
	ROW(PATTERN, "multi-master-check", DIFFERS, word_is_yes, "eight primaries are asked at once")
	ROW(PATTERN, "ixfr-number", DIFFERS, number_is_cut, "4096 versions are kept at most")
	ROW(PATTERN, "create-ixfr", DIFFERS, word_is_yes, "a whole zone that was transferred is compared, too")
	ROW(PATTERN, "catalog", DIFFERS, word_is_consumer, "members outlive a catalog that expires, is empty or has a fault, and are in zone.list")
	ROW(PATTERN, "catalog-producer-zone", DIFFERS, NULL, "zones of nsd.conf with this pattern are members, too")
};
const size_t migrate_row_count =
	sizeof(migrate_rows) / sizeof(migrate_rows[0]);
