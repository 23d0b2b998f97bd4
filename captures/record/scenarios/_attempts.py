"""What the scenarios of connections that come to nothing share: clients with little patience."""

from collections.abc import Mapping

from captures.record import workshop
from captures.record.drivers import Driver
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.pythons import aiokafka, kafka_python, librdkafka

_PATIENCE = {
    "max.block.ms": "2000",
    "delivery.timeout.ms": "2000",
    "request.timeout.ms": "1500",
    "reconnect.backoff.ms": "1000",
    "retry.backoff.ms": "500",
}
# The connections of a client are named by what it tried and by its first letter.
_PYTHONS = {"k": kafka_python, "r": librdkafka, "a": aiokafka}


def java_tries(lab: Lab, what: str, bootstrap: str, properties: Mapping[str, str] | None = None) -> None:
    """One record of the Java producer."""
    lab.run_driver(
        java("4.4.0"), "Impostor", client_id=f"{what}-j", bootstrap=bootstrap, topic="tried", count=1,
        properties=_PATIENCE | dict(properties or {}),
    )  # fmt: skip


def pythons_try(lab: Lab, what: str, bootstrap: str, clients: str = "kra", **options: object) -> None:
    """One record of each Python client that a letter of `clients` names."""
    for letter in clients:
        driver: Driver = _PYTHONS[letter]()
        lab.run_driver(
            driver, "attempt", client_id=f"{what}-{letter}", bootstrap=bootstrap, topic="tried", **options
        )


def openssl_tries(lab: Lab, what: str, address: str, *options: str) -> None:
    """Make a handshake with `openssl s_client`, whose output becomes an event of the truth."""
    openssl = workshop.program("openssl", "make a handshake")
    version = workshop.run([openssl, "version"]).split()[1]
    lab.truth.client("openssl s_client", version, what)
    command = ["timeout", "3", openssl, "s_client", "-connect", address, *options]
    said = workshop.ends([*command, "-verify_return_error"])
    reasons = [line for line in said.splitlines() if "error" in line.lower() or "alert" in line.lower()]
    lab.truth.event({"event": "call", "call": "s_client", "outcome": " | ".join(reasons)[:300]}, what)
