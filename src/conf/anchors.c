/* anchors.c - the files of trust anchors that a configuration names. */
#include "config.h"

#include <string.h>

#include "conf/anchors.h"

void
conf_walk_anchors(const struct conf *conf,
	void (*on_file)(void *ctx, const char *path), void *ctx)
{
	const char *last = "";

	for (size_t i = 0; i < conf->pattern_count + conf->zone_count; i++) {
		const struct conf_pattern *options = i < conf->pattern_count
			? conf->patterns[i]
			: conf->zones[i - conf->pattern_count]->options;
		const char *path = options->dnssec_verify_anchor;

		if (path == NULL || *path == '\0' || strcmp(path, last) == 0)
			continue;
		on_file(ctx, path);
		last = path;
	}
}
