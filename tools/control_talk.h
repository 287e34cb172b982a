/*
 * control_talk.h - a connection of nsd-control to a server: a command goes,
 * lines behind it if there are any, and an answer comes.
 */
#ifndef CONTROL_TALK_H
#define CONTROL_TALK_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "conf/conf.h"
#include "ctl/tls.h"

#define EXIT_ERROR 1

struct control_talk {
	int fd;
	struct ctl_tls *tls;
	SSL *ssl;             /* NULL: plain */
	char out[16384];      /* to be sent */
	size_t out_len;
	bool lines;           /* standard input is to follow */
	bool input_failed;    /* standard input could not be read to its end */
	bool want_write;      /* TLS has to write before it can read */
	bool begun;           /* a first octet of the answer has come */
	bool clean;           /* the server has said that it is at the end */
	bool deserted;        /* the server reads no more either */
	bool refused;         /* no server listens */
	/* The begins of the first line and of the latest one. */
	char first[8], last[8];
	size_t first_len, last_len;
	bool in_first;
	char tail[32];        /* the end of what has come so far */
	size_t tail_len;

	/* Set before control_talk_open. on_answer takes octets of the answer;
	 * false ends the talk. on_tick: called each tick_msec while the answer
	 * is awaited; NULL: not. */
	bool (*on_answer)(void *ctx, const char *octets, size_t len);
	void (*on_tick)(void *ctx);
	unsigned tick_msec;
	void *ctx;
	/* The talk ends after this time; 0: never. */
	unsigned limit_msec;
	bool silent;          /* says nothing of what fails */
};

/* A sink that prints to stderr. */
void control_talk_print_diag(struct diag_sink *sink, const struct diag *d);

/* Says what has failed, by errno. Returns EXIT_ERROR. */
int control_talk_fail(const char *what, const char *where);

/* Connects. server: as -s has it; NULL: that of the configuration. Returns 0,
 * or an exit code; the talk is to be closed in any case. fd is -1 before. */
int control_talk_open(struct control_talk *talk, const char *server,
	const struct conf *conf);
/* Sends and receives, until the server closes. */
void control_talk_run(struct control_talk *talk);
void control_talk_close(struct control_talk *talk);

#endif
