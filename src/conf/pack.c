/* pack.c - packs the objects that a configuration points at, to and from
 * octets. */
#include "config.h"

#include <string.h>

#include "base/fs.h"
#include "conf/pack.h"
#include "dns/name.h"

/* Length of a text that is not there. */
#define NO_TEXT UINT32_MAX

void
pack_fail(struct pack *pack, enum nsd_err err)
{
	if (pack->err == NSD_OK)
		pack->err = err;
}

void
pack_flush(struct pack *pack)
{
	if (pack->err == NSD_OK)
		pack->err = fs_write_all(pack->fd, pack->octets,
			pack->len);
	pack->len = 0;
}

static void
pack_append(struct pack *pack, const void *data, size_t len)
{
	const uint8_t *from = data;

	while (len > 0) {
		size_t part = len < PACK_BUFFER - pack->len
			? len : PACK_BUFFER - pack->len;

		memcpy(pack->octets + pack->len, from, part);
		pack->len += part;
		from += part;
		len -= part;
		if (pack->len == PACK_BUFFER)
			pack_flush(pack);
	}
}

/* Takes the next len octets. NULL: the pack has fewer, or has failed. */
static const uint8_t *
pack_take(struct pack *pack, size_t len)
{
	const uint8_t *taken = pack->octets + pack->at;

	if (pack->err == NSD_OK && len > pack->len - pack->at)
		pack_fail(pack, NSD_E_WIRE);
	if (pack->err != NSD_OK)
		return NULL;
	pack->at += len;
	return taken;
}

void
pack_octets(struct pack *pack, void *data, size_t len)
{
	const uint8_t *from;

	if (!pack->reads) {
		pack_append(pack, data, len);
		return;
	}
	from = pack_take(pack, len);
	if (from != NULL)
		memcpy(data, from, len);
}

uint32_t
pack_number(struct pack *pack, uint32_t number)
{
	pack_octets(pack, &number, sizeof(number));
	return number;
}

void *
pack_alloc(struct pack *pack, size_t len)
{
	void *p = pack->err == NSD_OK
		? arena_alloc_zero(pack->arena, len) : NULL;

	if (p == NULL)
		pack_fail(pack, NSD_E_MEMORY);
	return p;
}

/* Octets that a field points at; len: how many, unless it is NULL. */
static void
pack_data(struct pack *pack, const uint8_t **field, size_t len)
{
	uint32_t count = pack_number(pack, *field == NULL ? NO_TEXT
							    : (uint32_t)len);
	const uint8_t *from;

	if (!pack->reads) {
		if (*field != NULL)
			pack_append(pack, *field, len);
		return;
	}
	*field = NULL;
	if (pack->err != NSD_OK || count == NO_TEXT)
		return;
	from = pack_take(pack, count);
	if (from == NULL)
		return;
	/* A NUL stands behind them, for what is text. */
	*field = (const uint8_t *)arena_copy_text(pack->arena,
		(const char *)from, count);
	if (*field == NULL)
		pack_fail(pack, NSD_E_MEMORY);
}

void
pack_text(struct pack *pack, const char **field)
{
	bool none = pack->reads || *field == NULL;
	const uint8_t *data = (const uint8_t *)*field;

	pack_data(pack, &data, none ? 0 : strlen(*field));
	*field = (const char *)data;
}

void
pack_array(struct pack *pack, void **field, size_t len)
{
	if (pack->reads && pack->err == NSD_OK
		&& len > pack->len - pack->at)
		pack_fail(pack, NSD_E_WIRE);
	if (pack->reads)
		*field = len > 0 && pack->err == NSD_OK
			? pack_alloc(pack, len) : NULL;
	if (*field != NULL)
		pack_octets(pack, *field, len);
}

void
pack_wire(struct pack *pack, const uint8_t **field)
{
	bool none = pack->reads || *field == NULL;

	pack_data(pack, field, none ? 0 : name_len(*field));
}

void
pack_file(struct pack *pack, const char **field)
{
	if (pack_number(pack, *field != NULL && *field == pack->file)) {
		*field = pack->file;
		return;
	}
	pack_text(pack, field);
	pack->file = *field;
}
