/* xfrd_metrics.c - metrics over HTTP. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ctl/metrics.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_catalog.h"
#include "xfrd/xfrd_statistics.h"

/* A page on its way to a client. */
struct page {
	struct xfrd_statistics *look;
	struct statistics_metrics at;
	bool has_statistics; /* printed to their end: trouble is next */
	struct statistics_trouble trouble;
};

static void *
page_open(void *ctx)
{
	struct page *page = calloc(1, sizeof(*page));

	if (page == NULL)
		return NULL;
	page->look = xfrd_statistics_open(ctx, false);
	if (page->look == NULL) {
		free(page);
		return NULL;
	}
	xfrd_trouble_want(page->look->xfrd);
	page->at = (struct statistics_metrics){
		.all = &page->look->all,
		.get_group = xfrd_statistics_get_group,
		.ctx = page->look,
	};
	return page;
}

static void
page_read_source(struct statistics_source *source, const char *name,
	const struct xfrd_members *members)
{
	snprintf(source->name, sizeof(source->name), "%s", name);
	source->refused = members->refused_count + members->refused_more;
}

/* Prints the sources of member zones; not, without memory. */
static void
page_print_sources(const struct xfrd *xfrd, struct statistics_text *out)
{
	struct statistics_source *sources;
	const struct xfrd_catalog *catalog;
	const struct xfrd_folder *folder;
	char why[XFRD_ERROR_MAX];
	size_t count = 0;

	cds_list_for_each_entry(catalog, &xfrd->catalogs, node)
		count++;
	cds_list_for_each_entry(folder, &xfrd->folders.list, node)
		count++;
	sources = calloc(count + 1, sizeof(*sources));
	if (sources == NULL)
		return;
	count = 0;
	cds_list_for_each_entry(catalog, &xfrd->catalogs, node) {
		page_read_source(&sources[count], catalog->name
			+ strlen("catalog "), &catalog->members);
		sources[count].members = xfrd_catalog_count(catalog);
		sources[count++].is_invalid = *xfrd_catalog_print_invalid(
			catalog, why, sizeof(why)) != '\0';
	}
	cds_list_for_each_entry(folder, &xfrd->folders.list, node) {
		page_read_source(&sources[count], folder->name
			+ strlen("zone-directory "), &folder->members);
		sources[count].members = folder->count;
		sources[count++].is_invalid = folder->fails || folder->is_kept;
	}
	statistics_print_sources(out, sources, count);
	free(sources);
}

static bool
page_print(void *arg, struct statistics_text *out)
{
	struct page *page = arg;
	struct statistics_records records;

	if (!page->has_statistics) {
		page->has_statistics = !statistics_print_metrics(out,
			&page->at);
		return true;
	}
	if (!xfrd_trouble_count(page->look->xfrd, &page->trouble))
		return true;
	statistics_print_trouble(out, &page->trouble);
	page_print_sources(page->look->xfrd, out);
	xfrd_statistics_get_records(page->look->xfrd, &records);
	statistics_print_records_metrics(out, &records);
	return false;
}

static void
page_close(void *arg)
{
	struct page *page = arg;

	xfrd_trouble_leave(page->look->xfrd);
	xfrd_statistics_close(page->look);
	free(page);
}

/* Takes connections at all sockets of metrics, and no others. */
static enum nsd_err
metrics_listen(struct xfrd *xfrd)
{
	const struct admin_listeners *listeners = &xfrd->role.server->metrics;
	enum nsd_err err = NSD_OK;

	ctl_metrics_set_path(xfrd->metrics,
		xfrd->role.server->conf->server.metrics_path);
	ctl_metrics_close(xfrd->metrics);
	for (unsigned i = 0; i < listeners->count && err == NSD_OK; i++)
		err = ctl_metrics_listen(xfrd->metrics, listeners->fds[i]);
	return err;
}

void
xfrd_metrics_follow(struct xfrd *xfrd)
{
	const struct ctl_metrics_options options = {
		.base = xfrd->role.base,
		.open = page_open,
		.print = page_print,
		.close = page_close,
		.ctx = xfrd,
	};
	enum nsd_err err = NSD_OK;

	if (xfrd->metrics == NULL)
		err = ctl_metrics_create(&options, &xfrd->metrics);
	if (err == NSD_OK)
		err = metrics_listen(xfrd);
	if (err == NSD_OK)
		return;
	/* Without metrics, zones are kept fresh all the same. */
	log_error("there are no metrics: %s", err_text(err));
	ctl_metrics_destroy(xfrd->metrics);
	xfrd->metrics = NULL;
}
