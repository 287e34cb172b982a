"""Keys and certificates for tests, made with openssl."""
import pathlib
import subprocess

LIMIT = 60


def openssl(*arguments, **more):
    return subprocess.run(["openssl", *map(str, arguments)], check=True,
                          capture_output=True, timeout=LIMIT, **more)


class Authority:
    """Signs certificates, in a directory of its own."""

    def __init__(self, directory, name="authority"):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.cert = self.directory / f"{name}.pem"
        self.key = self.directory / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                "-subj", f"/CN={name}", "-keyout", self.key, "-out",
                self.cert)

    def sign(self, name, domain=None, days=30, key_options=("-nodes",)):
        """Returns the paths of a key and its certificate for a domain."""
        key = self.directory / f"{name}.key"
        request = self.directory / f"{name}.csr"
        cert = self.directory / f"{name}.pem"
        extensions = self.directory / f"{name}.ext"
        domain = domain or name
        extensions.write_text(f"subjectAltName=DNS:{domain}\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                *key_options, "-subj", f"/CN={domain}", "-keyout", key,
                "-out", request)
        # A number of days below 1 makes one that has expired.
        openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey",
                self.key, "-CAcreateserial", "-days", days, "-extfile",
                extensions, "-out", cert)
        key.chmod(0o644)
        return key, cert

    def answer_ocsp(self, name, days=7):
        """Returns the path of an OCSP response for a certificate."""
        out = self.directory / f"{name}.ocsp"
        index = self.directory / "index.txt"
        index.write_text("")
        cert = self.directory / f"{name}.pem"
        request = self.directory / f"{name}.ocspreq"
        openssl("ocsp", "-issuer", self.cert, "-cert", cert, "-reqout",
                request)
        openssl("ocsp", "-index", index, "-rsigner", self.cert, "-rkey",
                self.key, "-CA", self.cert, "-reqin", request, "-respout",
                out, "-ndays", days)
        return out
