/* xfrd_tls.c - clients of TLS. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/secrets.h"
#include "process/tls_texts.h"
#include "tls/client.h"
#include "xfrd/xfrd_ask.h"
#include "xfrd/xfrd_tls.h"

static void
tls_fini(struct xfrd_tls *tls)
{
	for (size_t i = 0; i < tls->count; i++) {
		free(tls->auths[i].name);
		tls_client_destroy(tls->auths[i].client);
	}
	free(tls->auths);
}

/* Returns a word of the texts. NULL: it is empty. */
static const char *
tls_word(const struct secrets *texts, size_t auth, enum tls_client_text which)
{
	struct tls_text text = tls_get_text(texts,
		tls_client_index(auth, which));

	return text.len > 0 ? (const char *)text.at : NULL;
}

static enum nsd_err
tls_make(struct xfrd_tls_auth *auth, const struct secrets *texts, size_t i)
{
	struct diag_sink sink = {.on_diag = log_diag};
	const char *domain = tls_word(texts, i, TLS_CLIENT_DOMAIN);
	const struct tls_client_options options = {
		.name = tls_word(texts, i, TLS_CLIENT_NAME),
		.domain = domain != NULL ? domain : "",
		.bundle = tls_get_text(texts, 0),
		.chain = tls_get_text(texts, tls_client_index(i,
			TLS_CLIENT_CHAIN)),
		.key = tls_get_text(texts, tls_client_index(i,
			TLS_CLIENT_KEY)),
		.password = tls_word(texts, i, TLS_CLIENT_PASSWORD),
	};

	auth->name = strdup(options.name != NULL ? options.name : "");
	if (auth->name == NULL)
		return NSD_E_MEMORY;
	return tls_client_create(&options, &sink, &auth->client);
}

enum nsd_err
xfrd_tls_take(struct xfrd_tls *tls, struct xfrd_asks *asks,
	const struct secrets *texts)
{
	size_t count = secrets_count(texts) / TLS_CLIENT_TEXTS;
	struct xfrd_tls made = {.auths = calloc(count + 1,
		sizeof(*made.auths))};
	enum nsd_err err = made.auths != NULL ? NSD_OK : NSD_E_MEMORY;

	while (made.count < count && err != NSD_E_MEMORY) {
		err = tls_make(&made.auths[made.count], texts, made.count);
		made.count++;
	}
	if (err == NSD_E_MEMORY) {
		tls_fini(&made);
		return err;
	}
	for (size_t i = 0; i < tls->count; i++)
		xfrd_asks_forget_tls(asks, tls->auths[i].client);
	tls_fini(tls);
	*tls = made;
	return NSD_OK;
}

const struct tls_client *
xfrd_tls_find(const struct xfrd_tls *tls, const char *name)
{
	for (size_t i = 0; i < tls->count; i++)
		if (strcmp(tls->auths[i].name, name) == 0)
			return tls->auths[i].client;
	return NULL;
}
