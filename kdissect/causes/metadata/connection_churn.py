"""`connection-churn`: a client opens connections all the time, each for a moment."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import SECOND_NS, Cause, client_text
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.links import Link
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Packets, Party, Severity
from kdissect.model.wording import plural
from kdissect.report.quantities import rate
from kdissect.stats.client import Client

_LEAST = 20  # connections
_RATE = 1.0  # a second
_SECONDS = 0.5  # in more of them it opens one: a client that starts or joins a group opens many at once
_SHARE = 0.8  # of them lasted a moment


class ConnectionChurn(Cause):
    """Many short connections of one client."""

    id = "connection-churn"
    title = "A client opens connections all the time"
    severity = Severity.WASTES
    help = (
        "Keep one producer or consumer for the life of the process (also in functions and jobs), and see"
        " whether something"
        " ends its connections. reconnect.backoff.ms slows down a client that fails."
    )
    explains = ("metadata-storm",)
    cites = ("org.apache.kafka.clients.CommonClientConfigs#RECONNECT_BACKOFF_MS_CONFIG", "spec/000 Network")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each client, at all brokers."""
        found: dict[tuple[str | None, str], list[tuple[str, Link]]] = {}
        for key, link in seen.gathering.links.items():
            found.setdefault((key.client_id, key.host), []).append((key.broker, link))
        for (client_id, host), links in found.items():
            opened = sum(link.opened for _, link in links)
            short = sum(link.short for _, link in links)
            starts = sorted(start for _, link in links for start in link.starts)
            if opened < _LEAST or short < _SHARE * opened:
                continue
            span_ns = starts[-1][0] - starts[0][0]
            if opened * SECOND_NS < _RATE * span_ns or not _goes_on([start for start, _ in starts]):
                continue
            client = Client(None, client_id, None, host)
            at = Seen()
            for start_ns, connection in starts[:3]:
                at.add(Packets(connection, -1, f"connection of {host}", start_ns))
            at.times, at.last_ns = opened, starts[-1][0]
            exchanges = sum(link.exchanges for _, link in links)
            # Without decrypted requests their number is not known.
            asked = f", for {plural(exchanges, 'request', spec=',')} in all" if exchanges else ""
            churn = self.found(
                f"{client_text(client)} opened {plural(opened, 'connection', spec=',')},"
                f" {rate(opened, span_ns)}{asked}: every one begins with handshakes, versions and metadata.",
                client_text(client),
                parties_of([client]) | {Party("broker", broker) for broker, _ in links},
                at,
                Cost(retries=opened),
                "connections {files}",
            )
            yield churn._replace(moments=tuple(start for start, _ in starts))


def _goes_on(starts: list[int]) -> bool:
    """Return whether connections begin all the time, and not in bursts."""
    seconds = {(start - starts[0]) // SECOND_NS for start in starts}
    return len(seconds) > _SECONDS * (max(seconds) + 1)
