/* control_zones.c - the verbs that have zones come, go and get other patterns:
 * addzone, delzone, changezone, addzones, delzones. */
#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "ctl/call.h"
#include "xfrd/control.h"
#include "xfrd/xfrd_change.h"
#include "xfrd/xfrd_member_id.h"

/* Lines of addzones and delzones that are under way; more wait. */
#define LINES_MAX 4096u
/* Octets of the text about one zone. */
#define TEXT_MAX 4096u

/* A command of one of these verbs. */
struct zones_call {
	struct ctl_call *call;
	struct xfrd *xfrd;
	enum xfrd_change_kind kind;
	bool many;        /* addzones, delzones */
	bool no_more;     /* all lines have come */
	bool held;        /* no line comes until some are done */
	unsigned waiting; /* lines in the list below */
	unsigned done;    /* zones that are as they were wanted, and told */
	struct zones_line *first, **end; /* in the order in which they came */
};

/* A zone of such a command. */
struct zones_line {
	struct zones_line *next;
	struct zones_call *of;
	bool ended;
	bool good;        /* the zone is as it was wanted */
	bool unread;      /* but for its file */
	char *said;       /* text for the client; NULL: none */
	const char *pattern;
	char name[];
};

/* ---- outcomes ------------------------------------------------------------ */

/* Prints why a member of a source is not changed by hand. */
static int
zones_print_member(const struct zones_line *line, const char *id,
	char out[TEXT_MAX])
{
	if (strcmp(id, XFRD_MEMBER_OF_FOLDER) == 0)
		return snprintf(out, TEXT_MAX, "error zone %s has its file in a"
			" zone-directory: change it there\n", line->name);
	return snprintf(out, TEXT_MAX,
		"Error: Zone is a catalog consumer member zone with id %s\n%s",
		id, line->of->kind == XFRD_CHANGE_DELETE
			? "Remove the member id from the catalog to delete"
			  " this zone.\n"
			: "Repattern in the catalog with a group property.\n");
}

/* Prints an outcome as NSD does. *good: the zone is as it was wanted. Returns
 * octets; 0: there is no text. */
static int
zones_print(const struct zones_line *line, const struct xfrd_change_end *end,
	bool *good, char out[TEXT_MAX])
{
	*good = end->outcome == XFRD_CHANGED
		|| end->outcome == XFRD_CHANGED_UNREAD
		|| end->outcome == XFRD_CHANGED_EXISTS;
	switch (end->outcome) {
	case XFRD_CHANGED:
		return end->created
			? snprintf(out, TEXT_MAX,
				  "zone %s did not exist, creating\n",
				  line->name)
			: 0;
	case XFRD_CHANGED_UNREAD:
		return snprintf(out, TEXT_MAX, "error zone %s %s, but its file"
			" cannot be read%s\n%s", line->name,
			line->of->kind == XFRD_CHANGE_ADD || end->created
				? "was added" : "has another pattern",
			*end->why != '\0' ? ":" : ", see the log", end->why);
	case XFRD_CHANGED_EXISTS:
		return snprintf(out, TEXT_MAX, "zone %s already exists\n",
			line->name);
	case XFRD_CHANGED_ABSENT:
		return snprintf(out, TEXT_MAX, "warning zone %s not present\n",
			line->name);
	case XFRD_CHANGED_FIXED:
		return snprintf(out, TEXT_MAX, "error zone defined in nsd.conf,"
			" cannot delete it in this manner: remove it from"
			" nsd.conf yourself and repattern\n");
	case XFRD_CHANGED_MEMBER:
		return zones_print_member(line, end->why, out);
	case XFRD_CHANGED_NO_PATTERN:
		return snprintf(out, TEXT_MAX,
			"error pattern %s does not exist\n", line->pattern);
	case XFRD_CHANGED_NO_NAME:
		return snprintf(out, TEXT_MAX,
			"error cannot parse zone name\n");
	case XFRD_CHANGED_UNLISTED:
		return snprintf(out, TEXT_MAX,
			"error could not add zonelist entry: %s\n", end->why);
	case XFRD_CHANGED_OTHER:
	case XFRD_CHANGED_FAILED:
		break;
	}
	return snprintf(out, TEXT_MAX, "error zone %s: %s\n", line->name,
		end->why);
}

/* Prints the outcomes of the lines whose turn it is. */
static void
zones_tell(struct zones_call *zones)
{
	const char *verb = zones->kind == XFRD_CHANGE_DELETE ? "removed"
							     : "added";
	struct zones_line *line;

	while ((line = zones->first) != NULL && line->ended) {
		assert(zones->waiting > 0);
		if (line->said != NULL)
			ctl_printf(zones->call, "%s", line->said);
		if (zones->many && line->good)
			ctl_printf(zones->call, "%s: %s\n", verb, line->name);
		else if (zones->many)
			ctl_printf(zones->call,
				"error for input line '%s'\n", line->name);
		else if (line->good && !line->unread)
			ctl_printf(zones->call, "ok\n");
		zones->done += line->good;
		zones->first = line->next;
		if (zones->first == NULL)
			zones->end = &zones->first;
		zones->waiting--;
		free(line->said);
		free(line);
	}
}

/* ---- lines --------------------------------------------------------------- */

static void
zones_check_end(struct zones_call *zones)
{
	struct ctl_call *call = zones->call;

	if (zones->held && zones->waiting < LINES_MAX / 2) {
		zones->held = false;
		ctl_release(call);
	}
	if (!zones->no_more || zones->waiting > 0)
		return;
	assert(zones->first == NULL && !zones->held);
	if (zones->many)
		ctl_printf(call, zones->kind == XFRD_CHANGE_DELETE
				? "deleted %u zones\n"
				: "added %u zones\n", zones->done);
	free(zones);
	ctl_end(call);
}

static void
zones_on_changed(void *ctx, const struct xfrd_change_end *end)
{
	struct zones_line *line = ctx;
	struct zones_call *zones = line->of;
	char text[TEXT_MAX];

	assert(!line->ended && zones->waiting > 0);
	line->ended = true;
	line->unread = end->outcome == XFRD_CHANGED_UNREAD;
	if (zones_print(line, end, &line->good, text) > 0) {
		line->said = strdup(text);
		line->good &= line->said != NULL;
	}
	/* The first line that waits prints those behind it, too. */
	if (zones->first != line)
		return;
	zones_tell(zones);
	zones_check_end(zones);
}

/* Adds a line behind the others. NULL: no memory, which is answered. */
static struct zones_line *
zones_add_line(struct zones_call *zones, const char *name, const char *pattern)
{
	size_t name_size = strlen(name) + 1, pattern_size = strlen(pattern) + 1;
	struct zones_line *line = calloc(1, sizeof(*line) + name_size
		+ pattern_size);

	if (line == NULL) {
		ctl_printf(zones->call, "error out of memory\n");
		return NULL;
	}
	memcpy(line->name, name, name_size);
	memcpy(line->name + name_size, pattern, pattern_size);
	line->pattern = line->name + name_size;
	line->of = zones;
	assert(*zones->end == NULL && zones->waiting < LINES_MAX);
	*zones->end = line;
	zones->end = &line->next;
	if (++zones->waiting == LINES_MAX) {
		zones->held = true;
		ctl_hold(zones->call);
	}
	return line;
}

/* Begins the change of a line. False: no memory. True: the line may have ended,
 * and with it the call. */
static bool
zones_begin(struct zones_call *zones, const char *name, const char *pattern)
{
	struct zones_line *line = zones_add_line(zones, name, pattern);
	struct xfrd_change_ask ask = {
		.kind = zones->kind,
		.on_end = zones_on_changed,
		.ctx = line,
		.no_wait = ctl_command(zones->call)->no_wait,
	};

	if (line == NULL)
		return false;
	ask.name = line->name;
	ask.pattern = line->pattern;
	xfrd_change_zone(zones->xfrd, &ask);
	return true;
}

/* Refuses a line without a pattern. */
static void
zones_refuse(struct zones_call *zones, const char *name)
{
	struct zones_line *line = zones_add_line(zones, name, "");
	char text[TEXT_MAX];

	if (line == NULL)
		return;
	snprintf(text, sizeof(text),
		"error could not find next argument after %s\n", name);
	line->said = strdup(text);
	line->ended = true;
	if (zones->first == line) {
		zones_tell(zones);
		zones_check_end(zones);
	}
}

/* Returns the last space of a line, or NULL. */
static char *
zones_find_space(char *line)
{
	char *end = line + strlen(line);

	while (end > line)
		if (*--end == ' ' || *end == '\t')
			return end;
	return NULL;
}

/* Cuts spaces off the end. */
static void
zones_trim(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
		text[--len] = '\0';
}

/* `NAME PATTERN`, or `NAME`, as it was written. */
static void
zones_on_line(struct ctl_call *call, const char *text)
{
	struct zones_call *zones = ctl_hooks(call)->ctx;
	char *line = strdup(text), *pattern;

	if (line == NULL) {
		ctl_printf(call, "error out of memory\n");
		return;
	}
	zones_trim(line);
	if (zones->kind == XFRD_CHANGE_DELETE) {
		(void)zones_begin(zones, line, "");
		free(line);
		return;
	}
	pattern = zones_find_space(line);
	if (pattern == NULL) {
		zones_refuse(zones, line);
	} else {
		*pattern++ = '\0';
		zones_trim(line);
		(void)zones_begin(zones, line, pattern);
	}
	free(line);
}

static void
zones_on_lines_end(struct ctl_call *call)
{
	struct zones_call *zones = ctl_hooks(call)->ctx;

	zones->no_more = true;
	zones_check_end(zones);
}

/* ---- verbs --------------------------------------------------------------- */

static struct zones_call *
zones_create(struct xfrd *xfrd, struct ctl_call *call,
	enum xfrd_change_kind kind)
{
	struct zones_call *zones = calloc(1, sizeof(*zones));

	if (zones == NULL) {
		ctl_printf(call, "error out of memory\n");
		ctl_end(call);
		return NULL;
	}
	zones->call = call;
	zones->xfrd = xfrd;
	zones->kind = kind;
	zones->end = &zones->first;
	return zones;
}

static void
zones_do_one(struct xfrd *xfrd, struct ctl_call *call,
	enum xfrd_change_kind kind)
{
	const char *name = ctl_argument(call, 0);
	const char *pattern = ctl_argument(call, 1);
	struct zones_call *zones;

	if (name == NULL && kind == XFRD_CHANGE_DELETE) {
		/* NSD's text about a zone without a name. */
		ctl_printf(call, "warning zone  not present\n");
		ctl_end(call);
		return;
	}
	if (kind != XFRD_CHANGE_DELETE && pattern == NULL) {
		ctl_printf(call,
			"error could not find next argument after %s\n",
			name != NULL ? name : "");
		ctl_end(call);
		return;
	}
	zones = zones_create(xfrd, call, kind);
	if (zones == NULL)
		return;
	zones->no_more = true;
	if (!zones_begin(zones, name,
		    pattern != NULL ? pattern : ""))
		zones_check_end(zones);
}

/* More lines may be on their way. */
static void
zones_on_progress(struct ctl_call *call, struct ctl_progress *progress)
{
	const struct zones_call *zones = ctl_hooks(call)->ctx;

	progress->done = zones->done;
}

static void
zones_do_many(struct xfrd *xfrd, struct ctl_call *call,
	enum xfrd_change_kind kind)
{
	struct zones_call *zones = zones_create(xfrd, call, kind);
	struct ctl_call_hooks *hooks = ctl_hooks(call);

	if (zones == NULL)
		return;
	zones->many = true;
	hooks->ctx = zones;
	hooks->on_line = zones_on_line;
	hooks->on_lines_end = zones_on_lines_end;
	hooks->on_progress = zones_on_progress;
	/* Without its client, lines that have come are done all the same. */
	hooks->on_gone = zones_on_lines_end;
}

void
control_on_addzone(struct xfrd *xfrd, struct ctl_call *call)
{
	zones_do_one(xfrd, call, XFRD_CHANGE_ADD);
}

void
control_on_delzone(struct xfrd *xfrd, struct ctl_call *call)
{
	zones_do_one(xfrd, call, XFRD_CHANGE_DELETE);
}

void
control_on_changezone(struct xfrd *xfrd, struct ctl_call *call)
{
	zones_do_one(xfrd, call, XFRD_CHANGE_PATTERN);
}

void
control_on_addzones(struct xfrd *xfrd, struct ctl_call *call)
{
	zones_do_many(xfrd, call, XFRD_CHANGE_ADD);
}

void
control_on_delzones(struct xfrd *xfrd, struct ctl_call *call)
{
	zones_do_many(xfrd, call, XFRD_CHANGE_DELETE);
}
