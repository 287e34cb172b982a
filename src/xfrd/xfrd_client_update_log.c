/* xfrd_client_update_log.c - the log has each UPDATE of a client that has
 * changed a zone, and those that were refused; but only some in a second. */
#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "dns/rcode_text.h"
#include "net/socket.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_client_updates.h"

/* Lines in a second: clients must not fill the disk. */
#define LINES_PER_SEC 20u

/* Returns false if this second has had enough lines: others are counted. */
static bool
said_may_log(struct xfrd_updates_said *said)
{
	int64_t sec = clock_now_msec() / 1000;

	if (sec != said->sec) {
		if (said->left_out > 0)
			log_at(1, LOG_LEVEL_INFO, "update: %llu more within a"
				" second", (unsigned long long)said->left_out);
		*said = (struct xfrd_updates_said){.sec = sec};
	}
	if (said->lines < LINES_PER_SEC) {
		said->lines++;
		return true;
	}
	assert(said->lines == LINES_PER_SEC);
	said->left_out++;
	return false;
}

/* Prints a name without its last dot. Returns out. */
static const char *
said_print_name(const uint8_t *name, char out[NAME_TEXT_MAX])
{
	size_t len = name_print_text(name, out);

	out[len > 1 ? len - 1 : len] = '\0';
	return out;
}

void
xfrd_client_update_print_source(const struct client_update *update, char *out,
	size_t size)
{
	char address[NET_ADDRESS_TEXT_MAX], key[NAME_TEXT_MAX] = "";

	net_print_address(&update->from, false, address);
	if (update->key[0] != 0)
		said_print_name(update->key, key);
	snprintf(out, size, "%s%s%s", address,
		key[0] != '\0' ? XFRD_UPDATED_KEY : "", key);
}

void
xfrd_client_update_log_done(struct xfrd *xfrd,
	const struct client_update *update)
{
	char source[JOURNAL_SOURCE_MAX + 1], name[NAME_TEXT_MAX];

	if (!update->changed || !said_may_log(&xfrd->updates.said))
		return;
	xfrd_client_update_print_source(update, source, sizeof(source));
	log_at(1, LOG_LEVEL_INFO, "update for %s from %s: serial %lu, %lu"
				  " added, %lu removed",
		said_print_name(update->apex, name), source,
		(unsigned long)update->serial, (unsigned long)update->added,
		(unsigned long)update->removed);
}

void
xfrd_client_update_log_refused(struct xfrd *xfrd,
	const struct client_update *update,
	const struct client_update_end *end)
{
	char source[JOURNAL_SOURCE_MAX + 1], name[NAME_TEXT_MAX];
	char rcode[RCODE_TEXT_MAX];

	if (!said_may_log(&xfrd->updates.said))
		return;
	xfrd_client_update_print_source(update, source, sizeof(source));
	log_at(1, LOG_LEVEL_INFO, "update for %s from %s: %s%s%s",
		said_print_name(update->apex, name), source,
		rcode_text_print((uint16_t)end->rcode, rcode),
		end->why[0] != '\0' ? ": " : "", end->why);
}

void
xfrd_client_update_log_forwarded(struct xfrd *xfrd,
	const struct client_update *update,
	const struct sockaddr_storage *primary, enum rcode rcode)
{
	char source[JOURNAL_SOURCE_MAX + 1], name[NAME_TEXT_MAX];
	char text[RCODE_TEXT_MAX], address[NET_ADDRESS_TEXT_MAX];

	if (!said_may_log(&xfrd->updates.said))
		return;
	xfrd_client_update_print_source(update, source, sizeof(source));
	net_print_address(primary, true, address);
	log_at(1, LOG_LEVEL_INFO, "update for %s from %s: passed on to %s: %s",
		said_print_name(update->apex, name), source, address,
		rcode_text_print((uint16_t)rcode, text));
}
