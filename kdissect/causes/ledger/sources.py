"""From what one pass gathered to symptoms: one function for each kind."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from kdissect.causes.evidence.exchange_log import LateKey, UnansweredKey
from kdissect.causes.evidence.gathering import Gathering
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.evidence.unread_records import why_unread
from kdissect.causes.ledger.read_again import read_again
from kdissect.causes.ledger.symptom import ADMINISTRATION, ALL_CLIENTS, NOBODY, Symptom, SymptomKind
from kdissect.engine.times import ns_of
from kdissect.history.api_keys import FETCH
from kdissect.model.cause import Packets
from kdissect.schema.protocol_messages import api_name
from kdissect.session.identities import plain_name
from kdissect.session.problem import Reason
from kdissect.stats.by_group.group_links import client_key_of
from kdissect.stats.client import Client, host_of
from kdissect.stats.traffic import Tally
from kdissect.stats.transfers import topic_key

Tallies = Collection[tuple[tuple[str, str, str, str], Tally]]
"""Exchanges by API, client id, host of the client, broker."""
Unanswered = Collection[tuple[UnansweredKey, Seen]]
Late = Collection[tuple[LateKey, Seen]]
Row = dict[str, Any]

# Requests on such a connection are among the unanswered ones.
_SENT_REQUESTS = frozenset({Reason.CLOSED_AT_ONCE, Reason.UNANSWERED})
_WITHOUT_BYTES = _SENT_REQUESTS | {Reason.NO_ANSWER, Reason.PROBE}
# Requests that clients send before they work.
_PRELIMINARY = frozenset(
    {"ApiVersions", "SaslHandshake", "SaslAuthenticate", "Metadata", "FindCoordinator", "DescribeCluster"}
)


def symptoms_of(
    gathering: Gathering,
    unanswered: Unanswered,
    late: Late,
    tallies: Tallies,
    groups: Collection[Row],
    topics: Collection[Row],
    last_ns: int,
    *,
    is_poor: bool = False,
) -> Iterator[Symptom]:
    """Yield all symptoms of a capture whose last packet has the time `last_ns`.

    `groups` and `topics` are as the commands of these names have them. `is_poor`: much is
    missing from the capture.
    """
    work = _Work(tallies, last_ns, is_poor=is_poor)
    yield from _errors(gathering, work)
    yield from _troubles(gathering, work)
    failed = list(_connections(gathering, is_poor=is_poor))
    yield from failed
    yield from _unanswered(unanswered, work, {name for one in failed for name in one.seen.connections})
    yield from _broken(gathering)
    yield from _late(late, tallies, work)
    yield from _refetched(gathering, groups)
    yield from read_again(gathering, groups, topics)


# Requests of producers, consumers and members of groups, besides the preliminary ones.
_WORK_KEYS = frozenset({0, 1, 11, 12, 14, 24, 25, 26, 28, 68, 76, 78, 79, 88})
_ALSO_WORK_KEYS = frozenset(
    {2, 3, 8, 9, 10, 13, 17, 18, 22, 23, 36, 60, 71, 72}
)  # administrators send them, too
_WORK = frozenset(filter(None, map(api_name, _WORK_KEYS)))

_SOON_NS = 1_000_000_000  # before the capture ends
_AGAIN_NS = 3_000_000_000  # clients try again within a second (retry.backoff.max.ms), and brokers take time
_HALF = 0.5  # of the requests with an API
_BUSY = 10  # requests of a client that a broker serves
_PROMPT = frozenset({"Produce", "ListOffsets", "OffsetCommit", "OffsetFetch", "Heartbeat"})


class _Work:
    """Work of each client: requests by API, and the last time that it received a response without error."""

    def __init__(self, tallies: Tallies, last_ns: int, *, is_poor: bool = False) -> None:
        self._is_poor = is_poor
        self._sent: dict[tuple[str, str, str], int] = {}
        self._end_ns = last_ns
        self._last: dict[tuple[str, str], int] = {}
        self._asked: dict[tuple[str, str, str], int] = {}
        self._workers: set[tuple[str, str]] = set()
        self._served: dict[tuple[tuple[str, str], str], int] = {}
        """The last time that a broker sent a client a response, by client and broker."""
        for (api, client_id, host, broker), tally in tallies:
            key = api, client_id, host
            served = (client_id, host), broker
            self._served[served] = max(self._served.get(served, 0), tally.last_ns or 0)
            self._sent[key] = self._sent.get(key, 0) + tally.exchanges
            if api in _WORK:
                self._workers.add(key[1:])
            if tally.exchanges > tally.failed and api in _PRELIMINARY:
                self._asked[key] = max(self._asked.get(key, 0), tally.last_ns or 0)
            elif tally.exchanges > tally.failed:
                last_ns = max(self._last.get(key[1:], 0), tally.last_ns or 0)
                self._last[key[1:]] = last_ns

    def sent(self, client: Client, api_key: int) -> int:
        """Return requests of an API that a client sent to any broker."""
        return self._sent.get((api_name(api_key) or "", client.client_id or "", client.address), 0)

    def administers(self, client: Client, api_key: int) -> bool:
        """Return whether a request is one of an administrator."""
        if api_key in _WORK_KEYS:
            return False
        return api_key not in _ALSO_WORK_KEYS or (client.client_id or "", client.address) not in self._workers

    def goes_on(self, client: Client, api_key: int, seen: Seen) -> bool:
        """Return whether a client still worked after the last occurrence, or found what it asked for."""
        who = client.client_id or "", client.address
        asked_ns = self._asked.get((api_name(api_key) or "", *who), 0)
        if self._is_poor or max(self._last.get(who, 0), asked_ns) > seen.last_ns:
            return True  # in a poor capture the responses may be missing
        is_last = self._end_ns - seen.last_ns < _SOON_NS  # the outcome is unknown
        is_new = self._end_ns - seen.first_ns < _AGAIN_NS
        return is_new or (is_last and seen.times < _HALF * self.sent(client, api_key))

    def is_served(self, client: Client, broker: str, seen: Seen) -> bool:
        """Return whether a broker served others later, if not this client."""
        who = client.client_id or "", client.address
        return any(
            to == broker and by != who and last_ns > seen.last_ns + _SOON_NS
            for (by, to), last_ns in self._served.items()
        )


def _errors(seen: Gathering, work: _Work) -> Iterator[Symptom]:
    log = seen.log
    for key, at in log.errors.items():
        yield Symptom(
            SymptomKind.ERROR, key.scope, key.client, key.broker, at, key.api_key, key.code,
            ADMINISTRATION if work.administers(key.client, key.api_key) else "",
            message=log.messages.peek(key) or "", topic=key.topic, group=key.group, txn=key.txn,
            total=work.sent(key.client, key.api_key), goes_on=work.goes_on(key.client, key.api_key, at),
            cluster=log.cluster(key.scope),
        )  # fmt: skip


def _troubles(seen: Gathering, work: _Work) -> Iterator[Symptom]:
    for key, at in seen.log.troubles.items():
        yield Symptom(
            SymptomKind.TROUBLE, key.scope, key.client, key.broker, at, key.api_key, key.trouble.status,
            message=key.trouble.text, group=key.group, total=work.sent(key.client, key.api_key),
            goes_on=work.goes_on(key.client, key.api_key, at), cluster=seen.log.cluster(key.scope),
        )  # fmt: skip


def _connections(seen: Gathering, *, is_poor: bool) -> Iterator[Symptom]:
    """Yield connections that failed. If a request waited on one, it is a symptom of that request.

    A connection without a byte may have had some that a poor capture lacks.
    """
    found: dict[tuple[str, str, str, str, Reason], tuple[Seen, str]] = {}
    names: dict[tuple[str, str, str, str, Reason], str | None] = {}
    for one in seen.problems:
        info, reason = one.connection, one.problem.reason
        if (reason in _SENT_REQUESTS and info.unanswered) or (is_poor and reason in _WITHOUT_BYTES):
            continue
        host = host_of(info)
        key = info.capture_set, host, info.client_id or "", info.broker_text, reason
        names[key] = info.client_id
        at, _ = found.setdefault(key, (Seen(), one.problem.fact))
        at.add(
            Packets(info.id, -1, f"{info.client_text} > {info.broker_text}", info.start_ns),
            one.problem.age_ns,
        )
    for key, (at, fact) in found.items():
        capture_set, host, _, broker, reason = key
        client = Client(None, names[key], None, host)
        links = [link for of, link in seen.links.of_broker(capture_set, broker) if of.host == host]
        yield Symptom(
            SymptomKind.CONNECTION, capture_set, client, broker, at, detail=str(reason), message=fact,
            total=at.times + sum(link.opened for link in links if link.exchanges),
            goes_on=any(link.exchanges and link.last_ns > at.last_ns for link in links),
        )  # fmt: skip


def _unanswered(unanswered: Unanswered, work: _Work, failed: set[str]) -> Iterator[Symptom]:
    for key, at in unanswered:
        if at.connections <= failed:
            continue
        yield Symptom(
            SymptomKind.UNANSWERED, key.capture_set, key.client, key.broker, at, key.api_key,
            detail=key.closed_by or NOBODY, total=work.sent(key.client, key.api_key),
            goes_on=work.goes_on(key.client, key.api_key, at)
            or (key.api_key not in _WORK_KEYS and work.is_served(key.client, key.broker, at)),
        )  # fmt: skip


def _broken(seen: Gathering) -> Iterator[Symptom]:
    for key, broken in seen.broken.found.items():
        client = Client(None, key.client_id, None, key.host)
        yield Symptom(
            SymptomKind.BROKEN, key.capture_set, client, key.broker, broken.seen, detail=key.code,
            message=f"expected {broken.expected}, seen {broken.saw}", total=broken.left.times,
            goes_on=not broken.left.times,
        )  # fmt: skip


def _late(late: Late, tallies: Tallies, work: _Work) -> Iterator[Symptom]:
    """Late responses; `detail` is empty if the broker served another client meanwhile."""
    waiting: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for key, _ in late:
        client = key.client.client_id or "", key.client.address
        waiting.setdefault((key.capture_set, key.broker), set()).add(client)
    for key, at in late:
        clients = waiting[key.capture_set, key.broker]
        yield Symptom(
            SymptomKind.LATE, key.capture_set, key.client, key.broker, _as_pause(at), key.api_key,
            detail="" if _serves_others(tallies, key.broker, clients, at) else ALL_CLIENTS,
            total=work.sent(key.client, key.api_key), goes_on=work.goes_on(key.client, key.api_key, at),
        )  # fmt: skip


def _as_pause(at: Seen) -> Seen:
    """Late responses one after the other are one pause: it is as long as all of them."""
    found = Seen()
    found.merge(at)
    found.longest_ns = max(at.longest_ns, at.filled_ns[1])
    return found


# A member begins again at the committed offset when its group rebalances: twice if it gives partitions back.
_BEGINNINGS = 2


def _refetched(seen: Gathering, groups: Collection[Row]) -> Iterator[Symptom]:
    began: dict[str, list[int]] = {}
    for row in groups:
        began.setdefault(row["group"], []).extend(ns_of(each["time"]) for each in row["rebalances"])
    for one in seen.groups.positions.stuck():
        info = one.info
        of_client = seen.groups.links.of_client(client_key_of(info, one.client_id))
        rebalances = sum(
            one.first_ns <= time_ns <= one.last_ns for name in of_client for time_ns in began.get(name, ())
        )
        if one.again <= _BEGINNINGS * rebalances:
            continue
        client = Client(None, one.client_id, None, info.client.host)
        topic = topic_key(seen.names, info, one.topic)
        at = Seen()
        what = f"Fetch of partition {one.partition}"
        at.add(Packets(info.id, -1, what, one.first_ns), one.last_ns - one.first_ns)
        at.times, at.last_ns = one.again, one.last_ns
        offset = "" if one.offset is None else f" from offset {one.offset:,}"
        yield Symptom(
            SymptomKind.REFETCHED, info.capture_set, client, info.broker_text, at, FETCH,
            detail=f"partition {one.partition}{offset}",
            message=why_unread(one.sample, is_whole=one.is_whole) if one.sample else "",
            topic=plain_name(topic), total=one.size, goes_on=not one.is_last,
        )  # fmt: skip


def _serves_others(tallies: Tallies, broker: str, clients: set[tuple[str, str]], at: Seen) -> bool:
    """Return whether a client that did not wait was busy with a broker at that time."""
    return any(
        to == broker
        and api in _PROMPT
        and (client_id, host) not in clients
        and tally.exchanges >= _BUSY
        and (tally.first_ns or 0) <= at.last_ns
        and (tally.last_ns or 0) >= at.first_ns
        for (api, client_id, host, to), tally in tallies
    )
