/*
 * sha1.c - pads messages, and gives them to the kernel that suits their count.
 */
#include "base/sha1.h"

#include <assert.h>
#include <string.h>

#include "base/assert.h"
#include "base/octets.h"
#include "base/sha1_kernel.h"

uint32_t
sha1_pad(uint8_t *message, size_t len)
{
	size_t padded = SHA1_PADDED_LEN(len);

	message[len] = 0x80;
	memset(message + len + 1, 0, padded - len - 1);
	octets_put_u32(message + padded - 4, (uint32_t)(len * 8));
	return (uint32_t)(padded / SHA1_BLOCK);
}

void
sha1_suffix_init(struct sha1_suffix *suffix, const uint8_t *octets,
	size_t len)
{
	uint8_t message[SHA1_SUFFIX_BLOCKS * SHA1_BLOCK];
	uint32_t i;

	assert(len <= SHA1_SUFFIX_MAX);
	memset(message, 0, SHA1_LEN);
	if (len > 0)
		memcpy(message + SHA1_LEN, octets, len);
	suffix->block_count = sha1_pad(message, SHA1_LEN + len);
	for (i = 0; i < suffix->block_count * SHA1_BLOCK_WORDS; i++)
		suffix->words[i] = octets_get_u32(message + (size_t)4 * i);
}

void
sha1_hash(struct sha1_message *messages, size_t count,
	const struct sha1_suffix *suffix, unsigned repeat)
{
	ASSERT_HOT(count > 0 && count <= SHA1_AT_ONCE);
	ASSERT_HOT(suffix != NULL || repeat == 0);
	while (count > 0) {
		const struct sha1_kernel *kernel = sha1_kernel_for(count,
			repeat > 0);
		size_t n = count < kernel->lanes ? count : kernel->lanes;

		kernel->hash(messages, n, suffix, repeat);
		messages += n;
		count -= n;
	}
}

void
sha1_write(const struct sha1_message *message, uint8_t digest[SHA1_LEN])
{
	unsigned i;

	for (i = 0; i < SHA1_WORDS; i++)
		octets_put_u32(digest + (size_t)4 * i, message->digest[i]);
}
