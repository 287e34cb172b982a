/* credits.c - how many messages of each kind may be sent on a channel. */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "ipc/credits.h"

void
ipc_credits_init(struct ipc_credits *credits,
	const struct ipc_channel *channel)
{
	memset(credits, 0, sizeof(*credits));
	for (unsigned type = 0; type < IPC_TYPE_COUNT; type++) {
		const struct ipc_row *row = &ipc_rows[type];

		if ((row->sender & channel->self) != 0
			&& (row->receiver & channel->peer) != 0)
			credits->left[type] = row->credits;
		if ((row->sender & channel->peer) != 0
			&& (row->receiver & channel->self) != 0)
			credits->granted[type] = row->credits;
	}
}

/* ---- the sender --------------------------------------------------------- */

bool
ipc_credits_has(const struct ipc_credits *credits, enum ipc_type type)
{
	return ipc_rows[type].credits == 0 || credits->left[type] > 0;
}

void
ipc_credits_spend(struct ipc_credits *credits, enum ipc_type type)
{
	if (ipc_rows[type].credits == 0)
		return;
	assert(credits->left[type] > 0);
	credits->left[type]--;
}

bool
ipc_credits_add(struct ipc_credits *credits, const struct ipc_message *m)
{
	struct ipc_credit credit;

	assert(m->len == sizeof(credit));
	memcpy(&credit, m->payload, sizeof(credit));
	if (credit.type >= IPC_TYPE_COUNT || credit.count == 0
		|| (ipc_rows[credit.type].receiver & m->from) == 0
		|| credit.count > (uint32_t)ipc_rows[credit.type].credits
				- credits->left[credit.type])
		return false;
	credits->left[credit.type] += (uint16_t)credit.count;
	return true;
}

/* ---- the receiver ------------------------------------------------------- */

bool
ipc_credits_take(struct ipc_credits *credits, enum ipc_type type)
{
	if (ipc_rows[type].credits == 0)
		return true;
	if (credits->granted[type] == 0)
		return false;
	credits->granted[type]--;
	return true;
}

void
ipc_credits_return(struct ipc_credits *credits, enum ipc_type type)
{
	assert(credits->due[type] + credits->granted[type]
		< ipc_rows[type].credits);
	credits->due[type]++;
}

bool
ipc_credits_next(const struct ipc_credits *credits, struct ipc_credit *credit)
{
	for (unsigned type = 0; type < IPC_TYPE_COUNT; type++) {
		uint32_t due = credits->due[type];

		if (due == 0 || due < ipc_rows[type].credits / 2u)
			continue;
		*credit = (struct ipc_credit){.type = type, .count = due};
		return true;
	}
	return false;
}

void
ipc_credits_give(struct ipc_credits *credits, const struct ipc_credit *credit)
{
	assert(credits->due[credit->type] >= credit->count);
	credits->due[credit->type] -= (uint16_t)credit->count;
	credits->granted[credit->type] += (uint16_t)credit->count;
}
