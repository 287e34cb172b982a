/*
 * call.h - a command of nsd-control while it is done.
 *
 * A handler gets a call, prints its answer and ends it: at once, or later, when
 * the work is done. It must be ended once, and lives until then, also if the
 * client has gone: output for such a client is dropped.
 *
 *	static void
 *	control_on_paint(struct xfrd *xfrd, struct ctl_call *call)
 *	{
 *		ask the loader, with paint_on_end and call;
 *	}
 *
 *	static void
 *	paint_on_end(void *ctx, const struct ipc_message *answer)
 *	{
 *		struct ctl_call *call = ctx;
 *
 *		if (answer == NULL)
 *			ctl_printf(call, "error the loader has died\n");
 *		else
 *			ctl_printf(call, "ok\n");
 *		ctl_end(call);
 *	}
 *
 * "ok" means done in every process; else the answer is one line that begins
 * with "error" and has the reason. nsd-control's exit code comes from the first
 * line of all: print nothing before it is known, unless NSD does.
 *
 * A long answer is printed a part at a time (ctl_stream), so that a client that
 * does not read holds no memory, and others have their turns.
 */
#ifndef CTL_CALL_H
#define CTL_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctl/command.h"

struct ctl_call;

/* The progress of a command. */
struct ctl_progress {
	uint64_t done; /* zones */
	uint64_t all;  /* 0: not known */
};

/* Set by handlers, before they return; all are NULL at first. */
struct ctl_call_hooks {
	void *ctx; /* of the handler */
	/* Of a verb with CTL_LINES: the next line, without its end, lent. Not
	 * called while ctl_hold. */
	void (*on_line)(struct ctl_call *call, const char *line);
	/* The last line has come. Not called if the client has gone before. */
	void (*on_lines_end)(struct ctl_call *call);
	/* The client has gone: nobody reads the answer. The call is still to be
	 * ended, here or later. NULL: the handler goes on regardless. A handler
	 * of a verb with CTL_LINES has it set. */
	void (*on_gone)(struct ctl_call *call);
	/* Of ctl_stream. */
	void (*on_room)(struct ctl_call *call);
	/* Asks how far the call is; *progress is 0 before. NULL: a command that
	 * does not take long. */
	void (*on_progress)(struct ctl_call *call,
		struct ctl_progress *progress);
};

struct ctl_call_hooks *ctl_hooks(struct ctl_call *call);

/* The command: lent as long as the call lives. */
const struct ctl_command *ctl_command(const struct ctl_call *call);
/* An argument, from 0; NULL: it was not given. Lent as the command. */
const char *ctl_argument(const struct ctl_call *call, unsigned index);
/* Prints who has sent the command: the address, or the user of a client on this
 * machine (`uid N`). size: CTL_CLIENT_MAX does. Returns out. */
#define CTL_CLIENT_MAX 80
const char *ctl_print_client(const struct ctl_call *call, char *out,
	size_t size);
/* True if the client has gone. */
bool ctl_is_gone(const struct ctl_call *call);

/* Prints a part of the answer; lines end in \n. Does not block. Octets that the
 * client has not read are kept, up to CTL_OUTPUT_MAX; with more its connection
 * is closed. */
#define CTL_OUTPUT_MAX (4u << 20)
void ctl_printf(struct ctl_call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints octets. */
void ctl_write(struct ctl_call *call, const void *octets, size_t len);
/* Prints octets; the copy is wiped once it is sent, or dropped. */
void ctl_write_secret(struct ctl_call *call, const void *octets, size_t len);
/* Prints with the arguments of a caller's own print function. */
void ctl_vprintf(struct ctl_call *call, const char *format,
	__builtin_va_list args) __attribute__((format(printf, 2, 0)));

/*
 * Has a function print the answer a part at a time: it is called from the event
 * loop, again and again, while the client reads what it has got; it prints some
 * kilooctets, in a millisecond at most, and returns; at its end it calls
 * ctl_end. If the client goes, it is called no more, and on_gone is.
 */
void ctl_stream(struct ctl_call *call,
	void (*on_room)(struct ctl_call *call));

/* Of a verb with CTL_LINES: holds further lines back until ctl_release. Holds
 * are counted: as many releases are needed. */
void ctl_hold(struct ctl_call *call);
void ctl_release(struct ctl_call *call);

/* Answers with a line and closes the connection, in place of the call's
 * handler: that one is still to end the call, and its output is dropped. Its
 * hooks are called no more. */
void ctl_break_off(struct ctl_call *call, const char *line);

/* Ends a call: its answer is whole. The call is gone with this. */
void ctl_end(struct ctl_call *call);
/* Ends a call; on_sent is called once, perhaps before this returns. sent: all
 * of the answer has been handed to the system for a client that was there. Else
 * the client has gone before. */
typedef void ctl_on_sent(void *ctx, bool sent);
void ctl_end_and(struct ctl_call *call, ctl_on_sent *on_sent, void *ctx);

#endif
