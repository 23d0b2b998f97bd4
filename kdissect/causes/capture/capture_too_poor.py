"""`capture-too-poor`: the capture lacks too much for conclusions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kdissect.causes.cause import Cause
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Packets, Severity
from kdissect.model.wording import plural
from kdissect.report.quantities import byte_count
from kdissect.tls.tls_info import HOLE, NO_HANDSHAKE, NO_KEY_LOG, NO_SERVER_HELLO, is_about_keys

_NOT_CAPTURED = frozenset({HOLE, NO_HANDSHAKE, NO_SERVER_HELLO})
_MUCH = 0.05  # of all bytes, or of frames in all exchanges: the existing part may be misleading


class CaptureTooPoor(Cause):
    """Packets that were lost on the way into the file, frames that were cut, no readable traffic."""

    id = "capture-too-poor"
    title = "The capture lacks too much"
    severity = Severity.WASTES
    help = (
        "Capture again: a larger buffer (tcpdump -B 65536), the whole packets (-s 0), only the port of"
        " Kafka, started before"
        " the clients; TLS with --keylog, or by `kdissect tap`."
    )
    help_with_tls = (
        "Read the plaintext of Java clients and brokers with `kdissect tap`: no key log opens this TLS."
    )
    help_with_start = (
        "Start the capture before the clients, or read the plaintext of Java clients and brokers with"
        " `kdissect tap`: without its handshake no key log opens TLS."
    )
    cites = ("RFC 9293 section 3.8",)

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield the whole capture."""
        facts = seen.gathering.blind.facts()
        links = seen.gathering.links.items()
        (lost, total), cut = seen.lost_bytes, facts["cut_frames"]
        reasons = []
        one_sided, connections = facts["connections_in_one_direction"], seen.gathering.kafka_connections
        if 2 * one_sided > connections:
            share = f"{one_sided} of {plural(connections, 'Kafka connection')}"
            reasons.append(f"{share} captured in one direction only")
        if seen.is_lossy:
            reasons.append(f"{byte_count(lost)} of {byte_count(total + lost)} were not captured")
        if seen.is_cut:
            reasons.append(f"{plural(cut, 'frame')} cut short")
        if facts["opaque_connections"].get("tls") and not seen.gathering.traffic.total.exchanges:
            reasons.append(_encrypted(seen.gathering.blind.tls))
        flaw = seen.gathering.clock.flaw if seen.gathering.traffic.total.exchanges else ""
        if flaw:
            reasons.append(flaw)
        if not reasons:
            return
        at = Seen()
        worst = max(links, key=lambda item: item[1].gap_bytes, default=None)
        at.add(Packets("" if worst is None else worst[1].first_id, -1, "capture", seen.first_ns))
        at.last_ns = seen.last_ns
        exchanges = seen.gathering.traffic.total.exchanges
        is_much = bool(flaw) or not exchanges or lost > _MUCH * (total + lost) or cut > _MUCH * exchanges
        found = self.found(
            f"Much is missing: {'; '.join(reasons)}. This page describes the other causes.",
            "whoever reads this page",
            (),
            at,
            Cost(bytes=lost),
            "info {files}",
        )
        if facts["opaque_connections"].get("tls") and len(reasons) == 1 and not exchanges:
            found = found._replace(help=self._help(seen.gathering.blind.tls))
        yield found._replace(severity=Severity.STOPS) if is_much else found

    def _help(self, reasons: Counter[str]) -> str:
        """Return the help if all traffic was TLS."""
        if not reasons or any(map(is_about_keys, reasons)):
            return self.help
        return self.help_with_start if reasons.keys() <= _NOT_CAPTURED else self.help_with_tls


def _encrypted(reasons: Counter[str]) -> str:
    """Return why all traffic was unreadable TLS."""
    if set(reasons) <= {NO_KEY_LOG}:
        return "all that there is is encrypted, and there are no keys"
    return f"all that there is is encrypted ({', '.join(why for why, _ in reasons.most_common())})"
