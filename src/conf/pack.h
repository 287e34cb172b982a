/*
 * pack.h - packs the objects that a configuration points at, to and from the
 * octets of an image (image.h). Private to the layer.
 *
 * Each function serves both directions: what a writer appends, a reader takes
 * from the same place. After an error nothing more is done, and a reader leaves
 * fields as they are, or sets them to NULL.
 */
#ifndef CONF_PACK_H
#define CONF_PACK_H

#include "conf/parser.h"

#define PACK_BUFFER 65536u

struct pack {
	struct conf_owner *owner; /* of a reader, that is made */
	struct arena *arena;      /* of owner, for objects that are read */
	bool reads;
	enum nsd_err err;         /* the first one; nothing is done then */
	/* Of a writer: the octets that are still to be written to the file. Of
	 * a reader: the mapped file, and the place that is read next. */
	uint8_t *octets;
	size_t len;
	size_t at;
	int fd;                   /* of a writer */
	/* Items of lists: a writer finds them by address, a reader by
	 * number. */
	struct conf_map lists;
	struct arena scratch;     /* of a writer: struct image_list */
	void **items;
	uint32_t list_count;
	size_t list_room;
	/* The options and file of the last zone. */
	const struct conf_pattern *options;
	const char *file;
};

void pack_fail(struct pack *pack, enum nsd_err err);
/* Writes the octets that are still to be written. */
void pack_flush(struct pack *pack);

/* len octets as they are. */
void pack_octets(struct pack *pack, void *data, size_t len);
uint32_t pack_number(struct pack *pack, uint32_t number);
/* Gives a reader memory, all zero. NULL: there is none, or an error was
 * before. */
void *pack_alloc(struct pack *pack, size_t len);
void pack_text(struct pack *pack, const char **field);
/* A name in wire form. */
void pack_wire(struct pack *pack, const uint8_t **field);
/* An array of len octets, which both sides know. */
void pack_array(struct pack *pack, void **field, size_t len);
/* The name of a file of nsd.conf: mostly that of the clause before. */
void pack_file(struct pack *pack, const char **field);

#endif
