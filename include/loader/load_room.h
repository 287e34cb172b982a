/* load_room.h - explains why there is no room for a zone. */
#ifndef LOADER_LOAD_ROOM_H
#define LOADER_LOAD_ROOM_H

#include <stdint.h>

#include "store/writer.h"

#define LOAD_ROOM_TEXT_MAX STORE_LACK_TEXT_MAX

/*
 * Explains an NSD_E_MEMORY: which limit was met and what would help. The
 * store's limit, if store_count_lacks is above `lacks`, which it was before;
 * else that of the process. Any thread.
 */
void load_room_explain(struct store_writer *writer, uint32_t lacks,
	char text[LOAD_ROOM_TEXT_MAX]);

#endif
