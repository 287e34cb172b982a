/*
 * bench_rdata.c - how long RDATA takes from text to wire, to be checked and
 * to be printed, by type. usage: bench_rdata [MILLISECONDS-A-FIGURE]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dns/name.h"
#include "dns/rdata.h"
#include "lib/words.h"

#define WORDS_MAX 64
#define KEY64 "AwEAAbdxyhNuSutc5EMzxTs9LBPCIkOFH8cIvM4p9LrV4e19WzK00CI6"
#define SIG88 "oJB1W6WNGvldvQ3WDG0MQkg5IEhjRip8WTrPYGv07h108dUKGMeDPKijVC" \
	"HX3DDKdfbv6oB9wfuh3DTJXUAfIA=="

static const char *const records[] = {
	"A 192.0.2.101",
	"A 1.2.3.4",
	"AAAA 2001:db8:85a3:8d3:1319:8a2e:370:7348",
	"AAAA 2001:db8::53",
	"NS ns1.hosting-company.net.",
	"NS ns1",
	"CNAME www.example.com.",
	"SOA ns1.example.com. hostmaster.example.com. 2024010101 7200 3600 "
		"1209600 3600",
	"MX 10 mail.protection.outlook.com.",
	"TXT \"v=spf1 include:_spf.example.com ip4:192.0.2.0/24 ~all\"",
	"TXT \"with \\\"escapes\\\" in it\"",
	"SRV 0 5 5060 sip.example.com.",
	"DS 60485 8 2 D4B7D520E7BB5F0F67674A0CCEB1E3E0614B93C4F9E99B8383F6A1"
		"E4469DA50A",
	"RRSIG NSEC3 13 2 86400 20240322173103 20240220173103 2642 com. "
		SIG88,
	"RRSIG DS 8 2 86400 20240322173103 20240220173103 2642 com. "
		KEY64 KEY64 KEY64 KEY64 KEY64 KEY64,
	"DNSKEY 257 3 8 " KEY64 KEY64 KEY64 KEY64 KEY64 KEY64,
	"NSEC www.example.com. A AAAA RRSIG NSEC",
	"NSEC3 1 1 0 - 2T7B4G4VSA5SMI47K61MV5BV1A22BOJR NS DS RRSIG",
	"NSEC3 1 1 0 AABBCCDD 2t7b4g4vsa5smi47k61mv5bv1a22bojr A RRSIG",
	"CAA 0 issue \"letsencrypt.org\"",
	"HTTPS 1 . alpn=\"h3,h2\" ipv4hint=104.16.132.229,104.16.133.229",
	"TLSA 3 1 1 D2ABDE240D7CD3EE6B4B28C54DF034B97983A1D16E8A410E4561CB10"
		"6618E971",
	"TYPE65280 \\# 8 0A000001 0A000002",
};

#define RECORD_COUNT (sizeof(records) / sizeof(records[0]))

static uint8_t rdata[RDATA_MAX_LEN];
static char text[RDATA_MAX_LEN];
static struct token words[WORDS_MAX]; /* the type's, then the RDATA's */

static double
now_ns(void)
{
	struct timespec t;

	/* CPU time: other work on the machine is not ours. */
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct job {
	uint16_t type;
	size_t count; /* of words */
	size_t len;   /* of rdata */
};

static void
parse(const struct job *job)
{
	struct rdata_error error;
	size_t len;

	if (rdata_parse(job->type, words + 1, job->count, (const uint8_t *)
		"\7example\3com", rdata, &len, &error) != NSD_OK)
		exit(1);
}

static void
check(const struct job *job)
{
	const char *why;

	if (rdata_check(job->type, rdata, job->len, &why) != NSD_OK)
		exit(1);
}

static void
print(const struct job *job)
{
	if (rdata_print(job->type, rdata, job->len, text, sizeof(text)) == 0)
		exit(1);
}

static void
parse_type(const struct job *job)
{
	uint16_t type;

	if (rrtype_parse(words[0].text, words[0].len, &type) != NSD_OK)
		exit(1);
}

/* Nanoseconds a call, in the best of the rounds that fit. */
static double
measure(void (*call)(const struct job *job), const struct job *job,
	double ms)
{
	double start = now_ns(), best = 1e9, before, after = start;
	int i;

	do {
		before = after;
		for (i = 0; i < 1000; i++)
			call(job);
		after = now_ns();
		if (after - before < best * 1000)
			best = (after - before) / 1000;
	} while (after - start < ms * 1e6);
	return best;
}

int
main(int argc, char **argv)
{
	double ms = argc > 1 ? atof(argv[1]) : 20;
	size_t i;

	printf("%-40.40s %6s %8s %8s %8s %8s %8s\n", "record", "octets",
		"type ns", "parse ns", "MB/s", "check ns", "print ns");
	for (i = 0; i < RECORD_COUNT; i++) {
		size_t len = strlen(records[i]);
		struct job job = { .count = words_split(records[i], len, words,
			WORDS_MAX) - 1 };
		struct rdata_error error;
		double type_ns, parse_ns, check_ns;

		if (rrtype_parse(words[0].text, words[0].len, &job.type)
			!= NSD_OK || rdata_parse(job.type, words + 1, job.count,
			(const uint8_t *)"\7example\3com", rdata, &job.len,
			&error) != NSD_OK) {
			fprintf(stderr, "%s: %s\n", records[i], error.text);
			return 1;
		}
		len -= words[0].len + 1;
		type_ns = measure(parse_type, &job, ms);
		parse_ns = measure(parse, &job, ms);
		check_ns = measure(check, &job, ms);
		printf("%-40.40s %6zu %8.1f %8.1f %8.0f %8.1f %8.1f\n",
			records[i], len, type_ns, parse_ns,
			(double)len * 1e3 / parse_ns, check_ns,
			measure(print, &job, ms));
	}
	return 0;
}
