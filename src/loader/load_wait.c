/* load_wait.c - keeps the changes of a zone while the zone is being read. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dns/name.h"
#include "loader/load_turn.h"
#include "loader/load_wait.h"

void
load_wait_free(const struct load_change *change)
{
	free(change->data);
	if (change->text.fd != -1)
		close(change->text.fd);
}

bool
load_wait_add(struct load_wait *wait, const uint8_t *apex,
	const struct load_change *change)
{
	struct load_waiting *one;

	if (wait->count == LOAD_WAIT_MAX
		|| change->len > LOAD_WAIT_OCTETS - wait->octets)
		return false;
	one = malloc(sizeof(*one));
	if (one == NULL)
		return false;
	one->next = NULL;
	one->change = *change;
	memcpy(one->apex, apex, name_len(apex));
	if (wait->first == NULL)
		wait->first = one;
	else
		wait->last->next = one;
	wait->last = one;
	wait->count++;
	wait->octets += change->len;
	return true;
}

bool
load_wait_has(const struct load_wait *wait, const uint8_t *apex)
{
	const struct load_waiting *one = wait->first;

	while (one != NULL && !name_equal(one->apex, apex))
		one = one->next;
	return one != NULL;
}

void
load_wait_restart(struct load_wait *wait)
{
	wait->trying = wait->first != NULL;
	wait->passed = NULL;
}

/* Returns the first that is still to be tried, or NULL. */
static struct load_waiting *
wait_get_next(const struct load_wait *wait)
{
	return wait->passed != NULL ? wait->passed->next : wait->first;
}

static void
wait_remove_next(struct load_wait *wait)
{
	struct load_waiting *one = wait_get_next(wait);

	if (wait->passed != NULL)
		wait->passed->next = one->next;
	else
		wait->first = one->next;
	if (wait->last == one)
		wait->last = wait->passed;
	assert(wait->count > 0 && wait->octets >= one->change.len);
	wait->count--;
	wait->octets -= one->change.len;
	load_wait_free(&one->change);
	free(one);
}

bool
load_wait_step(struct load_wait *wait,
	bool (*try)(void *ctx, const struct load_waiting *one), void *ctx)
{
	struct load_turn turn = load_turn_begin();

	while (wait->trying) {
		struct load_waiting *one = wait_get_next(wait);

		if (one == NULL) {
			wait->trying = false;
			break;
		}
		if (try(ctx, one))
			wait_remove_next(wait);
		else
			wait->passed = one;
		if (load_turn_is_over(&turn))
			break;
	}
	return wait->trying;
}
