/* control_ask.c - commands that ask something of main. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "ctl/call.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"

struct control_question {
	struct xfrd *xfrd;
	struct ctl_call *call;
	control_on_answer *on_answer;
};

static void
question_on_end(void *ctx, const struct ipc_message *answer)
{
	struct control_question *question = ctx;

	/* Main does not die before xfrd does: nothing is given up. */
	assert(answer != NULL);
	question->on_answer(question->xfrd, question->call, answer);
	free(question);
}

void
control_refuse(struct ctl_call *call, enum nsd_err err)
{
	ctl_printf(call, "error %s\n", err == NSD_E_AGAIN
		? "main has too much to do" : err_text(err));
	ctl_end(call);
}

bool
control_ask_main(struct xfrd *xfrd, struct ctl_call *call,
	const struct link_message *message, control_on_answer *on_answer)
{
	struct control_question *question = malloc(sizeof(*question));
	enum nsd_err err = NSD_E_MEMORY;

	if (question != NULL) {
		*question = (struct control_question){xfrd, call, on_answer};
		err = role_ask(&xfrd->role, message, question_on_end, question);
	}
	if (err == NSD_OK)
		return true;
	free(question);
	control_refuse(call, err);
	return false;
}
