"""Changes of the zones of tests/soak/server.py, as lines for nsd_update; and
the way back to what the files say."""
import bisect
import os
import re

from dns.dnssec import nsec3_hash

LARGE = "bench."
LARGE_SOA = "ns1.nic.net. hostmaster.nic.net. {} 1800 900 604800 900"
SERIAL = 2025010101  # gen_zone writes it
SLOTS = 2000         # delegations of the large zone that come and go


class Large:
    """One of delegations, with an NSEC3 chain."""

    def __init__(self, path):
        self.path = path
        self.chain, self.names = {}, []
        with open(path) as f:
            for line in f:
                fields = line.split(None, 4)
                if fields[3] == "NSEC3":
                    words = fields[4].split()
                    self.chain[fields[0].split(".")[0]] = words[5:]
                elif fields[3] == "NS" and fields[0] != LARGE:
                    self.names.append(fields[0])
        self.names = sorted(set(self.names))
        self.base = dict(self.chain)
        self.generation = SERIAL
        self.forget()

    def forget(self):
        """The file has been read: all is as it says."""
        self.chain = dict(self.base)
        self.order = sorted(self.chain)
        self.present = {}  # slot: hash in the chain, or None

    def record(self, at):
        hash_ = self.order[at % len(self.order)]
        follower = self.order[(at + 1) % len(self.order)]
        return (f"{hash_}.{LARGE} 900 NSEC3 1 1 0 - {follower} "
                + " ".join(self.chain[hash_]))

    def soa(self):
        self.generation += 1
        return ("remove-rrset @ SOA\nadd @ 3600 SOA "
                + LARGE_SOA.format(self.generation) + "\n")

    def change(self, rng):
        """A delegation more, or one less; or other keys of one."""
        kind = rng.random()
        if kind < 0.2:
            return self.keys(rng)
        return self.toggle(rng.randrange(SLOTS), kind < 0.6, rng)

    def keys(self, rng):
        """The set of names is fixed, so that it can be undone."""
        name = self.names[rng.randrange(100)]
        digest = "%064X" % rng.getrandbits(256)
        return (f"zone {LARGE}\n" + self.soa()
                + f"remove-rrset {name} TXT\nremove-rrset ns.{name} A\n"
                f"add ns.{name} 86400 A 192.0.2.{rng.randrange(256)}\n"
                f"remove-rrset {name} DS\n"
                + "".join(f"add {name} 86400 DS {n} 13 2 {digest}\n"
                          for n in range(rng.randrange(4))) + "send\n")

    def toggle(self, slot, signed, rng):
        owner = f"upd-{slot:04}.{LARGE}"
        text = f"zone {LARGE}\n" + self.soa()
        if slot in self.present:
            text += (f"remove-rrset {owner} NS\nremove-rrset {owner} DS\n"
                     f"remove-rrset ns.{owner} A\n")
            hash_ = self.present.pop(slot)
            if hash_:
                text += self.unlink(hash_)
            return text + "send\n"
        text += (f"add {owner} 86400 NS ns.{owner}\n"
                 f"add {owner} 86400 NS ns1.nic.net.\n"
                 f"add ns.{owner} 86400 A 192.0.2.{rng.randrange(256)}\n")
        self.present[slot] = None
        if signed:
            hash_ = nsec3_hash(owner, "", 0, 1).lower()
            if hash_ not in self.chain:
                text += (f"add {owner} 86400 DS {slot} 13 2 "
                         f"{rng.getrandbits(256):064X}\n" + self.link(hash_))
                self.present[slot] = hash_
        return text + "send\n"

    def link(self, hash_):
        at = bisect.bisect(self.order, hash_)
        text = f"remove {self.record(at - 1)}\n"
        self.chain[hash_] = ["NS", "DS"]
        self.order.insert(at, hash_)
        # The last one precedes the first.
        before = at - 1 if at > 0 else len(self.order) - 1
        return (text + f"add {self.record(before)}\n"
                f"add {self.record(at)}\n")

    def unlink(self, hash_):
        at = bisect.bisect_left(self.order, hash_)
        before = at - 1 if at > 0 else len(self.order) - 1
        text = (f"remove {self.record(before)}\n"
                f"remove {self.record(at)}\n")
        del self.order[at], self.chain[hash_]
        return text + f"add {self.record(at - 1)}\n"

    def touch(self):
        """Writes the file anew, with a record more or less."""
        with open(self.path) as f:
            text = f.read()
        self.generation += 1
        extra = "extra.bench.\t60\tIN\tNS\tns1.nic.net.\n"
        text = text[:-len(extra)] if text.endswith(extra) else text + extra
        write_file(self.path, re.sub(LARGE_SOA.format(r"\d+"),
                                     LARGE_SOA.format(self.generation), text,
                                     count=1))
        self.forget()


class Small:
    """Many zones of some twenty names."""

    def __init__(self, directory, count):
        self.directory = directory
        self.count = count
        self.serial = 1
        self.serials = {}
        self.dirty = set()
        for z in range(count):
            self.write(z)

    def name(self, z):
        return f"z{z:05}.test"

    def path(self, z):
        return f"{self.directory}/{self.name(z)}.zone"

    def text(self, z, extra=""):
        return (f"$TTL 3600\n@ SOA ns host {self.serial} 7200 3600 1209600 "
                "300\n@ NS ns\nns A 192.0.2.53\nwww A 192.0.2.1\n"
                + "".join(f"h{n} A 192.0.2.{n}\nh{n} TXT {z:020}\n"
                          for n in range(8))
                + f"v TXT {0:050}\n" + extra)

    def write(self, z, extra=""):
        self.serial += 1
        self.serials[z] = self.serial
        self.dirty.discard(z)
        write_file(self.path(z), self.text(z, extra))

    def change(self, rng):
        z = rng.randrange(self.count)
        self.dirty.add(z)
        text = f"zone {self.name(z)}.\n" + self.soa()
        kind = rng.random()
        if kind < 0.5:
            text += ("remove-rrset v TXT\nadd v 3600 TXT "
                     + "x" * rng.randrange(1, 250) + "\n")
        elif kind < 0.8:
            n = rng.randrange(8)
            text += f"remove-rrset h{n} ANY\n"
            if rng.random() < 0.6:
                text += f"add h{n} 60 TXT " + "y" * rng.randrange(1, 250) + "\n"
        else:
            n = rng.randrange(4)
            text += f"remove-rrset sub.n{n} ANY\n"
            if rng.random() < 0.5:
                text += f"add sub.n{n} 60 AAAA 2001:db8::{z % 9999}\n"
        return text + "send\n"

    def soa(self):
        self.serial += 1
        return ("remove-rrset @ SOA\nadd @ 3600 SOA ns host "
                f"{self.serial} 7200 3600 1209600 300\n")

    def undo(self, z):
        self.dirty.discard(z)
        return (f"zone {self.name(z)}.\n" + self.soa()
                + "remove-rrset v TXT\n"
                + f"add v 3600 TXT {0:050}\n"
                + "".join(f"remove-rrset h{n} ANY\n"
                          f"add h{n} 3600 A 192.0.2.{n}\n"
                          f"add h{n} 3600 TXT {z:020}\n" for n in range(8))
                + "".join(f"remove-rrset sub.n{n} ANY\n" for n in range(4))
                + "send\n")


def write_file(path, text):
    with open(path + ".new", "w") as f:
        f.write(text)
    os.rename(path + ".new", path)
