/* fuzz_metrics.c - the outcome of an HTTP request for metrics; a prefix of a
 * request has no other outcome. */
#include <stdlib.h>

#include "ctl/metrics.h"
#include "fuzz/words_control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *octets = (const char *)data;
	struct ctl_metrics_request all, part;

	ctl_metrics_read(octets, size, "/metrics", &all);
	for (size_t len = 0; len < size && len < 512; len++) {
		ctl_metrics_read(octets, len, "/metrics", &part);
		/* Octets behind a whole request change nothing. */
		if (part.status != 0 && (part.status != all.status
				|| part.chunked != all.chunked))
			abort();
	}
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

static const struct mutate_text text = {.put_word = http_put_word};

TOKENS_FOR_FUZZER(&text)
