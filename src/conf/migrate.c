/* migrate.c - differences of a configuration of NSD 4 in this server. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "conf/migrate.h"
#include "conf/parser.h"

struct migrate {
	struct conf *conf;
	struct conf_lines lines;
	bool *wanted;      /* rows of the table of options */
	bool *told;        /* the same: a note that comes once was given */
	const struct conf_migrate_reader *reader;
};

static void
migrate_tell(const struct migrate *m, const struct conf_migrate_note *note)
{
	m->reader->on_note(m->reader->ctx, note);
}

/* ---- lines --------------------------------------------------------------- */

/* Finds the row for a line, or what the flags of its option say. False: there
 * is nothing to say. A line whose value a later one has taken does nothing,
 * and what can be said of its option is left. */
static bool
line_check(const struct conf_line *line, const struct conf *conf,
	struct conf_migrate_note *note)
{
	const struct conf_option *o = line->option;
	size_t i;

	for (i = 0; i < migrate_row_count; i++) {
		const struct migrate_row *row = &migrate_rows[i];

		if (row->clause != o->clause
			|| strcmp(row->name, o->name) != 0
			|| (line->replaced && row->kind >= CONF_MIGRATE_DIFFERS)
			|| (row->applies != NULL && !row->applies(line, conf)))
			continue;
		note->kind = (enum conf_migrate_kind)row->kind;
		note->text = row->text;
		return true;
	}
	if ((o->flags & OPTION_NO_EFFECT) != 0) {
		note->kind = CONF_MIGRATE_NO_EFFECT;
		note->text = "this program does not have it";
	} else if ((o->flags & OPTION_OURS) != 0) {
		note->kind = CONF_MIGRATE_ONLY_HERE;
		note->text = "no NSD 4 knows it: take the line out before one "
			"reads this file";
	} else {
		return false;
	}
	return true;
}

/* Counts the lines behind one that have the same said of them. */
static uint32_t
line_count_more(const struct migrate *m, size_t from, const char *text)
{
	struct conf_migrate_note note;
	uint32_t more = 0;
	size_t i;

	for (i = from + 1; i < m->lines.count; i++)
		more += m->lines.items[i].option == m->lines.items[from].option
			&& line_check(&m->lines.items[i], m->conf, &note)
			&& note.text == text;
	return more;
}

static void
migrate_tell_lines(struct migrate *m)
{
	size_t i, row;

	for (i = 0; i < m->lines.count; i++) {
		const struct conf_line *line = &m->lines.items[i];
		struct conf_migrate_note note = {
			.file = line->place.file,
			.line = line->place.line,
			.option = line->option->name,
		};

		row = (size_t)(line->option - conf_options);
		if (!line_check(line, m->conf, &note))
			continue;
		if (note.kind != CONF_MIGRATE_TO_DO) {
			if (m->told[row])
				continue;
			m->told[row] = true;
			note.more = line_count_more(m, i, note.text);
		}
		migrate_tell(m, &note);
	}
}

/* Marks the options whose lines may be worth a note. */
static void
migrate_choose(struct migrate *m)
{
	size_t i;

	for (i = 0; i < conf_option_count; i++)
		m->wanted[i] = (conf_options[i].flags
			& (OPTION_NO_EFFECT | OPTION_OURS)) != 0;
	for (i = 0; i < migrate_row_count; i++)
		m->wanted[option_find(
			(enum conf_clause)migrate_rows[i].clause,
			migrate_rows[i].name) - conf_options] = true;
}

/* ---- the whole ----------------------------------------------------------- */

static bool
zone_has_primary(const struct conf_zone *zone)
{
	return zone->options->request_xfr.count > 0;
}

/* NSD 4.6 and before has the data of such a zone in its database alone, later
 * ones in memory. */
static void
migrate_tell_without_file(const struct migrate *m)
{
	struct conf_migrate_note note = {
		.kind = CONF_MIGRATE_TO_DO,
		.text = "a secondary zone without zonefile: is transferred "
			"anew at the first start, and answers SERVFAIL until "
			"then: give it one, and have NSD write it",
	};
	size_t i;

	for (i = 0; i < m->conf->zone_count; i++) {
		const struct conf_zone *zone = m->conf->zones[i];

		if (!zone_has_primary(zone) || zone->zonefile != NULL)
			continue;
		note.more += note.zone != NULL;
		if (note.zone == NULL) {
			note.zone = zone->name;
			note.file = zone->file != NULL ? zone->file
				: m->conf->file;
			note.line = zone->file != NULL ? zone->line : 0;
		}
	}
	if (note.zone != NULL)
		migrate_tell(m, &note);
}

static void
migrate_tell_control(const struct migrate *m)
{
	const struct conf *conf = m->conf;
	const struct conf_option *enable =
		option_find(CLAUSE_REMOTE_CONTROL, "control-enable");
	struct conf_migrate_note note = {
		.kind = CONF_MIGRATE_TO_DO,
		.file = conf->file,
		.option = enable->name,
	};

	if (conf->remote_control.control_enable)
		return;
	if (!option_is_set(enable, &conf->remote_control))
		note.text = "not set, which is no here and yes in Debian's "
			"NSD: say which it has to be";
	else if (conf->secondary_count > 0)
		note.text = "without it nobody can tell NSD to write its "
			"secondary zones before it is stopped: enable it";
	else
		return;
	migrate_tell(m, &note);
}

/* Tells whether NSD writes a file of the zones that have these options. */
static bool
pattern_is_written(const struct conf_pattern *pattern, const char *zonefile)
{
	return pattern->request_xfr.count > 0 && zonefile != NULL
		&& *zonefile != '\0';
}

static bool
migrate_has_written(const struct conf *conf)
{
	size_t i;

	for (i = 0; i < conf->pattern_count; i++)
		if (pattern_is_written(conf->patterns[i],
			    conf->patterns[i]->zonefile))
			return true;
	for (i = 0; i < conf->zone_count; i++)
		if (pattern_is_written(conf->zones[i]->options,
			    conf->zones[i]->zonefile))
			return true;
	return false;
}

/* NSD 4.8 came without a database; before, one stood for the files. */
static void
migrate_tell_writing(const struct migrate *m)
{
	const struct conf *conf = m->conf;
	const struct conf_server *server = &conf->server;
	const struct conf_option *period =
		option_find(CLAUSE_SERVER, "zonefiles-write");
	const struct conf_option *database =
		option_find(CLAUSE_SERVER, "database");
	const struct conf_migrate_note note = {
		.kind = CONF_MIGRATE_DIFFERS,
		.file = conf->file,
		.option = period->name,
		.text = "not set, which is 3600 here and in NSD since 4.8, "
			"and 0 in older ones with a database, which never "
			"write a zone file by themselves: say which it has to "
			"be",
	};
	bool without = option_is_set(database, server)
		&& server->database[0] == '\0';

	if (!option_is_set(period, server) && !without
		&& migrate_has_written(conf))
		migrate_tell(m, &note);
}

static void
migrate_tell_whole(const struct migrate *m)
{
	const struct conf *conf = m->conf;
	const struct conf_option *limit =
		option_find(CLAUSE_SERVER, "rrl-ratelimit");
	struct conf_migrate_note note = { .file = conf->file };

	if (RATELIMIT && conf->server.rrl_ratelimit > 0
		&& !option_is_set(limit, &conf->server)) {
		note.kind = CONF_MIGRATE_DIFFERS;
		note.option = limit->name;
		note.text = "not set, which is 200 answers a second for a "
			"netblock here and in NSD 4.6, and no limit in later "
			"ones: say which it has to be";
		migrate_tell(m, &note);
	}
	migrate_tell_writing(m);
	migrate_tell_without_file(m);
	migrate_tell_control(m);
}

enum nsd_err
conf_migrate(const char *path, struct diag_sink *sink,
	const struct conf_migrate_reader *reader, struct conf **conf)
{
	struct migrate m = { .reader = reader };
	enum nsd_err err = NSD_E_MEMORY;

	m.wanted = calloc(conf_option_count, sizeof(*m.wanted));
	m.told = calloc(conf_option_count, sizeof(*m.told));
	m.lines.last = calloc(conf_option_count, sizeof(*m.lines.last));
	if (m.wanted != NULL && m.told != NULL && m.lines.last != NULL) {
		migrate_choose(&m);
		m.lines.wanted = m.wanted;
		err = parser_load_lines(path, &m.lines, sink, &m.conf);
	}
	if (err == NSD_OK || err == NSD_E_SYNTAX) {
		migrate_tell_lines(&m);
		migrate_tell_whole(&m);
	}
	if (err == NSD_OK)
		*conf = m.conf;
	else if (err == NSD_E_SYNTAX)
		conf_destroy(m.conf);
	free(m.lines.items);
	free(m.lines.last);
	free(m.wanted);
	free(m.told);
	return err;
}
