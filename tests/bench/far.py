"""Two network namespaces, far from each other: what one sends reaches the other
after half of a round-trip time. By the kernel's netem, or, where it has none,
by tests/bench/delay, which forwards packets between two TUN interfaces."""
import ctypes
import os
import subprocess

CLONE_NEWNET = 0x40000000
SERVER, CLIENT = "10.53.0.1", "10.54.0.1"
# Local addresses of clients: 10.54.0.1, 10.54.1.1, ...
CLIENTS = "10.54.0.0/16"


def run(*command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def has_netem():
    """Whether the kernel has it: tried in a namespace that goes again."""
    return subprocess.run(
        ["unshare", "-n", "tc", "qdisc", "add", "dev", "lo", "root", "netem",
         "delay", "1ms"], stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, check=False).returncode == 0


class Far:
    """Within a with statement this process, and all that it starts, is in the
    namespace of the server, and self.client is the beginning of a command in
    that of clients. round_trip_ms: added to what the way takes anyway."""

    def __init__(self, build, round_trip_ms, cpus="1"):
        self.build = build
        self.usec = round(round_trip_ms * 500)
        self.cpus = cpus
        self.names = [f"nsd-far-{side}-{os.getpid()}" for side in ("s", "c")]
        self.client = ["ip", "netns", "exec", self.names[1]]
        self.by = "netem" if has_netem() else "tests/bench/delay"
        self.forwarder = None
        self.home = None

    def __enter__(self):
        self.home = os.open("/proc/self/ns/net", os.O_RDONLY)
        try:
            for name in self.names:
                run("ip", "netns", "add", name)
            self.connect()
            self.enter(os.open(f"/run/netns/{self.names[0]}", os.O_RDONLY))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.enter(self.home)
        if self.forwarder:
            self.forwarder.terminate()
            self.forwarder.communicate(timeout=30)
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False,
                           stderr=subprocess.DEVNULL)

    def enter(self, fd):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(fd, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        os.close(fd)

    def inside(self, side, *command):
        run("ip", "netns", "exec", self.names[side], *command)

    def connect(self):
        ends = [f"far{side}{os.getpid() % 100000}" for side in range(2)]
        if self.by == "netem":
            run("ip", "link", "add", ends[0], "type", "veth", "peer", "name",
                ends[1])
        else:
            self.forwarder = subprocess.Popen(
                ["taskset", "-c", self.cpus,
                 os.path.join(self.build, "tests/bench/delay"),
                 str(self.usec), *ends], stdout=subprocess.PIPE, text=True)
            if self.forwarder.stdout.readline() != "ready\n":
                raise OSError("delay has not begun")
        for side, end in enumerate(ends):
            run("ip", "link", "set", end, "netns", self.names[side])
            self.inside(side, "ip", "link", "set", "lo", "up")
            self.inside(side, "ip", "address", "add",
                        f"{(SERVER, CLIENT)[side]}/32", "dev", end)
            self.inside(side, "ip", "link", "set", end, "txqueuelen", "20000",
                        "up")
            if self.by == "netem":
                self.inside(side, "tc", "qdisc", "add", "dev", end, "root",
                            "netem", "delay", f"{self.usec}us", "limit",
                            "100000")
        self.inside(0, "ip", "route", "add", CLIENTS, "dev", ends[0])
        self.inside(1, "ip", "route", "add", SERVER, "dev", ends[1])
        # All addresses of the clients' network are local there.
        self.inside(1, "ip", "route", "add", "local", CLIENTS, "dev", "lo")


def listens(kind, conf):
    """A configuration of servers.py that listens on the far address, too."""
    def make(work, port, workers, zones):
        name, text = conf(work, port, workers, zones)
        old, new = {
            "nsd": ("ip-address: 127.0.0.1\n",
                    f"ip-address: 127.0.0.1\n\tip-address: {SERVER}\n"),
            "bind": ("{ 127.0.0.1; }", f"{{ 127.0.0.1; {SERVER}; }}"),
            "knot": (f"listen: 127.0.0.1@{port}",
                     f"listen: [ 127.0.0.1@{port}, {SERVER}@{port} ]"),
            "pdns": ("local-address=127.0.0.1",
                     f"local-address=127.0.0.1, {SERVER}"),
        }[kind]
        if old not in text:
            raise ValueError(f"{kind}: {old} is not in its configuration")
        return name, text.replace(old, new)
    return make
