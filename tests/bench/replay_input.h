/* replay_input.h - queries to be sent again: of a capture, or of a list. All
 * functions end the program on failure. */
#ifndef BENCH_REPLAY_INPUT_H
#define BENCH_REPLAY_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay_query {
	uint64_t ns;     /* since the first one */
	size_t at;       /* of the message, in the input's octets */
	uint32_t source; /* a hash of the client's address */
	uint16_t len;
	uint16_t question_len;
	bool tcp;
	bool ip6;
};

struct replay_input {
	struct replay_query *queries;
	size_t count, room;
	uint8_t *octets;
	size_t used, size;
	uint64_t skipped; /* packets without a query, and broken streams */
	bool timed;       /* of a capture: ns says when */
};

/* Reads a capture (pcap of microseconds or nanoseconds, either order of octets;
 * Ethernet, Linux cooked, BSD null or raw IP), else lines "NAME TYPE". Of a
 * capture, queries to the port count: opcode QUERY, one question. In a list
 * queries have EDNS (1232 octets, DO) if dnssec says so. */
void input_read(struct replay_input *in, const char *file, uint16_t port,
	bool dnssec);

/* Takes a message; ignores one that is no query, which it counts. */
void input_add(struct replay_input *in, const struct replay_query *like,
	const uint8_t *message, size_t len);

/* The whole of a capture; see input_read. Returns false if data does not begin
 * like a capture. */
bool capture_read(struct replay_input *in, const uint8_t *data, size_t len,
	uint16_t port);

#endif
