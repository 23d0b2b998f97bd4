"""Bytes that the other end cannot read, and which end left after them: from rules of `check`."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.causes.evidence.seen import Seen
from kdissect.history.state_table import Table
from kdissect.model.cause import Packets
from kdissect.model.finding import Claim, Finding, Level, Who
from kdissect.rules.findings import FindingLog, Key
from kdissect.rules.kinds import UndecodableRule
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import Rule
from kdissect.session.info import ConnectionInfo
from kdissect.stats.client import host_of

KEYS_KEPT = 2_000  # 1 KB each
OPEN_KEPT = 2_000  # connections with such bytes that are not over
_SOON_NS = 2_000_000_000  # from the bytes to the close: a client that cannot read an answer closes at once
# Besides bodies that fit no version: sizes, answers that belong to no request or to another one.
_ALSO = frozenset({"FRM001", "PAI001", "PAI002", "PAI003", "VER005"})


def _is_fatal(rule: Rule) -> bool:
    is_must = rule.level is Level.MUST and rule.claim is Claim.MALFORMED
    return is_must and (isinstance(rule, UndecodableRule) or rule.code in _ALSO)


WIRE_RULES = tuple(rule for rule in ALL_RULES if _is_fatal(rule))
"""Rules about bytes that end a connection: whoever gets them cannot go on."""


class BrokenKey(NamedTuple):
    """Bytes that break one rule, of one end, on connections of one client."""

    capture_set: str
    code: str
    name: str
    role: str
    client_id: str | None
    host: str
    broker: str
    api: str | None


class Broken(NamedTuple):
    """The number of faults, and the connections that the other end left right after one (`left`)."""

    seen: Seen
    expected: str
    saw: str
    left: Seen


class BrokenBytes(FindingLog):
    """Takes findings as the judge makes them, and connections as they end (`close`)."""

    def __init__(self) -> None:
        super().__init__()
        self._open: Table[str, list[tuple[Finding, int]]] = Table(OPEN_KEPT)
        self.found: Table[BrokenKey, Broken] = Table(KEYS_KEPT)

    def repeats_after(self, key: Key) -> int | None:
        """Each finding counts."""
        return None

    def add(self, rule: Rule, finding: Finding) -> None:
        """Take a finding. The connection's parties are known when it ends."""
        place = finding.place
        waiting = self._open.get_or(place.connection, list)
        if waiting and waiting[-1][0].code == finding.code:
            waiting[-1] = (waiting[-1][0], waiting[-1][1] + 1)
        elif len(waiting) < len(WIRE_RULES):
            waiting.append((finding, 1))

    def close(self, info: ConnectionInfo) -> None:
        """Count the findings of a connection that is over."""
        host = host_of(info)
        for finding, count in self._open.pop(info.id) or ():
            role, place = finding.party.role, finding.place
            key = BrokenKey(
                info.capture_set, finding.code, finding.name, str(role), info.client_id, host,
                info.broker_text, place.api,
            )  # fmt: skip
            broken = self.found.get(key) or self.found.put(
                key, Broken(Seen(), finding.expected, finding.seen, Seen())
            )
            version = "" if place.api_version is None else f" v{place.api_version}"
            packets = Packets(
                info.id, place.exchange, f"{place.api or 'frame'}{version}", place.time_ns or info.start_ns,
                place.first_ref, place.last_ref,
            )  # fmt: skip
            broken.seen.add(packets)
            broken.seen.times += count - 1
            close = info.close
            other = Who.CLIENT if role is Who.BROKER else Who.BROKER
            is_last = place.exchange < 0 or place.exchange >= info.exchanges - 2  # one more may be on its way
            is_soon = close is not None and close.time_ns - packets.time_ns <= _SOON_NS
            if close is not None and close.by == other and is_soon and is_last:
                broken.left.add(packets)
