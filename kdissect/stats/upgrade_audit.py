"""The clients that break on another Kafka release: the API versions they use against those it takes.

A client cannot do without the APIs of its group, its transactions and its share sessions. If the target lacks
such an API, or has it switched off, the client breaks. A client is expected to do without other APIs.

A client that asks a broker for its versions (ApiVersions) takes the newest both know. If it used the newest
that its broker offered, it may know newer ones, and the capture cannot show whether it breaks. A client that
used a lower version than the offered one, or never asked, breaks.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Any, NamedTuple

from kdissect.engine.passed_blocks import LEFT, PASSED
from kdissect.history import api_keys as apis
from kdissect.history import error_codes as codes
from kdissect.history.connections.negotiated_versions import Range, ranges_of
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.model.native import native
from kdissect.schema.acceptance import Fate, Verdict, is_off, label, verdict
from kdissect.schema.protocol_messages import api_name
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.info import ConnectionInfo
from kdissect.stats.client import Client, client_named, is_follower

USES_KEPT = 20_000  # clients times API versions, 500 bytes each. A client uses 20
ADDRESSES_KEPT = 20  # addresses of one client, while further ones are only counted
BROKERS_KEPT = 10_000
# Sent by brokers and controllers alone (org.apache.kafka.message.ApiMessageTypeGenerator).
_BETWEEN_BROKERS = frozenset(
    {apis.LEADER_AND_ISR, apis.STOP_REPLICA, apis.UPDATE_METADATA, apis.CONTROLLED_SHUTDOWN,
     apis.WRITE_TXN_MARKERS}
)  # fmt: skip

_NEEDED = frozenset(
    {apis.FIND_COORDINATOR, apis.JOIN_GROUP, apis.SYNC_GROUP, apis.HEARTBEAT, apis.CONSUMER_GROUP_HEARTBEAT,
     apis.SHARE_GROUP_HEARTBEAT, apis.SHARE_FETCH, apis.SHARE_ACKNOWLEDGE, apis.STREAMS_GROUP_HEARTBEAT,
     apis.INIT_PRODUCER_ID, apis.ADD_PARTITIONS_TO_TXN, apis.ADD_OFFSETS_TO_TXN, apis.END_TXN,
     apis.TXN_OFFSET_COMMIT}
)  # fmt: skip


class Outcome(StrEnum):
    """Effect of the upgrade on a use."""

    FINE = "fine"
    DEPRECATED = "deprecated"  # works, and a later release drops it
    MAY_BREAK = "may_break"  # limited by the broker it spoke with, perhaps
    BREAKS = "breaks"
    UNKNOWN = "unknown"  # an unknown version


class UseKey(NamedTuple):
    """Key of a row: the client without its address, and the API version."""

    principal: str | None
    client_id: str | None
    software: str | None
    api_key: int
    api_version: int


class ApiUse:
    """Use of a version by a client. `offered` is the range its broker named, None if that was not seen."""

    __slots__ = ("addresses", "asked", "exchanges", "more_addresses", "offered", "refused")

    def __init__(self) -> None:
        self.exchanges = 0
        self.refused = 0
        """Exchanges that the broker did not answer: what it does with versions it does not know."""
        self.addresses: Counter[str] = Counter()
        self.more_addresses = 0
        self.offered: Range | None = None
        self.asked = False

    def has_room_for(self, address: str) -> bool:
        """Return whether an address is new and fits."""
        return address not in self.addresses and len(self.addresses) < ADDRESSES_KEPT

    def come_from(self, address: str, exchanges: int) -> None:
        """Count the address of exchanges."""
        if address in self.addresses or self.has_room_for(address):
            self.addresses[address] += exchanges
        else:
            self.more_addresses += exchanges


Broker = tuple[str, str]
"""Capture set and name."""


class Kind(NamedTuple):
    """Key of exchanges that count for the same row."""

    use: UseKey
    client: Client
    broker: Broker


class UpgradeAudit:
    """Uses by client, API and version."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.uses: Table[UseKey, ApiUse] = Table(USES_KEPT)
        self.exchanges = 0
        self._offered: Table[Broker, dict[int, Range]] = Table(BROKERS_KEPT)
        self._followers: Table[tuple[str | None, ...], bool] = Table(BROKERS_KEPT)
        """Clients that fetch as brokers do, to replicate."""
        self._fetching: Table[UseKey, bool] = Table(BROKERS_KEPT)
        """Clients that were checked for that."""
        self._asking: Table[tuple[str | None, str | None, str], bool] = Table(USES_KEPT)
        self._kinds: list[Kind] = []
        """Counts of the native engine, by number."""
        self._numbers: dict[Kind, int] = {}
        self._counts: native.KindCounts | None = None

    def add(self, event: Event, counts: bool = True) -> None:
        """Take the analyzer's next event.

        An exchange that does not count still shows which versions clients ask for and brokers offer.
        """
        self._catch_up()
        if self._counts is not None:
            self._counts.forget(event.connection)  # its client may log in, or be over
        if not isinstance(event, Exchange) or event.kind is not ExchangeKind.KAFKA:
            return
        if event.state is State.ORPHAN_RESPONSE:
            return
        forgotten, view = self._forgotten, ExchangeView(event)
        kind = _kind_of(view.info, event.client_id, view.key, view.version)
        self._learn(view, kind)
        if counts and event.api_key is not None and event.api_version is not None:
            self._count(kind, 1).refused += event.state is State.UNANSWERED
        if self._counts is not None and self._forgotten != forgotten:
            self._counts.forget_all()

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Take exchanges of a block that all count, from `start`. Return the next one that is for `add`."""
        if self._counts is None:
            self._counts = native.KindCounts(self._number_of)
        return self._counts.count(block, start)

    def finish(self) -> None:
        """End the input."""
        self._catch_up()

    def _number_of(self, info: ConnectionInfo, api_key: int, version: int, client_id: str | None) -> int:
        """Return the kind of an exchange. A new use, ApiVersions, and the first Fetch are for `add`."""
        if info.same_as is not None:
            return PASSED
        if api_key == apis.API_VERSIONS:  # it shows what the broker offers
            return LEFT
        kind = _kind_of(info, client_id, api_key, version)
        use = self.uses.peek(kind.use)
        if use is None or use.has_room_for(kind.client.address):
            return LEFT
        if api_key == apis.FETCH and kind.use not in self._fetching:
            return LEFT
        number = self._numbers.setdefault(kind, len(self._kinds))
        if number == len(self._kinds):
            self._kinds.append(kind)
        return number

    def _catch_up(self) -> None:
        if self._counts is None:
            return
        for number, exchanges in self._counts.take():
            self._count(self._kinds[number], exchanges)
        if len(self._kinds) > USES_KEPT:
            self._counts.forget_all()
            self._kinds.clear()
            self._numbers.clear()

    @property
    def _forgotten(self) -> int:
        return self.uses.forgotten + self._fetching.forgotten

    def outcome(self, key: UseKey, use: ApiUse) -> tuple[Outcome, Verdict]:
        """Return the effect of the target on a use."""
        found = verdict(key.api_key, key.api_version, self.target)
        if found.fate is Fate.UNKNOWN:
            return Outcome.UNKNOWN, found
        if key.api_key in _NEEDED and (found.taken is None or is_off(key.api_key, self.target)):
            return Outcome.BREAKS, found
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

    def _learn(self, view: ExchangeView, kind: Kind) -> None:
        """Learn a broker's offer, whether a client asks for it, and whether it fetches as brokers do."""
        key, client = kind.use, kind.client
        if view.key == apis.API_VERSIONS:
            self._asking.put((client.principal, client.client_id, client.address), True)
            answer = view.response
            if answer is not None and answer.error_code == codes.NONE:
                self._offered.put(kind.broker, ranges_of(answer))
        # Decodes: once for each is enough.
        if view.key == apis.FETCH and key not in self._fetching:
            self._fetching.put(key, True)
            if is_follower(view):
                self._followers.put(key[:3], True)

    def _count(self, kind: Kind, exchanges: int) -> ApiUse:
        client, offered = kind.client, self._offered.peek(kind.broker)
        use = self.uses.get_or(kind.use, ApiUse)
        self.exchanges += exchanges
        use.exchanges += exchanges
        asking = client.principal, client.client_id, client.address
        use.asked = use.asked or asking in self._asking or client.software is not None
        if offered is not None and kind.use.api_key in offered:
            use.offered = offered[kind.use.api_key]
        use.come_from(client.address, exchanges)
        return use


def _kind_of(info: ConnectionInfo, client_id: str | None, api_key: int, version: int) -> Kind:
    client = client_named(info, client_id)
    use = UseKey(client.principal, client.client_id, client.software, api_key, version)
    return Kind(use, client, (info.capture_set, info.broker_text))


Facts = dict[str, Any]
_WORST_FIRST = (Outcome.BREAKS, Outcome.MAY_BREAK, Outcome.UNKNOWN, Outcome.DEPRECATED, Outcome.FINE)


def upgrade_facts(audit: UpgradeAudit) -> Facts:
    """Return the uses, the worst first, and the number of each outcome."""
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
        "off_by_default": verdict.taken is not None and is_off(key.api_key, audit.target),
        "target_takes": None if verdict.taken is None else list(verdict.taken),
    }


def _order(row: Facts) -> tuple[Any, ...]:
    client = row["client_id"] or "", row["software"] or "", row["principal"] or ""
    return (_WORST_FIRST.index(Outcome(row["outcome"])), *client, row["api_key"], row["api_version"])
