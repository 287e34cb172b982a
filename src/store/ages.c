/* ages.c - how long ago an epoch ended, and how much was served since. */
#include "config.h"

#include <string.h>

#include "store/ages.h"
#include "store/heap.h"

/* Takes out the mark that is missed least. Without it the epochs between the
 * mark before and itself seem as young as the next mark is: the older they are,
 * the less that error counts. */
static void
ages_thin(struct store_writer *writer, int64_t now_msec)
{
	struct epoch_mark *marks = writer->marks;
	unsigned least = 1;
	double least_share = 2;

	/* The oldest stays: the age of epochs before it is not known. */
	for (unsigned i = 1; i + 1 < writer->mark_count; i++) {
		int64_t from_msec = marks[i - 1].at_msec;
		double lost = (double)(marks[i + 1].at_msec - from_msec);
		double age = (double)(now_msec - from_msec);
		double share = age > 0 ? lost / age : 1;

		if (share < least_share) {
			least = i;
			least_share = share;
		}
	}
	if (marks[least + 1].served < marks[least].served)
		marks[least + 1].served = marks[least].served;
	writer->mark_count--;
	memmove(marks + least, marks + least + 1,
		(writer->mark_count - least) * sizeof(*marks));
}

/* Octets of served objects. Live ones include the retired, until they are
 * reclaimed. */
static uint64_t
get_served(struct store_writer *writer)
{
	return (uint64_t)heap_count_live(writer) * STORE_GRANULE
		- writer->retired_octets;
}

void
ages_note_served(struct store_writer *writer)
{
	uint64_t served = get_served(writer);

	if (served > writer->served)
		writer->served = served;
}

void
ages_note(struct store_writer *writer, int64_t now_msec)
{
	uint64_t epoch = writer->header->epoch;

	if (writer->mark_count > 0
		&& writer->marks[writer->mark_count - 1].epoch == epoch)
		return;
	if (writer->mark_count == EPOCH_MARKS)
		ages_thin(writer, now_msec);
	writer->marks[writer->mark_count++] = (struct epoch_mark){
		.epoch = epoch,
		.at_msec = now_msec,
		.served = writer->served,
	};
	writer->served = get_served(writer);
}

int64_t
ages_get(const struct store_writer *writer, uint64_t epoch, int64_t now_msec)
{
	for (unsigned i = 0; i < writer->mark_count; i++)
		if (writer->marks[i].epoch > epoch)
			return now_msec - writer->marks[i].at_msec;
	return 0;
}

uint64_t
ages_get_served(const struct store_writer *writer, uint64_t epoch)
{
	uint64_t most = writer->served;

	for (unsigned i = writer->mark_count;
		i-- > 0 && writer->marks[i].epoch > epoch;)
		if (writer->marks[i].served > most)
			most = writer->marks[i].served;
	return most;
}

uint64_t
ages_find(const struct store_writer *writer, int64_t age_msec,
	int64_t now_msec)
{
	for (unsigned i = writer->mark_count; i-- > 0;)
		if (now_msec - writer->marks[i].at_msec >= age_msec)
			return writer->marks[i].epoch - 1;
	return 0;
}
