/* fuzz_proxy.c - headers of the PROXY protocol, from any octets. */
#include <stdlib.h>
#include <string.h>

#include "net/proxy.h"
#include "target.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proxy_header whole, part;
	size_t longest = PROXY_HEADER_MAX;
	enum proxy_outcome outcome = proxy_read_header(data, size, &whole);

	if (outcome == PROXY_INCOMPLETE)
		MUST(size < PROXY_HEADER_MAX);
	if (outcome == PROXY_WHOLE) {
		MUST(whole.len >= PROXY_HEAD_LEN && whole.len <= size
			&& whole.len <= PROXY_HEADER_MAX);
		MUST(!whole.has_client
			|| whole.client.ss_family == AF_INET
			|| whole.client.ss_family == AF_INET6);
		size = whole.len;
	}
	/* What comes in pieces ends as it does in one: whoever waits for more
	 * of a header that is whole, or right, gets it. */
	for (size_t len = 0; len < size && len < longest; len++) {
		uint8_t *copy = malloc(len + 1);
		enum proxy_outcome so_far;

		MUST(copy != NULL);
		memcpy(copy, data, len);
		so_far = proxy_read_header(copy, len, &part);
		MUST(so_far != PROXY_WHOLE);
		MUST(outcome == PROXY_MALFORMED
			|| so_far == PROXY_INCOMPLETE);
		free(copy);
	}
	return 0;
}
