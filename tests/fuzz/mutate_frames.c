/* mutate_frames.c - reads and changes inputs that are frames. */
#include "fuzz/mutate_frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/octets.h"
#include "dns/message.h"
#include "fuzz/mutate_dns.h"
#include "fuzz/mutate_tokens.h"
#include "lib/chance.h"

/* Where frames are in an input. The last one may be cut. */
struct layout {
	size_t count;
	size_t at[FRAMES_MAX + 1]; /* the end of the last one, too */
};

struct input {
	const struct mutate_frames *frames;
	uint8_t *data;
	size_t size, max;
	struct layout layout;
	uint64_t chance;
};

static struct layout
find_frames(const struct mutate_frames *frames, const uint8_t *data,
	size_t size)
{
	struct layout layout = {.count = 0};
	size_t at = frames->prefix < size ? frames->prefix : size;

	layout.at[0] = at;
	while (layout.count < FRAMES_MAX && size - at >= frames->head) {
		size_t len = octets_get_u16(data + at + frames->head - 2);

		at += frames->head;
		at += len < size - at ? len : size - at;
		layout.at[++layout.count] = at;
	}
	return layout;
}

void
frames_walk(const struct mutate_frames *frames, const uint8_t *data,
	size_t size, void (*on_frame)(void *ctx, const uint8_t *head,
	const uint8_t *octets, size_t len), void *ctx)
{
	struct layout layout = find_frames(frames, data, size);

	for (size_t i = 0; i < layout.count; i++) {
		const uint8_t *head = data + layout.at[i];
		const uint8_t *octets = head + frames->head;

		on_frame(ctx, head, octets,
			(size_t)(data + layout.at[i + 1] - octets));
	}
}

static int
replace(struct input *in, size_t at, size_t old_len, const uint8_t *octets,
	size_t len)
{
	if (in->size - old_len + len > in->max)
		return 0;
	memmove(in->data + at + len, in->data + at + old_len,
		in->size - at - old_len);
	if (len > 0)
		memcpy(in->data + at, octets, len);
	in->size += len;
	in->size -= old_len;
	return 1;
}

static void
make_head(struct input *in, uint8_t *head)
{
	for (size_t i = 0; i + 2 < in->frames->head; i++)
		head[i] = (uint8_t)chance_next(&in->chance);
	if (in->frames->make_head != NULL)
		in->frames->make_head(head, &in->chance);
}

/* ---- contents of frames -------------------------------------------------- */

static size_t
mutate(struct input *in, uint8_t *octets, size_t size, size_t max)
{
	if (in->frames->dns != NULL)
		return mutate_dns_message(in->frames->dns, octets, size, max,
			&in->chance);
	return mutate_tokens(in->frames->text, octets, size, max,
		(unsigned)chance_next(&in->chance));
}

static size_t
make(struct input *in, uint8_t *octets, size_t max)
{
	if (in->frames->dns != NULL)
		return mutate_dns_request(in->frames->dns, octets, max,
			&in->chance);
	return mutate_tokens(in->frames->text, octets, 0, max,
		(unsigned)chance_next(&in->chance));
}

static void
change_message(struct input *in, size_t frame)
{
	static uint8_t message[MESSAGE_MAX_LEN];
	size_t begin = in->layout.at[frame] + in->frames->head;
	size_t old = in->layout.at[frame + 1] - begin, len = old;
	size_t room = in->max - in->size + old;

	if (old > sizeof(message))
		return;
	memcpy(message, in->data + begin, old);
	len = mutate(in, message, old,
		room < sizeof(message) ? room : sizeof(message));
	if (replace(in, begin, old, message, len))
		octets_put_u16(in->data + begin - 2, (uint16_t)len);
}

static void
add_frame(struct input *in, size_t at)
{
	uint8_t frame[2048];
	size_t head = in->frames->head, len;

	make_head(in, frame);
	len = make(in, frame + head, sizeof(frame) - head);
	octets_put_u16(frame + head - 2, (uint16_t)len);
	(void)replace(in, at, 0, frame, head + len);
}

static void
copy_frame(struct input *in, size_t from, size_t to)
{
	size_t at = in->layout.at[from], len = in->layout.at[from + 1] - at;
	uint8_t *copy = malloc(len);

	if (copy == NULL)
		abort();
	memcpy(copy, in->data + at, len);
	(void)replace(in, in->layout.at[to], 0, copy, len);
	free(copy);
}

static void
change_frames(struct input *in)
{
	uint32_t count = (uint32_t)in->layout.count;
	size_t frame = chance_below(&in->chance, count);
	size_t at = in->layout.at[frame];

	switch (chance_below(&in->chance, 20)) {
	case 0:
	case 1:
		make_head(in, in->data + at);
		break;
	case 2:
	case 3:
		in->data[at + chance_below(&in->chance,
			(uint32_t)in->frames->head - 1)] ^=
			(uint8_t)(1u << chance_below(&in->chance, 8));
		break;
	case 4:
	case 5:
		add_frame(in, at);
		break;
	case 6:
	case 7:
		copy_frame(in, frame, chance_below(&in->chance, count + 1));
		break;
	case 8:
		(void)replace(in, at, in->layout.at[frame + 1] - at, NULL, 0);
		break;
	case 9:
		in->size = mutate_octets(&in->chance, in->data, in->size,
			in->max);
		break;
	case 10:
		if (in->frames->prefix > 0)
			in->data[chance_below(&in->chance,
				(uint32_t)in->frames->prefix)] ^=
				(uint8_t)(1u << chance_below(&in->chance, 8));
		break;
	default:
		change_message(in, frame);
	}
}

size_t
frames_mutate(const struct mutate_frames *frames, uint8_t *data, size_t size,
	size_t max, unsigned seed)
{
	struct input in = {.frames = frames, .data = data, .size = size,
		.max = max, .chance = seed};
	uint32_t times = 1 + chance_below(&in.chance, 3);

	if (max < frames->prefix)
		return size;
	while (in.size < frames->prefix)
		in.data[in.size++] = (uint8_t)chance_next(&in.chance);
	while (times-- > 0) {
		in.layout = find_frames(frames, in.data, in.size);
		/* An input has FRAMES_MAX at most, and one at least. */
		if (in.layout.count == 0)
			add_frame(&in, in.layout.at[0]);
		else
			change_frames(&in);
	}
	return in.size;
}

size_t
frames_splice(const struct mutate_frames *frames, const uint8_t *one,
	size_t one_size, const uint8_t *two, size_t two_size, uint8_t *out,
	size_t max, unsigned seed)
{
	struct layout a = find_frames(frames, one, one_size);
	struct layout b = find_frames(frames, two, two_size);
	uint64_t chance = seed;
	size_t end = a.at[chance_below(&chance, (uint32_t)a.count + 1)];
	size_t from = b.at[chance_below(&chance, (uint32_t)b.count + 1)];
	size_t len = b.at[b.count] - from;

	end = end < max ? end : max;
	len = len < max - end ? len : max - end;
	memcpy(out, one, end);
	memcpy(out + end, two + from, len);
	return end + len;
}
