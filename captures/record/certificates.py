"""Certificates of brokers and of the proxy that ends TLS."""

from pathlib import Path

from captures.record import workshop

_PROXY = "server", "kdissect corpus", "IP:127.0.0.1,DNS:localhost"
NAMED = "named", "kafka-1.example", "DNS:kafka-1.example"
"""A certificate, as `certificate` is told it, that names another address than clients use."""


def certificate(file: str = _PROXY[0], name: str = _PROXY[1], alternatives: str = _PROXY[2]) -> Path:
    """Return a self-signed certificate with its key in one file of the workshop, made by openssl on first
    use.
    """
    target = workshop.folder("tls") / f"{file}.pem"
    if not target.exists():
        openssl = workshop.program("openssl", "make a certificate")
        key, chain = target.with_suffix(".key"), target.with_suffix(".crt")
        names = ["-subj", f"/CN={name}", "-addext", f"subjectAltName={alternatives}"]
        output = ["-keyout", str(key), "-out", str(chain)]
        workshop.run(
            [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", *names, *output]
        )
        target.write_text(key.read_text() + chain.read_text())
    return target


def trust(*which: str) -> Path:
    """Return the certificate alone: what clients trust."""
    return certificate(*which).with_suffix(".crt")
