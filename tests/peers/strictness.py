"""RDATA at the edge of what its type allows, and who loads it.

The cases are made from a table of fields: each value that may be odd for a kind
of field, beside usual values of the others. They stand in zone files, a case a
line; what a program says of a line tells whether it loads the record.
"""
import os
import pathlib
import re
import shutil
import subprocess

ORIGIN = "example.com."
A_TIME = 45  # cases in a file: programs stop at 50 errors
TOP = pathlib.Path(__file__).resolve().parents[2]
OURS = pathlib.Path(os.environ.get("NSD_BUILD", "build")).resolve() \
    / "nsd-checkzone"

HASH = "2t7b4g4vsa5smi47k61mv5bv1a22bojr"
SHA1 = "2BB183AF5F22588179A53B0A98631FAD1A292118"
SHA256 = SHA1 + "0123456789abcdef01234567"
SHA384 = SHA256 + "0123456789abcdef0123456789abcdef"
SHA512 = SHA384 + "0123456789abcdef0123456789abcdef"


def numbers(bits):
    top = 1 << bits
    return [str(top - 1), str(top), "-1", "+1", "01", "0x1", "1.0", "x", '""',
            '"1"', "000000000001"]


# For each kind of field a usual value, and odd ones. "": the field is left out.
KINDS = {
    "u8": ("1", numbers(8)),
    "u16": ("1", numbers(16)),
    "u32": ("1", numbers(32)),
    "period": ("1", ["1h", "1H30m", "1h30", "h", "1x", "4294967295",
                     "4294967296", "1w2d3h4m5s", "1.5h", '"1"', "-1", "1mm",
                     "7101w", "7102w"]),
    "name": ("host", [".", "@", "*", "*.x", "a..b", ".a", "a.", "\\@",
                      "\\256", "\\25", "a\\", "a b", '"a"', '""', "a\\.b",
                      "\\000", "_a", "a/b", "A-", "-a", "a" * 63, "a" * 64,
                      ".".join(["a" * 49] * 5) + ".", "192.0.2.1", "\\048"]),
    "ip4": ("192.0.2.1", ["192.0.2", "192.0.2.256", "192.0.2.01", "1.2.3.4.",
                          "1.2.3.4.5", "0x7f.1.1.1", '"192.0.2.1"', "::1",
                          "192.0.2.1/32", "0.0.0.0", "127.1", "3221225985",
                          "\\049.2.3.4"]),
    "ip6": ("::1", ["1:2:3:4:5:6:7:8", "1::2::3", "1:2:3:4:5:6:7", "::g",
                    "12345::", "::1.2.3.4", "::1.2.3", "fe80::1%lo", '"::1"',
                    "[::1]", "1:2:3:4:5:6:7::", "::1:2:3:4:5:6:7",
                    "1:2:3:4::5:6:7:8", "192.0.2.1", "::FFFF:1.2.3.4",
                    "0001::", "::/0", ":1"]),
    "string": ('"a"', ["a", '""', '"' + "x" * 255 + '"', '"' + "x" * 256 + '"',
                       "\\256", "\\25", '"\\"', "\\000", '"\\065"', "a\\",
                       '"a"b', 'a"b"', "\xe9", '"a;b"', "a;b", "(", '"a\tb"',
                       "\\;", "''"]),
    "hex": ("00ff", ["0", "000", "0g", "00 ff", '"00"', "", "0x00", "AaFf",
                     "00-ff", "00:ff"]),
    "base64": ("AQID", ["AQ==", "AQ=", "AQ", "AR==", "A", "AQI=", "AQ== AQID",
                        "A QI D", '"AQID"', "", "AQ*D", "AQI-", "AQI_",
                        "AQID====", "====", "AQID\\061"]),
    "type": ("A", ["a", "TYPE1", "type1", "TYPE0", "TYPE65535", "TYPE65536",
                   "TYPE01", "XX", "1", "ANY", "OPT", "AXFR", "TYPE"]),
    "types": ("A", ["", "a mx", "A A", "MX A", "TYPE1", "TYPE0", "TYPE65535",
                    "TYPE65536", "XX", "1", "ANY", "OPT", '"A"', "A TYPE257",
                    "NSEC TYPE1234", "CAA", "URI", "TYPE128 TYPE255"]),
    "algorithm": ("13", ["0", "255", "256", "RSASHA256", "rsasha256",
                         "ECDSAP256SHA256", "ED25519", "PRIVATEDNS", "XX",
                         "-1", "013", "DH", "ECC", "INDIRECT", '"13"',
                         "NSEC3RSASHA1", "RSASHA1-NSEC3-SHA1", "ECC-GOST"]),
    "cert": ("PKIX", ["1", "pkix", "0", "65535", "65536", "URI", "OID", "XX",
                      "IACPKIX", "PGP"]),
    "time": ("20300101000000", [
        "0", "1", "4294967295", "4294967296", "20301301000000",
        "20300230000000", "20300101240000", "20300101006000",
        "20300101000060", "2030010100000", "203001010000000",
        "19691231235959", "19700101000000", "21060207062815",
        "21060207062816", "30000101000000", "20000229000000",
        "20010229000000", '"20300101000000"', "1h"]),
    "salt": ("aabb", ["-", "", "0", "a", "00", "AABB", '"aa"', '""', "--",
                      "ff" * 255, "ff" * 256]),
    "hash": (HASH, [HASH.upper(), HASH[:-1], HASH + "0", HASH[:-1] + "w", "-",
                    "", "00", "2t7b4g4vsa5smi47k61mv5bv1a22bojrss",
                    HASH[:16], f'"{HASH}"', "2t7b4g4v====", "2t7b4g4v"]),
    "tag": ("issue", ["ISSUE", '"issue"', "x", '""', "is-sue", "issue1",
                      "a" * 15, "a" * 16, "a" * 255, "a" * 256, "a.b", "tbs",
                      "\\105ssue"]),
    "digits": ("3110", ["", "x", '""', '"3110"', "3", "31 10", "+3110",
                        "3" * 255, "3.1"]),
}


# Each type by the kinds of its fields. A word that is no kind stands for itself.
TYPES = {
    "A": "ip4", "NS": "name", "MD": "name", "MF": "name", "CNAME": "name",
    "SOA": "name name u32 period period period period",
    "MB": "name", "MG": "name", "MR": "name", "PTR": "name",
    "HINFO": "string string", "MINFO": "name name", "MX": "u16 name",
    "TXT": "string", "RP": "name name", "AFSDB": "u16 name",
    "X25": "digits", "ISDN": "digits digits", "RT": "u16 name",
    "SIG": "type algorithm u8 u32 time time u16 name base64",
    "KEY": "u16 u8 algorithm base64", "PX": "u16 name name",
    "AAAA": "ip6", "SRV": "u16 u16 u16 name",
    "NAPTR": "u16 u16 string string string name", "KX": "u16 name",
    "CERT": "cert u16 algorithm base64", "DNAME": "name",
    "DS": "u16 algorithm 2 " + SHA256, "SSHFP": "u8 1 " + SHA1,
    "RRSIG": "type algorithm u8 u32 time time u16 name base64",
    "NSEC": "name types", "DNSKEY": "u16 u8 algorithm base64",
    "DHCID": "base64", "NSEC3": "u8 u8 u16 salt hash types",
    "NSEC3PARAM": "u8 u8 u16 salt", "TLSA": "u8 u8 u8 hex",
    "SMIMEA": "u8 u8 u8 hex", "TALINK": "name name",
    "CDS": "u16 algorithm 2 " + SHA256,
    "CDNSKEY": "u16 u8 algorithm base64", "OPENPGPKEY": "base64",
    "CSYNC": "u32 u16 types", "ZONEMD": "u32 u8 240 " + SHA384,
    "SPF": "string", "NINFO": "string", "AVC": "string", "RKEY":
    "u16 u8 algorithm base64", "NID": "u16 1:2:3:4", "L32": "u16 ip4",
    "L64": "u16 1:2:3:4", "LP": "u16 name", "EUI48": "00-00-5e-00-53-2a",
    "EUI64": "00-00-5e-ef-10-00-00-2a", "URI": 'u16 u16 "x:y"',
    "CAA": "u8 tag string", "SVCB": "u16 name", "HTTPS": "u16 name",
    "DLV": "u16 algorithm 2 " + SHA256, "TA": "u16 algorithm 2 " + SHA256,
    "RESINFO": "string", "EID": "hex", "NIMLOC": "hex",
    "SINK": "u8 u8 u8 base64", "DOA": "u32 u32 u8 string base64",
}

# RDATA that no table of fields makes.
MORE = {
    "DS": [f"1 13 {t} {d}" for t in (0, 1, 2, 3, 4, 5, 200)
           for d in ("", "00", SHA1, SHA256, SHA384, SHA256 + "00")],
    "SSHFP": [f"{a} {t} {d}" for a in (0, 1, 7) for t in (0, 1, 2, 3)
              for d in ("", "00", SHA1, SHA256)],
    "CDS": ["0 0 0 0", "0 0 0 00", "0 0 0", "1 0 0 0", "0 0 1 00"]
    + [f"1 13 {t} {d}" for t in (1, 2, 4) for d in ("00", SHA1, SHA256)],
    "CDNSKEY": ["0 3 0 0", "0 3 0 AA==", "0 3 0", "1 3 0 AA=="],
    "ZONEMD": [f"1 1 {t} {d}" for t in (0, 1, 2, 3, 255)
               for d in ("", "00", "00" * 11, "00" * 12, SHA384, SHA512)],
    "TLSA": ["3 1 1 " + SHA256, "3 1 1 " + SHA1, "3 1 2 " + SHA256,
             "3 0 0 00", "255 255 255 00", "4 2 3 00"],
    "DNSKEY": ["256 3 13 AQID", "256 2 13 AQID", "256 3 0 AQID", "256 3 13",
               "0 3 253 AQID", "49408 3 8", "256 3 8 AQID", "256 3 5 ====",
               "ZONE 3 13 AQID", "256 DNSSEC 13 AQID"],
    "KEY": ["49152 3 3", "49152 3 3 AQID", "0 3 3", "NOKEY 3 3", "0 TLS 3 AQ==",
            "0 DNSSEC RSA AQ==", "ZONE 3 3 AQID", "0 ALL 3 AQID"],
    "IPSECKEY": [f"10 {t} {a} {g} {k}".strip() for t, g in (
        (0, "."), (0, "a."), (0, "192.0.2.1"), (1, "192.0.2.1"), (1, "."),
        (1, "::1"), (2, "::1"), (2, "192.0.2.1"), (3, "a."), (3, "."),
        (3, "a"), (4, "."), (255, "."))
        for a in (0, 1, 2, 3, 255, 256) for k in ("", "AQID", "AQ", "A QID")],
    "AMTRELAY": [f"10 {d} {t} {g}" for d in (0, 1, 2) for t, g in (
        (0, "."), (0, "a."), (1, "192.0.2.1"), (1, "."), (2, "::1"),
        (3, "a."), (3, "."), (4, "."), (127, "."), (128, "."))]
    + ["10 0 4 \\# 1 00", "10 0 0", "256 0 0 ."],
    "HIP": ["2 00 AQID", "2 00 AQID a. b.", "2 0 AQID", "2 00", "0 00 AQID",
            "2 200100107B1A74DF365639CC39F1D578 AQ ID", "2 00 A QID",
            "256 00 AQID", "2 - AQID", "2 00 AQI"],
    "LOC": [f"{where} {rest}" for where in (
        "0 N 0 E", "90 N 180 E", "90 0 0.001 N 0 E", "91 N 0 E", "0 N 180 0 1 E",
        "0 N 181 E", "0 60 N 0 E", "0 0 60 N 0 E", "0 0 59.999 N 0 E",
        "0 0 0.0001 N 0 E", "0 n 0 e", "0 0 0 0 N 0 E", "0 0 1. N 0 E",
        "0 0 .5 N 0 E", "0 E 0 N", "-1 N 0 E", "0 N 0")
        for rest in ("0m",)]
    + [f"0 N 0 E {rest}" for rest in (
        "0", "", "0m 1m", "0m 1m 1m", "0m 1m 1m 1m", "0m 1m 1m 1m 1m",
        "-100000m", "-100000.01m", "42849672.95m", "42849672.96m", "0.001m",
        "0.1m", ".5m", "5.m", "0M", "0km", "-0m", "0m 0m", "0m 0.01m",
        "0m 0.001m", "0m 90000000m", "0m 90000000.01m", "0m 99999999m",
        "0m -1m", "0m .5m", "1e3m", "m", "0m 1", "0m 123456m", "+1m")],
    "APL": ["", "1:0.0.0.0/0", "!1:192.0.2.0/24", "1:192.0.2.1/24",
            "1:192.0.2.0/33", "1:192.0.2.0", "1:192.0.2.0/", "1:192.0.2/24",
            "2:::/0", "2:::/128", "2:::/129", "2:::1/64", "3:00/1", "0:/0",
            "!!1:1.2.3.4/32", "1:1.2.3.4/32 2:::1/128", "1:1.2.3.4/032",
            "01:1.2.3.4/32", "1:1.2.3.4/-1", '"1:1.2.3.4/32"', "1:/0"],
    "WKS": ["10.0.0.1 tcp", "10.0.0.1 6 25", "10.0.0.1 tcp smtp",
            "10.0.0.1 TCP SMTP", "10.0.0.1", "10.0.0.1 256 25",
            "10.0.0.1 tcp 65535", "10.0.0.1 tcp 65536", "10.0.0.1 tcp xx",
            "10.0.0.1 xx 25", "10.0.0.1 udp 53 53", "10.0.0.1 icmp",
            "10.0.0.1 tcp http https ssh domain", "10.0.0.1 0 0"],
    "NXT": ["a. A", "a. A NXT", "a.", "a. TYPE0", "a. TYPE127", "a. TYPE128",
            "a. XX", "a. A MX RRSIG"],
    "GPOS": ["1 2 3", '"1" "2" "3"', "-90 -180 0", "91 0 0", "0 181 0",
             "0 0 x", '"" "" ""', "1 2", "1 2 3 4", "1.5 .5 5.", "+1 +2 +3"],
    "NSAP": ["0x47", "0x4.7", "0x", "0x4", "47", "0X47", "0x47.", "0x.47",
             "0x47..00", "0x47 00", '"0x47"', "0xgg"],
    "NSAP-PTR": ["a.", "a", ".", "a b", '"a"'],
    "EUI48": ["00-00-5E-00-53-2A", "00:00:5e:00:53:2a", "00005e00532a",
              "0-0-5e-0-53-2a", "00-00-5e-00-53", "00-00-5e-00-53-2a-00",
              "00-00-5e-00-53-2g", '"00-00-5e-00-53-2a"', ""],
    "EUI64": ["00-00-5E-EF-10-00-00-2A", "00:00:5e:ef:10:00:00:2a",
              "00005eef1000002a", "00-00-5e-ef-10-00-00", ""],
    "NID": ["10 0014:4fff:ff20:ee64", "10 14:4FFF:ff20:ee64", "10 1:2:3",
            "10 1::4", "10 00014:4fff:ff20:ee64", "10 1:2:3:4:5",
            "10 0014-4fff-ff20-ee64", "10 00144fffff20ee64"],
    "L64": ["10 2001:db8:1140:1000", "10 2001:db8::", "10 2001:DB8:0:0"],
    "A6": ["0 ::1", "128 a.", "64 ::1 a.", "128 ::1 a.", "129 ::1 a.",
           "0 ::1 a.", "64 ::1", "1 ::1 a."],
    "URI": ['10 1 ""', "10 1 x", "10 1", '10 1 "a" "b"', '10 1 "\\256"',
            f'10 1 "{"x" * 256}"', "10 1 http://a/;b"],
    "CAA": ['0 issue ""', "0 issue ca.example", "0 issue", '0 issue ";"',
            '128 issue "a"', '1 issue "a"', '0 issue "a" "b"', '0 x ""',
            f'0 issue "{"x" * 256}"', '0 iodef "mailto:a"', "0 issue a;b"],
    "TXT": ["a b c", '"a""b"', '"a" "b"', " ".join(['"x"'] * 300), "\\# 2 0161",
            "\\# 0", "\\# 1 00", "\\# 2 0261", "\\#", "\\# x", '"\\#" 1 00'],
    "NULL": ["\\# 0", "\\# 2 00ff", "00", '""', ""],
    "SVCB": [f"1 . {p}" for p in (
        "", "alpn=h2", 'alpn="h2"', '"alpn=h2"', "alpn", "alpn=", 'alpn=""',
        "alpn=h2,", "alpn=,h2", "alpn=h2,,h3", "alpn=a\\\\b", "alpn=a\\\\,b",
        "alpn=a\\,b", "alpn=h2 alpn=h3", "ALPN=h2", "alpn =h2", "alpn=h\\050",
        "alpn=" + "a" * 255, "alpn=" + "a" * 256,
        "no-default-alpn", "no-default-alpn=", 'no-default-alpn=""',
        "no-default-alpn=x", "alpn=h2 no-default-alpn",
        "no-default-alpn alpn=h2", "port=0", "port=65535", "port=65536",
        "port=-1", "port", "port=", "port=53,54", "port=053", "port=5\\051",
        'port="53"', "port=+53", "ipv4hint=192.0.2.1", "ipv4hint",
        "ipv4hint=", "ipv4hint=192.0.2.1,192.0.2.2", "ipv4hint=192.0.2.1,",
        "ipv4hint=::1", "ipv4hint=192.0.2", "ipv6hint=::1", "ipv6hint=::1,::2",
        "ipv6hint=192.0.2.1", "ipv6hint=::ffff:1.2.3.4", "ipv6hint",
        "ech=AEX+DQBB", "ech", "ech=", 'ech=""', "ech=A", "ech=!!",
        "mandatory=alpn alpn=h2", "mandatory=alpn", "mandatory", "mandatory=",
        "mandatory=mandatory", "mandatory=alpn,alpn alpn=h2",
        "mandatory=port,alpn alpn=h2 port=1", "mandatory=key1 alpn=h2",
        "mandatory=key65000 key65000=x", "mandatory=alpn,key65000 alpn=h2",
        "mandatory=no-default-alpn,alpn alpn=h2 no-default-alpn",
        "mandatory=xx alpn=h2", "dohpath=/q{?dns}", "dohpath=/q", "dohpath",
        "dohpath=", "dohpath=q{?dns}", "dohpath=/q{?dns} alpn=h2",
        "key0=x", "key1=x", "key1=\\002h2", "key2", "key2=x", "key3=x",
        "key3=\\000\\053", "key4=x", "key5=x", "key6=x", "key7=x", "key8",
        "key9=x", "key10=x", "key01=x", "key65534=x", "key65535=x",
        "key65536=x", "key667=", "key667", "key667=x,y", 'key667="x y"',
        "key667=\\256", "key=x", "keyx=x", "key-1=x", "KEY667=x",
        "key667=x key667=y", "key668=x key667=y", "xx=y", "xx", "=", "=x",
        'key667="x"y', "key667=x\\=y", "ohttp", "ohttp=", "ohttp=x")]
    + ["0 .", "0 a.", "0 a. alpn=h2", "0 . port=53", "1", "65536 .",
       "1 a. port=1", "1 a", "1 @", '1 "a."'],
    "HTTPS": ["1 . alpn=h2 ipv4hint=192.0.2.1 ech=AEX+DQBB", "0 .",
              "0 a. alpn=h2", "1 . no-default-alpn", "1 ."],
    "NAPTR": ['100 10 "U" "E2U+sip" "!^.*$!sip:a@b!" .', '1 1 "" "" "" .',
              '1 1 "U" "x" "!a!b!" a.', '1 1 "S" "x" "" a.',
              '1 1 "US" "x" "" .', '1 1 "1" "x" "" .', '1 1 "u" "x" "a" .',
              '1 1 "U" "x" "!(!b!" .', '1 1 "U" "x" "!a!\\\\9!" .',
              '1 1 U x !a!b!i .', '1 1 "!" "x" "" .'],
    "SOA": ["a. b. 1 2 3 4", "a. b. 1 2 3 4 5 6", ". . 0 0 0 0 0",
            "a. b. 4294967295 4294967295 4294967295 4294967295 4294967295",
            "a. b. 1 1h 1h 1h 1h", "a. b. 1h 2 3 4 5",
            "a. b. 2024.1 2 3 4 5", 'a. "b." 1 2 3 4 5',
            "a. b@c. 1 2 3 4 5", "a. b. 1 2147483648 3 4 5"],
    "TYPE65280": ["\\# 0", "\\# 1 00", "\\# 1 0", "\\# 2 00", "\\# 1 0000",
                  "\\# 1 0 0", "\\# 01 00", "\\# 4 00 01 0203", "00", "",
                  '\\# "1" 00', "\\# 1 0x00", "\\# 65535", "\\# -1"],
    # reserved for questions, but without a meaning yet
    "TYPE129": ["\\# 1 00", "\\# 0"], "TYPE248": ["\\# 1 00"],
    "TYPE1": ["192.0.2.1", "\\# 4 C0000201", "\\# 3 C00002", "\\# 5 C000020100"],
    "A": ["\\# 4 C0000201", "\\# 3 C00002", "\\# 5 C000020100", "\\# 0",
          "192.0.2.1 192.0.2.2"],
    "NS": ["\\# 1 00", "\\# 2 0161", "\\# 3 016100", "\\# 2 c000"],
    "MX": ["\\# 3 000a00", "\\# 2 000a", "10", "a.", "10 a. b.", "a. 10"],
    "RRSIG": ["A 13 2 60 20300101000000 20290101000000 1 . AQID",
              "A 13 2 60 20290101000000 20300101000000 1 a. AQID",
              "A 13 255 60 20300101000000 20290101000000 1 a. AQID"],
    "CERT": ["PKIX 1 0 AQID", "1 1 1 AQ", "PGP 0 0 AQ ID", "SPKI 1 13"],
    "X25": ["311061700956", '"3110"', "31", "x"],
    "ISDN": ["150862028003217 004", "150862028003217", '"x" "y"', "1 2 3", ""],
    "OPENPGPKEY": ["AQ ID", ""],
    "CSYNC": ["1 0 A NS", "1 3 ", "1 65535 A", "66 3 A NS AAAA"],
    "DSYNC": ["CDS NOTIFY 5359 a.", "CDS 1 5359 a.", "CDS notify 53 a.",
              "CDS 256 1 a."],
    "IPN": ["1", "18446744073709551615", "18446744073709551616"],
    "CLA": ["a", '"a" "b"', ""],
    "WALLET": ["a", '"a" "b"', ""],
    "HHIT": ["AQID", "", "AQ"],
    "BRID": ["AQID", "", "AQ"],
    "UINFO": ["a", "\\# 1 00"], "UID": ["1"], "GID": ["1"],
    "UNSPEC": ["a", "\\# 1 00"],
    "ATMA": ["+1", "39.24", "39", "+", "x"],
}


# Octets of sound layout that break a rule.
for _type, _octets in (
        ("DNSKEY", "0100030d"), ("CDS", "00000000"), ("CDNSKEY", "00000300"),
        ("DS", "00010802"), ("DS", "0001080200"), ("DS", "00010801" + SHA256),
        ("LOC", "01020304"), ("LOC", "01121613800000008000000000989680"),
        ("LOC", "00fa1613800000008000000000989680"), ("APL", "0003010100"),
        ("APL", "00000000"), ("APL", "0001210100"), ("TLSA", "030101"),
        ("SSHFP", "0101"), ("SSHFP", "010100"), ("NSEC", "00"),
        ("NSEC3", "010000000000"), ("ZONEMD", "000000010101"), ("TXT", ""),
        ("CERT", "0001000000"), ("CAA", "0000"), ("SVCB", "00010000030000"),
        ("WKS", "0a0000010600"), ("NSAP", ""), ("NXT", "00"),
        ("IPSECKEY", "0a0402"), ("OPENPGPKEY", ""), ("DHCID", ""),
        ("RRSIG", "000108020000003c70db88006b49d200000100")):
    MORE.setdefault(_type, []).append(f"\\# {len(_octets) // 2} {_octets}")


def make_cases():
    """{type: [RDATA]}, in a fixed order and each once."""
    cases = {}
    for rrtype, fields in TYPES.items():
        fields = fields.split()
        good = [KINDS[f][0] if f in KINDS else f for f in fields]
        made = [" ".join(good), " ".join(good) + " x",
                " ".join(good[:-1]), ""]
        for i, field in enumerate(fields):
            if field in fields[:i]:
                continue  # one of a kind shows how it is read
            for odd in KINDS.get(field, ("", []))[1]:
                made.append(" ".join(good[:i] + [odd] + good[i + 1:]))
        cases[rrtype] = made
    for rrtype, made in MORE.items():
        cases[rrtype] = cases.get(rrtype, []) + made
    return {rrtype: list(dict.fromkeys(text.strip() for text in made))
            for rrtype, made in cases.items()}


class Checker:
    """A program that checks zone files."""

    name = None
    command = None

    def __init__(self, directory):
        self.path = directory / f"{self.name}.zone"
        assert shutil.which(self.command[0]), \
            f"{self.command[0]} is not installed"

    def run(self, lines):
        """(exit code, what it says)"""
        self.path.write_text("\n".join(lines) + "\n", encoding="latin-1")
        done = subprocess.run(
            [*map(str, self.command), str(self.path)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="latin-1", timeout=120,
            check=False)
        return done.returncode, done.stdout

    def lines(self, rrtype, texts):
        """The zone, and the number of its first line with a case."""
        head = [f"$ORIGIN {ORIGIN}", "$TTL 3600"]
        if rrtype != "SOA":
            head += ["@ SOA ns.example.net. h.example.net. 1 2 3 4 5",
                     "@ NS ns.example.net."]
            owner = "{}"
        else:
            owner = "@"
        return head + [f"{owner.format(f'c{i}x')} IN {rrtype} {text}"
                       for i, text in enumerate(texts)], len(head) + 1

    def loads(self, rrtype, texts):
        """[True for each that it loads]"""
        if rrtype == "SOA":
            return [self.loads_alone(rrtype, text) for text in texts]
        found = []
        for at in range(0, len(texts), A_TIME):
            some = texts[at:at + A_TIME]
            lines, first = self.lines(rrtype, some)
            code, said = self.run(lines)
            bad = self.bad_lines(said)
            good = [i for i in range(len(some)) if first + i not in bad]
            # The other records must load together; if not, one by one.
            kept = [some[i] for i in good]
            if code != 0 and kept and self.run(
                    self.lines(rrtype, kept)[0])[0] != 0:
                good = [i for i in range(len(some))
                        if self.loads_alone(rrtype, some[i])]
            found += [i in good for i in range(len(some))]
        return found

    def loads_alone(self, rrtype, text):
        lines, _ = self.lines(rrtype, [text])
        if rrtype == "SOA":
            lines.append("@ NS ns.example.net.")
        return self.run(lines)[0] == 0

    def bad_lines(self, said):
        return {int(n) for n in re.findall(self.pattern, said)}


class Ours(Checker):
    name = "ours"
    command = [OURS, ORIGIN]
    pattern = r"error: [^:]*:(\d+): "


class Nsd(Checker):
    name = "nsd"
    command = ["/usr/sbin/nsd-checkzone", ORIGIN]
    pattern = r"error: [^:]*:(\d+): "


class Bind(Checker):
    name = "bind"
    command = ["named-checkzone", "-i", "none", "-k", "ignore", "-m", "ignore",
               "-M", "ignore", "-n", "ignore", "-r", "ignore", "-S", "ignore",
               "-T", "ignore", "-W", "ignore", ORIGIN]
    pattern = r"\.zone:(\d+): "


class Knot(Checker):
    name = "knot"
    command = ["kzonecheck", "-v", "-d", "off", "-o", ORIGIN]
    pattern = r"line (\d+)"


PEERS = (Nsd, Bind, Knot)
