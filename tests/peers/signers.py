"""Zones signed by three real signers with keys of every kind."""
import dataclasses
import subprocess


@dataclasses.dataclass(frozen=True)
class Signing:
    """How a zone is signed. iterations: None for NSEC."""
    tool: str
    algorithm: str
    bits: int = 0
    iterations: int = None
    salt: str = ""  # hexadecimal
    opt_out: bool = False


# Every algorithm that is in use, every signer, and NSEC3 with all that may
# differ: iterations, salt, opt-out.
SIGNINGS = [
    Signing("ldns", "RSASHA256", 1024),
    Signing("ldns", "ECDSAP256SHA256", iterations=0),
    Signing("ldns", "ED25519", iterations=1, salt="aabb", opt_out=True),
    Signing("bind", "RSASHA256", 2048),
    Signing("bind", "RSASHA512", 4096, iterations=0, opt_out=True),
    Signing("bind", "ECDSAP384SHA384", iterations=10,
            salt="00112233445566778899aabbccddeeff"),
    Signing("bind", "ED448", iterations=1, opt_out=True),
    Signing("knot", "ED25519"),
    Signing("knot", "ECDSAP256SHA256", iterations=10, salt="8 octets"),
    Signing("knot", "ED448", iterations=0, opt_out=True),
    Signing("knot", "RSASHA256", 3072, iterations=1),
]


def sign(signing, zone, path, directory):
    """Signs a zone with fresh keys; returns the path of the signed file."""
    signer = {"ldns": _sign_ldns, "bind": _sign_bind, "knot": _sign_knot}
    return signer[signing.tool](signing, zone, path, directory)


def _run(directory, *command):
    return subprocess.run([str(word) for word in command], cwd=directory,
                          check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True).stdout


def _sign_ldns(signing, zone, path, directory):
    size = ["-b", signing.bits] if signing.bits else []
    keys = []
    while len(set(keys)) < 2:  # keys are named by their tags, of 16 bits
        keys = [_run(directory, "ldns-keygen", "-a", signing.algorithm,
                     *size, *kind, zone).split()[-1] for kind in ([], ["-k"])]
    options = []
    if signing.iterations is not None:
        options = ["-n", "-t", signing.iterations]
        if signing.salt:
            options += ["-s", signing.salt]
        if signing.opt_out:
            options += ["-p"]
    out = directory / f"{path.name}.signed"
    _run(directory, "ldns-signzone", *options, "-o", zone, "-f", out, path,
         *keys)
    return out


def _sign_bind(signing, zone, path, directory):
    size = ["-b", signing.bits] if signing.bits else []
    for kind in ([], ["-f", "KSK"]):
        _run(directory, "dnssec-keygen", "-q", "-a", signing.algorithm, *size,
             *kind, zone)
    options = []
    if signing.iterations is not None:
        options = ["-3", signing.salt or "-", "-H", signing.iterations]
        if signing.opt_out:
            options += ["-A"]
    out = directory / f"{path.name}.signed"
    _run(directory, "dnssec-signzone", "-q", "-S", "-P", *options, "-o", zone,
         "-f", out, path)
    return out


def _sign_knot(signing, zone, path, directory):
    place = directory / f"{path.name}.knot"
    (place / "kasp").mkdir(parents=True)
    (place / "out").mkdir()
    lines = ["server:", f'    rundir: "{place}"',
             "database:", f'    storage: "{place}/kasp"',
             "policy:", "  - id: policy",
             f"    algorithm: {signing.algorithm}"]
    if signing.bits:
        lines += [f"    ksk-size: {signing.bits}",
                  f"    zsk-size: {signing.bits}"]
    if signing.iterations is not None:
        lines += ["    nsec3: on",
                  f"    nsec3-iterations: {signing.iterations}",
                  f"    nsec3-salt-length: {8 if signing.salt else 0}",
                  f"    nsec3-opt-out: {'on' if signing.opt_out else 'off'}"]
    lines += ["zone:", f'  - domain: "{zone}"', f'    file: "{path}"',
              "    dnssec-policy: policy"]
    conf = place / "knot.conf"
    conf.write_text("\n".join(lines) + "\n")
    _run(place, "kzonesign", "-c", conf, "-o", place / "out", zone)
    return next((place / "out").iterdir())
