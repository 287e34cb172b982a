/* metrics_read.c - checks a request of HTTP (RFC 9112 sections 2.2 and 3). */
#include <string.h>

#include "ctl/metrics.h"

/* A part of a line. */
struct word {
	const char *at;
	size_t len;
};

/* True if the empty line behind the fields has come. */
static bool
is_whole(const char *octets, size_t len)
{
	for (size_t i = 1; i < len; i++)
		if (octets[i] == '\n' && (octets[i - 1] == '\n'
				|| (i > 1 && octets[i - 1] == '\r'
					&& octets[i - 2] == '\n')))
			return true;
	return false;
}

/* Takes the next word of a line, up to a blank or the end. */
static struct word
request_take_word(struct word *line)
{
	const char *blank = memchr(line->at, ' ', line->len);
	struct word word = {line->at, blank != NULL
			? (size_t)(blank - line->at)
			: line->len};

	line->at += word.len;
	line->len -= word.len;
	if (line->len > 0) {
		line->at++;
		line->len--;
	}
	return word;
}

static bool
word_is(const struct word *word, const char *text)
{
	return word->len == strlen(text)
		&& memcmp(word->at, text, word->len) == 0;
}

static bool
word_begins(const struct word *word, const char *text)
{
	return word->len >= strlen(text)
		&& memcmp(word->at, text, strlen(text)) == 0;
}

/* Leaves the path of a target: no scheme and host, no query. */
static void
target_cut(struct word *target)
{
	static const char scheme[] = "http://";
	const char *at;

	if (word_begins(target, scheme)) {
		target->at += strlen(scheme);
		target->len -= strlen(scheme);
		at = memchr(target->at, '/', target->len);
		target->len -= at != NULL ? (size_t)(at - target->at)
					  : target->len;
		target->at = at != NULL ? at : target->at;
	}
	at = memchr(target->at, '?', target->len);
	if (at != NULL)
		target->len = (size_t)(at - target->at);
}

void
ctl_metrics_read(const char *octets, size_t len, const char *path,
	struct ctl_metrics_request *request)
{
	struct word line = {octets, len};
	struct word method, target, version;
	const char *end;

	*request = (struct ctl_metrics_request){0, false};
	/* RFC 9112 section 2.2: an empty line before the request is none. */
	while (line.len > 0 && (*line.at == '\r' || *line.at == '\n')) {
		line.at++;
		line.len--;
	}
	if (!is_whole(line.at, line.len))
		return;
	end = memchr(line.at, '\n', line.len);
	line.len = (size_t)(end - line.at);
	if (line.len > 0 && line.at[line.len - 1] == '\r')
		line.len--;
	method = request_take_word(&line);
	target = request_take_word(&line);
	version = request_take_word(&line);
	request->status = 400;
	if (method.len == 0 || target.len == 0 || line.len > 0
		|| version.len != 8 || !word_begins(&version, "HTTP/1."))
		return;
	request->chunked = !word_is(&version, "HTTP/1.0");
	target_cut(&target);
	if (!word_is(&target, path))
		request->status = 404;
	else
		request->status = word_is(&method, "GET") ? 200 : 405;
}
