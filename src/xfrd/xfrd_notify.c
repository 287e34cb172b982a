/* xfrd_notify.c - takes NOTIFYs of primaries (RFC 1996). A worker has checked
 * the sender and the access list; but a worker may have been taken over. */
#include "config.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/socket.h"
#include "xfr/request.h"
#include "xfrd/xfrd.h"

static const struct sockaddr_storage *
notify_read_address(const struct ipc_notify *notify,
	struct sockaddr_storage *address)
{
	memset(address, 0, sizeof(*address));
	memcpy(address, notify->address, sizeof(notify->address));
	return address;
}

/* Finds the first primary with that address; XFR_NONE: another server, which
 * may send NOTIFY, too. */
static uint32_t
notify_find_primary(const struct xfrd_options *options,
	const struct sockaddr_storage *from)
{
	const struct settings_options *lists = xfrd_options_lists(options);
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
	const struct acl_element *primaries = NULL;
	uint32_t count = 0;

	if (lists != NULL)
		primaries = settings_options_list(lists, SETTINGS_REQUEST_XFR,
			&count);
	for (uint32_t i = 0; i < count && i < XFR_PRIMARIES_MAX; i++) {
		const struct acl_element *one = &primaries[i];

		if ((one->family == 4 && from->ss_family == AF_INET
			    && memcmp(one->address, &v4->sin_addr, 4) == 0)
			|| (one->family == 6 && from->ss_family == AF_INET6
				&& memcmp(one->address, &v6->sin6_addr, 16)
					== 0))
			return i;
	}
	return XFR_NONE;
}

/* Lines in a second: senders of NOTIFY must not fill the disk. */
#define LINES_PER_SEC 20u

/* Returns false if this second has had enough lines: others are counted. */
static bool
notify_may_log(struct xfrd_notified *notified)
{
	int64_t sec = clock_now_msec() / 1000;

	if (sec != notified->sec) {
		if (notified->left_out > 0)
			log_at(1, LOG_LEVEL_INFO, "notify: %llu more within"
				" a second", (unsigned long long)
				notified->left_out);
		*notified = (struct xfrd_notified){.sec = sec};
	}
	if (notified->lines < LINES_PER_SEC) {
		notified->lines++;
		return true;
	}
	assert(notified->lines == LINES_PER_SEC);
	notified->left_out++;
	return false;
}

static void
notify_log(const struct xfr_notified *n, const struct sockaddr_storage *from)
{
	char name[NAME_TEXT_MAX], address[NET_ADDRESS_TEXT_MAX];

	name_print_text(n->apex, name);
	net_print_address(from, false, address);
	if (n->has_serial)
		log_at(1, LOG_LEVEL_INFO, "notify for %s from %s serial %lu",
			name, address, (unsigned long)n->serial);
	else
		log_at(1, LOG_LEVEL_INFO, "notify for %s from %s", name,
			address);
}

void
xfrd_notify_take(struct xfrd *xfrd, const struct ipc_notify *notify,
	size_t len)
{
	size_t message_len = len - offsetof(struct ipc_notify, message);
	struct sockaddr_storage from;
	struct xfrd_options options;
	struct xfrd_zone *zone;
	struct xfr_notified n;
	uint32_t primary;

	if (!xfr_notify_read(notify->message, message_len, &n))
		return;
	zone = xfrd_zone_find(&xfrd->zones.table, n.apex);
	if (zone == NULL || !xfrd_zone_is_secondary(xfrd, zone))
		return;
	notify_read_address(notify, &from);
	if (notify_may_log(&xfrd->notified))
		notify_log(&n, &from);
	if (zone->handle == XFR_NONE) {
		/* Workers serve before the machine has the zones, and a primary
		 * that has its reply does not repeat a NOTIFY. */
		xfrd_state_make_due(zone);
		return;
	}
	options = xfrd_options_begin(xfrd, zone);
	primary = notify_find_primary(&options, &from);
	xfrd_read_end(xfrd);
	xfr_on_notify(xfrd->zones.machine, zone->handle, clock_now_msec(),
		primary, n.has_serial, n.serial);
	xfrd_zones_go_on(xfrd);
}
