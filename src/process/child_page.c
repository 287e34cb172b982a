/* child_page.c - the messages that a process has in hand: xfrd notes its
 * message, and main reads those of a dead process. */
#include "config.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "process/child_page.h"

/* ---- taking -------------------------------------------------------------- */

void
child_page_take(struct child_page *page, enum child_page_kind kind,
	const struct sockaddr_storage *peer, const void *octets, size_t len)
{
	if (page == NULL)
		return;
	if (len > CHILD_PAGE_OCTETS_MAX)
		len = CHILD_PAGE_OCTETS_MAX;
	if (peer != NULL)
		page->peer = *peer;
	else
		page->peer.ss_family = AF_UNSPEC;
	memcpy(page->octets, octets, len);
	page->len = (uint32_t)len;
	__atomic_store_n(&page->kind, (uint32_t)kind, __ATOMIC_RELEASE);
}

void
child_page_drop(struct child_page *page)
{
	if (page != NULL)
		__atomic_store_n(&page->kind, CHILD_PAGE_NOTHING,
			__ATOMIC_RELEASE);
}

/* ---- reading ------------------------------------------------------------- */

/* Turns an address that the process has written into a pointer to the same
 * octets in main; NULL: they are not all within the page. */
static const uint8_t *
child_page_find(const struct child_page *page, uintptr_t there, size_t len)
{
	uintptr_t at = there - (uintptr_t)page;

	if (at > sizeof(*page) || len > sizeof(*page) - at)
		return NULL;
	return (const uint8_t *)page + at;
}

static void
message_check_peer(struct child_page_message *m)
{
	if (m->peer.ss_family != AF_INET && m->peer.ss_family != AF_INET6)
		memset(&m->peer, 0, sizeof(m->peer));
}

static bool
child_page_read_request(const struct child_page *page, uintptr_t there,
	struct child_page_message *m)
{
	const uint8_t *at = child_page_find(page, there,
		sizeof(struct exchange));
	struct exchange x;

	if (at == NULL)
		return false;
	memcpy(&x, at, sizeof(x));
	if (x.request_len > CHILD_PAGE_OCTETS_MAX)
		return false;
	m->len = x.request_len;
	m->octets = child_page_find(page, (uintptr_t)x.request, m->len);
	if (m->octets == NULL)
		return false;
	m->kind = x.transport == TRANSPORT_TLS ? CHILD_PAGE_REQUEST_TLS
		: x.transport == TRANSPORT_TCP ? CHILD_PAGE_REQUEST_TCP
					       : CHILD_PAGE_REQUEST_UDP;
	m->peer.ss_family = AF_UNSPEC;
	at = child_page_find(page, (uintptr_t)x.peer, sizeof(m->peer));
	if (at != NULL)
		memcpy(&m->peer, at, sizeof(m->peer));
	message_check_peer(m);
	return true;
}

static bool
child_page_read_copy(const struct child_page *page,
	struct child_page_message *m)
{
	/* Read once, as the process may still write. */
	uint32_t kind = __atomic_load_n(&page->kind, __ATOMIC_RELAXED);
	uint32_t len = __atomic_load_n(&page->len, __ATOMIC_RELAXED);

	if (kind == CHILD_PAGE_NOTHING || kind >= CHILD_PAGE_KIND_COUNT
		|| len > CHILD_PAGE_OCTETS_MAX)
		return false;
	m->kind = (enum child_page_kind)kind;
	m->peer = page->peer;
	message_check_peer(m);
	m->octets = page->octets;
	m->len = len;
	return true;
}

size_t
child_page_read(const struct child_page *page,
	struct child_page_message messages[CHILD_PAGE_MESSAGES_MAX])
{
	uint64_t requests = __atomic_load_n(&page->request_count,
		__ATOMIC_RELAXED);
	uintptr_t first = (uintptr_t)__atomic_load_n(&page->requests,
		__ATOMIC_RELAXED);
	size_t count = 0;

	if (requests > EXCHANGE_BATCH_MAX)
		requests = 0;
	for (size_t i = 0; i < requests; i++)
		count += child_page_read_request(page,
			first + i * sizeof(struct exchange),
			&messages[count]);
	return count + child_page_read_copy(page, &messages[count]);
}

const char *
child_page_kind_text(enum child_page_kind kind)
{
	static const char *const texts[CHILD_PAGE_KIND_COUNT] = {
		[CHILD_PAGE_NOTHING] = "nothing",
		[CHILD_PAGE_REQUEST_UDP] = "UDP request",
		[CHILD_PAGE_REQUEST_TCP] = "TCP request",
		[CHILD_PAGE_REQUEST_TLS] = "TLS request",
		[CHILD_PAGE_REPLY] = "reply of a primary",
		[CHILD_PAGE_NOTIFY] = "NOTIFY",
		[CHILD_PAGE_UPDATE] = "UPDATE",
		[CHILD_PAGE_COMMAND] = "command",
	};

	assert(kind < CHILD_PAGE_KIND_COUNT);
	return texts[kind];
}
