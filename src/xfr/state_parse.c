/* state_parse.c - reads xfrd.state, a word at a time. */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "xfr/state.h"

enum step_kind {
	STEP_WORD,   /* this word */
	STEP_U32,
	STEP_I32,    /* -1 or more */
	STEP_DATE,
	STEP_NAME,
	STEP_STATE,  /* 0 to 2 */
	STEP_COUNT,  /* of zones */
	STEP_ANY,    /* a number that means nothing */
	STEP_END,    /* no word */
};

struct step {
	enum step_kind kind;
	const char *word; /* STEP_WORD; else the expected value, in words */
	size_t offset;    /* where the value goes */
};

/* The parts of the file, each a list of words that ends in STEP_END. */
enum state_part { PART_HEAD, PART_ZONE, PART_ACQUIRED, PART_SOA, PART_TAIL };

static const struct step head[] = {
	{STEP_WORD, "NSDXFRD2", 0},
	{STEP_WORD, "filetime:", 0},
	{STEP_DATE, "a date in seconds",
		offsetof(struct xfr_state_parser, filetime_sec)},
	{STEP_WORD, "numzones:", 0},
	{STEP_COUNT, "a number", offsetof(struct xfr_state_parser, zone_count)},
	{STEP_END, NULL, 0},
};

#define ZONE_FIELD(name) offsetof(struct xfr_state_zone, name)
static const struct step zone_steps[] = {
	{STEP_WORD, "zone:", 0},
	{STEP_WORD, "name:", 0},
	{STEP_NAME, "a domain name", ZONE_FIELD(name)},
	{STEP_WORD, "state:", 0},
	{STEP_STATE, "0, 1 or 2", ZONE_FIELD(state)},
	{STEP_WORD, "master:", 0},
	{STEP_U32, "a number", ZONE_FIELD(master)},
	{STEP_WORD, "next_master:", 0},
	{STEP_I32, "a number or -1", ZONE_FIELD(next_master)},
	{STEP_WORD, "round_num:", 0},
	{STEP_I32, "a number or -1", ZONE_FIELD(round_num)},
	{STEP_WORD, "next_timeout:", 0},
	{STEP_U32, "a number", ZONE_FIELD(next_timeout_sec)},
	{STEP_WORD, "backoff:", 0},
	{STEP_U32, "a number", ZONE_FIELD(backoff)},
	{STEP_END, NULL, 0},
};

#define SOA_FIELD(name) offsetof(struct xfr_state_soa, name)
static const char *const which_words[XFR_STATE_SOAS][2] = {
	[XFR_STATE_NSD] = {"soa_nsd_acquired:", "soa_nsd:"},
	[XFR_STATE_DISK] = {"soa_disk_acquired:", "soa_disk:"},
	[XFR_STATE_NOTIFY] = {"soa_notify_acquired:", "soa_notify:"},
};
static const struct step acquired_steps[] = {
	{STEP_WORD, NULL, 0}, /* by which_words */
	{STEP_DATE, "a date in seconds", SOA_FIELD(acquired_sec)},
	{STEP_END, NULL, 0},
};
static const struct step soa_steps[] = {
	{STEP_WORD, NULL, 1},
	{STEP_WORD, "6", 0},
	{STEP_WORD, "1", 0},
	{STEP_U32, "a TTL", SOA_FIELD(ttl_sec)},
	/* The count of fields that follow. NSD writes it in either order of
	 * octets. */
	{STEP_ANY, "a number", 0},
	{STEP_NAME, "a domain name", SOA_FIELD(mname)},
	{STEP_NAME, "a domain name", SOA_FIELD(rname)},
	{STEP_U32, "a serial", SOA_FIELD(serial)},
	{STEP_U32, "a number", SOA_FIELD(refresh_sec)},
	{STEP_U32, "a number", SOA_FIELD(retry_sec)},
	{STEP_U32, "a number", SOA_FIELD(expire_sec)},
	{STEP_U32, "a number", SOA_FIELD(minimum_sec)},
	{STEP_END, NULL, 0},
};

static const struct step tail[] = {
	{STEP_WORD, "NSDXFRD2", 0},
	{STEP_END, NULL, 0},
};

static const struct step *const parts[] = {
	[PART_HEAD] = head,
	[PART_ZONE] = zone_steps,
	[PART_ACQUIRED] = acquired_steps,
	[PART_SOA] = soa_steps,
	[PART_TAIL] = tail,
};

void
xfr_state_parse_begin(struct xfr_state_parser *p, const char *file,
	struct diag_sink *diag)
{
	memset(p, 0, sizeof(*p));
	p->file = file;
	p->diag = diag;
	p->line = 1;
}

static enum nsd_err
refuse_token(struct xfr_state_parser *p, const char *expected,
	const char *found)
{
	p->failed = true;
	diag_emit(p->diag, DIAG_ERROR, p->file, p->line, 0,
		"expected %s, found %s", expected, found);
	return NSD_E_SYNTAX;
}

/* A decimal number from least (0 or -1) to most. */
static bool
read_number(const char *word, int64_t least, int64_t most, int64_t *number)
{
	int64_t n = 0;

	if (least < 0 && strcmp(word, "-1") == 0) {
		*number = -1;
		return true;
	}
	if (*word == '\0')
		return false;
	for (; *word != '\0'; word++) {
		if (*word < '0' || *word > '9' || n > most / 10)
			return false;
		n = n * 10 + (*word - '0');
	}
	*number = n;
	return n <= most;
}

/* Returns where the fields of a part lie. */
static uint8_t *
base_of(struct xfr_state_parser *p)
{
	switch ((enum state_part)p->part) {
	case PART_ZONE:
		return (uint8_t *)&p->zone;
	case PART_ACQUIRED:
	case PART_SOA:
		return (uint8_t *)&p->zone.soas[p->which];
	default:
		return (uint8_t *)p;
	}
}

/* The latest date: in milliseconds, an int64_t has room for it. */
#define DATE_MAX (INT64_MAX / 4096)

static bool
take_number(const struct step *step, const char *word, uint8_t *to)
{
	bool is_signed = step->kind == STEP_I32;
	int64_t n, most = UINT32_MAX;
	uint32_t u32;
	int32_t i32;

	if (is_signed)
		most = INT32_MAX;
	else if (step->kind == STEP_STATE)
		most = XFR_STATE_EXPIRED;
	else if (step->kind == STEP_DATE)
		most = DATE_MAX;
	if (!read_number(word, is_signed ? -1 : 0, most, &n))
		return false;
	u32 = (uint32_t)n;
	i32 = (int32_t)n;
	if (step->kind == STEP_DATE)
		memcpy(to, &n, sizeof(n));
	else if (is_signed)
		memcpy(to, &i32, sizeof(i32));
	else if (step->kind != STEP_ANY)
		memcpy(to, &u32, sizeof(u32));
	return true;
}

static bool
take_word(struct xfr_state_parser *p, const struct step *step)
{
	static const uint8_t root[] = {0};
	uint8_t *to = base_of(p) + step->offset;
	const char *why;
	size_t size;

	switch (step->kind) {
	case STEP_WORD:
		return strcmp(p->word, step->word != NULL ? step->word
			: which_words[p->which][step->offset]) == 0;
	case STEP_NAME:
		return name_parse_text(p->word, p->word_len, root, to, &size,
			&why) == NSD_OK;
	case STEP_END:
		return false;
	default:
		return take_number(step, p->word, to);
	}
}

static void
begin_part(struct xfr_state_parser *p, enum state_part part)
{
	p->part = (uint8_t)part;
	p->step = 0;
}

/* Goes on to the next SOA of the zone, or the next zone. */
static void
end_soa(struct xfr_state_parser *p)
{
	if (++p->which < XFR_STATE_SOAS) {
		begin_part(p, PART_ACQUIRED);
		return;
	}
	p->zones_read++;
	if (p->on_zone != NULL)
		p->on_zone(p->context, &p->zone);
	begin_part(p, p->zones_read < p->zone_count ? PART_ZONE : PART_TAIL);
	memset(&p->zone, 0, sizeof(p->zone));
}

static void
end_part(struct xfr_state_parser *p)
{
	switch ((enum state_part)p->part) {
	case PART_HEAD:
		begin_part(p, p->zone_count > 0 ? PART_ZONE : PART_TAIL);
		break;
	case PART_ZONE:
		p->which = 0;
		begin_part(p, PART_ACQUIRED);
		break;
	case PART_ACQUIRED:
		if (p->zone.soas[p->which].acquired_sec != 0)
			begin_part(p, PART_SOA);
		else
			end_soa(p);
		break;
	case PART_SOA:
		end_soa(p);
		break;
	case PART_TAIL:
		break;
	}
}

static const char *
text_expected(const struct xfr_state_parser *p, const struct step *step)
{
	if (step->kind == STEP_END)
		return "the end of the file";
	return step->word != NULL ? step->word
				  : which_words[p->which][step->offset];
}

static enum nsd_err
end_word(struct xfr_state_parser *p)
{
	const struct step *step = &parts[p->part][p->step];

	if (p->word_len == 0)
		return NSD_OK;
	p->word[p->word_len] = '\0';
	if (strlen(p->word) != p->word_len || !take_word(p, step))
		return refuse_token(p, text_expected(p, step), p->word);
	p->word_len = 0;
	if (parts[p->part][++p->step].kind == STEP_END)
		end_part(p);
	return NSD_OK;
}

enum nsd_err
xfr_state_parse(struct xfr_state_parser *p, const char *text, size_t len)
{
	for (size_t i = 0; i < len && !p->failed; i++) {
		char c = text[i];
		bool is_blank = c == ' ' || c == '\t' || c == '\r'
			|| c == '\n';

		if (p->in_comment) {
			p->in_comment = c != '\n';
		} else if (is_blank) {
			if (end_word(p) != NSD_OK)
				break;
		} else if (c == '#' && p->word_len == 0) {
			p->in_comment = true;
		} else if (p->word_len == sizeof(p->word) - 1) {
			return refuse_token(p, "a word",
				"one that is too long");
		} else {
			p->word[p->word_len++] = c;
		}
		if (c == '\n' && p->line < UINT32_MAX)
			p->line++;
	}
	return p->failed ? NSD_E_SYNTAX : NSD_OK;
}

enum nsd_err
xfr_state_parse_end(struct xfr_state_parser *p)
{
	const struct step *step;

	if (p->failed || end_word(p) != NSD_OK)
		return NSD_E_SYNTAX;
	step = &parts[p->part][p->step];
	if (p->part != PART_TAIL || step->kind != STEP_END)
		return refuse_token(p, text_expected(p, step),
			"the end of the file");
	return NSD_OK;
}
