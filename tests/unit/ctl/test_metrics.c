/* test_metrics.c - outcomes of HTTP requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/metrics.h"

static unsigned
status_of(const char *text)
{
	struct ctl_metrics_request request;

	ctl_metrics_read(text, strlen(text), "/metrics", &request);
	return request.status;
}

/* RFC 9112 section 3 */
static void
requests_come_to_a_status(void **state)
{
	static const struct {
		const char *text;
		unsigned status;
	} rows[] = {
		{"GET /metrics HTTP/1.1\r\n\r\n", 200},
		{"GET /metrics HTTP/1.0\r\n\r\n", 200},
		{"GET /metrics HTTP/1.1\n\n", 200},
		{"GET /metrics HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n", 200},
		{"\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n", 200},
		{"GET /metrics?a=b HTTP/1.1\r\n\r\n", 200},
		{"GET http://h:1/metrics HTTP/1.1\r\n\r\n", 200},
		{"GET http://h:1/metrics?x HTTP/1.1\r\n\r\n", 200},
		{"GET http://h HTTP/1.1\r\n\r\n", 404},
		{"GET http:// HTTP/1.1\r\n\r\n", 404},
		{"GET /metrics/ HTTP/1.1\r\n\r\n", 404},
		{"GET /metric HTTP/1.1\r\n\r\n", 404},
		{"POST /other HTTP/1.1\r\n\r\n", 404},
		{"POST /metrics HTTP/1.1\r\n\r\n", 405},
		{"HEAD /metrics HTTP/1.1\r\n\r\n", 405},
		{"get /metrics HTTP/1.1\r\n\r\n", 405},
		{"GET /metrics HTTP/2.0\r\n\r\n", 400},
		{"GET /metrics HTTP/1.\r\n\r\n", 400},
		{"GET /metrics HTTP/1.10\r\n\r\n", 400},
		{"GET /metrics\r\n\r\n", 400},
		{"GET  /metrics HTTP/1.1\r\n\r\n", 400},
		{"GET /metrics HTTP/1.1 \r\n\r\n", 200},
		{"GET /metrics HTTP/1.1 x\r\n\r\n", 400},
		{" GET /metrics HTTP/1.1\r\n\r\n", 400},
		{"GET\r\n\r\n", 400},
		{"x\n\n", 400},
		{"", 0},
		{"\r\n\r\n\r\n", 0},
		{"GET /metrics HTTP/1.1\r\n", 0},
		{"GET /metrics HTTP/1.1\r\nHost: x\r\n", 0},
		{"GET /metrics HTTP/1.1\r\n\r", 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (status_of(rows[i].text) != rows[i].status)
			fail_msg("%u of row %zu: %s", status_of(rows[i].text),
				i, rows[i].text);
}

static void
chunks_are_for_http_1_1(void **state)
{
	static const char one[] = "GET /metrics HTTP/1.1\r\n\r\n";
	static const char none[] = "GET /metrics HTTP/1.0\r\n\r\n";
	struct ctl_metrics_request request;

	ctl_metrics_read(one, sizeof(one) - 1, "/metrics", &request);
	assert_true(request.chunked);
	ctl_metrics_read(none, sizeof(none) - 1, "/metrics", &request);
	assert_false(request.chunked);
}

/* Sanitizers see what is read. */
static void
a_request_cut_at_each_length_is_not_whole(void **state)
{
	static const char whole[] = "GET http://h/metrics?x=y HTTP/1.1\r\n"
				    "Host: h\r\n\r\n";
	struct ctl_metrics_request request;

	for (size_t len = 0; len < sizeof(whole); len++) {
		char *copy = malloc(len + 1);

		assert_non_null(copy);
		memcpy(copy, whole, len);
		/* An exact copy, so that a sanitizer sees a read past its
		 * end. */
		copy = realloc(copy, len > 0 ? len : 1);
		ctl_metrics_read(copy, len, "/metrics", &request);
		assert_int_equal(request.status, len == sizeof(whole) - 1
				? 200 : len > sizeof(whole) - 1 ? 200 : 0);
		free(copy);
	}
}

/* Every octet in each place of a request. */
static void
any_octet_is_taken(void **state)
{
	static const char whole[] = "GET /metrics HTTP/1.1\r\n\r\n";
	struct ctl_metrics_request request;
	char copy[sizeof(whole)];

	for (size_t i = 0; i < sizeof(whole) - 1; i++)
		for (unsigned octet = 0; octet < 256; octet++) {
			memcpy(copy, whole, sizeof(whole));
			copy[i] = (char)octet;
			ctl_metrics_read(copy, sizeof(whole) - 1, "/metrics",
				&request);
			assert_true(request.status <= 405);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_come_to_a_status),
		cmocka_unit_test(chunks_are_for_http_1_1),
		cmocka_unit_test(a_request_cut_at_each_length_is_not_whole),
		cmocka_unit_test(any_octet_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
