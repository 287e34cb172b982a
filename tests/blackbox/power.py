"""A disk that loses power: made of what a server has done to its files, as
tests/lib/nsd_written.c writes it down.

What a file holds is certain once it is flushed. Of later writes some may be lost:
each sector is as it was at some time since, whatever the others are. What names
there are in a folder is certain once the folder is flushed; later changes may be
lost from any of them on: file systems keep their order.
"""
import struct

HEAD = struct.Struct("=cHQI")
PAGE = 4096
SECTOR = 512
ZEROS = bytes(PAGE)


def operations(octets):
    """(kind, path, offset, data, where it ends), in their order."""
    at = 0
    while at < len(octets):
        kind, path_len, offset, size = HEAD.unpack_from(octets, at)
        at += HEAD.size
        path = octets[at:at + path_len].decode()
        data = octets[at + path_len:at + path_len + size]
        at += path_len + size
        yield kind, path, offset, data, at


class Octets:
    """The octets of a file, in pages: holes cost nothing, and a copy
    little."""

    def __init__(self, pages=(), size=0):
        self.pages = dict(pages)
        self.size = size

    def copy(self):
        return Octets(self.pages, self.size)

    def write(self, offset, data):
        self.size = max(self.size, offset + len(data))
        at = 0
        while at < len(data):
            number, start = divmod(offset + at, PAGE)
            part = data[at:at + PAGE - start]
            page = self.pages.get(number, ZEROS)
            self.pages[number] = (page[:start] + part
                                  + page[start + len(part):])
            at += len(part)

    def cut(self, size):
        number, start = divmod(size, PAGE)
        self.pages = {n: page for n, page in self.pages.items() if n <= number}
        if number in self.pages:
            self.pages[number] = (self.pages[number][:start]
                                  + bytes(PAGE - start))
        self.size = size

    def store(self, path):
        with path.open("wb") as f:
            for number, page in self.pages.items():
                f.seek(number * PAGE)
                f.write(page)
            f.truncate(self.size)


class File:
    def __init__(self):
        self.flushed = Octets()
        self.waiting = []  # writes since

    def flush(self):
        for one in self.waiting:
            self.write(self.flushed, *one)
        self.waiting = []

    @staticmethod
    def write(octets, kind, offset, data):
        if kind == b"T":
            octets.cut(offset)
        else:
            octets.write(offset, data)

    def left(self, chance):
        """The file's contents after a power cut: all, if chance is True; the
        flushed ones, if it is False; or those and some of the rest."""
        octets = self.flushed.copy()
        if chance is True:
            for one in self.waiting:
                self.write(octets, *one)
        elif chance:
            self.write_some(octets, chance)
        return octets

    def write_some(self, octets, chance):
        """Each sector is as it was after some of the writes."""
        usual = chance.randrange(len(self.waiting) + 1)
        counts = {}  # of a sector's writes
        for i, (kind, offset, data) in enumerate(self.waiting):
            if kind == b"T" and i < usual:
                octets.cut(offset)
            for at, part in sectors_of(offset, data):
                count = counts.setdefault(at // SECTOR, chance.choice(
                    (usual, chance.randrange(len(self.waiting) + 1))))
                if i < count:
                    octets.write(at, part)


def sectors_of(offset, data):
    """Parts of the data, and where they lie."""
    at = 0
    while at < len(data):
        part = data[at:at + SECTOR - (offset + at) % SECTOR]
        yield offset + at, part
        at += len(part)


def folder_of(path):
    return path.rpartition("/")[0]


class Disk:
    def __init__(self):
        self.files = {}   # path: file, as the server sees it
        self.names = {}   # path: file, as it surely is
        self.moves = {}   # folder: changes of names since it was flushed

    def do(self, kind, path, offset, data):
        if kind == b"C" and path not in self.files:
            self.files[path] = File()
            self.move(path, (path, self.files[path]))
        elif kind in (b"W", b"T"):
            self.files[path].waiting.append((kind, offset, data))
        elif kind == b"S" and path in self.files:
            self.files[path].flush()
        elif kind == b"S":
            self.rename(self.names, self.moves.pop(path, []))
        elif kind == b"R":
            to = data.decode()
            self.files[to] = self.files.pop(path)
            self.move(path, (path, None), (to, self.files[to]))
        elif kind == b"U" and self.files.pop(path, None) is not None:
            self.move(path, (path, None))

    def move(self, path, *changes):
        self.moves.setdefault(folder_of(path), []).append(changes)

    @staticmethod
    def rename(names, moves):
        for changes in moves:
            for path, file in changes:
                names[path] = file

    def is_certain(self):
        """True if a power cut would lose nothing."""
        return not any(self.moves.values()) and not any(
            file.waiting for file in self.files.values())

    def left(self, chance):
        """{path: octets}, as the next start finds them. chance: as for a
        file."""
        names = dict(self.names)
        for moves in self.moves.values():
            count = (len(moves) if chance is True else 0 if not chance
                     else chance.randrange(len(moves) + 1))
            self.rename(names, moves[:count])
        return {path: file.left(chance) for path, file in names.items()
                if file is not None}
