/* tls_texts.c - keys and certificates of DNS over TLS, in main and on their way
 * to workers. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "role/tls_texts.h"
#include "tls/server.h"

/* No key or certificate is larger, */
#define PEM_MAX 65536
/* and no set of all authorities of the world. */
#define BUNDLE_MAX (4u * 1024 * 1024)

_Static_assert(IPC_TLS_TEXT_COUNT == (int)TLS_SERVER_TEXTS,
	"message.h has as many");

/* Where systems have the authorities that they trust. */
static const char *const system_bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

/* What is read: an option, its file, and where its octets go. */
struct tls_file {
	const char *option;
	const char *path;   /* NULL: there is none */
	size_t max;
	uint8_t *octets;
	size_t len;
};

static bool
is_given(const char *text)
{
	return text != NULL && *text != '\0';
}

bool
tls_texts_are_wanted(const struct conf_server *o)
{
	return is_given(o->tls_service_key) && is_given(o->tls_service_pem);
}

/* ---- files --------------------------------------------------------------- */

static const char *
texts_choose_bundle(const struct conf_server *o)
{
	size_t i = 0;

	if (is_given(o->tls_cert_bundle))
		return o->tls_cert_bundle;
	while (i + 1 < sizeof(system_bundles) / sizeof(*system_bundles)
		&& access(system_bundles[i], R_OK) == -1)
		i++;
	return system_bundles[i];
}

static enum nsd_err
file_read(struct tls_file *source, const char *chroot,
	struct diag_sink *sink)
{
	enum nsd_err err;

	if (!is_given(source->path))
		return NSD_OK;
	source->octets = malloc(source->max);
	if (source->octets == NULL)
		return NSD_E_MEMORY;
	err = fs_read_small(conf_path_in_chroot(chroot, source->path),
		source->octets, source->max, &source->len);
	if (err == NSD_OK && source->len == 0)
		err = NSD_E_SYNTAX;
	if (err != NSD_OK)
		diag_emit(sink, DIAG_ERROR, NULL, 0, 0,
			"%s: cannot read %s: %s", source->option, source->path,
			err == NSD_E_LIMIT ? "it is too large"
				: err == NSD_E_SYNTAX    ? "it is empty"
				: fs_open_error_text(errno));
	return err == NSD_E_LIMIT ? NSD_E_SYSTEM : err;
}

static void
files_fini(struct tls_file *sources, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (sources[i].octets != NULL)
			explicit_bzero(sources[i].octets, sources[i].len);
		free(sources[i].octets);
	}
}

/* The secret of tickets, which has no file. */
static enum nsd_err
source_make_tickets(struct tls_file *source, const struct secrets *old)
{
	size_t len;

	source->octets = malloc(TLS_TICKETS_LEN);
	if (source->octets == NULL)
		return NSD_E_MEMORY;
	source->len = TLS_TICKETS_LEN;
	if (old != NULL)
		memcpy(source->octets,
			secrets_get(old, TLS_SERVER_TICKETS, &len),
			TLS_TICKETS_LEN);
	else if (RAND_bytes(source->octets, TLS_TICKETS_LEN) != 1)
		return NSD_E_SYSTEM;
	return NSD_OK;
}

static enum nsd_err
sources_move(const struct tls_file *sources, size_t count,
	struct secrets **texts)
{
	size_t octets = 0;
	enum nsd_err err;

	for (size_t i = 0; i < count; i++)
		octets += sources[i].len;
	err = secrets_create(count, octets, texts);
	if (err != NSD_OK)
		return err;
	for (size_t i = 0; i < count; i++)
		secrets_add(*texts, (struct secrets_octets){NULL, 0},
			(struct secrets_octets){sources[i].octets,
				sources[i].len});
	secrets_seal(*texts);
	return NSD_OK;
}

/* What a child says of the texts: one finding, in memory that its parent has,
 * too. Whoever signed the texts may have had a hand in it: it need not end. */
#define VERDICT_MAX 1024
struct tls_verdict {
	struct diag_sink sink; /* first */
	char *text;
};

static void
verdict_on_diag(struct diag_sink *sink, const struct diag *d)
{
	char *text = ((struct tls_verdict *)sink)->text;

	if (d->severity == DIAG_ERROR)
		snprintf(text, VERDICT_MAX, "%s", d->text);
}

/* In a child. It writes text if it can use none of them. */
static enum nsd_err
texts_try_in_child(const struct secrets *texts, char *text)
{
	struct tls_verdict verdict = {{.on_diag = verdict_on_diag}, text};
	struct tls_server *server;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(tls_server_create(texts, &verdict.sink, &server)
				== NSD_OK
			? 0 : 1);
	while (pid > 0 && waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	if (pid == -1)
		return NSD_E_SYSTEM;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NSD_OK
							     : NSD_E_SYNTAX;
}

static enum nsd_err
texts_try(const struct secrets *texts, struct diag_sink *sink)
{
	char *text = mmap(NULL, VERDICT_MAX, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	enum nsd_err err;

	if (text == MAP_FAILED)
		return NSD_E_MEMORY;
	err = texts_try_in_child(texts, text);
	/* One line, whoever has taken that process over. */
	for (size_t i = 0; i < VERDICT_MAX && text[i] != '\0'; i++)
		if ((unsigned char)text[i] < ' ')
			text[i] = ' ';
	if (err == NSD_E_SYSTEM)
		diag_emit(sink, DIAG_ERROR, NULL, 0, 0, "fork: %s",
			strerror(errno));
	else if (err == NSD_E_SYNTAX && *text != '\0')
		diag_emit(sink, DIAG_ERROR, NULL, 0, 0, "%.*s",
			VERDICT_MAX, text);
	(void)munmap(text, VERDICT_MAX);
	return err;
}

enum nsd_err
tls_texts_read(const struct conf_server *o, const char *chroot,
	const struct secrets *old, struct diag_sink *sink,
	struct secrets **texts)
{
	struct tls_file sources[TLS_SERVER_TEXTS] = {
		[TLS_SERVER_KEY] = {"tls-service-key", o->tls_service_key,
			PEM_MAX, NULL, 0},
		[TLS_SERVER_CHAIN] = {"tls-service-pem", o->tls_service_pem,
			PEM_MAX, NULL, 0},
		[TLS_SERVER_OCSP] = {"tls-service-ocsp", o->tls_service_ocsp,
			PEM_MAX, NULL, 0},
		[TLS_SERVER_BUNDLE] = {"tls-cert-bundle",
			o->tls_auth_port != 0 ? texts_choose_bundle(o) : NULL,
			BUNDLE_MAX, NULL, 0},
	};
	struct secrets *made = NULL;
	enum nsd_err err = source_make_tickets(&sources[TLS_SERVER_TICKETS],
		old);

	for (int i = 0; err == NSD_OK && i < TLS_SERVER_TICKETS; i++)
		err = file_read(&sources[i], chroot, sink);
	if (err == NSD_OK)
		err = sources_move(sources, TLS_SERVER_TEXTS, &made);
	files_fini(sources, TLS_SERVER_TEXTS);
	if (err == NSD_OK)
		err = texts_try(made, sink);
	if (err == NSD_OK) {
		*texts = made;
		return NSD_OK;
	}
	secrets_drop(made);
	diag_emit(sink, DIAG_ERROR, NULL, 0, 0, "could not set up TLS with"
		  " tls-service-key %s and tls-service-pem %s",
		o->tls_service_key, o->tls_service_pem);
	return err;
}

/* ---- of clients ---------------------------------------------------------- */

enum nsd_err
tls_texts_read_clients(const struct conf *conf, const char *chroot,
	struct secrets **texts)
{
	size_t count = conf->tls_auth_count > 0 ? 1 + 2 * conf->tls_auth_count
						: 0;
	struct diag_sink log = {.on_diag = log_diag};
	struct tls_file *sources;
	enum nsd_err err = NSD_OK;

	*texts = NULL;
	if (count == 0)
		return NSD_OK;
	sources = calloc(count, sizeof(*sources));
	if (sources == NULL)
		return NSD_E_MEMORY;
	sources[0] = (struct tls_file){"tls-cert-bundle",
		texts_choose_bundle(&conf->server), BUNDLE_MAX, NULL, 0};
	for (size_t i = 0; i < conf->tls_auth_count; i++) {
		sources[1 + 2 * i] = (struct tls_file){"client-cert",
			conf->tls_auths[i]->client_cert, PEM_MAX, NULL, 0};
		sources[2 + 2 * i] = (struct tls_file){"client-key",
			conf->tls_auths[i]->client_key, PEM_MAX, NULL, 0};
	}
	for (size_t i = 0; err != NSD_E_MEMORY && i < count; i++)
		err = file_read(&sources[i], chroot, &log);
	if (err != NSD_E_MEMORY)
		err = sources_move(sources, count, texts);
	files_fini(sources, count);
	free(sources);
	return err;
}

/* ---- looking ------------------------------------------------------------- */

static uint64_t
file_look(const char *path, const char *chroot)
{
	struct stat st;

	if (!is_given(path)
		|| stat(conf_path_in_chroot(chroot, path), &st) == -1)
		return 0;
	return (uint64_t)st.st_ino + (uint64_t)st.st_size * 31
		+ (uint64_t)st.st_mtim.tv_sec * 1009
		+ (uint64_t)st.st_mtim.tv_nsec;
}

uint64_t
tls_texts_look(const struct conf *conf, const char *chroot)
{
	const struct conf_server *o = &conf->server;
	const char *const paths[] = {o->tls_service_key, o->tls_service_pem,
		o->tls_service_ocsp, texts_choose_bundle(o)};
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		sum = sum * 1000003 + file_look(paths[i], chroot);
	for (size_t i = 0; i < conf->tls_auth_count; i++) {
		const struct conf_tls_auth *auth = conf->tls_auths[i];

		sum = sum * 1000003 + file_look(auth->client_cert, chroot);
		sum = sum * 1000003 + file_look(auth->client_key, chroot);
	}
	return sum;
}

bool
tls_texts_are_same(const struct secrets *a, const struct secrets *b)
{
	if (a == NULL || b == NULL || secrets_count(a) != secrets_count(b))
		return a == b;
	for (size_t i = 0; i < secrets_count(a); i++) {
		size_t a_len, b_len;
		const uint8_t *of_a = secrets_get(a, i, &a_len);
		const uint8_t *of_b = secrets_get(b, i, &b_len);

		if (a_len != b_len || memcmp(of_a, of_b, a_len) != 0)
			return false;
	}
	return true;
}

/* ---- messages ------------------------------------------------------------ */

int
tls_texts_pack(const struct secrets *texts, struct ipc_tls_texts *message)
{
	int fd = memfd_create("nsd-tls", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	enum nsd_err err = NSD_OK;
	int error;

	if (fd == -1)
		return -1;
	for (size_t i = 0; err == NSD_OK && i < TLS_SERVER_TEXTS; i++) {
		size_t len;
		const uint8_t *at = secrets_get(texts, i, &len);

		message->len[i] = (uint32_t)len;
		err = fs_write_all(fd, at, len);
	}
	/* All workers share it: none spoils it for the others. */
	if (err == NSD_OK
		&& fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK
			| F_SEAL_GROW | F_SEAL_WRITE)
			!= -1)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

enum nsd_err
tls_texts_unpack(const struct ipc_tls_texts *message, int fd,
	struct secrets **texts)
{
	size_t size = 0, at = 0;
	struct stat st;
	uint8_t *octets;
	enum nsd_err err;

	for (size_t i = 0; i < TLS_SERVER_TEXTS; i++)
		size += message->len[i];
	if (size == 0 || fstat(fd, &st) == -1 || st.st_size != (off_t)size)
		return NSD_E_SYNTAX;
	octets = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (octets == MAP_FAILED)
		return NSD_E_MEMORY;
	err = secrets_create(TLS_SERVER_TEXTS, size, texts);
	for (size_t i = 0; err == NSD_OK && i < TLS_SERVER_TEXTS; i++) {
		secrets_add(*texts, (struct secrets_octets){NULL, 0},
			(struct secrets_octets){octets + at, message->len[i]});
		at += message->len[i];
	}
	(void)munmap(octets, size);
	return err;
}
