/* loader_configure.c - the loader goes on with another configuration, which
 * main has read. Main's part is reconfig.c. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "conf/image.h"
#include "loader/loader.h"

static void
loader_on_file(void *ctx, struct load_zone *zone)
{
	loader_push_again(ctx, zone, 0);
}

void
loader_init_follow(struct loader *loader)
{
	loader->follow = (struct load_follow){
		.set = &loader->set,
		.writer = loader->writer,
		.on_removed = loader_on_removed,
		.on_file = loader_on_file,
		.ctx = loader,
		/* Never freed, as main, from which this process was forked,
		 * has lent parts of this configuration to `server`. */
		.kept = loader->role.server->conf,
	};
}

void
loader_on_configure(struct role *role, const struct ipc_message *m)
{
	struct loader *loader = (struct loader *)role;
	struct server *server = role->server;
	struct conf *old = server->conf, *new = NULL;
	struct ipc_configure configure;
	enum nsd_err err;

	assert(m->len == sizeof(configure));
	loader_publish_zones(loader);
	memcpy(&configure, m->payload, sizeof(configure));
	err = m->fd_count == 2 ? conf_image_read(m->fds[0], &new) : NSD_E_WIRE;
	if (err == NSD_OK)
		err = conf_image_read_zones(m->fds[1], new);
	if (err == NSD_OK)
		err = load_follow_begin(&loader->follow, old, new,
			loader_has_listed(loader));
	loader_check_follows(err);
	server->conf = new;
	server->conf_number = configure.number;
	loader_follow_verdicts(loader);
	loader_count_zones(loader);
	loader_start_configured_pass(loader);
	loader_reclaim(loader);
}
