/*
 * writer.c - records to master-file text, one line each, as operators know it
 * from NSD: the first label of the owner behind an $ORIGIN line of its parent,
 * and no owner at all where it repeats.
 */
#include "zonefile/writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "dns/rdata.h"
#include "dns/rrtype.h"

enum nsd_err
zonefile_writer_init(struct zonefile_writer *w, FILE *out, const uint8_t *apex)
{
	memset(w, 0, sizeof(*w));
	w->out = out;
	memcpy(w->apex, apex, name_len(apex));
	w->line_size = 1024;
	w->line = malloc(w->line_size);
	return w->line != NULL ? NSD_OK : NSD_E_MEMORY;
}

void
zonefile_writer_fini(struct zonefile_writer *w)
{
	free(w->line);
	w->line = NULL;
}

/* Makes room for len octets and a NUL behind `used`. */
static bool
grow_line(struct zonefile_writer *w, size_t used, size_t len)
{
	char *line = grow_octets(w->line, used + len + 1, &w->line_size);

	if (line == NULL)
		return false;
	w->line = line;
	return true;
}

static void
writer_append(struct zonefile_writer *w, size_t *used, const char *text)
{
	size_t len = strlen(text);

	memcpy(w->line + *used, text, len + 1);
	*used += len;
}

/* Appends "$ORIGIN PARENT" where it differs from the last one, and the first
 * label of the owner. The root's owner is a dot. */
static void
append_owner(struct zonefile_writer *w, size_t *used, const uint8_t *owner)
{
	static const uint8_t root[1] = { 0 };
	const uint8_t *parent = name_is_root(owner) ? root
		: owner + 1 + owner[0];
	uint8_t label[LABEL_MAX_LEN + 2];
	char text[NAME_TEXT_MAX];
	size_t len;

	if (!w->any || !name_equal(parent, w->origin)) {
		writer_append(w, used, "$ORIGIN ");
		name_print_text(parent, text);
		writer_append(w, used, text);
		writer_append(w, used, "\n");
		memcpy(w->origin, parent, name_len(parent));
	}
	memcpy(label, owner, 1 + (size_t)owner[0]);
	label[1 + owner[0]] = 0;
	len = name_print_text(label, text);
	if (!name_is_root(owner))
		text[len - 1] = '\0';
	writer_append(w, used, text);
	memcpy(w->owner, owner, name_len(owner));
}

static void
append_head(struct zonefile_writer *w, size_t *used, uint32_t ttl_sec,
	uint16_t type)
{
	char name[RRTYPE_TEXT_MAX];
	int n = snprintf(w->line + *used, w->line_size - *used,
		"\t%lu\tIN\t", (unsigned long)ttl_sec);

	*used += (size_t)n;
	rrtype_print(type, name);
	writer_append(w, used, name);
	writer_append(w, used, "\t");
}

static bool
append_rdata(struct zonefile_writer *w, size_t *used, uint16_t type,
	const uint8_t *rdata, uint16_t rdlen)
{
	size_t len = rdata_print(type, rdata, rdlen, w->line + *used,
		w->line_size - *used);

	if (len >= w->line_size - *used) {
		if (!grow_line(w, *used, len))
			return false;
		rdata_print(type, rdata, rdlen, w->line + *used,
			w->line_size - *used);
	}
	*used += len;
	return true;
}

/* Puts the numbers of a SOA on a line of their own, in parentheses. They follow
 * the second blank: blanks in names are escaped. */
static bool
spread_soa(struct zonefile_writer *w, size_t *used, size_t start)
{
	static const char open[] = " (\n\t\t";
	char *blank;

	if (w->line[start] == '\\' && w->line[start + 1] == '#')
		return true;
	blank = strchr(w->line + start, ' ');
	if (blank != NULL)
		blank = strchr(blank + 1, ' ');
	if (blank == NULL)
		return true;
	start = (size_t)(blank - w->line);
	if (!grow_line(w, *used, sizeof(open) + 3))
		return false;
	memmove(w->line + start + sizeof(open) - 1, w->line + start + 1,
		*used - start);
	memcpy(w->line + start, open, sizeof(open) - 1);
	*used += sizeof(open) - 2;
	writer_append(w, used, " )");
	return true;
}

enum nsd_err
zonefile_writer_rr(struct zonefile_writer *w, const uint8_t *owner,
	uint32_t ttl_sec, uint16_t type, const uint8_t *rdata, uint16_t rdlen)
{
	size_t used = 0, start;

	if (!grow_line(w, 0, 2 * NAME_TEXT_MAX + 128))
		return NSD_E_MEMORY;
	if (!w->any || !name_equal(owner, w->owner))
		append_owner(w, &used, owner);
	w->any = true;
	append_head(w, &used, ttl_sec, type);
	start = used;
	if (!append_rdata(w, &used, type, rdata, rdlen))
		return NSD_E_MEMORY;
	if (type == TYPE_SOA && !spread_soa(w, &used, start))
		return NSD_E_MEMORY;
	if (!grow_line(w, used, 1))
		return NSD_E_MEMORY;
	w->line[used++] = '\n';
	return fwrite(w->line, 1, used, w->out) == used ? NSD_OK
		: NSD_E_SYSTEM;
}
