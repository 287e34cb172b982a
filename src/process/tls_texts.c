/* tls_texts.c - keys and certificates of TLS, in main and on their way to those
 * who use them. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "conf/chroot.h"
#include "process/server.h"
#include "process/tls_texts.h"
#include "tls/server.h"

/* No key or certificate is larger, */
#define PEM_MAX 65536
/* and no set of all authorities of the world. */
#define BUNDLE_MAX (4u * 1024 * 1024)

_Static_assert(IPC_TLS_TEXT_COUNT == (int)TLS_SERVER_TEXTS,
	"message.h has as many");

/* Bundles of the authorities that systems trust. */
static const char *const system_bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

/* A text to be read: an option, its file, and the file's octets. Or it is a
 * word of nsd.conf itself. */
struct tls_file {
	const char *option;
	const char *path;   /* NULL: there is none */
	size_t max;
	uint8_t *octets;
	size_t len;
	const char *word;
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

/* Overwrites and frees a text that was not read as a whole. */
static void
file_forget(struct tls_file *file)
{
	if (file->octets != NULL)
		explicit_bzero(file->octets, file->len);
	free(file->octets);
	file->octets = NULL;
	file->len = 0;
}

/* NSD_E_SYNTAX: the file is empty, or too large. */
static enum nsd_err
text_file_read(struct tls_file *file, const char *chroot,
	struct diag_sink *sink)
{
	enum nsd_err err;
	int error;

	if (is_given(file->word)) {
		file->octets = (uint8_t *)strdup(file->word);
		file->len = strlen(file->word) + 1;
		return file->octets != NULL ? NSD_OK : NSD_E_MEMORY;
	}
	if (!is_given(file->path))
		return NSD_OK;
	file->octets = malloc(file->max);
	if (file->octets == NULL)
		return NSD_E_MEMORY;
	err = fs_read_small(conf_path_in_chroot(chroot, file->path),
		file->octets, file->max, &file->len);
	error = errno;
	if (err == NSD_OK && file->len > 0)
		return NSD_OK;
	diag_emit(sink, DIAG_ERROR, NULL, 0, 0, "%s: cannot read %s: %s",
		file->option, file->path,
		err == NSD_E_LIMIT ? "it is too large"
			: err == NSD_OK ? "it is empty"
			: fs_open_error_text(error));
	file_forget(file);
	return err == NSD_E_SYSTEM ? err : NSD_E_SYNTAX;
}

static void
files_fini(struct tls_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++)
		file_forget(&files[i]);
}

/* Copies a text from before. */
static enum nsd_err
file_copy(struct tls_file *file, const struct secrets *old, size_t index)
{
	size_t len;
	const uint8_t *octets = secrets_get(old, index, &len);

	file->octets = malloc(len > 0 ? len : 1);
	if (file->octets == NULL)
		return NSD_E_MEMORY;
	memcpy(file->octets, octets, len);
	file->len = len;
	return NSD_OK;
}

/* The secret of tickets, which has no file. */
static enum nsd_err
file_make_tickets(struct tls_file *file)
{
	file->octets = malloc(TLS_TICKETS_LEN);
	if (file->octets == NULL)
		return NSD_E_MEMORY;
	file->len = TLS_TICKETS_LEN;
	return RAND_bytes(file->octets, TLS_TICKETS_LEN) == 1 ? NSD_OK
							      : NSD_E_SYSTEM;
}

static enum nsd_err
files_move(const struct tls_file *files, size_t count,
	struct secrets **texts)
{
	size_t octets = 0;
	enum nsd_err err;

	for (size_t i = 0; i < count; i++)
		octets += files[i].len;
	err = secrets_create(count, octets, texts);
	if (err != NSD_OK)
		return err;
	for (size_t i = 0; i < count; i++)
		secrets_add(*texts,
			(struct secrets_octets){files[i].octets,
				files[i].len});
	secrets_seal(*texts);
	return NSD_OK;
}

void
tls_texts_refuse(const struct conf_server *o, struct diag_sink *sink)
{
	diag_emit(sink, DIAG_ERROR, NULL, 0, 0, "could not set up TLS with"
		  " tls-service-key %s and tls-service-pem %s",
		o->tls_service_key, o->tls_service_pem);
}

enum nsd_err
tls_texts_read(const struct server *server, const struct conf_server *o,
	struct diag_sink *sink, struct secrets **texts)
{
	struct tls_file files[TLS_SERVER_TEXTS] = {
		[TLS_SERVER_KEY] = {"tls-service-key", o->tls_service_key,
			PEM_MAX, NULL, 0, NULL},
		[TLS_SERVER_CHAIN] = {"tls-service-pem", o->tls_service_pem,
			PEM_MAX, NULL, 0, NULL},
		[TLS_SERVER_OCSP] = {"tls-service-ocsp", o->tls_service_ocsp,
			PEM_MAX, NULL, 0, NULL},
		[TLS_SERVER_BUNDLE] = {"tls-cert-bundle",
			o->tls_auth_port != 0 ? texts_choose_bundle(o) : NULL,
			BUNDLE_MAX, NULL, 0, NULL},
	};
	struct tls_file *tickets = &files[TLS_SERVER_TICKETS];
	enum nsd_err err = server->tls != NULL
		? file_copy(tickets, server->tls, TLS_SERVER_TICKETS)
		: file_make_tickets(tickets);

	for (int i = 0; err == NSD_OK && i < TLS_SERVER_TICKETS; i++)
		err = text_file_read(&files[i], server->chroot, sink);
	if (err == NSD_OK)
		err = files_move(files, TLS_SERVER_TEXTS, texts);
	files_fini(files, TLS_SERVER_TEXTS);
	if (err != NSD_OK)
		tls_texts_refuse(o, sink);
	return err;
}

enum nsd_err
tls_texts_check_bundle(const struct server *server, const struct conf *conf,
	struct diag_sink *sink)
{
	struct tls_file file = {"tls-cert-bundle",
		conf->server.tls_cert_bundle, BUNDLE_MAX, NULL, 0, NULL};
	enum nsd_err err = NSD_OK;

	if (conf->tls_auth_count > 0)
		err = text_file_read(&file, server->chroot, sink);
	file_forget(&file);
	return err;
}

/* ---- of clients ---------------------------------------------------------- */

static void
clients_name(const struct conf *conf, struct tls_file *files)
{
	files[0] = (struct tls_file){.option = "tls-cert-bundle",
		.path = texts_choose_bundle(&conf->server), .max = BUNDLE_MAX};
	for (size_t i = 0; i < conf->tls_auth_count; i++) {
		const struct conf_tls_auth *auth = conf->tls_auths[i];
		struct tls_file *of = &files[tls_client_index(i, 0)];

		of[TLS_CLIENT_NAME].word = auth->name;
		of[TLS_CLIENT_DOMAIN].word = auth->auth_domain_name;
		of[TLS_CLIENT_PASSWORD].word = auth->client_key_pw;
		of[TLS_CLIENT_CHAIN] = (struct tls_file){
			.option = "client-cert", .path = auth->client_cert,
			.max = PEM_MAX};
		of[TLS_CLIENT_KEY] = (struct tls_file){
			.option = "client-key", .path = auth->client_key,
			.max = PEM_MAX};
	}
}

static bool
is_same_path(const char *a, const char *b)
{
	return strcmp(is_given(a) ? a : "", is_given(b) ? b : "") == 0;
}

bool
tls_texts_clients_are_alike(const struct conf *a, const struct conf *b)
{
	if (a->tls_auth_count != b->tls_auth_count
		|| !is_same_path(a->server.tls_cert_bundle,
			b->server.tls_cert_bundle))
		return false;
	for (size_t i = 0; i < a->tls_auth_count; i++) {
		const struct conf_tls_auth *one = a->tls_auths[i];
		const struct conf_tls_auth *other = b->tls_auths[i];

		if (!is_same_path(one->client_cert, other->client_cert)
			|| !is_same_path(one->client_key, other->client_key))
			return false;
	}
	return true;
}

enum nsd_err
tls_texts_read_clients(const struct server *server, const struct secrets *old,
	bool *whole, struct secrets **texts)
{
	size_t auths = server->conf->tls_auth_count;
	size_t count = auths > 0 ? tls_client_index(auths, 0) : 0;
	struct diag_sink log = {.on_diag = log_diag};
	struct tls_file *files;
	enum nsd_err err = NSD_OK;

	*texts = NULL;
	*whole = true;
	if (count == 0)
		return NSD_OK;
	files = calloc(count, sizeof(*files));
	if (files == NULL)
		return NSD_E_MEMORY;
	clients_name(server->conf, files);
	for (size_t i = 0; err == NSD_OK && i < count; i++) {
		err = text_file_read(&files[i], server->chroot, &log);
		if (err == NSD_OK || err == NSD_E_MEMORY)
			continue;
		*whole = *whole && err != NSD_E_SYSTEM;
		err = old != NULL ? file_copy(&files[i], old, i) : NSD_OK;
	}
	if (err == NSD_OK)
		err = files_move(files, count, texts);
	files_fini(files, count);
	free(files);
	return err;
}

/* ---- looking ------------------------------------------------------------- */

static uint64_t
look_add(uint64_t sum, uint64_t word)
{
	return (sum + word) * 1000003;
}

uint64_t
tls_texts_look_at(const char *path, const char *chroot, uint64_t sum)
{
	struct stat st;

	if (!is_given(path)
		|| stat(conf_path_in_chroot(chroot, path), &st) == -1)
		return look_add(sum, 0);
	sum = look_add(sum, (uint64_t)st.st_ino);
	sum = look_add(sum, (uint64_t)st.st_size);
	sum = look_add(sum, (uint64_t)st.st_mtim.tv_sec);
	sum = look_add(sum, (uint64_t)st.st_mtim.tv_nsec);
	sum = look_add(sum, (uint64_t)st.st_ctim.tv_sec);
	return look_add(sum, (uint64_t)st.st_ctim.tv_nsec);
}

bool
tls_texts_is_denied(const char *path, const char *chroot)
{
	return is_given(path)
		&& access(conf_path_in_chroot(chroot, path), R_OK) == -1
		&& errno == EACCES;
}

uint64_t
tls_texts_look(const struct server *server)
{
	const struct conf *conf = server->conf;
	const struct conf_server *o = &conf->server;
	const char *chroot = server->chroot;
	uint64_t sum = 0;

	if (tls_texts_are_wanted(o)) {
		sum = tls_texts_look_at(o->tls_service_key, chroot, sum);
		sum = tls_texts_look_at(o->tls_service_pem, chroot, sum);
		sum = tls_texts_look_at(o->tls_service_ocsp, chroot, sum);
	}
	if (o->tls_auth_port != 0 || conf->tls_auth_count > 0)
		sum = tls_texts_look_at(texts_choose_bundle(o), chroot, sum);
	for (size_t i = 0; i < conf->tls_auth_count; i++) {
		const struct conf_tls_auth *auth = conf->tls_auths[i];

		sum = tls_texts_look_at(auth->client_cert, chroot, sum);
		sum = tls_texts_look_at(auth->client_key, chroot, sum);
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

/* with_len: the length of each is before it. */
static int
pack_texts(const struct secrets *texts, bool with_len)
{
	int fd = memfd_create("nsd-tls", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	enum nsd_err err = NSD_OK;
	int error;

	if (fd == -1)
		return -1;
	for (size_t i = 0; err == NSD_OK && i < secrets_count(texts); i++) {
		size_t len;
		const uint8_t *at = secrets_get(texts, i, &len);

		if (with_len)
			err = fs_write_all(fd, &len, sizeof(len));
		if (err == NSD_OK)
			err = fs_write_all(fd, at, len);
	}
	/* Sealed: the processes that share it cannot spoil it for each
	 * other. */
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

int
tls_texts_pack(const struct secrets *texts, struct ipc_tls_texts *message)
{
	*message = (struct ipc_tls_texts){{0}};
	for (size_t i = 0; i < secrets_count(texts); i++) {
		size_t len;

		(void)secrets_get(texts, i, &len);
		message->len[i] = (uint32_t)len;
	}
	return pack_texts(texts, false);
}

int
tls_texts_pack_all(const struct secrets *texts)
{
	return pack_texts(texts, true);
}

/* Adds what the octets have to *texts; NULL: only counts. NSD_E_SYNTAX. */
static enum nsd_err
unpack_octets(const uint8_t *octets, size_t size, struct secrets *texts,
	size_t *count)
{
	size_t len;

	for (*count = 0; size > 0; ++*count) {
		if (size < sizeof(len))
			return NSD_E_SYNTAX;
		memcpy(&len, octets, sizeof(len));
		octets += sizeof(len);
		size -= sizeof(len);
		if (len > size)
			return NSD_E_SYNTAX;
		if (texts != NULL)
			secrets_add(texts, (struct secrets_octets){octets,
				len});
		octets += len;
		size -= len;
	}
	return NSD_OK;
}

enum nsd_err
tls_texts_unpack_all(int fd, struct secrets **texts)
{
	struct stat st;
	uint8_t *octets;
	enum nsd_err err;
	size_t size, count;

	*texts = NULL;
	if (fstat(fd, &st) == -1 || st.st_size < 0)
		return NSD_E_SYNTAX;
	size = (size_t)st.st_size;
	if (size == 0)
		return NSD_OK;
	octets = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (octets == MAP_FAILED)
		return NSD_E_MEMORY;
	err = unpack_octets(octets, size, NULL, &count);
	if (err == NSD_OK)
		err = secrets_create(count, size, texts);
	if (err == NSD_OK)
		err = unpack_octets(octets, size, *texts, &count);
	(void)munmap(octets, size);
	return err;
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
		secrets_add(*texts,
			(struct secrets_octets){octets + at, message->len[i]});
		at += message->len[i];
	}
	(void)munmap(octets, size);
	return err;
}

/* ---- reports ------------------------------------------------------------- */

static void
tls_report_on_diag(struct diag_sink *sink, const struct diag *d)
{
	char *text = ((struct tls_report *)sink)->said.text;

	if (d->severity == DIAG_ERROR && *text == '\0')
		snprintf(text, TRIAL_TEXT_MAX, "%s", d->text);
}

void
tls_report_init(struct tls_report *report)
{
	memset(report, 0, sizeof(*report));
	report->sink.on_diag = tls_report_on_diag;
}
