/* secrets.c - a mapping with secrets: where they end, then their octets. */
#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "base/secrets.h"

struct secrets {
	size_t size; /* octets of the mapping */
	size_t count, room;
	size_t len, len_max; /* octets of all secrets */
	size_t ends[];       /* of each; they stand one behind the other */
};

static uint8_t *
secrets_begin(const struct secrets *secrets)
{
	return (uint8_t *)(uintptr_t)(secrets->ends + secrets->room);
}

enum nsd_err
secrets_create(size_t count, size_t octets, struct secrets **secrets)
{
	struct secrets *s;
	size_t size = sizeof(*s);

	if (__builtin_mul_overflow(count, sizeof(s->ends[0]), &size)
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

void
secrets_add(struct secrets *secrets, struct secrets_octets secret)
{
	assert(secrets->count < secrets->room);
	assert(secret.len <= secrets->len_max - secrets->len);
	if (secret.len > 0)
		memcpy(secrets_begin(secrets) + secrets->len, secret.at,
			secret.len);
	secrets->len += secret.len;
	secrets->ends[secrets->count++] = secrets->len;
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

const uint8_t *
secrets_get(const struct secrets *secrets, size_t index, size_t *len)
{
	size_t begin;

	assert(index < secrets->count);
	begin = index > 0 ? secrets->ends[index - 1] : 0;
	*len = secrets->ends[index] - begin;
	return secrets_begin(secrets) + begin;
}

void
secrets_drop(struct secrets *secrets)
{
	if (secrets != NULL)
		(void)munmap(secrets, secrets->size);
}
