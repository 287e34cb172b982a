/* anchors_check.c - looks at files of trust anchors. */
#include "config.h"

#include "conf/anchors.h"
#include "conf/chroot.h"
#include "main/anchors_check.h"
#include "zonefile/anchors.h"

struct anchors_checker {
	struct diag_sink errors; /* of a file */
	struct diag_sink *sink;
	const char *chroot, *to_be; /* as in anchors_check */
	const char *path;
};

static void
checker_on_diag(struct diag_sink *sink, const struct diag *d)
{
	const struct anchors_checker *c = (struct anchors_checker *)sink;

	if (d->severity == DIAG_ERROR)
		diag_emit(c->sink, DIAG_WARNING, NULL, 0, 0,
			"dnssec-verify-anchor %s: line %u: %s; nothing is"
			" accepted that it would judge", c->path,
			(unsigned)d->line, d->text);
}

static void
checker_on_file(void *ctx, const char *path)
{
	struct anchors_checker *c = ctx;
	struct anchors_file file;
	char outside[PATH_MAX];

	c->path = path;
	path = conf_path_in_chroot(c->chroot, path);
	/* A path that is too long is no file's, with or without the chroot. */
	if (conf_path_outside_chroot(c->to_be, path, outside))
		path = outside;
	if (anchors_read(path, NULL, &c->errors, &file) == NSD_OK)
		anchors_fini(&file);
}

void
anchors_check(const struct conf *conf, const char *chroot, const char *to_be,
	struct diag_sink *sink)
{
	struct anchors_checker c = {
		.errors.on_diag = checker_on_diag,
		.sink = sink,
		.chroot = chroot,
		.to_be = to_be,
	};

	conf_walk_anchors(conf, checker_on_file, &c);
}
