/* test_writeback.c - a zone file that is written holds the zone, and takes the
 * place of the old one whole or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

#include "lib/files.h"
#include "lib/zone_check.h"
#include "lib/zone_fixture.h"
#include "loader/writeback.h"
#include "zone/table.h"

static const char zone_text[] =
	"$TTL 300\n"
	"@ SOA ns host\\.master 4000000001 2 3 4 5\n"
	"@ NS ns\n@ NS ns.elsewhere.\n"
	"ns A 192.0.2.1\nns AAAA 2001:db8::1\n"
	"*.w 60 TXT \"a b\" \"\\\"\\\\;\"\n"
	"a\\.b.c MX 10 mail\n"
	"mail.sub A 192.0.2.2\nsub NS mail.sub\n"
	"x TYPE65280 \\# 3 010203\n"
	"\\000\\255\\@ TXT odd\n";

static char folder[32];
static char path[64];
static struct zone_fixture fixture;
static store_ref zone;
static char told[1024];

static void
on_diag(struct diag_sink *sink, const struct diag *d)
{
	snprintf(told, sizeof(told), "%s", d->text);
}

static struct diag_sink sink = {.on_diag = on_diag};

static void
begin(void)
{
	strcpy(folder, "/tmp/writeback.XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/zone", folder);
	zone_fixture_init(&fixture);
	assert_int_equal(zone_fixture_build(&fixture, "example.", zone_text,
		&zone), NSD_OK);
	told[0] = '\0';
}

static void
end(void)
{
	zone_fixture_fini(&fixture);
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
}

static enum nsd_err
write_zone(const char *to, const char *received, uint32_t *serial)
{
	const struct writeback writeback = {.view = fixture.view,
		.zone = store_get(fixture.view, zone),
		.apex = zone_fixture_name("example."), .path = to,
		.name = "example", .version = "4.x", .time_sec = 1700000000,
		.received = received};

	return writeback_zone(&writeback, &sink, serial);
}

static void
written_file_is_the_zone(void **state)
{
	char *text, *was, *is;
	uint32_t serial;
	store_ref again;

	begin();
	setenv("TZ", "UTC", 1);
	assert_int_equal(write_zone(path, "received update to serial "
		"4000000001 at T from 192.0.2.1", &serial), NSD_OK);
	assert_true(serial == 4000000001u);
	text = files_read(path);
	assert_ptr_equal(strstr(text, "; zone example written by NSD 4.x on "
		"Tue Nov 14 22:13:20 2023\n"
		"; received update to serial 4000000001 at T from 192.0.2.1\n"
		"$ORIGIN .\n"
		"example\t300\tIN\tSOA\tns.example. host\\.master.example. (\n"
		"\t\t4000000001 2 3 4 5 )\n"), text);
	was = zone_check_print(fixture.view, zone,
		zone_fixture_name("example."));
	assert_int_equal(zone_fixture_build(&fixture, "example.", text,
		&again), NSD_OK);
	is = zone_check_print(fixture.view, again,
		zone_fixture_name("example."));
	assert_string_equal(is, was);
	free(text);
	free(was);
	free(is);
	end();
}

static void
folders_are_made(void **state)
{
	char deep[80], command[120];
	uint32_t serial;

	begin();
	snprintf(deep, sizeof(deep), "%s/a/b/zone", folder);
	assert_int_equal(write_zone(deep, NULL, &serial), NSD_OK);
	assert_int_equal(access(deep, R_OK), 0);
	snprintf(command, sizeof(command), "rm -r %s/a", folder);
	assert_int_equal(system(command), 0);
	end();
}

/* A link at FILE~ is not followed, and what was left there goes. */
static void
planted_link_is_not_followed(void **state)
{
	char temp[80], other[80];
	uint32_t serial;
	char *text;
	FILE *f;

	begin();
	snprintf(temp, sizeof(temp), "%s~", path);
	snprintf(other, sizeof(other), "%s/other", folder);
	f = fopen(other, "w");
	fputs("mine", f);
	fclose(f);
	assert_int_equal(symlink(other, temp), 0);
	assert_int_equal(write_zone(path, NULL, &serial), NSD_OK);
	text = files_read(other);
	assert_string_equal(text, "mine");
	free(text);
	assert_int_equal(access(temp, F_OK), -1);
	unlink(other);
	end();
}

/* A file may grow to so many octets, as on a disk that is full. */
static void
limit_files(rlim_t octets)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = octets;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void
full_disk_leaves_the_old_file(void **state)
{
	char temp[80];
	uint32_t serial = 7;
	char *text;
	FILE *f;

	begin();
	f = fopen(path, "w");
	fputs("old", f);
	fclose(f);
	snprintf(temp, sizeof(temp), "%s~", path);
	limit_files(100);
	assert_int_equal(write_zone(path, NULL, &serial), NSD_E_SYSTEM);
	assert_int_equal(errno, EFBIG);
	limit_files(RLIM_INFINITY);
	assert_true(serial == 7);
	text = files_read(path);
	assert_string_equal(text, "old");
	free(text);
	assert_int_equal(access(temp, F_OK), -1);
	assert_non_null(strstr(told, "/zone~: File too large"));
	end();
}

static void
place_that_is_none_is_told(void **state)
{
	char under[80], temp[80];
	uint32_t serial;
	FILE *f;

	begin();
	f = fopen(path, "w");
	fclose(f);
	snprintf(under, sizeof(under), "%s/zone/below", folder);
	assert_int_equal(write_zone(under, NULL, &serial), NSD_E_SYSTEM);
	assert_non_null(strstr(told, "Not a directory"));
	/* The file is a folder. */
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(temp, sizeof(temp), "%s~", path);
	assert_int_equal(write_zone(path, NULL, &serial), NSD_E_SYSTEM);
	assert_non_null(strstr(told, "cannot replace "));
	assert_int_equal(access(temp, F_OK), -1);
	assert_int_equal(rmdir(path), 0);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_file_is_the_zone),
		cmocka_unit_test(folders_are_made),
		cmocka_unit_test(planted_link_is_not_followed),
		cmocka_unit_test(full_disk_leaves_the_old_file),
		cmocka_unit_test(place_that_is_none_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
