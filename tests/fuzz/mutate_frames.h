/*
 * mutate_frames.h - inputs that are a script: octets of their own, then frames,
 * each a head and octets, whose number is the last two octets of the head. Such
 * an input is read, and changed by what it is made of.
 */
#ifndef TESTS_FUZZ_MUTATE_FRAMES_H
#define TESTS_FUZZ_MUTATE_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "fuzz/mutate_octets.h"

struct mutate_dns;
struct mutate_text;

struct mutate_frames {
	size_t prefix; /* octets of its own */
	size_t head;
	/* Sets what is before the length of a new head; NULL: by chance. */
	void (*make_head)(uint8_t *head, uint64_t *chance);
	/* The contents of frames: messages, or else lines. */
	const struct mutate_dns *dns;
	const struct mutate_text *text;
};

/* Most frames of an input. */
#define FRAMES_MAX 64u

/* Calls a function for each frame of an input. The last one may be cut. */
void frames_walk(const struct mutate_frames *frames, const uint8_t *data,
	size_t size, void (*on_frame)(void *ctx, const uint8_t *head,
	const uint8_t *octets, size_t len), void *ctx);

/* Changes what is in frames, heads, their number and order. Data has room for
 * max octets; returns the new length. The same seed does the same. */
size_t frames_mutate(const struct mutate_frames *frames, uint8_t *data,
	size_t size, size_t max, unsigned seed);

/* Joins frames of one input and frames of another. */
size_t frames_splice(const struct mutate_frames *frames, const uint8_t *one,
	size_t one_size, const uint8_t *two, size_t two_size, uint8_t *out,
	size_t max, unsigned seed);

/* The hooks of libFuzzer in a target whose inputs are frames. */
#define FRAMES_FOR_FUZZER(frames)                                            \
	size_t                                                               \
	LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,      \
		unsigned seed)                                               \
	{                                                                    \
		return frames_mutate(frames, data, size, max, seed);         \
	}                                                                    \
	size_t                                                               \
	LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size,       \
		const uint8_t *two, size_t two_size, uint8_t *out,           \
		size_t max, unsigned seed)                                   \
	{                                                                    \
		return frames_splice(frames, one, one_size, two, two_size,   \
			out, max, seed);                                     \
	}

#endif
