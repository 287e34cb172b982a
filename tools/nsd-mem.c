/* nsd-mem.c - says how much memory the server will take: it builds each zone of
 * a configuration, or of one zone file, as the server does. */
#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/platform.h"
#include "conf/conf.h"
#include "guard/rrl.h"
#include "loader/load_list.h"
#include "loader/load_read.h"
#include "loader/load_retire.h"
#include "loader/load_set.h"
#include "store/store.h"
#include "store/writer.h"
#include "zone/measure.h"
#include "zone/sources.h"
#include "zonedb/sources_edit.h"
#include "zonedb/table_edit.h"

#define THREADS_MAX 16
#define COLUMNS 15
/* Memory of main, the loader and xfrd together, and of each worker, without the
 * part that grows with the zones: measured, see doc/performance.md. */
#define PROCESSES_OCTETS 3000000u
#define WORKER_OCTETS 720000u
/* Octets of a zone in main, the loader and xfrd, beside the configuration. */
#define ZONE_OCTETS 48u

struct mem {
	struct conf *conf;
	struct store *store;
	struct store_writer *writer;
	struct load_set set;
	struct load_context context;
	struct load_progress progress;
	struct load_retire retire;
	pthread_mutex_t busy_lock;
	struct load_zone *largest;
	uint64_t largest_octets;
	uint64_t data;       /* octets of all zones */
	uint64_t peak;       /* beside what there is at rest */
};

static void
usage(FILE *out)
{
	fprintf(out, "Usage: nsd-mem [-c <configfile>] [-h] [<zone name>"
		" <zone file>]\n"
		"\t-c <configfile>\tthe configuration, instead of %s\n"
		"\t-h\t\tprint this help\n"
		"Says how much memory the server takes for its zones, or for"
		" one zone file.\n"
		"Version " PACKAGE_VERSION ".\n", CONFIGFILE);
}

/* ---- printing ------------------------------------------------------------ */

/* Prints a number, with a point between thousands, and its meaning. */
static void
print_octets(uint64_t octets, const char *what)
{
	char digits[24], text[32];
	int len = snprintf(digits, sizeof(digits), "%llu",
		(unsigned long long)octets);
	int at = 0;

	for (int i = 0; i < len; i++) {
		text[at++] = digits[i];
		if (i + 1 < len && (len - i - 1) % 3 == 0)
			text[at++] = '.';
	}
	text[at] = '\0';
	printf("%*s %s\n", COLUMNS, text, what);
}

/* Octets of a line of /proc/self/status, which are said in kB; 0: unknown. */
static uint64_t
read_status(const char *name)
{
	FILE *file = fopen("/proc/self/status", "re");
	uint64_t found = 0;
	char line[256];

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			found = strtoull(line + strlen(name), NULL, 10) * 1024;
	if (file != NULL)
		fclose(file);
	return found;
}

/* Resets the kernel's peak of this process's memory. */
static void
forget_most(void)
{
	FILE *file = fopen("/proc/self/clear_refs", "we");

	if (file == NULL)
		return;
	fputs("5", file);
	fclose(file);
}

/* ---- zones --------------------------------------------------------------- */

static uint64_t
live_octets(const struct mem *m)
{
	struct store_stats stats;

	store_get_stats(m->writer, &stats);
	return stats.live;
}

/* Reads a zone and puts it into the store. False: that failed, which was
 * said. */
static bool
mem_read(struct mem *m, struct load_zone *zone)
{
	struct load_result result;
	bool done;

	/* A small zone has no threads of its own. */
	load_read_zone(&m->context, zone, store_writer_heap(m->writer), false,
		&result);
	if (result.outcome == LOAD_LARGE)
		load_read_zone(&m->context, zone,
			store_writer_heap(m->writer), true, &result);
	if (result.outcome == LOAD_UNCHANGED)
		return false;
	done = result.outcome == LOAD_BUILT;
	if (done)
		table_set_zone(m->writer, zone->entry, result.built);
	sources_set(m->writer, zone->entry, result.files.sources,
		result.files.source_count, done ? 0 : ZONE_SOURCES_FAILED);
	(void)load_zone_release(zone);
	zonefile_result_fini(&result.files);
	diff_destroy(result.diff);
	free(result.reasons);
	(void)store_reclaim(m->writer);
	return done;
}

static void
mem_read_first(struct mem *m, struct load_zone *zone)
{
	uint64_t before = live_octets(m), octets;

	printf("zone %s\n", zone->conf->name);
	if (!mem_read(m, zone)) {
		print_octets(0, "zone data (not loaded)");
		return;
	}
	octets = live_octets(m) - before;
	m->data += octets;
	print_octets(octets, "zone data");
	if (octets >= m->largest_octets) {
		m->largest_octets = octets;
		m->largest = zone;
	}
}

/* Builds the largest zone once more, beside itself, as a file does that has
 * nothing in common with the one before. */
static void
mem_replace_largest(struct mem *m)
{
	uint64_t before, most;

	if (m->largest == NULL)
		return;
	platform_heap_trim();
	forget_most();
	before = read_status("VmRSS:");
	/* Without sources, the zone file counts as changed. */
	sources_set(m->writer, m->largest->entry, NULL, 0, 0);
	m->largest->whole = true;
	m->context.beside_answers = true;
	(void)mem_read(m, m->largest);
	most = read_status("VmHWM:");
	m->peak = most > before ? most - before : 0;
}

/* ---- the sum ------------------------------------------------------------- */

static void
mem_print_kinds(const struct mem *m)
{
	struct zone_measure measure;
	char what[64];

	zone_measure(store_writer_view(m->writer), &measure);
	for (unsigned i = 0; i < ZONE_KIND_COUNT; i++) {
		snprintf(what, sizeof(what), "%s", zone_kind_name(i));
		print_octets(measure.octets[i], what);
	}
}

static void
mem_print_total(struct mem *m, const struct store_stats *stats)
{
	const struct conf_server *o = &m->conf->server;
	uint64_t conf = conf_memory_size(m->conf);
	uint64_t processes = PROCESSES_OCTETS
		+ (uint64_t)o->server_count * WORKER_OCTETS;
	uint64_t rest = m->conf->zone_count * ZONE_OCTETS;
	uint64_t ram = stats->mapped + conf + rest + processes;

	printf("\ntotal\n");
	mem_print_kinds(m);
	print_octets(m->data, "data of all zones");
	print_octets(stats->mapped > stats->live ? stats->mapped - stats->live
						 : 0, "unused space");
	print_octets(conf + rest, "options");
	print_octets(processes, "processes");
	/* The kernel gives memory as it is used. */
	print_octets(RATELIMIT ? rrl_octets(o->rrl_size) : 0,
		"RRL table, once many clients have asked");
	printf("\nsummary\n");
	print_octets(ram, "ram usage (excl space for buffers)");
	print_octets(ram + m->peak,
		"ram usage while the largest zone is replaced");
	print_octets(stats->mapped, "size of a database: image");
}

/* ---- start --------------------------------------------------------------- */

static enum nsd_err
mem_open(struct mem *m)
{
	const struct store_options options = {.reader_max = 1};
	struct load_list_result listed;
	enum nsd_err err = store_create(&options, &m->store);
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (err == NSD_OK)
		err = store_writer_open(m->store, &m->writer);
	if (err == NSD_OK)
		err = load_set_init(&m->set, m->conf->zone_count);
	if (err == NSD_OK)
		err = load_list_publish(m->writer, m->conf, m->set.zones,
			&listed);
	pthread_mutex_init(&m->busy_lock, NULL);
	m->progress.stage = "reading";
	m->context = (struct load_context){
		.writer = m->writer,
		.threads_max = processors < 1 ? 1
			: processors > THREADS_MAX ? THREADS_MAX
						   : (unsigned)processors,
		.nsec3_iterations_max = m->conf->server.nsec3_max_iterations,
		.which = LOAD_MISSING,
		.progress = &m->progress,
		.busy_lock = &m->busy_lock,
		.retire = &m->retire,
	};
	return err;
}

static int
mem_run(struct mem *m)
{
	struct store_stats stats;
	enum nsd_err err = mem_open(m);

	if (err != NSD_OK) {
		log_error("cannot make room for the zones: %s", err_text(err));
		return 1;
	}
	for (size_t i = 0; i < m->set.count; i++)
		mem_read_first(m, &m->set.zones[i]);
	(void)store_reclaim(m->writer);
	store_trim(m->writer);
	store_get_stats(m->writer, &stats);
	m->context.which = LOAD_STALE;
	mem_replace_largest(m);
	mem_print_total(m, &stats);
	return fflush(stdout) == 0 ? 0 : 1;
}

static void
mem_close(struct mem *m)
{
	store_writer_close(m->writer);
	store_destroy(m->store);
	conf_destroy(m->conf);
}

static void
mem_on_diag(struct diag_sink *sink, const struct diag *d)
{
	char line[2048];

	conf_print_diag(d, line, sizeof(line));
	fprintf(stderr, "%s\n", line);
}

/* Makes a configuration of one zone. */
static enum nsd_err
mem_load_file(const char *name, const char *file, struct diag_sink *sink,
	struct conf **conf)
{
	size_t size = strlen(name) + strlen(file) + 64;
	char *text = malloc(size);
	enum nsd_err err = NSD_E_MEMORY;

	if (text == NULL)
		return err;
	snprintf(text, size, "zone:\nname: \"%s\"\nzonefile: \"%s\"\n", name,
		file);
	err = conf_load_text("the arguments", text, strlen(text), false, sink,
		conf);
	free(text);
	return err;
}

int
main(int argc, char **argv)
{
	struct diag_sink sink = {.on_diag = mem_on_diag};
	const char *config = CONFIGFILE;
	struct mem m = {.conf = NULL};
	bool whole;
	int option, code;

	log_set_program("nsd-mem");
	while ((option = getopt(argc, argv, "c:h")) != -1) {
		if (option != 'c') {
			usage(option == 'h' ? stdout : stderr);
			return option == 'h' ? 0 : 1;
		}
		config = optarg;
	}
	whole = argc == optind;
	if (!whole && argc - optind != 2) {
		usage(stderr);
		return 1;
	}
	if ((whole ? conf_load(config, NULL, &sink, &m.conf)
		   : mem_load_file(argv[optind], argv[optind + 1], &sink,
			     &m.conf)) != NSD_OK)
		return 1;
	if (whole && m.conf->server.zonesdir != NULL
		&& *m.conf->server.zonesdir != '\0'
		&& chdir(m.conf->server.zonesdir) == -1) {
		log_error("cannot chdir to '%s'", m.conf->server.zonesdir);
		mem_close(&m);
		return 1;
	}
	code = mem_run(&m);
	mem_close(&m);
	return code;
}
