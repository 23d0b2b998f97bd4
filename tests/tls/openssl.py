"""TLS conversations made by OpenSSL in memory: what real peers put on the wire, and the secrets they log."""

import datetime
import ssl
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

CLIENT, SERVER = 0, 1


class Conversation(NamedTuple):
    """Bytes in the order in which they were sent: (direction, ciphertext); the plaintext by direction."""

    wire: list[tuple[int, bytes]]
    said: tuple[bytes, bytes]
    key_log: bytes
    suite: str


def certificate(folder: Path, name: str, kind: str = "rsa", days: int = 36500) -> Path:
    """Return a self-signed certificate with its key, which is valid for so many days of 2026."""
    key = rsa.generate_private_key(65537, 2048) if kind == "rsa" else ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    start = datetime.datetime(2026, 1, 1)
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{name}-{kind}.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        + built.public_bytes(serialization.Encoding.PEM)
    )
    return path


class Peers:
    """A client and a server that share no secret but what the handshake gives them."""

    def __init__(self, folder: Path, version: ssl.TLSVersion, suite: str = "", kind: str = "rsa") -> None:
        pem = certificate(folder, "broker.test", kind)
        self.log = folder / "keys.log"
        self.server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        for context in (self.server_context, self.client_context):
            context.minimum_version = context.maximum_version = version
            if suite:
                context.set_ciphers(f"{suite}:@SECLEVEL=0")
            context.set_alpn_protocols(["kafka"])
            context.load_verify_locations(pem)
        self.server_context.load_cert_chain(pem)
        self.client_context.keylog_filename = str(self.log)

    def ask_for_certificate(self, folder: Path) -> None:
        """Mutual TLS."""
        pem = certificate(folder, "alice", "ec")
        self.client_context.load_cert_chain(pem)
        self.server_context.load_verify_locations(pem)
        self.server_context.verify_mode = ssl.CERT_REQUIRED

    def talk(self, lines: list[tuple[int, bytes]], session: ssl.SSLSession | None = None) -> Conversation:
        """Shake hands, say the lines, close."""
        self.wire: list[tuple[int, bytes]] = []
        halves = [(ssl.MemoryBIO(), ssl.MemoryBIO()) for _ in range(2)]
        client = self.client_context.wrap_bio(*halves[CLIENT], server_hostname="broker.test", session=session)
        server = self.server_context.wrap_bio(*halves[SERVER], server_side=True)
        ends = (client, server)
        done = [False, False]
        while not all(done):
            for side in (CLIENT, SERVER):
                try:
                    ends[side].do_handshake()
                    done[side] = True
                except ssl.SSLWantReadError:
                    pass
                finally:
                    self._carry(halves, side)
        said = [b"", b""]
        for side, line in lines:
            ends[side].write(line)
            said[side] += line
            self._carry(halves, side)
            heard = b""
            while len(heard) < len(line):
                heard += ends[1 - side].read(1 << 20)
            assert heard == line
        self.session = client.session
        for side in (CLIENT, SERVER):
            with suppress(ssl.SSLWantReadError):
                ends[side].unwrap()
            self._carry(halves, side)
        return Conversation(self.wire, (said[0], said[1]), self.log.read_bytes(), client.cipher()[0])

    def _carry(self, halves: list[tuple[ssl.MemoryBIO, ssl.MemoryBIO]], side: int) -> None:
        data = halves[side][1].read()
        if data:
            self.wire.append((side, data))
            halves[1 - side][0].write(data)
