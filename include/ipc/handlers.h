/*
 * handlers.h - makes sure that each role has a handler for every message to it.
 *
 * A role lists its messages with a function for each:
 *
 *	#define LOADER_HANDLERS(X)            \
 *		X(RELOAD, loader_on_reload)   \
 *		X(UPDATE, loader_on_update)
 *
 * makes a table of that, and has it compared with the table of message.h:
 *
 *	static void (*const loader_handlers[IPC_TYPE_COUNT])(...) = {
 *		LOADER_HANDLERS(IPC_HANDLER)};
 *	IPC_CHECK_HANDLERS(LOADER_HANDLERS, IPC_TO_LOADER);
 *
 * A role that forgets a message does not compile, and neither does one that
 * takes a message of another role.
 */
#ifndef IPC_HANDLERS_H
#define IPC_HANDLERS_H

#include <stdint.h>

#include "ipc/message.h"

/* An element of a table of handlers. */
#define IPC_HANDLER(name, handler) [IPC_##name] = handler,

/* Sets of messages: bit i is enum ipc_type i. A message that a list takes: */
#define IPC_TAKES(name, handler) | UINT64_C(1) << IPC_##name
/* A message that a role receives, by message.h. */
#define IPC_BIT_IF(is_one, type) \
	| (uint64_t)((is_one) != 0) << (type)
#define IPC_TO_MAIN(name, sender, receiver, least, most, fds, credits,   \
	answer, meaning)                                                 \
	IPC_BIT_IF((receiver) & ROLE_MAIN, IPC_##name)
#define IPC_TO_LOADER(name, sender, receiver, least, most, fds, credits, \
	answer, meaning)                                                 \
	IPC_BIT_IF((receiver) & ROLE_LOADER, IPC_##name)
#define IPC_TO_WORKER(name, sender, receiver, least, most, fds, credits, \
	answer, meaning)                                                 \
	IPC_BIT_IF((receiver) & ROLE_WORKER, IPC_##name)
#define IPC_TO_XFRD(name, sender, receiver, least, most, fds, credits,   \
	answer, meaning)                                                 \
	IPC_BIT_IF((receiver) & ROLE_XFRD, IPC_##name)
#define IPC_TO_WRITER(name, sender, receiver, least, most, fds, credits, \
	answer, meaning)                                                 \
	IPC_BIT_IF((receiver) & ROLE_WRITER, IPC_##name)
#define IPC_TO_VERIFIER(name, sender, receiver, least, most, fds,        \
	credits, answer, meaning)                                        \
	IPC_BIT_IF((receiver) & ROLE_VERIFIER, IPC_##name)
#define IPC_TO_COLLECTOR(name, sender, receiver, least, most, fds,       \
	credits, answer, meaning)                                        \
	IPC_BIT_IF((receiver) & ROLE_COLLECTOR, IPC_##name)

#define IPC_CHECK_HANDLERS(list, to_role)                                     \
	_Static_assert((0 list(IPC_TAKES)) == (0 IPC_MESSAGES(to_role)),      \
		"this role forgets a message, or takes another role's: "      \
		"see include/ipc/message.h")

_Static_assert(IPC_TYPE_COUNT <= 64, "a set of messages has 64 bits");

#endif
