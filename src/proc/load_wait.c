/* load_wait.c - changes of zones that are being compared with their files. */
#include "config.h"

#include <stdlib.h>

#include "proc/load_wait.h"

static void
wait_append(struct load_wait *wait, struct load_waiting *one)
{
	one->next = NULL;
	if (wait->first == NULL)
		wait->first = one;
	else
		wait->last->next = one;
	wait->last = one;
	wait->count++;
	wait->octets += one->len;
}

bool
load_wait_add(struct load_wait *wait, uint64_t ticket, uint8_t *data,
	uint64_t len)
{
	struct load_waiting *one;

	if (wait->count == LOAD_WAIT_MAX
		|| len > LOAD_WAIT_OCTETS - wait->octets)
		return false;
	one = malloc(sizeof(*one));
	if (one == NULL)
		return false;
	*one = (struct load_waiting){
		.ticket = ticket,
		.len = len,
		.data = data,
	};
	wait_append(wait, one);
	return true;
}

void
load_wait_retry(struct load_wait *wait,
	bool (*try)(void *ctx, const struct load_waiting *one), void *ctx)
{
	struct load_waiting *one = wait->first, *next;

	*wait = (struct load_wait){.first = NULL};
	for (; one != NULL; one = next) {
		next = one->next;
		if (!try(ctx, one)) {
			wait_append(wait, one);
			continue;
		}
		free(one->data);
		free(one);
	}
}
