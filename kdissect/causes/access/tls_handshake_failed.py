"""`tls-handshake-failed`: one end ends the handshake of TLS."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.access.failed_connection import LOOKS, FailedConnection, often
from kdissect.causes.cause import times
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.ledger.symptom import Claim, SymptomKind
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.model.cause import Cost, FoundCause, Packets, Party
from kdissect.session.problem import Reason

_AGAIN = 3  # connections broken off so: one is a client that ends, or looks at the certificate


class TlsHandshakeFailed(FailedConnection):
    """Connections that failed for that reason."""

    id = "tls-handshake-failed"
    title = "The TLS handshake fails"
    reasons = (
        Reason.TLS_REFUSED,
        Reason.CERTIFICATE_NAME,
        Reason.CERTIFICATE_EXPIRED,
    )
    help = (
        "The alert names the reason: unknown_ca and certificate_unknown are about the truststore of that end,"
        " bad_certificate about "
        "the name in the certificate or a missing client certificate, certificate_expired about its dates,"
        " protocol_version about ssl.enabled.protocols."
    )
    cites = ("RFC 8446 section 6.2",)

    claims = (Claim(SymptomKind.CONNECTION, details={str(Reason.CLOSED_AT_ONCE), str(Reason.TLS_LEFT)}),)

    def sentence(self, host: str, end: str, problems: list[ConnectionProblem]) -> str:
        """Return who, and where."""
        return f"{host} cannot connect to {end}: {often(problems)} {problems[0].problem.fact}."

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each host and end, and also failures that TLS 1.3 hides."""
        told = set()
        for found in super().find(seen):
            told |= {(one.kind, one.name) for one in found.parties}
            yield found
        for key, link in seen.gathering.links.items():
            again = link.broken_off
            ended = {name for _, name in again} | {one.connection for one in link.ended}
            if len(again) < _AGAIN or len(ended) < link.opened or ("broker", key.broker) in told:
                continue
            at = Seen()
            for start_ns, connection in again:
                at.add(Packets(connection, -1, f"{key.host} > {key.broker}", start_ns))
            yield self.found(
                f"{key.host} began TLS with {key.broker} {times(len(again))}, and each time that ended before"
                " the client sent a request: one end does not like the other's certificate, it seems.",
                f"whoever connects from {key.host}",
                {Party("host", key.host), Party("broker", key.broker)},
                at,
                Cost(errors=len(again)),
                LOOKS,
                "an alert that says why may be encrypted in TLS 1.3, and probes of the port look the same",
            )
