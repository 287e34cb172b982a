/* filename.c - zone file names with parts of the zone's name in them. */
#include <string.h>

#include "conf/conf.h"
#include "dns/name.h"

struct text_out {
	char *at;
	char *end; /* of the room; behind it is room for the NUL */
	bool full;
};

static void
out_put(struct text_out *out, char c)
{
	if (out->at < out->end)
		*out->at++ = c;
	else
		out->full = true;
}

/* A `/` in a name must not become one in the path. */
static void
out_put_name(struct text_out *out, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (text[i] != '/') {
			out_put(out, text[i]);
			continue;
		}
		out_put(out, '\\');
		out_put(out, '0');
		out_put(out, '4');
		out_put(out, '7');
	}
}

/* place counts labels from the right: 1 is the top-level domain. */
static void
out_put_label(struct text_out *out, const uint8_t *wire, unsigned place)
{
	unsigned labels = name_count_labels(wire);
	uint8_t single[NAME_MAX_LEN];
	const uint8_t *label;
	char text[NAME_TEXT_MAX];
	size_t len;

	if (place > labels) {
		out_put(out, '.');
		return;
	}
	label = name_skip_labels(wire, labels - place);
	memcpy(single, label, 1u + label[0]);
	single[1u + label[0]] = 0;
	name_lower(single);
	len = name_print_text(single, text);
	out_put_name(out, text, len > 0 ? len - 1 : 0); /* without the final
							 * dot */
}

/* Returns false if the letter behind the percent sign means nothing. */
static bool
out_put_part(struct text_out *out, char part, const char *name,
	const uint8_t *wire)
{
	size_t len = strlen(name);

	switch (part) {
	case 's':
		out_put_name(out, name, len);
		return true;
	case '1':
	case '2':
	case '3':
		if (len > (size_t)(part - '1'))
			out_put_name(out, name + (part - '1'), 1);
		else
			out_put(out, '.');
		return true;
	case 'z':
	case 'y':
	case 'x':
		out_put_label(out, wire, 1u + (unsigned)('z' - part));
		return true;
	default:
		return false;
	}
}

enum nsd_err
conf_expand_name(const char *text, const char *name, const uint8_t *wire,
	char *out, size_t size, size_t *len)
{
	struct text_out o = { out, out + size - 1, false };

	if (size == 0)
		return NSD_E_LIMIT;
	for (; *text != '\0' && !o.full; text++) {
		if (*text == '%' && out_put_part(&o, text[1], name, wire))
			text++;
		else
			out_put(&o, *text);
	}
	if (o.full)
		return NSD_E_LIMIT;
	*o.at = '\0';
	*len = (size_t)(o.at - out);
	return NSD_OK;
}

enum nsd_err
conf_zone_file_name(const struct conf_zone *zone, char *out, size_t size,
	size_t *len)
{
	if (zone->zonefile == NULL)
		return NSD_E_NOT_FOUND;
	return conf_expand_name(zone->zonefile, zone->name, zone->wire, out,
		size, len);
}

enum nsd_err
conf_zone_group_name(const struct conf_zone *zone, char *out, size_t size,
	size_t *len)
{
	const char *group = zone->options->zonestats;

	if (group == NULL || *group == '\0')
		return NSD_E_NOT_FOUND;
	return conf_expand_name(group, zone->name, zone->wire, out, size, len);
}
