/* secrets.c - a mapping with secrets: where they end, then their octets. */
#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "base/secrets.h"

struct secrets {
	size_t size; /* octets of the mapping */
	size_t count, room;
	size_t len, len_max; /* octets of all secrets and owners */
	struct {
		size_t owner_end, end; /* one behind the other */
	} places[];
};

static uint8_t *
secrets_begin(const struct secrets *secrets)
{
	return (uint8_t *)(uintptr_t)(secrets->places + secrets->room);
}

enum nsd_err
secrets_create(size_t count, size_t octets, struct secrets **secrets)
{
	struct secrets *s;
	size_t size = sizeof(*s);

	if (__builtin_mul_overflow(count, sizeof(s->places[0]), &size)
		|| __builtin_add_overflow(size, sizeof(*s), &size)
		|| __builtin_add_overflow(size, octets, &size))
		return NSD_E_MEMORY;
	s = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return NSD_E_MEMORY;
	(void)madvise(s, size, MADV_DONTDUMP);
	s->size = size;
	s->room = count;
	s->len_max = octets;
	*secrets = s;
	return NSD_OK;
}

static void
secrets_append(struct secrets *secrets, struct secrets_octets octets)
{
	assert(octets.len <= secrets->len_max - secrets->len);
	if (octets.len > 0)
		memcpy(secrets_begin(secrets) + secrets->len, octets.at,
			octets.len);
	secrets->len += octets.len;
}

void
secrets_add(struct secrets *secrets, struct secrets_octets owner,
	struct secrets_octets secret)
{
	assert(secrets->count < secrets->room);
	secrets_append(secrets, owner);
	secrets->places[secrets->count].owner_end = secrets->len;
	secrets_append(secrets, secret);
	secrets->places[secrets->count++].end = secrets->len;
}

void
secrets_seal(struct secrets *secrets)
{
	(void)mprotect(secrets, secrets->size, PROT_READ);
}

size_t
secrets_count(const struct secrets *secrets)
{
	return secrets != NULL ? secrets->count : 0;
}

bool
secrets_find(const struct secrets *secrets, struct secrets_octets owner,
	size_t *index)
{
	size_t begin = 0;

	for (size_t i = 0; i < secrets_count(secrets); i++) {
		if (secrets->places[i].owner_end - begin == owner.len
			&& memcmp(secrets_begin(secrets) + begin, owner.at,
				   owner.len)
				== 0) {
			*index = i;
			return true;
		}
		begin = secrets->places[i].end;
	}
	return false;
}

const uint8_t *
secrets_get(const struct secrets *secrets, size_t index, size_t *len)
{
	size_t begin;

	assert(index < secrets->count);
	begin = secrets->places[index].owner_end;
	*len = secrets->places[index].end - begin;
	return secrets_begin(secrets) + begin;
}

void
secrets_drop(struct secrets *secrets)
{
	if (secrets != NULL)
		(void)munmap(secrets, secrets->size);
}
