/* rcode_text.c - the names of RCODEs and of other errors in messages. */
#include "dns/rcode_text.h"

#include <stdio.h>

#include "dns/message.h"

struct rcode_names {
	const char *name;
	const char *words; /* behind it; or NULL */
	const char *log;   /* in the words of NSD; NULL: the name */
};

static const struct rcode_names rcodes[] = {
	[RCODE_NOERROR] = {"NOERROR", NULL, "NO ERROR"},
	[RCODE_FORMERR] = {"FORMERR", "format error", "FORMAT ERROR"},
	[RCODE_SERVFAIL] = {"SERVFAIL", NULL, NULL},
	[RCODE_NXDOMAIN] = {"NXDOMAIN", NULL, "NAME ERROR"},
	[RCODE_NOTIMP] = {"NOTIMP", "not implemented", "NOT IMPL"},
	[RCODE_REFUSED] = {"REFUSED", NULL, NULL},
	[RCODE_YXDOMAIN] = {"YXDOMAIN", NULL, NULL},
	[RCODE_YXRRSET] = {"YXRRSET", NULL, NULL},
	[RCODE_NXRRSET] = {"NXRRSET", NULL, NULL},
	[RCODE_NOTAUTH] = {"NOTAUTH", "server not authoritative for zone",
		"SERVER NOT AUTHORITATIVE FOR ZONE"},
	[RCODE_NOTZONE] = {"NOTZONE", NULL, NULL},
	[RCODE_BADVERS] = {"BADVERS", "EDNS version", NULL},
	[RCODE_BADCOOKIE] = {"BADCOOKIE", NULL, NULL},
};

static const struct rcode_names tsig_errors[] = {
	[RCODE_NOERROR] = {"NOERROR", NULL, "No Error"},
	[RCODE_FORMERR] = {"FORMERR", NULL, "Bad Signature"},
	[RCODE_BADSIG] = {"BADSIG", NULL, "Bad Signature"},
	[RCODE_BADKEY] = {"BADKEY", NULL, "Bad Key"},
	[RCODE_BADTIME] = {"BADTIME", NULL, "Bad Time"},
	[RCODE_BADTRUNC] = {"BADTRUNC", NULL, "Bad Truncation"},
};

static const char *const extended[] = {
	"Other Error", "Unsupported DNSKEY Algorithm",
	"Unsupported DS Digest Type", "Stale Answer", "Forged Answer",
	"DNSSEC Indeterminate", "DNSSEC Bogus", "Signature Expired",
	"Signature Not Yet Valid", "DNSKEY Missing", "RRSIGs Missing",
	"No Zone Key Bit Set", "NSEC Missing", "Cached Error", "Not Ready",
	"Blocked", "Censored", "Filtered", "Prohibited",
	"Stale NXDOMAIN Answer", "Not Authoritative", "Not Supported",
	"No Reachable Authority", "Network Error", "Invalid Data",
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const struct rcode_names *
names_find(const struct rcode_names *names, size_t count, uint16_t number)
{
	return number < count && names[number].name != NULL ? &names[number]
							    : NULL;
}

const char *
rcode_text_name(uint16_t rcode)
{
	const struct rcode_names *names = names_find(rcodes, COUNT(rcodes),
		rcode);

	return names != NULL ? names->name : NULL;
}

const char *
rcode_text_print(uint16_t rcode, char out[RCODE_TEXT_MAX])
{
	const struct rcode_names *names = names_find(rcodes, COUNT(rcodes),
		rcode);

	if (names == NULL)
		snprintf(out, RCODE_TEXT_MAX, "rcode %u", rcode);
	else if (names->words == NULL)
		snprintf(out, RCODE_TEXT_MAX, "%s", names->name);
	else
		snprintf(out, RCODE_TEXT_MAX, "%s (%s)", names->name,
			names->words);
	return out;
}

const char *
rcode_text_print_log(uint16_t rcode, char out[RCODE_TEXT_MAX])
{
	const struct rcode_names *names = names_find(rcodes, COUNT(rcodes),
		rcode);

	if (names == NULL)
		snprintf(out, RCODE_TEXT_MAX, "rcode %u", rcode);
	else
		snprintf(out, RCODE_TEXT_MAX, "%s",
			names->log != NULL ? names->log : names->name);
	return out;
}

const char *
rcode_text_tsig(uint16_t error)
{
	const struct rcode_names *names = names_find(tsig_errors,
		COUNT(tsig_errors), error);

	return names != NULL ? names->name : "an unknown error";
}

const char *
rcode_text_tsig_log(uint16_t error)
{
	const struct rcode_names *names = names_find(tsig_errors,
		COUNT(tsig_errors), error);

	return names != NULL ? names->log : "unknown error";
}

const char *
rcode_text_ede(uint16_t code)
{
	return code < COUNT(extended) ? extended[code] : NULL;
}
