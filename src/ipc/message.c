/* message.c - the table of the messages between the processes. */
#include "config.h"

#include "ipc/message.h"

#define IPC_ROW(name_, sender_, receiver_, least, most, fds, credits_,       \
	answer_, meaning_)                                                   \
	[IPC_##name_] = {                                                    \
		.name = #name_,                                              \
		.meaning = meaning_,                                         \
		.sender = sender_,                                           \
		.receiver = receiver_,                                       \
		.payload_min = least,                                        \
		.payload_max = most,                                         \
		.fds_max = fds,                                              \
		.credits = credits_,                                         \
		.answer = IPC_##answer_,                                     \
	},

const struct ipc_row ipc_rows[IPC_TYPE_COUNT] = {IPC_MESSAGES(IPC_ROW)};

#undef IPC_ROW
#define IPC_FITS(name, sender, receiver, least, most, fds, credits, answer,  \
	meaning)                                                             \
	_Static_assert((most) <= IPC_PAYLOAD_MAX && (fds) <= IPC_FDS_MAX,    \
		#name " does not fit a message");
IPC_MESSAGES(IPC_FITS)
