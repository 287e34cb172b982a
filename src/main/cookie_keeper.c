/* cookie_keeper.c - main's part in cookies. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "conf/chroot.h"
#include "conf/conf.h"
#include "guard/cookie_text.h"
#include "main/child.h"
#include "main/cookie_keeper.h"
#include "main/supervisor.h"
#include "process/counts.h"

/* Where secrets were before cookie-secret-file had its default: read, never
 * written. */
#define OLD_FILE CONFIGDIR "/nsd_cookiesecrets.txt"
/* No file of secrets is larger. */
#define FILE_MAX 1024

/* ---- where they come from ------------------------------------------------ */

/* Reads a file of secrets. NSD_E_SYSTEM with errno; NSD_E_SYNTAX. */
static enum nsd_err
file_read(const char *path, struct cookie_secrets *secrets)
{
	char text[FILE_MAX];
	size_t len;
	enum nsd_err err = fs_read_small(path, (uint8_t *)text, sizeof(text),
		&len);

	if (err == NSD_E_LIMIT
		|| (err == NSD_OK && !cookie_text_parse(text, len, secrets)))
		err = NSD_E_SYNTAX;
	explicit_bzero(text, sizeof(text));
	return err;
}

static const char *
file_path(const struct server *server, const struct conf *conf)
{
	const char *path = conf->server.cookie_secret_file;

	if (path == NULL || *path == '\0')
		return NULL;
	return conf_path_in_chroot(server->chroot, path);
}

/* Reads the secrets of the configured file. False: there is none with
 * secrets. */
static bool
choose_file(const struct server *server, const struct conf *conf,
	struct cookie_secrets *secrets)
{
	const char *path = file_path(server, conf);
	enum nsd_err err;

	if (path == NULL)
		return false;
	err = file_read(path, secrets);
	if (err == NSD_E_SYSTEM && errno == ENOENT) {
		if (strcmp(conf->server.cookie_secret_file, COOKIESECRETSFILE)
			!= 0)
			return false;
		path = conf_path_in_chroot(server->chroot, OLD_FILE);
		err = file_read(path, secrets);
		if (err == NSD_E_SYSTEM && errno == ENOENT)
			return false;
	}
	if (err != NSD_OK && conf->server.answer_cookie)
		log_error("cookie secret file %s corrupt or not readable: %s",
			path, err == NSD_E_SYSTEM ? fs_open_error_text(errno)
			: "not one or two lines of 32 hex digits");
	return err == NSD_OK;
}

void
cookie_keeper_choose(const struct server *server, const struct conf *conf,
	struct cookie_choice *choice)
{
	const char *texts[COOKIE_SECRETS_MAX] = {conf->server.cookie_secret,
		conf->server.cookie_staging_secret};
	struct cookie_secrets *secrets = &choice->secrets;

	memset(choice, 0, sizeof(*choice));
	for (unsigned i = 0; i < COOKIE_SECRETS_MAX && texts[i] != NULL; i++)
		if (cookie_text_parse_secret(texts[i], strlen(texts[i]),
			    secrets->secrets[i]))
			secrets->count = i + 1;
	if (secrets->count > 0) {
		choice->source = COOKIES_CONFIGURED;
	} else if (choose_file(server, conf, secrets)) {
		choice->source = COOKIES_OF_FILE;
	} else {
		memset(secrets, 0, sizeof(*secrets));
		choice->source = COOKIES_RANDOM;
	}
}

void
cookie_keeper_wipe(struct cookie_choice *choice)
{
	explicit_bzero(choice, sizeof(*choice));
}

/* ---- the workers' secrets ------------------------------------------------ */

static void
keeper_get(const struct server *server, struct cookie_secrets *secrets)
{
	uint64_t version = 0;

	memset(secrets, 0, sizeof(*secrets));
	cookie_share_read(counts_get_cookies(server->counts), &version,
		secrets);
}

static bool
secrets_are_same(const struct cookie_secrets *a,
	const struct cookie_secrets *b)
{
	return a->count == b->count
		&& memcmp(a->secrets, b->secrets,
			   a->count * sizeof(a->secrets[0]))
		== 0;
}

bool
cookie_keeper_differs(const struct cookie_keeper *keeper,
	const struct server *server, const struct cookie_choice *choice)
{
	struct cookie_secrets now;
	bool same;

	if (choice->source == COOKIES_RANDOM)
		return keeper->source != COOKIES_RANDOM;
	keeper_get(server, &now);
	same = secrets_are_same(&now, &choice->secrets);
	explicit_bzero(&now, sizeof(now));
	return !same || keeper->source != choice->source;
}

/* A file outside of the chroot cannot be read again. */
static bool
file_is_out_of_sight(const struct server *server, const char *path)
{
	const char *chroot = server->chroot;

	return chroot != NULL && chroot[strspn(chroot, "/")] != '\0'
		&& path != NULL && *path == '/'
		&& conf_path_in_chroot(chroot, path) == path;
}

void
cookie_keeper_keep(const struct cookie_keeper *keeper,
	const struct server *server, const struct conf *conf,
	struct cookie_choice *choice)
{
	const char *path = conf->server.cookie_secret_file;
	const char *old = server->conf->server.cookie_secret_file;

	if (choice->source != COOKIES_RANDOM
		|| keeper->source != COOKIES_OF_FILE
		|| !file_is_out_of_sight(server, path) || old == NULL
		|| strcmp(path, old) != 0)
		return;
	keeper_get(server, &choice->secrets);
	choice->source = COOKIES_OF_FILE;
}

enum nsd_err
cookie_keeper_use(struct cookie_keeper *keeper, const struct server *server,
	const struct cookie_choice *choice)
{
	struct cookie_share *share = counts_get_cookies(server->counts);
	struct cookie_secrets made = {.count = 1};
	const size_t len = sizeof(made.secrets[0]);

	if (choice->source != COOKIES_RANDOM) {
		cookie_share_write(share, &choice->secrets);
	} else if (keeper->source != COOKIES_RANDOM) {
		if (getrandom(made.secrets[0], len, 0) != (ssize_t)len) {
			log_error("getrandom: %s", strerror(errno));
			return NSD_E_SYSTEM;
		}
		cookie_share_write(share, &made);
		explicit_bzero(&made, sizeof(made));
	}
	keeper->source = choice->source;
	return NSD_OK;
}

/* ---- commands of the operator -------------------------------------------- */

/* Applies an operator's command to the secrets, if the source of them allows
 * that. */
static enum ipc_cookies_result
secrets_change(enum ipc_cookie_source source, const struct ipc_cookies *request,
	struct cookie_secrets *secrets)
{
	/* Main alone writes the secrets that workers read. */
	assert(secrets->count <= COOKIE_SECRETS_MAX);
	if (source == COOKIES_CONFIGURED)
		return COOKIES_NOT_OF_FILE;
	switch ((enum ipc_cookies_what)request->what) {
	case COOKIES_ADD:
		/* An added secret replaces a random one, which no other server
		 * knows. */
		if (source == COOKIES_RANDOM)
			secrets->count = 0;
		if (secrets->count == COOKIE_SECRETS_MAX)
			secrets->count--;
		memcpy(secrets->secrets[secrets->count++], request->secret,
			sizeof(request->secret));
		return COOKIES_OK;
	case COOKIES_ACTIVATE:
		if (secrets->count < COOKIE_SECRETS_MAX)
			return COOKIES_NONE_STAGED;
		for (size_t i = 0; i < COOKIE_SECRET_LEN; i++) {
			uint8_t octet = secrets->secrets[0][i];

			secrets->secrets[0][i] = secrets->secrets[1][i];
			secrets->secrets[1][i] = octet;
		}
		return COOKIES_OK;
	case COOKIES_DROP:
		if (secrets->count < COOKIE_SECRETS_MAX)
			return COOKIES_ONLY_ACTIVE;
		secrets->count--;
		/* The reply to the operator lists the secrets that are left,
		 * and has no octet of the dropped one. */
		explicit_bzero(secrets->secrets[secrets->count],
			sizeof(secrets->secrets[0]));
		return COOKIES_OK;
	default:
		return COOKIES_UNKNOWN;
	}
}

/* Replaces the file. NSD_E_SYSTEM with errno; NSD_E_MEMORY. */
static enum nsd_err
file_write(const char *path, const struct cookie_secrets *secrets)
{
	char text[COOKIE_TEXT_MAX];
	struct fs_replace file;
	enum nsd_err err;
	int fd;

	err = fs_replace_open(&file, path, 0600);
	if (err != NSD_OK)
		return err;
	err = fs_write_all(file.fd, text, cookie_text_print(secrets, text));
	explicit_bzero(text, sizeof(text));
	if (err != NSD_OK) {
		fs_replace_abort(&file);
		return err;
	}
	err = fs_replace_commit(&file, &fd);
	if (err != NSD_OK)
		return err;
	close(fd);
	/* The new file stands there, and stays unless the power fails. */
	if (fs_flush_folder(path) != NSD_OK)
		log_warning("cookie secret file %s may not outlive a power cut:"
			    " its folder was not flushed", path);
	return NSD_OK;
}

/* Changes the file first, so that the secrets of workers outlive a restart. */
static enum ipc_cookies_result
keeper_change(struct supervisor *s, const struct ipc_cookies *request,
	struct cookie_secrets *secrets)
{
	const char *path = file_path(&s->server, s->server.conf);
	enum ipc_cookies_result result;

	result = secrets_change(s->cookies.source, request, secrets);
	if (result != COOKIES_OK)
		return result;
	if (path == NULL)
		return COOKIES_NO_FILE;
	if (file_write(path, secrets) != NSD_OK)
		return COOKIES_NOT_WRITTEN;
	cookie_share_write(counts_get_cookies(s->server.counts), secrets);
	s->cookies.source = COOKIES_OF_FILE;
	return COOKIES_OK;
}

void
cookie_keeper_on_cookies(struct supervisor *s, struct child *xfrd,
	const struct ipc_message *m)
{
	struct ipc_cookies_done done = {.result = COOKIES_OK};
	struct asker asker = asker_of(xfrd, m);
	struct cookie_secrets secrets;
	struct ipc_cookies request;

	memcpy(&request, m->payload, sizeof(request));
	keeper_get(&s->server, &secrets);
	if (request.what != COOKIES_SHOW)
		done.result = keeper_change(s, &request, &secrets);
	done.error = done.result == COOKIES_NOT_WRITTEN ? (uint32_t)errno : 0;
	if (done.result == COOKIES_OK) {
		done.source = s->cookies.source;
		done.count = secrets.count;
		memcpy(done.secrets, secrets.secrets, sizeof(done.secrets));
	}
	asker_answer(s, &asker, IPC_COOKIES, &done, sizeof(done));
	explicit_bzero(&done, sizeof(done));
	explicit_bzero(&secrets, sizeof(secrets));
	explicit_bzero(&request, sizeof(request));
}
