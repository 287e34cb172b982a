/*
 * filter.h - a layer between the socket of a connection and the code that reads
 * and writes there, such as TLS. A connection without a filter is its socket.
 */
#ifndef BASE_FILTER_H
#define BASE_FILTER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct exchange_identity;

/*
 * The functions of a filter. They never block. state is the result of open;
 * each connection has its own.
 */
struct filter {
	/* Begins, on a connected, non-blocking socket, which stays the
	 * caller's. Returns the state; NULL: no memory. */
	void *(*open)(void *ctx, int fd);
	void *ctx;

	/*
	 * Reads up to size (1 or more) octets. Until the filter is open,
	 * reading opens it. Returns their number; 0: no more will come; -1 with
	 * errno: EAGAIN, there are none for now; else the connection is of no
	 * use any more. Cost: as many octets of the socket as are read, and one
	 * call to open.
	 */
	ssize_t (*read)(void *state, uint8_t *at, size_t size);

	/*
	 * Writes the octets of the first count (1 or more) of iov. Returns how
	 * many octets were taken, at least one; -1 with errno as above. The
	 * rest is to be written next: its first 16384 octets, if there are so
	 * many, must be the same then.
	 */
	ssize_t (*write)(void *state, const struct iovec *iov, size_t count);

	/* True if more can be read though the socket may have nothing, or if
	 * reading is to go on when the socket has room for output. */
	bool (*is_ready)(const void *state);

	/* True if the handshake is complete. No request comes before that. */
	bool (*is_open)(const void *state);

	/* True if the handshake has agreed on a version that is too old for
	 * confidential data, such as whole zones. */
	bool (*is_dated)(const void *state);

	/* The identity that the other side has proved, lent until close; NULL:
	 * none. */
	const struct exchange_identity *(*identity)(const void *state);

	/* Tells the other side that nothing more is written. */
	void (*end)(void *state);

	/* Frees the state. */
	void (*close)(void *state);
};

/* True if reading or writing is to be tried again later: the socket, or the
 * kernel, has no room or no octets for now. error: an errno of the socket. */
static inline bool
filter_error_passes(int error)
{
	return error == EAGAIN || error == EWOULDBLOCK || error == EINTR
		|| error == ENOBUFS || error == ENOMEM;
}

#endif
