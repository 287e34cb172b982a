/*
 * command.h - payloads of the operator's commands that main carries out.
 */
#ifndef IPC_COMMAND_H
#define IPC_COMMAND_H

#include <stdint.h>

#include "ipc/request.h"

/* A request to read nsd.conf anew. */
struct ipc_reconfig {
	struct ipc_request request;
	uint32_t no_wait; /* 1: answer once the file is taken */
	uint32_t unused;
};

/* The result of a RECONFIG. */
enum ipc_reconfigured_what {
	RECONFIGURED_NOTHING, /* nsd.conf is as before */
	RECONFIGURED_WAITS,   /* as NOTHING, but options in the text wait for a
			       * restart */
	RECONFIGURED_CHANGED, /* differences are in effect, but for those that
			       * the text says */
	RECONFIGURED_REFUSED, /* no change was made; the text says why */
	RECONFIGURED_LATE,    /* as CHANGED, but not in all processes yet; the
			       * last line is an error that says why */
	RECONFIGURED_UNREAD,  /* as CHANGED, but zones are not as their files
			       * say; the last line has their count */
	RECONFIGURED_BEGUN,   /* main has taken the file, and goes on; for a
			       * request that does not wait */
};
#define IPC_RECONFIGURED_TEXT_MAX 2000
struct ipc_reconfigured {
	uint64_t ticket; /* 0: no request: the text has the options that wait
			  * for a restart now */
	uint32_t what; /* enum ipc_reconfigured_what */
	/* Whole lines; the payload ends with them. */
	char text[IPC_RECONFIGURED_TEXT_MAX];
};

/* A change of a TSIG key (conf/key_edit.h). */
#define IPC_KEY_TEXT_MAX 2000
struct ipc_key {
	struct ipc_request request;
	uint32_t err;        /* of answers: enum nsd_err */
	uint32_t what;       /* enum key_edit_what */
	uint32_t handle_at;   /* of the secret; not in KEY, which has the secret
			      * itself */
	uint32_t handle_id;
	uint32_t secret_len;
	uint32_t unused;
	/* The names of zone, key and algorithm, each with a final NUL; then the
	 * octets of the secret. The payload ends there. */
	char text[IPC_KEY_TEXT_MAX];
};

/* The source of the secrets of cookies. */
enum ipc_cookie_source {
	COOKIES_NOWHERE,
	COOKIES_RANDOM,     /* made at the start */
	COOKIES_OF_FILE,    /* cookie-secret-file */
	COOKIES_CONFIGURED, /* cookie-secret */
};

/* The operator's command about cookie secrets. */
enum ipc_cookies_what {
	COOKIES_SHOW,
	COOKIES_ADD,      /* stages the secret */
	COOKIES_ACTIVATE, /* the staged secret and the active one swap roles */
	COOKIES_DROP,     /* drops the staged secret */
};
#define IPC_COOKIE_SECRET_LEN 16
#define IPC_COOKIE_SECRETS 2
struct ipc_cookies {
	struct ipc_request request;
	uint32_t what; /* enum ipc_cookies_what */
	uint8_t secret[IPC_COOKIE_SECRET_LEN]; /* of ADD */
};

/* The result of an ipc_cookies. */
enum ipc_cookies_result {
	COOKIES_OK,
	COOKIES_UNKNOWN,     /* an unknown command */
	COOKIES_NOT_OF_FILE, /* nsd.conf has the secrets */
	COOKIES_NO_FILE,     /* nsd.conf names no file */
	COOKIES_NONE_STAGED,
	COOKIES_ONLY_ACTIVE, /* the only secret, an active one, stays */
	COOKIES_NOT_WRITTEN, /* the file; error says why */
};
struct ipc_cookies_done {
	uint64_t ticket;
	uint32_t result; /* enum ipc_cookies_result; the other fields are set
			  * with COOKIES_OK */
	uint32_t error;  /* errno */
	uint32_t source; /* enum ipc_cookie_source */
	uint32_t count;  /* of secrets, the active one first */
	uint8_t secrets[IPC_COOKIE_SECRETS][IPC_COOKIE_SECRET_LEN];
};

#endif
