"""Operations on resources by principal and client, from all exchanges.

The native engine counts exchanges of the APIs that clients use all the time: exchanges with equal names,
errors and API of one client needed the same. Python reads the first one of each group, and all exchanges of
other APIs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any, NamedTuple

from kdissect.decoders.body_schemas import CACHE_SIZE, body_message, known_body
from kdissect.decoders.generated.native_plan import named_layout
from kdissect.decoders.generated.summary import Summary
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames, tells_names
from kdissect.model.native import is_compiled, native
from kdissect.schema.protocol_messages import api_name
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.info import ConnectionInfo, KnownIdentities
from kdissect.sketches.distribution import bin_multiplier
from kdissect.stats.by_access.known_acls import DESCRIBE_ACLS, KnownAcls
from kdissect.stats.by_access.operations import Alternative, needs_of
from kdissect.stats.by_access.requester import Requester, TokenLogins, requester_of
from kdissect.stats.by_access.requirements import (
    ERRORS_OF_ONE,
    Access,
    Outcome,
    accesses_of,
    may_lack_topics,
    missing_topics,
)
from kdissect.stats.counted_blocks import kind_row
from kdissect.stats.denials import TOPIC, Name
from kdissect.stats.watermarks import PARTITIONS_KEPT

ROWS_KEPT = 20_000  # requesters times operations and resources, 1 KB each. Later ones count as forgotten
_GROUPS_KEPT = 10_000  # of exchanges that the native engine distinguishes, until it begins again
_PLACES_KEPT = 10_000  # requesters with a number
_MISSING_KEPT = 10_000  # topics that were asked for and not there
EVERY_PART = (True, True, True, True, False, True, True)
"""Kind, client id, state, errors, not the day, topics, other names."""
# APIs whose needs are in names, errors and version alone, and which clients and brokers use all the time.
# Python reads all exchanges of other APIs: their needs are in numbers and flags, too.
_BY_NAMES = frozenset({
    apis.PRODUCE, apis.FETCH, apis.LIST_OFFSETS, apis.OFFSET_COMMIT, apis.OFFSET_FETCH, apis.JOIN_GROUP,
    apis.SYNC_GROUP, apis.HEARTBEAT, apis.LEAVE_GROUP, apis.ADD_PARTITIONS_TO_TXN, apis.ADD_OFFSETS_TO_TXN,
    apis.END_TXN, apis.TXN_OFFSET_COMMIT, apis.CONSUMER_GROUP_HEARTBEAT, apis.SHARE_GROUP_HEARTBEAT,
    apis.SHARE_FETCH, apis.SHARE_ACKNOWLEDGE,
})  # fmt: skip


class AccessKey(NamedTuple):
    """Accesses that count together."""

    who: Requester
    operation: str
    resource: str
    name: Name


class Uses:
    """Equal accesses: how many exchanges, with which outcome, by API, and when."""

    __slots__ = ("alternatives", "apis", "first_ns", "info", "last_ns", "outcomes")

    def __init__(self, info: ConnectionInfo, alternatives: tuple[Alternative, ...]) -> None:
        self.info = info
        """A connection to the cluster of the resource."""
        self.alternatives = alternatives
        self.outcomes: Counter[Outcome] = Counter()
        self.apis: Counter[str] = Counter()
        self.first_ns: int | None = None
        self.last_ns: int | None = None

    def add(self, outcome: Outcome, api: str, count: int, times_ns: Iterable[int]) -> None:
        """Count exchanges."""
        self.outcomes[outcome] += count
        self.apis[api] += count
        for time_ns in times_ns:
            self.first_ns = time_ns if self.first_ns is None else min(self.first_ns, time_ns)
            self.last_ns = time_ns if self.last_ns is None else max(self.last_ns, time_ns)

    def merge(self, other: Uses) -> None:
        """Count what another one counted."""
        for outcome, count in other.outcomes.items():
            self.outcomes[outcome] += count
        self.apis.update(other.apis)
        for time_ns in (other.first_ns, other.last_ns):
            if time_ns is not None:
                self.first_ns = time_ns if self.first_ns is None else min(self.first_ns, time_ns)
                self.last_ns = time_ns if self.last_ns is None else max(self.last_ns, time_ns)


class AccessTraffic:
    """Collector of accesses: pass every event to `add`, then `finish`.

    `uses` has the counts after `catch_up`. Topics may have ids in the place of names: `rows` has names.
    """

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self.uses: dict[AccessKey, Uses] = {}
        self.forgotten = 0
        """Exchanges whose accesses did not fit."""
        self.acls = KnownAcls()
        """The ACLs that responses of brokers list."""
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self._tokens = TokenLogins()
        self._missing: Table[tuple[str, str], tuple[Requester, ConnectionInfo, int]] = Table(_MISSING_KEPT)
        """Topics that were not there for a client that allows their creation, and when it first asked."""
        self._identities: KnownIdentities | None = None
        self._groups = _Groups(self) if is_compiled else None

    def add(self, event: Event, wanted: bool = True) -> None:
        """Take the analyzer's next event. Only wanted exchanges count."""
        if not isinstance(event, Exchange):
            return
        self._names.pass_by(event)
        if event.api_key in (apis.SASL_HANDSHAKE, apis.SASL_AUTHENTICATE) or event.api_key is None:
            self._tokens.see(event)
        if event.kind is not ExchangeKind.KAFKA or event.state is State.ORPHAN_RESPONSE:
            return
        view = ExchangeView(event)
        if not self.acls.learn(view) and not needs_of(view.key):
            return
        if wanted:
            self._count(view)

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Count exchanges of a block from `start`. Return the next one that is for `add`."""
        return start if self._groups is None else self._groups.count(block, start)

    def catch_up(self) -> None:
        """Add what the native engine counted."""
        if self._groups is not None:
            self._groups.take()

    def finish(self) -> None:
        """End the input."""
        self.catch_up()

    def requester(self, info: ConnectionInfo, client_id: str | None) -> Requester:
        """Return who sends with a client id on a connection."""
        return requester_of(info, client_id, self._tokens)

    def count(
        self,
        who: Requester,
        info: ConnectionInfo,
        api: str,
        access: Access,
        number: int,
        times: Iterable[int],
    ) -> None:
        """Count exchanges that needed an access."""
        key = AccessKey(who, access.operation, access.resource, access.name)
        found = self.uses.get(key)
        if found is None:
            if len(self.uses) >= ROWS_KEPT:
                self.forgotten += number
                return
            self._identities = info.identities or self._identities
            found = self.uses[key] = Uses(info, access.alternatives)
        found.add(access.outcome, api, number, times)

    def note_time(self, *times_ns: int) -> None:
        """Note the time of requests that count."""
        for time_ns in times_ns:
            self.first_ns = time_ns if self.first_ns is None else min(self.first_ns, time_ns)
            self.last_ns = time_ns if self.last_ns is None else max(self.last_ns, time_ns)

    def rows(self) -> dict[AccessKey, Uses]:
        """Return the accesses with names of topics, as far as they are known."""
        self.catch_up()
        found: dict[AccessKey, Uses] = {}
        for key, uses in self.uses.items():
            name = key.name
            if isinstance(name, bytes):
                name = self._names.name(uses.info, name) or name
            named = key._replace(name=name, who=key.who._replace(scope=self.apart(key.who.scope)))
            held = found.setdefault(named, Uses(uses.info, uses.alternatives))
            held.merge(uses)
        return found

    def apart(self, scope: str) -> str:
        """Return the present cluster of a scope, or an empty text if no other cluster was captured."""
        return "" if self._identities is None else self._identities.apart(scope)

    def _count(self, view: ExchangeView) -> None:
        info, client_id = view.info, view.exchange.client_id
        who, api = self.requester(info, client_id), api_name(view.key) or str(view.key)
        accesses = accesses_of(view)
        if accesses:
            self.note_time(view.sent_ns)
        for access in accesses:
            self.count(who, info, api, access, 1, (view.sent_ns,))
        if view.key == apis.METADATA:
            if len(self._missing) or may_lack_topics(view):  # else the response need not be decoded
                self._note_created(view, who)
        elif view.key == apis.CREATE_TOPICS:
            for access in accesses:
                self._missing.pop((info.scope, str(access.name)))

    def _note_created(self, view: ExchangeView, who: Requester) -> None:
        """Count the creation of a topic by the client that asked for it, once it is there.

        A CreateTopics in between is the reason instead.
        """
        missing, there = missing_topics(view)
        for name in missing:
            if (view.info.scope, name) not in self._missing:
                self._missing.put((view.info.scope, name), (who, view.info, view.sent_ns))
        for name in there:
            asked = self._missing.pop((view.info.scope, name))
            if asked is not None:
                access = Access(
                    "Create", TOPIC, name, Outcome.ALLOWED, (Alternative("Create", "Cluster", False),)
                )
                self.count(asked[0], asked[1], "Metadata", access, 1, (asked[2],))


class _Counted(NamedTuple):
    """Exchanges that needed the same."""

    who: Requester
    info: ConnectionInfo
    api: str
    accesses: tuple[Access, ...]


class _Groups:
    """Groups of exchanges that the native engine distinguishes and counts."""

    def __init__(self, traffic: AccessTraffic) -> None:
        self._traffic = traffic
        self._changes = 0
        self._begin()

    def _begin(self) -> None:
        self._counted: list[_Counted] = []
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._places: dict[tuple[object, ...], int] = {}
        self._counter = native.TrafficCounter(
            [EVERY_PART], _kind_of, self._place_of, self._tallies_of, lambda: self._changes, _ignore,
            native.Watermarks(PARTITIONS_KEPT), bin_multiplier(), False, [], 0, False, None, None,
        )  # fmt: skip

    def count(self, block: native.ExchangeBlock, start: int) -> int:
        """Count exchanges from `start`. Return the next one that Python reads, or the block's length."""
        if len(self._counted) >= _GROUPS_KEPT:
            self.take()
            self._begin()
        return self._counter.count(block, start)

    def take(self) -> None:
        """Hand over what was counted since the last time."""
        for number, of in enumerate(self._counted):
            counted, _ = self._counter.take_tally(number)
            if counted is None:
                continue
            (complete, silent), _, times_ns, _, _ = counted
            times = times_ns or ()
            if of.accesses:
                self._traffic.note_time(*times)
            for access in of.accesses:
                self._traffic.count(of.who, of.info, of.api, access, complete + silent, times)

    def _place_of(self, info: ConnectionInfo) -> tuple[str, list[int]] | None:
        if info.same_as is not None:
            return None
        if len(self._places) >= _PLACES_KEPT:
            self._places.clear()
            self._changes += 1
        place = self._traffic.requester(info, None)
        return info.scope, [self._places.setdefault(place, len(self._places))]

    def _tallies_of(self, exchange: Exchange, _way: int) -> tuple[list[int], list[tuple[bool, bytes]]] | None:
        """Return the number of an exchange's group.

        None if a response may refuse one of several resources: each such response has to be read.
        """
        view = ExchangeView(exchange)
        if view.request is None or (exchange.response is not None and view.response is None):
            return None
        accesses = tuple(accesses_of(view))
        if len(accesses) > 1 and not ERRORS_OF_ONE.isdisjoint(exchange.response_summary().errors):
            return None
        who = self._traffic.requester(view.info, exchange.client_id)
        group = _Counted(who, view.info, api_name(view.key) or str(view.key), accesses)
        number = self._numbers.setdefault((who, group.api, accesses), len(self._counted))
        if number == len(self._counted):
            self._counted.append(group)
        return [number], []


def _ignore(*_news: object) -> None:
    """Take that a group has a response or an error for the first time, which is in its key."""


@cache
def _kind_of(api_key: int, version: int) -> tuple[Any, ...] | None:
    """Return how the native engine reads exchanges, or None if Python reads them."""
    if api_key == DESCRIBE_ACLS:
        return None  # its response lists the entries
    needs = needs_of(api_key)
    is_of_cluster = all(need.names == "cluster" and not need.condition for need in needs)
    if tells_names(api_key) or not (is_of_cluster or api_key in _BY_NAMES):
        return None
    row = kind_row(api_key, version, reads_topics=False)
    if row is None or known_body(api_key, version, False) is None:
        return None
    waits, answered, asked, _, foreign = row
    readers = _names_in(api_key, version, False), _names_in(api_key, version, True)
    return waits, answered, asked, readers if needs else None, foreign, None, True


@lru_cache(maxsize=CACHE_SIZE)
def _names_in(api_key: int, version: int, is_response: bool) -> Callable[[bytes, int], Summary]:
    """Return the native summary of a body with the names of all resources."""
    message = body_message(api_key, version, is_response)
    return native.Summaries(named_layout(message, version), Summary, _unread, True).summarize


def _unread(_data: bytes, _offset: int) -> Summary:
    return Summary((), (), (), None, False)
