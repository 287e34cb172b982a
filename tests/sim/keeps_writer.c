/* keeps_writer.c - the writer of zone files as xfrd sees it. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "lib/fake_clock.h"
#include "sim/keeps.h"

static struct writer {
	enum { NONE, CALLED, LIVES } life;
	int64_t at_msec;            /* the next step */
	struct ipc_message in_hand; /* len 0: nothing */
	struct ipc_message answer;  /* the same, not arrived yet */
} writer;

void
writer_begin(void)
{
	memset(&writer, 0, sizeof(writer));
}

void
writer_want(void)
{
	may_die(40);
	if (writer.life != NONE)
		return;
	writer.life = CALLED;
	writer.at_msec = fake_clock_msec + below(20);
}

enum nsd_err
writer_take(const struct link_message *message)
{
	if (writer.life != LIVES)
		fail("a message to no writer");
	if (writer.in_hand.len > 0 || writer.answer.len > 0)
		fail("the writer has two things in hand");
	writer.in_hand.type = message->type;
	writer.in_hand.len = message->len;
	memcpy(writer.in_hand.payload, message->payload, message->len);
	writer.at_msec = fake_clock_msec + below(one_in(20) ? 3000 : 20);
	disk_note();
	return NSD_OK;
}

/* Writes a file, or fails at it. */
static void
writer_write(void)
{
	struct ipc_write what = {.serial = 0};
	struct ipc_written done = {.err = NSD_OK, .to = IPC_WRITTEN_FILE};
	struct zone_model *zone;
	int version;

	memcpy(&what, writer.in_hand.payload, writer.in_hand.len);
	zone = &sim.zones[zone_number(what.apex)];
	version = loader_version(zone_number(what.apex));
	done.ticket = what.request.ticket;
	if (version == NO_VERSION)
		fail("what is not served is to be written");
	done.serial = zone->serials[version];
	if (*what.received != '\0' && what.serial != done.serial) {
		done.err = NSD_E_AGAIN;
	} else if (!sim.calm && one_in(5)) {
		done.err = NSD_E_SYSTEM;
		done.error = ENOSPC;
		done.to = IPC_WRITTEN_NOWHERE;
	} else {
		note("z%u is written with version %d",
			zone_number(what.apex), version);
		zone->file = version;
		sim.written++;
	}
	writer.answer.type = IPC_ZONE_WRITTEN;
	writer.answer.len = sizeof(done);
	memcpy(writer.answer.payload, &done, sizeof(done));
}

/* Looks for files: counts those that are there before the first missing
 * one. */
static void
writer_look(void)
{
	struct ipc_find_files what;
	struct ipc_files_found found = {.err = NSD_OK};
	size_t len = writer.in_hand.len - sizeof(what.request), at = 0;

	memcpy(&what, writer.in_hand.payload, writer.in_hand.len);
	found.ticket = what.request.ticket;
	while (at < len && sim.zones[zone_number(what.apexes + at)].file
		!= NO_VERSION) {
		at += name_len(what.apexes + at);
		found.count++;
	}
	writer.answer.type = IPC_FILES_FOUND;
	writer.answer.len = sizeof(found);
	memcpy(writer.answer.payload, &found, sizeof(found));
}

static void
writer_tell(void)
{
	struct ipc_message m = writer.answer;

	writer.answer.len = 0;
	requests_take_answer(&sim.xfrd->writes.requests, &m);
}

static void
writer_come(void)
{
	xfrd_write_on_writer(sim.xfrd, &sim.writer);
}

static void
writer_go(void)
{
	xfrd_write_on_writer_gone(sim.xfrd);
}

/* The writer does what it has in hand; or it dies before or after. */
static void
writer_work(void)
{
	bool dies = !sim.calm && one_in(15);

	if (!dies || one_in(2)) {
		if (writer.in_hand.type == IPC_FIND_FILES)
			writer_look();
		else
			writer_write();
	}
	writer.answer.from = ROLE_WRITER;
	writer.in_hand.len = 0;
	if (!dies)
		return;
	writer_begin();
	(void)xfrd_call(writer_go);
}

void
writer_turn(void)
{
	if (sim.xfrd == NULL || writer.life == NONE
		|| fake_clock_msec < writer.at_msec)
		return;
	if (writer.life == CALLED) {
		writer.life = LIVES;
		(void)xfrd_call(writer_come);
	} else if (writer.answer.len > 0) {
		(void)xfrd_call(writer_tell);
	} else if (writer.in_hand.len > 0) {
		writer_work();
	} else if (fake_clock_msec > writer.at_msec + 5000) {
		writer_begin();
		(void)xfrd_call(writer_go);
	}
}

void
writer_lose_xfrd(void)
{
	writer_begin();
}
