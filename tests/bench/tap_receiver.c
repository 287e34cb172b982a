/*
 * tap_receiver.c - receives Frame Streams of dnstap on a UNIX socket, and
 * counts frames, for benches. One connection after the other.
 *
 *	tap_receiver PATH [stalls|cuts]
 *
 * stalls: reads nothing once the stream has begun; cuts: closes each connection
 * after 1,000 octets, in the middle of a frame.
 *
 * Prints a line of JSON for each connection that has ended, and one when the
 * program is told to end: the frames and octets of all connections so far.
 */
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ROOM (1u << 20)
#define CONTENT "protobuf:dnstap.Dnstap"

enum control { ACCEPT = 1, START, STOP, READY, FINISH };

#define CUT_OCTETS 1000

static uint64_t frames, octets;
static bool stalls, cuts;
static volatile sig_atomic_t ended;

static void
on_signal(int number)
{
	ended = number;
}

static void
print_counts(void)
{
	printf("{\"frames\": %llu, \"octets\": %llu}\n",
		(unsigned long long)frames, (unsigned long long)octets);
	fflush(stdout);
}

static uint32_t
get_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

/* Sends a control frame: escape, length, type, and the content type. */
static void
send_control(int fd, enum control type)
{
	size_t content = type == ACCEPT ? sizeof(CONTENT) - 1 : 0;
	uint32_t words[5] = {0, htobe32((uint32_t)(4
		+ (content > 0 ? 8 + content : 0))), htobe32(type), htobe32(1),
		htobe32((uint32_t)content)};
	uint8_t frame[128];
	size_t len = content > 0 ? 20 : 12;

	memcpy(frame, words, len);
	memcpy(frame + len, CONTENT, content);
	if (write(fd, frame, len + content) != (ssize_t)(len + content))
		warn("write");
}

/* Takes a control frame, which stands behind its escape. */
static void
take_control(int fd, const uint8_t *frame, uint32_t len)
{
	uint32_t type = len >= 4 ? get_u32(frame) : 0;

	if (type == READY)
		send_control(fd, ACCEPT);
	else if (type == START && stalls)
		while (!ended)
			pause();
	else if (type == STOP)
		send_control(fd, FINISH);
}

/* Takes the whole frames of a buffer; returns their octets. */
static size_t
take_frames(int fd, const uint8_t *at, size_t len)
{
	size_t begin = len;

	while (len >= 4) {
		uint32_t size = get_u32(at);
		bool is_control = size == 0;
		size_t head = is_control ? 8 : 4;

		if (is_control && len >= 8)
			size = get_u32(at + 4);
		if (size > ROOM / 2)
			errx(1, "a frame of %u octets", (unsigned)size);
		if (len < head + size)
			break;
		if (is_control) {
			take_control(fd, at + head, size);
		} else {
			frames++;
			octets += size;
		}
		at += head + size;
		len -= head + size;
	}
	return begin - len;
}

static void
serve(int fd)
{
	static uint8_t room[ROOM];
	size_t len = 0, taken, read_so_far = 0;
	ssize_t n;

	while (!ended) {
		n = read(fd, room + len, ROOM - len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
		read_so_far += (size_t)n;
		if (cuts && read_so_far > CUT_OCTETS)
			break;
		taken = take_frames(fd, room, len);
		len -= taken;
		memmove(room, room + taken, len);
	}
	close(fd);
	print_counts();
}

int
main(int argc, char **argv)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct sigaction action = {.sa_handler = on_signal};
	int listening, fd;

	if (argc < 2 || argc > 3 || strlen(argv[1]) >= sizeof(address.sun_path))
		errx(2, "usage: tap_receiver PATH [stalls|cuts]");
	stalls = argc == 3 && strcmp(argv[2], "stalls") == 0;
	cuts = argc == 3 && strcmp(argv[2], "cuts") == 0;
	strcpy(address.sun_path, argv[1]);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	listening = socket(AF_UNIX, SOCK_STREAM, 0);
	unlink(argv[1]);
	if (listening == -1
		|| bind(listening, (struct sockaddr *)&address,
			sizeof(address)) == -1
		|| listen(listening, 16) == -1)
		err(1, "%s", argv[1]);
	while (!ended) {
		fd = accept(listening, NULL, NULL);
		if (fd != -1)
			serve(fd);
	}
	print_counts();
	return 0;
}
