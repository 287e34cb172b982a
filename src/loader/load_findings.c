/* load_findings.c - findings about a zone file, as lines of the log. */
#include "config.h"

#include <assert.h>
#include <stdio.h>

#include "base/log.h"
#include "loader/load_findings.h"

/* Findings of one severity that are logged at verbosity 1. */
#define FINDINGS_SHOWN_MAX 50u

static uint32_t
findings_shown_max(enum diag_severity severity)
{
	switch (log_verbosity()) {
	case 0:
		return severity == DIAG_ERROR ? 1 : 0;
	case 1:
		return FINDINGS_SHOWN_MAX;
	default:
		return UINT32_MAX;
	}
}

/* Keeps a finding for the asker, if there is room for the whole line. */
static void
findings_keep(struct load_findings *findings, const struct diag *d)
{
	size_t room = sizeof(findings->text) - findings->len;
	int n;

	assert(findings->len < sizeof(findings->text));
	if (d->file == NULL)
		n = snprintf(findings->text + findings->len, room, "%s\n",
			d->text);
	else
		n = snprintf(findings->text + findings->len, room,
			"%s:%u: %s\n", d->file, (unsigned)d->line, d->text);
	if ((size_t)n < room)
		findings->len += (size_t)n;
	findings->text[findings->len] = '\0';
}

static void
findings_on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct load_findings *findings = (struct load_findings *)sink;

	assert(d->severity < sizeof(findings->shown)
			/ sizeof(*findings->shown));
	if (d->severity == DIAG_ERROR)
		findings_keep(findings, d);
	if (findings->shown[d->severity] >= findings_shown_max(d->severity))
		return;
	findings->shown[d->severity]++;
	log_diag(sink, d);
}

void
load_findings_init(struct load_findings *findings)
{
	*findings = (struct load_findings){
		.sink.on_diag = findings_on_diag,
	};
}

void
load_findings_restart(struct diag_sink *sink)
{
	struct load_findings *findings = (struct load_findings *)sink;

	sink->errors = sink->warnings = 0;
	findings->len = 0;
	findings->text[0] = '\0';
}

void
load_findings_log_failure(const struct load_findings *findings,
	const char *zone, const char *path)
{
	/* A reading that ran out of memory may have had none to report an
	 * error. */
	uint32_t errors = findings->sink.errors > 0 ? findings->sink.errors
						    : 1;

	if (errors > findings->shown[DIAG_ERROR])
		log_error("zone %s file %s read with %u errors, nsd-checkzone"
			  " %s %s shows them",
			zone, path, (unsigned)errors, zone, path);
	else
		log_error("zone %s file %s read with %u errors", zone, path,
			(unsigned)errors);
}

void
load_findings_log_warnings(const struct load_findings *findings,
	const char *zone, const char *path)
{
	uint32_t warnings = findings->sink.warnings;

	if (warnings > findings->shown[DIAG_WARNING])
		log_warning("zone %s file %s has %u warnings, nsd-checkzone"
			    " %s %s shows them",
			zone, path, (unsigned)warnings, zone, path);
}
