/*
 * field_address.c - addresses, alone (A, AAAA) and with something beside them
 * (APL, A6, WKS).
 */
#include "dns/name.h"
#include "dns/rdata_field.h"
#include "dns/scan.h"

/* ---- A, AAAA */

bool
field_ip4_parse(struct rdata_parse *p)
{
	static const char what[] = "an IPv4 address";
	const struct token *t = rdata_next_bare(p, what);
	uint8_t octets[4];

	if (t == NULL)
		return false;
	if (!scan_ip4(t->text, t->len, octets))
		return rdata_expect(p, p->at - 1, what);
	return rdata_put(p, octets, 4);
}

bool
field_ip4_check(struct rdata_walk *w)
{
	return walk_skip(w, 4, "four octets of an IPv4 address");
}

void
field_ip4_print(struct rdata_walk *w, struct text *t)
{
	char text[16];

	text_put(t, text, scan_print_ip4(w->at, text));
	w->at += 4;
}

bool
field_ip6_parse(struct rdata_parse *p)
{
	static const char what[] = "an IPv6 address";
	const struct token *t = rdata_next_bare(p, what);
	uint8_t octets[16];

	if (t == NULL)
		return false;
	if (!scan_ip6(t->text, t->len, octets))
		return rdata_expect(p, p->at - 1, what);
	return rdata_put(p, octets, 16);
}

bool
field_ip6_check(struct rdata_walk *w)
{
	return walk_skip(w, 16, "sixteen octets of an IPv6 address");
}

void
field_ip6_print(struct rdata_walk *w, struct text *t)
{
	char text[SCAN_IP6_MAX];

	text_put(t, text, scan_print_ip6(w->at, text));
	w->at += 16;
}

/*
 * ---- APL (RFC 3123 section 4): items of
 *
 *   | family 16 | prefix 8 | N 1, length 7 | address without trailing zeros |
 */
#define APL_HEAD 4
#define APL_NOT 0x80
#define FAMILY_IP4 1
#define FAMILY_IP6 2

static size_t
trim_zeros(const uint8_t *octets, size_t len)
{
	while (len > 0 && octets[len - 1] == 0)
		len--;
	return len;
}

static bool
next_prefix(struct rdata_parse *p)
{
	static const char what[] =
		"[!]1:IPV4/PREFIX or [!]2:IPV6/PREFIX";
	const struct token *t = rdata_next_bare(p, what);
	uint8_t item[APL_HEAD + 16] = { 0 };
	const char *at, *end, *slash;
	uint32_t prefix;
	size_t len;
	bool ok;

	if (t == NULL)
		return false;
	at = t->text;
	end = at + t->len;
	if (at < end && *at == '!') {
		item[3] = APL_NOT;
		at++;
	}
	if (end - at < 2 || (*at != '1' && *at != '2') || at[1] != ':')
		return rdata_expect(p, p->at - 1, what);
	item[1] = (uint8_t)(*at - '0');
	at += 2;
	slash = memchr(at, '/', (size_t)(end - at));
	if (slash == NULL)
		return rdata_expect(p, p->at - 1, what);
	len = (size_t)(slash - at);
	ok = item[1] == FAMILY_IP4 ? scan_ip4(at, len, item + APL_HEAD)
		: scan_ip6(at, len, item + APL_HEAD);
	if (!ok || !scan_number(slash + 1, (size_t)(end - slash - 1),
		item[1] == FAMILY_IP4 ? 32 : 128, &prefix))
		return rdata_expect(p, p->at - 1, what);
	len = trim_zeros(item + APL_HEAD, 16);
	item[2] = (uint8_t)prefix;
	item[3] |= (uint8_t)len;
	return rdata_put(p, item, APL_HEAD + len);
}

bool
field_apl_parse(struct rdata_parse *p)
{
	while (p->at < p->count)
		if (!next_prefix(p))
			return false;
	return true;
}

static void
check_prefix(struct rdata_walk *w, const uint8_t *item, size_t len)
{
	unsigned family = octets_get_u16(item);
	unsigned bits = family == FAMILY_IP4 ? 32 : 128;

	if (family != FAMILY_IP4 && family != FAMILY_IP6)
		walk_note(w, "an address family of 1 or 2");
	else if (item[2] > bits)
		walk_note(w, "a prefix of at most the address's bits");
	else if (len > bits / 8)
		walk_note(w, "an address of at most the family's octets");
	else if (len > 0 && item[APL_HEAD + len - 1] == 0)
		walk_note(w, "an address without trailing zeros");
}

bool
field_apl_check(struct rdata_walk *w)
{
	while (w->at < w->end) {
		const uint8_t *item = w->at;
		size_t len;

		if (!walk_skip(w, APL_HEAD, "a whole address prefix"))
			return false;
		len = item[3] & ~APL_NOT & 0xff;
		if (!walk_skip(w, len, "a whole address prefix"))
			return false;
		check_prefix(w, item, len);
	}
	return true;
}

void
field_apl_print(struct rdata_walk *w, struct text *t)
{
	bool first = true;

	while (w->at < w->end) {
		uint8_t address[16] = { 0 };
		char text[SCAN_IP6_MAX];
		const uint8_t *item = w->at;
		size_t len = item[3] & ~APL_NOT & 0xff;

		if (!first)
			text_put_char(t, ' ');
		first = false;
		memcpy(address, item + APL_HEAD, len);
		if (item[3] & APL_NOT)
			text_put_char(t, '!');
		text_put_number(t, item[1]);
		text_put_char(t, ':');
		text_put(t, text, item[1] == FAMILY_IP4
			? scan_print_ip4(address, text)
			: scan_print_ip6(address, text));
		text_put_char(t, '/');
		text_put_number(t, item[2]);
		w->at += APL_HEAD + len;
	}
}

/*
 * ---- A6 (RFC 2874 section 3)
 *
 *   | prefix length 8 | suffix of the address | name of the prefix |
 *
 * The suffix has the octets that the prefix leaves. There is no name if the
 * prefix length is 0. The text may leave the suffix out if the prefix has all
 * 128 bits.
 */
static size_t
suffix_octets(unsigned prefix)
{
	return (128 - prefix + 7) / 8;
}

bool
field_a6_parse(struct rdata_parse *p)
{
	static const char what[] = "an IPv6 address suffix";
	uint8_t octets[1 + 16] = { 0 };
	uint32_t prefix;
	size_t len;

	if (!rdata_next_number(p, 128, "a prefix length from 0 to 128",
		&prefix))
		return false;
	if (prefix < 128 || p->count - p->at > 1) {
		const struct token *t = rdata_next_bare(p, what);

		if (t == NULL)
			return false;
		if (!scan_ip6(t->text, t->len, octets + 1))
			return rdata_expect(p, p->at - 1, what);
	}
	len = suffix_octets(prefix);
	memmove(octets + 1, octets + 17 - len, len);
	/* Bits of the first octet that belong to the prefix are padding. */
	if (len > 0)
		octets[1] &= (uint8_t)(0xff >> prefix % 8);
	octets[0] = (uint8_t)prefix;
	if (!rdata_put(p, octets, 1 + len))
		return false;
	return prefix == 0 || field_name_parse(p);
}

bool
field_a6_check(struct rdata_walk *w)
{
	const uint8_t *at = w->at;
	unsigned prefix;

	if (!walk_skip(w, 1, "a prefix length"))
		return false;
	prefix = *at;
	if (prefix > 128)
		return walk_broken(w, "a prefix length from 0 to 128");
	if (!walk_skip(w, suffix_octets(prefix), "a whole address suffix"))
		return false;
	if (prefix % 8 != 0 && (at[1] & ~(0xff >> prefix % 8)))
		walk_note(w, "an address suffix padded with zero bits");
	return prefix == 0 || field_name_check(w);
}

void
field_a6_print(struct rdata_walk *w, struct text *t)
{
	uint8_t address[16] = { 0 };
	char text[SCAN_IP6_MAX];
	unsigned prefix = *w->at++;
	size_t len = suffix_octets(prefix);

	text_put_number(t, prefix);
	if (prefix < 128) {
		memcpy(address + 16 - len, w->at, len);
		text_put_char(t, ' ');
		text_put(t, text, scan_print_ip6(address, text));
	}
	w->at += len;
	if (prefix > 0) {
		text_put_char(t, ' ');
		text_put_name(t, w->at);
		w->at += name_len(w->at);
	}
}

/* ---- WKS (RFC 1035 section 3.4.2): a protocol, and a bit for each port. */

#define PORT_OCTETS 8192

struct wks_service {
	uint16_t number;
	const char *name;
};

static const struct wks_service protocols[] = {
	{ 1, "icmp" }, { 2, "igmp" }, { 3, "ggp" }, { 6, "tcp" },
	{ 8, "egp" }, { 12, "pup" }, { 17, "udp" }, { 20, "hmp" },
	{ 22, "xns-idp" }, { 27, "rdp" }, { 0, NULL },
};

/* Names of RFC 1010, of later ones that zone files are known to use, and of
 * Debian's /etc/services up to port 1023: no chroot has that file. */
static const struct wks_service ports[] = {
	{ 1, "tcpmux" }, { 5, "rje" }, { 7, "echo" }, { 9, "discard" },
	{ 9, "null" }, { 9, "sink" }, { 11, "systat" }, { 11, "users" },
	{ 13, "daytime" }, { 15, "netstat" }, { 17, "qotd" }, { 17, "quote" },
	{ 19, "chargen" }, { 19, "source" }, { 19, "ttytst" },
	{ 20, "ftp-data" }, { 21, "ftp" }, { 21, "fsp" }, { 21, "fspd" },
	{ 22, "ssh" }, { 23, "telnet" }, { 25, "smtp" }, { 25, "mail" },
	{ 37, "time" }, { 37, "timserver" }, { 39, "rlp" },
	{ 42, "nameserver" }, { 43, "nicname" }, { 43, "whois" },
	{ 49, "tacacs" }, { 53, "domain" }, { 67, "bootps" },
	{ 68, "bootpc" }, { 69, "tftp" }, { 70, "gopher" }, { 79, "finger" },
	{ 80, "http" }, { 80, "www" }, { 87, "link" }, { 88, "kerberos" },
	{ 88, "kerberos-sec" }, { 88, "kerberos5" }, { 88, "krb5" },
	{ 95, "supdup" }, { 101, "hostname" }, { 101, "hostnames" },
	{ 102, "iso-tsap" }, { 102, "tsap" }, { 104, "acr-nema" },
	{ 106, "poppassd" }, { 109, "pop2" }, { 110, "pop3" },
	{ 110, "pop-3" }, { 111, "sunrpc" }, { 111, "portmapper" },
	{ 113, "auth" }, { 113, "authentication" }, { 113, "ident" },
	{ 113, "tap" }, { 115, "sftp" }, { 117, "uucp-path" },
	{ 119, "nntp" }, { 119, "readnews" }, { 119, "untp" }, { 123, "ntp" },
	{ 135, "epmap" }, { 135, "loc-srv" }, { 137, "netbios-ns" },
	{ 138, "netbios-dgm" }, { 139, "netbios-ssn" }, { 143, "imap" },
	{ 143, "imap2" }, { 161, "snmp" }, { 162, "snmp-trap" },
	{ 162, "snmptrap" }, { 163, "cmip-man" }, { 164, "cmip-agent" },
	{ 174, "mailq" }, { 177, "xdmcp" }, { 179, "bgp" }, { 194, "irc" },
	{ 199, "smux" }, { 209, "qmtp" }, { 210, "wais" }, { 210, "z3950" },
	{ 213, "ipx" }, { 220, "imap3" }, { 319, "ptp-event" },
	{ 320, "ptp-general" }, { 345, "pawserv" }, { 346, "zserv" },
	{ 369, "rpc2portmap" }, { 370, "codaauth2" }, { 371, "clearcase" },
	{ 389, "ldap" }, { 427, "svrloc" }, { 443, "https" }, { 444, "snpp" },
	{ 445, "microsoft-ds" }, { 464, "kpasswd" }, { 465, "smtps" },
	{ 465, "ssmtp" }, { 465, "submissions" }, { 465, "urd" },
	{ 487, "saft" }, { 500, "isakmp" }, { 512, "exec" }, { 512, "biff" },
	{ 512, "comsat" }, { 513, "login" }, { 513, "who" }, { 513, "whod" },
	{ 514, "shell" }, { 514, "cmd" }, { 514, "syslog" },
	{ 515, "printer" }, { 515, "spooler" }, { 517, "talk" },
	{ 518, "ntalk" }, { 520, "efs" }, { 520, "route" }, { 520, "routed" },
	{ 520, "router" }, { 525, "timed" }, { 526, "tempo" },
	{ 530, "courier" }, { 531, "conference" }, { 532, "netnews" },
	{ 538, "gdomap" }, { 540, "uucp" }, { 540, "uucpd" },
	{ 543, "klogin" }, { 544, "krcmd" }, { 544, "kshell" },
	{ 546, "dhcpv6-client" }, { 547, "dhcpv6-server" },
	{ 548, "afpovertcp" }, { 554, "rtsp" }, { 563, "nntps" },
	{ 563, "snntp" }, { 587, "submission" }, { 607, "nqs" },
	{ 623, "asf-rmcp" }, { 628, "qmqp" }, { 631, "ipp" },
	{ 636, "ldaps" }, { 646, "ldp" }, { 655, "tinc" }, { 706, "silc" },
	{ 749, "kerberos-adm" }, { 750, "kdc" }, { 750, "kerberos-iv" },
	{ 750, "kerberos4" }, { 751, "kerberos-master" },
	{ 751, "kerberos_master" }, { 752, "passwd-server" },
	{ 752, "passwd_server" }, { 754, "hprop" }, { 754, "krb-prop" },
	{ 754, "krb5_prop" }, { 754, "krb_prop" }, { 775, "moira-db" },
	{ 775, "moira_db" }, { 777, "moira-update" }, { 777, "moira_update" },
	{ 779, "moira-ureg" }, { 779, "moira_ureg" }, { 783, "spamd" },
	{ 853, "domain-s" }, { 871, "supfilesrv" }, { 873, "rsync" },
	{ 989, "ftps-data" }, { 990, "ftps" }, { 992, "telnets" },
	{ 993, "imaps" }, { 995, "pop3s" },
	{ 0, NULL },
};

static bool
next_service(struct rdata_parse *p, const struct wks_service *s, uint32_t max,
	const char *what, uint32_t *number)
{
	const struct token *t = rdata_next_bare(p, what);
	size_t i;

	if (t == NULL)
		return false;
	if (scan_number(t->text, t->len, max, number))
		return true;
	for (; s->name != NULL; s++) {
		if (strlen(s->name) != t->len)
			continue;
		for (i = 0; i < t->len; i++)
			if (name_lower_octet((uint8_t)t->text[i])
				!= (uint8_t)s->name[i])
				break;
		if (i == t->len) {
			*number = s->number;
			return true;
		}
	}
	return rdata_expect(p, p->at - 1, what);
}

bool
field_wks_parse(struct rdata_parse *p)
{
	uint8_t bits[1 + PORT_OCTETS];
	uint32_t number;

	memset(bits, 0, sizeof(bits));
	if (!next_service(p, protocols, UINT8_MAX,
		"a protocol such as tcp or an integer from 0 to 255",
		&number))
		return false;
	bits[0] = (uint8_t)number;
	while (p->at < p->count) {
		if (!next_service(p, ports, UINT16_MAX,
			"a service such as smtp or a port from 0 to 65535",
			&number))
			return false;
		bits[1 + number / 8] |= (uint8_t)(0x80u >> number % 8);
	}
	return rdata_put(p, bits, 1 + trim_zeros(bits + 1, PORT_OCTETS));
}

bool
field_wks_check(struct rdata_walk *w)
{
	if (!walk_skip(w, 1, "a protocol"))
		return false;
	if (walk_left(w) > PORT_OCTETS)
		walk_note(w, "a bitmap of at most 8192 octets");
	else if (w->at < w->end && w->end[-1] == 0)
		walk_note(w, "a bitmap without a trailing zero");
	w->at = w->end;
	return true;
}

void
field_wks_print(struct rdata_walk *w, struct text *t)
{
	size_t len, bit;

	text_put_number(t, *w->at++);
	len = walk_left(w);
	for (bit = 0; bit < 8 * len; bit++)
		if (w->at[bit / 8] & 0x80u >> bit % 8) {
			text_put_char(t, ' ');
			text_put_number(t, bit);
		}
	w->at = w->end;
}
