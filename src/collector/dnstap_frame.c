/* dnstap_frame.c - messages of dnstap from records. */
#include "config.h"

#include "collector/dnstap_frame.h"

#include <event2/buffer.h>
#include <string.h>

#include "base/assert.h"
#include "base/octets.h"
#include "collector/dnstap.pb-c.h"

#define SEC_NSEC 1000000000

/* Octets before the payload of a frame: its length. */
#define FRAME_HEAD 4u
#define ZONE_MAX 255u
/* The most octets of all fields but the zone, the message and the texts: tags
 * and lengths 2 to 6 each, addresses 16, numbers up to 10. */
#define FIELDS_MAX 160u

/* Lends octets to a message; it only reads them. */
static ProtobufCBinaryData
frame_lend(const void *octets, size_t len)
{
	return (ProtobufCBinaryData){
		.data = (uint8_t *)(uintptr_t)octets,
		.len = len,
	};
}

static void
frame_set_text(const char *text, protobuf_c_boolean *has,
	ProtobufCBinaryData *field)
{
	*has = text != NULL && *text != '\0';
	if (*has)
		*field = frame_lend(text, strlen(text));
}

static size_t
frame_text_len(const char *text)
{
	return text != NULL ? strlen(text) : 0;
}

/* The most octets of a frame. The library would walk over all fields to tell
 * how many these are. */
static size_t
frame_max(const struct dnstap_names *names, const struct tap_record *r,
	enum tap_part part)
{
	return FRAME_HEAD + FIELDS_MAX + r->zone_len
		+ frame_text_len(names->identity)
		+ frame_text_len(names->version)
		+ (part == TAP_QUERY ? r->query_len : r->response_len);
}

/* An address of another family than the client's has no place: there is one
 * field for the family. */
static void
frame_set_addresses(Dnstap__Message *m, const struct tap_record *r)
{
	size_t len = r->peer.len != 0 ? r->peer.len : r->local.len;

	if (len == 0)
		return;
	m->has_socket_family = 1;
	m->socket_family = len == 4 ? DNSTAP__SOCKET_FAMILY__INET
		: DNSTAP__SOCKET_FAMILY__INET6;
	if (r->peer.len != 0) {
		m->has_query_address = m->has_query_port = 1;
		m->query_address = frame_lend(r->peer.octets, r->peer.len);
		m->query_port = r->peer.port;
	}
	if (r->local.len == len) {
		m->has_response_address = m->has_response_port = 1;
		m->response_address = frame_lend(r->local.octets, len);
		m->response_port = r->local.port;
	}
}

static void
frame_set_times(Dnstap__Message *m, const struct tap_record *r,
	enum tap_part part)
{
	m->has_query_time_sec = m->has_query_time_nsec = 1;
	m->query_time_sec = (uint64_t)(r->query_nsec / SEC_NSEC);
	m->query_time_nsec = (uint32_t)(r->query_nsec % SEC_NSEC);
	if (part != TAP_RESPONSE)
		return;
	m->has_response_time_sec = m->has_response_time_nsec = 1;
	m->response_time_sec = (uint64_t)(r->response_nsec / SEC_NSEC);
	m->response_time_nsec = (uint32_t)(r->response_nsec % SEC_NSEC);
}

static void
frame_set_message(Dnstap__Message *m, const struct tap_record *r,
	enum tap_part part)
{
	if (part == TAP_QUERY) {
		m->type = r->kind == TAP_UPDATE
			? DNSTAP__MESSAGE__TYPE__UPDATE_QUERY
			: DNSTAP__MESSAGE__TYPE__AUTH_QUERY;
		m->has_query_message = 1;
		m->query_message = frame_lend(r->query, r->query_len);
	} else {
		m->type = r->kind == TAP_UPDATE
			? DNSTAP__MESSAGE__TYPE__UPDATE_RESPONSE
			: DNSTAP__MESSAGE__TYPE__AUTH_RESPONSE;
		m->has_response_message = 1;
		m->response_message = frame_lend(r->response,
			r->response_len);
	}
}

/* Packs a frame; returns the octets behind it. */
static uint8_t *
frame_pack(uint8_t *at, const struct dnstap_names *names,
	const struct tap_record *r, enum tap_part part,
	const ProtobufCBinaryData *zone)
{
	Dnstap__Dnstap frame = DNSTAP__DNSTAP__INIT;
	Dnstap__Message message = DNSTAP__MESSAGE__INIT;
	size_t size;

	frame.type = DNSTAP__DNSTAP__TYPE__MESSAGE;
	frame.message = &message;
	frame_set_text(names->identity, &frame.has_identity, &frame.identity);
	frame_set_text(names->version, &frame.has_version, &frame.version);
	message.has_socket_protocol = 1;
	message.socket_protocol = (Dnstap__SocketProtocol)r->protocol;
	frame_set_addresses(&message, r);
	frame_set_times(&message, r, part);
	frame_set_message(&message, r, part);
	message.has_query_zone = zone->len > 0;
	message.query_zone = *zone;
	size = dnstap__dnstap__pack(&frame, at + FRAME_HEAD);
	ASSERT_HOT(FRAME_HEAD + size <= frame_max(names, r, part));
	octets_put_u32(at, (uint32_t)size);
	return at + FRAME_HEAD + size;
}

enum nsd_err
dnstap_frame_add(struct evbuffer *out, const struct dnstap_names *names,
	const struct tap_record *r, unsigned parts)
{
	struct evbuffer_iovec space;
	uint8_t octets[ZONE_MAX], *at;
	const ProtobufCBinaryData zone = frame_lend(octets,
		tap_find_zone(r, octets));
	size_t most = 0;

	if ((parts & TAP_QUERY) != 0)
		most += frame_max(names, r, TAP_QUERY);
	if ((parts & TAP_RESPONSE) != 0)
		most += frame_max(names, r, TAP_RESPONSE);
	if (evbuffer_reserve_space(out, (ev_ssize_t)most, &space, 1) != 1)
		return NSD_E_MEMORY;
	at = space.iov_base;
	if ((parts & TAP_QUERY) != 0)
		at = frame_pack(at, names, r, TAP_QUERY, &zone);
	if ((parts & TAP_RESPONSE) != 0)
		at = frame_pack(at, names, r, TAP_RESPONSE, &zone);
	space.iov_len = (size_t)(at - (uint8_t *)space.iov_base);
	return evbuffer_commit_space(out, &space, 1) == 0 ? NSD_OK
							  : NSD_E_MEMORY;
}
