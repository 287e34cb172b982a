/* version.c - the version of this program and how it was built. */
#include "config.h"

#include <event2/event.h>
#include <openssl/crypto.h>

#include "main/version.h"

/* Features that a build may have or not, in the order of the output. */
static const struct {
	const char *name;
	int is_there;
} features[] = {
	{ "ipv6", WITH_IPV6 },
	{ "tcp-fastopen", TCP_FASTOPEN_QUEUE > 0 },
	{ "checking", WITH_CHECKING },
#ifdef USE_LOG_PROCESS_ROLE
	{ "log-role", 1 },
#endif
#ifdef USE_SECCOMP
	{ "seccomp", 1 },
#endif
	{ "dnstap", USE_DNSTAP },
#ifdef USE_WESTMERE
	{ "sse4.2", 1 },
#endif
#ifdef USE_HASWELL
	{ "avx2 avx512", 1 },
#endif
};

void
version_print(FILE *out)
{
	struct event_base *base = event_base_new();

	fprintf(out, "%s version %s\n", PACKAGE_NAME, PACKAGE_VERSION);
	fprintf(out, "An authoritative DNS name server.\n\n");
	fprintf(out, "Configure line: %s\n", CONFIGURE_LINE);
	fprintf(out, "Event loop: libevent %s (uses %s)\n",
		event_get_version(),
		base != NULL ? event_base_get_method(base) : "nothing");
	fprintf(out, "Linked with %s\n", OpenSSL_version(OPENSSL_VERSION));
	fprintf(out, "Built with:");
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		if (features[i].is_there)
			fprintf(out, " %s", features[i].name);
	fprintf(out, "\n\nBSD-3-Clause licence; there is no warranty.\n");
	if (base != NULL)
		event_base_free(base);
}
