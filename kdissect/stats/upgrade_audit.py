"""Which clients break on another Kafka release: the API versions they use against those it takes.

A client that asks a broker for its versions (ApiVersions) takes the newest both know. If it used the newest
that its broker offered, it may know newer ones: then the capture cannot show whether it breaks. A client that
used less than it was offered, or never asked, breaks.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Any, NamedTuple

from kdissect.history import api_keys as apis
from kdissect.history.connections.negotiated_versions import Range, VersionFact
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.history import History
from kdissect.history.state_table import Table
from kdissect.schema.acceptance import Fate, Verdict, label, verdict
from kdissect.schema.protocol_messages import api_name
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.stats.client import Client, client_of, is_follower

USES_KEPT = 20_000  # clients times API versions, 500 bytes each; a client uses 20
ADDRESSES_KEPT = 20  # of one client, further ones are counted only
BROKERS_KEPT = 10_000
# Sent by brokers and controllers alone (org.apache.kafka.message.ApiMessageTypeGenerator).
_BETWEEN_BROKERS = frozenset(
    {apis.LEADER_AND_ISR, apis.STOP_REPLICA, apis.UPDATE_METADATA, apis.CONTROLLED_SHUTDOWN,
     apis.WRITE_TXN_MARKERS}
)  # fmt: skip


class Outcome(StrEnum):
    """What the upgrade does to a use."""

    FINE = "fine"
    DEPRECATED = "deprecated"  # works, and a later release drops it
    MAY_BREAK = "may_break"  # limited by the broker it spoke with, perhaps
    BREAKS = "breaks"
    UNKNOWN = "unknown"  # a version that nobody knows


class UseKey(NamedTuple):
    """What makes a row: the client without its address, and what it used."""

    principal: str | None
    client_id: str | None
    software: str | None
    api_key: int
    api_version: int


class ApiUse:
    """How a client used a version. `offered` is the range its broker named, None where that was not seen."""

    __slots__ = ("addresses", "asked", "exchanges", "more_addresses", "offered", "refused")

    def __init__(self) -> None:
        self.exchanges = 0
        self.refused = 0
        """Exchanges that the broker did not answer: what it does with versions it does not know."""
        self.addresses: Counter[str] = Counter()
        self.more_addresses = 0
        self.offered: Range | None = None
        self.asked = False


class UpgradeAudit:
    """Uses by client, API and version."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.uses: Table[UseKey, ApiUse] = Table(USES_KEPT)
        self.exchanges = 0
        self._history = History(only=("versions",))
        self._offered: Table[tuple[str, str], dict[int, Range]] = Table(BROKERS_KEPT)
        self._followers: Table[tuple[str | None, ...], bool] = Table(BROKERS_KEPT)
        """Clients that fetch as brokers do, to replicate."""
        self._fetching: Table[UseKey, bool] = Table(BROKERS_KEPT)
        """Clients that were looked at for that."""
        self._asking: Table[tuple[str | None, str | None, str], bool] = Table(USES_KEPT)

    def add(self, event: Event, counts: bool = True) -> None:
        """Take the analyzer's next event.

        An exchange that does not count still shows which versions clients ask for and brokers offer.
        """
        facts = self._history.add(event)
        if not isinstance(event, Exchange):
            return
        broker = event.connection.capture_set, event.connection.broker_text
        for fact in facts:
            if fact.kind is VersionFact.OFFERED:
                self._offered.put(broker, fact.seen)
        if event.kind is ExchangeKind.KAFKA and event.state is not State.ORPHAN_RESPONSE:
            turn = ExchangeView(event)
            self._learn(turn)
            if counts:
                self._count(turn, self._offered.peek(broker))

    def outcome(self, key: UseKey, use: ApiUse) -> tuple[Outcome, Verdict]:
        """What the target does to a use."""
        found = verdict(key.api_key, key.api_version, self.target)
        if found.fate is Fate.UNKNOWN:
            return Outcome.UNKNOWN, found
        if found.fate is Fate.TAKEN:
            return Outcome.FINE, found
        if found.fate is Fate.DEPRECATED:
            return Outcome.DEPRECATED, found
        if found.fate is Fate.TOO_NEW:  # who asks takes an older one
            return Outcome.FINE if use.asked else Outcome.MAY_BREAK, found
        if key.api_key in _BETWEEN_BROKERS or key[:3] in self._followers:  # brokers are upgraded themselves
            return Outcome.FINE, found
        limited = use.asked and use.offered is not None and key.api_version >= use.offered[1]
        return Outcome.MAY_BREAK if limited else Outcome.BREAKS, found

    def _learn(self, turn: ExchangeView) -> None:
        """Whether a client asks for versions, and whether it fetches as brokers do."""
        client = client_of(turn)
        if turn.key == apis.API_VERSIONS:
            self._asking.put((client.principal, client.client_id, client.address), True)
        if turn.key == apis.FETCH:
            key = UseKey(client.principal, client.client_id, client.software, turn.key, turn.version)
            if key not in self._fetching:  # decodes: once for each is enough
                self._fetching.put(key, True)
                if is_follower(turn):
                    self._followers.put(key[:3], True)

    def _count(self, turn: ExchangeView, offered: dict[int, Range] | None) -> None:
        if turn.exchange.api_key is None or turn.exchange.api_version is None:
            return
        self.exchanges += 1
        client = client_of(turn)
        asking = client.principal, client.client_id, client.address
        key = UseKey(client.principal, client.client_id, client.software, turn.key, turn.version)
        use = self.uses.get_or(key, ApiUse)
        use.exchanges += 1
        use.refused += turn.exchange.state is State.UNANSWERED
        use.asked = use.asked or asking in self._asking or client.software is not None
        if offered is not None and turn.key in offered:
            use.offered = offered[turn.key]
        _address(use, client)


def _address(use: ApiUse, client: Client) -> None:
    if client.address in use.addresses or len(use.addresses) < ADDRESSES_KEPT:
        use.addresses[client.address] += 1
    else:
        use.more_addresses += 1


Facts = dict[str, Any]
_WORST_FIRST = (Outcome.BREAKS, Outcome.MAY_BREAK, Outcome.UNKNOWN, Outcome.DEPRECATED, Outcome.FINE)


def upgrade_facts(audit: UpgradeAudit) -> Facts:
    """The uses, the worst first, and how many there are of each outcome."""
    rows = [_row(audit, key, use) for key, use in audit.uses.items()]
    rows.sort(key=_order)
    counts = Counter(row["outcome"] for row in rows)
    return {
        "target": label(audit.target),
        "exchanges": audit.exchanges,
        "clients": len({(row["principal"], row["client_id"], row["software"]) for row in rows}),
        "outcomes": {str(outcome): counts[str(outcome)] for outcome in _WORST_FIRST},
        "uses": rows,
        "forgotten": audit.uses.forgotten,
    }


def _row(audit: UpgradeAudit, key: UseKey, use: ApiUse) -> Facts:
    outcome, verdict = audit.outcome(key, use)
    return {
        "outcome": str(outcome),
        **key._asdict(),
        "api": api_name(key.api_key),
        "exchanges": use.exchanges,
        "unanswered": use.refused,
        "addresses": sorted(use.addresses),
        "more_addresses": use.more_addresses,
        "asked_for_versions": use.asked,
        "offered": None if use.offered is None else list(use.offered),
        "fate": str(verdict.fate),
        "release": label(verdict.release) if verdict.release else None,
        "target_takes": None if verdict.taken is None else list(verdict.taken),
    }


def _order(row: Facts) -> tuple[Any, ...]:
    client = row["client_id"] or "", row["software"] or "", row["principal"] or ""
    return (_WORST_FIRST.index(Outcome(row["outcome"])), *client, row["api_key"], row["api_version"])
