/* field_loc.c - locations on Earth (RFC 1876). */
#include "dns/rdata_field.h"
#include "dns/scan.h"

#define LOC_LEN 16
#define EQUATOR 0x80000000u /* of latitude, and the prime meridian */
#define ARC_PER_DEGREE (60u * 60 * 1000) /* thousandths of a second */
#define LATITUDE_MAX (90 * ARC_PER_DEGREE)
#define LONGITUDE_MAX (180 * ARC_PER_DEGREE)
#define SIZE_MAX_CM UINT64_C(9000000000)
#define BELOW_ZERO_CM 10000000u /* altitude 0 on the wire is -100,000 m */

/* Defaults of RFC 1876 section 3: 1 m, 10,000 m and 10 m. */
#define SIZE_DEFAULT 0x12
#define HORIZONTAL_DEFAULT 0x16
#define VERTICAL_DEFAULT 0x13

/*
 * Reads a decimal number of up to `places` places behind the point, as a
 * count of its last place: "1.5" of 3 places is 1500.
 */
static bool
scan_fixed(const char *text, size_t len, unsigned places, uint64_t max,
	uint64_t *number)
{
	uint64_t value = 0;
	size_t i = 0;
	bool digits = false;

	for (; i < len && text[i] != '.'; i++) {
		unsigned digit = (unsigned)(uint8_t)text[i] - '0';

		if (digit > 9 || value > max)
			return false;
		value = value * 10 + digit;
		digits = true;
	}
	if (i < len)
		i++;
	for (; places > 0; places--) {
		unsigned digit = 0;

		if (i < len) {
			digit = (unsigned)(uint8_t)text[i++] - '0';
			digits = true;
		}
		if (digit > 9)
			return false;
		value = value * 10 + digit;
	}
	if (!digits || i < len || value > max)
		return false;
	*number = value;
	return true;
}

/* Compares the token with two letters, in either case. Returns 0, 1 or -1. */
static int
which_letter(const struct token *t, char first, char second)
{
	char letter;

	if (t->len != 1 || t->quoted)
		return -1;
	letter = (char)(t->text[0] & ~0x20);
	return letter == first ? 0 : letter == second ? 1 : -1;
}

/* Reads degrees [minutes [seconds]] and the letter of a hemisphere. */
static bool
next_angle(struct rdata_parse *p, char positive, char negative, uint32_t max,
	const char *degrees_expected, uint32_t *angle)
{
	static const char minutes_expected[] =
		"minutes from 0 to 59, or a letter of N S E W";
	static const char seconds_expected[] =
		"seconds from 0 to 59.999, or a letter of N S E W";
	uint32_t value, arc;
	uint64_t seconds;
	size_t first = p->at;
	int side;

	if (!rdata_next_number(p, max / ARC_PER_DEGREE, degrees_expected,
		&value))
		return false;
	arc = value * ARC_PER_DEGREE;
	if (p->at < p->count && (side = which_letter(&p->tokens[p->at],
		positive, negative)) >= 0)
		goto done;
	if (!rdata_next_number(p, 59, minutes_expected, &value))
		return false;
	arc += value * 60 * 1000;
	if (p->at < p->count && (side = which_letter(&p->tokens[p->at],
		positive, negative)) >= 0)
		goto done;
	if (p->at >= p->count || p->tokens[p->at].quoted
		|| !scan_fixed(p->tokens[p->at].text, p->tokens[p->at].len, 3,
			59999, &seconds))
		return rdata_expect(p, p->at, seconds_expected);
	p->at++;
	arc += (uint32_t)seconds;
	if (p->at >= p->count || (side = which_letter(&p->tokens[p->at],
		positive, negative)) < 0)
		return rdata_expect(p, p->at, positive == 'N' ? "N or S"
			: "E or W");
done:
	p->at++;
	if (arc > max)
		rdata_doubt(p, first, degrees_expected);
	*angle = side == 0 ? EQUATOR + arc : EQUATOR - arc;
	return true;
}

/* Reads metres with an optional "m", as centimetres. */
static bool
next_metres(struct rdata_parse *p, bool may_be_negative, uint64_t max,
	const char *what, int64_t *cm)
{
	const struct token *t = rdata_next_bare(p, what);
	const char *text;
	uint64_t value;
	size_t len;
	bool negative;

	if (t == NULL)
		return false;
	text = t->text;
	len = t->len;
	negative = may_be_negative && len > 0 && *text == '-';
	if (may_be_negative && len > 0 && *text == '+')
		rdata_doubt(p, p->at - 1, "metres without a +");
	if (may_be_negative && len > 0 && (*text == '-' || *text == '+')) {
		text++;
		len--;
	}
	if (len > 0 && (text[len - 1] | 0x20) == 'm')
		len--;
	if (!scan_fixed(text, len, 2, negative ? BELOW_ZERO_CM : max,
		&value))
		return rdata_expect(p, p->at - 1, what);
	*cm = negative ? -(int64_t)value : (int64_t)value;
	return true;
}

/* RFC 1876 section 2: a digit and a power of ten, of centimetres. */
static uint8_t
pack_size(uint64_t cm)
{
	unsigned exponent = 0;

	for (; cm >= 10; cm /= 10)
		exponent++;
	return (uint8_t)(cm << 4 | exponent);
}

static bool
next_size(struct rdata_parse *p, uint8_t *size)
{
	static const char what[] = "metres from 0 to 90000000.00";
	int64_t cm;

	if (p->at >= p->count)
		return true;
	if (!next_metres(p, false, SIZE_MAX_CM + 99, what, &cm))
		return false;
	if ((uint64_t)cm > SIZE_MAX_CM)
		rdata_doubt(p, p->at - 1, what);
	*size = pack_size((uint64_t)cm);
	return true;
}

bool
field_loc_parse(struct rdata_parse *p)
{
	uint8_t octets[LOC_LEN] = { 0, SIZE_DEFAULT, HORIZONTAL_DEFAULT,
		VERTICAL_DEFAULT };
	uint32_t latitude, longitude;
	int64_t altitude;

	if (!next_angle(p, 'N', 'S', LATITUDE_MAX, "degrees from 0 to 90",
			&latitude)
		|| !next_angle(p, 'E', 'W', LONGITUDE_MAX,
			"degrees from 0 to 180", &longitude)
		|| !next_metres(p, true, UINT32_MAX - BELOW_ZERO_CM,
			"metres from -100000.00 to 42849672.95", &altitude)
		|| !next_size(p, &octets[1])
		|| !next_size(p, &octets[2])
		|| !next_size(p, &octets[3]))
		return false;
	octets_put_u32(octets + 4, latitude);
	octets_put_u32(octets + 8, longitude);
	octets_put_u32(octets + 12, (uint32_t)(altitude + BELOW_ZERO_CM));
	return rdata_put(p, octets, sizeof(octets));
}

static bool
is_angle(uint32_t angle, uint32_t max)
{
	return angle >= EQUATOR - max && angle <= EQUATOR + max;
}

/* Text can say minutes and seconds beyond the last degree. */
static void
check_angle(struct rdata_walk *w, uint32_t angle, uint32_t max,
	const char *why)
{
	if (is_angle(angle, max))
		return;
	if (is_angle(angle, max + ARC_PER_DEGREE - 1))
		walk_doubt(w, why);
	else
		walk_note(w, why);
}

/* Both digits are decimal. Zero has no power of ten: text could not tell it. */
static bool
is_size(uint8_t size)
{
	return size >> 4 <= 9 && (size & 15) <= 9
		&& (size >> 4 != 0 || size == 0);
}

bool
field_loc_check(struct rdata_walk *w)
{
	const uint8_t *at = w->at;

	if (at == w->end)
		return walk_broken(w, "16 octets of a location");
	if (*at != 0) {
		/* RFC 1876 section 2: another version has another layout. */
		walk_note(w, "a location of version 0");
		w->at = w->end;
		return true;
	}
	if (!walk_skip(w, LOC_LEN, "16 octets of a location"))
		return false;
	if (!is_size(at[1]) || !is_size(at[2]) || !is_size(at[3]))
		walk_note(w, "sizes of decimal digits");
	check_angle(w, octets_get_u32(at + 4), LATITUDE_MAX,
		"a latitude of at most 90 degrees");
	check_angle(w, octets_get_u32(at + 8), LONGITUDE_MAX,
		"a longitude of at most 180 degrees");
	return true;
}

/* Puts a number with `places` digits behind the point. */
static void
put_fixed(struct text *t, uint64_t value, unsigned places)
{
	uint64_t unit = 1;
	unsigned i;

	for (i = 0; i < places; i++)
		unit *= 10;
	text_put_number(t, value / unit);
	text_put_char(t, '.');
	for (value %= unit; unit > 1; value %= unit) {
		unit /= 10;
		text_put_char(t, (char)('0' + value / unit));
	}
}

static void
put_angle(struct text *t, uint32_t angle, char positive, char negative)
{
	uint32_t arc = angle >= EQUATOR ? angle - EQUATOR : EQUATOR - angle;

	text_put_number(t, arc / ARC_PER_DEGREE);
	text_put_char(t, ' ');
	text_put_number(t, arc / 60000 % 60);
	text_put_char(t, ' ');
	put_fixed(t, arc % 60000, 3);
	text_put_char(t, ' ');
	text_put_char(t, angle >= EQUATOR ? positive : negative);
	text_put_char(t, ' ');
}

static void
put_size(struct text *t, uint8_t size)
{
	uint64_t cm = size >> 4;
	unsigned i;

	for (i = size & 15; i > 0; i--)
		cm *= 10;
	text_put_char(t, ' ');
	if (cm >= 100)
		text_put_number(t, cm / 100);
	else
		put_fixed(t, cm, 2);
	text_put_char(t, 'm');
}

void
field_loc_print(struct rdata_walk *w, struct text *t)
{
	const uint8_t *at = w->at;
	uint32_t altitude = octets_get_u32(at + 12);

	put_angle(t, octets_get_u32(at + 4), 'N', 'S');
	put_angle(t, octets_get_u32(at + 8), 'E', 'W');
	if (altitude < BELOW_ZERO_CM)
		text_put_char(t, '-');
	put_fixed(t, altitude >= BELOW_ZERO_CM ? altitude - BELOW_ZERO_CM
		: BELOW_ZERO_CM - altitude, 2);
	text_put_char(t, 'm');
	put_size(t, at[1]);
	put_size(t, at[2]);
	put_size(t, at[3]);
	w->at += LOC_LEN;
}
