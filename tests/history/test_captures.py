"""Recorded captures against what their recording knew of itself, and against damage."""

import json
import pickle
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.history.connections.sasl_login import SaslPhase
from kdissect.history.fact import Fact
from kdissect.history.groups.group_payloads import assigned_partitions
from kdissect.history.history import History
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from tests.conftest import CHECKOUT
from tests.history.differences import is_difference
from tests.support.messages.frames import with_data

CAPTURES = CHECKOUT / "captures"
# What clients of Apache Kafka do although no state led to expect it, each with its reason.
EXPECTED = {
    "retried",  # a transaction's batch again after CONCURRENT_TRANSACTIONS (KIP-890)
    "old_epoch",  # scenarios in which a second producer fences the first
    "stale",  # one broker's metadata lags behind another's
    "late",  # share members heartbeat at their own pace
}
# Transactions that a scenario leaves open on purpose and an administrator ends.
ENDED_BY_ADMIN = {
    "kafka44_java_admin": {"open-txn": ["fenced"]},
    "kafka44_hanging_raw": {"forgotten": []},  # of which its coordinator never knew
}
# Words in the names of scenarios whose requests are wrong on purpose.
WRONG_ON_PURPOSE = {"raw", "errors"}
METADATA = 3


def truths(of: str = "", part: str = "") -> list[str]:
    """Return recordings whose truth has `of`, and whose names contain `part`."""
    return [
        path.name.removesuffix(".truth.json")
        for path in sorted(CAPTURES.glob("*.truth.json"))
        if part in path.name and (not of or json.loads(path.read_text()).get(of))
    ]


# Captures of every kind of history that are read in a moment.
SMALL = (
    "mock_rdk216_txn", "tansu_kp3_groups", "tansu_rdk216_txn", "kafka44_java_groups", "kafka44_java_kip848",
    "kafka44_java_share", "kafka44_java_transactions",
)  # fmt: skip


def path_of(name: str) -> str:
    """Return the path of a capture, compressed or not; skips if it is not here."""
    found = sorted(CAPTURES.glob(name + ".pcap*"))
    if not found:
        pytest.skip(f"no capture {name}")
    return str(found[0])


def truth(name: str) -> dict[str, Any]:
    """Return what the recording knew; skips where the capture is not here."""
    path_of(name)
    found: dict[str, Any] = json.loads((CAPTURES / f"{name}.truth.json").read_text())
    return found


def events(name: str) -> Iterator[Event]:
    return Dissection(path_of(name)).events()


def learn(of: Iterable[Event]) -> tuple[History, list[Fact]]:
    history = History()
    facts = [fact for event in of for fact in history.add(event)]
    return history, facts + history.finish()


class Learned:
    """A capture's history and facts; who sent an exchange, and which topic has an id."""

    def __init__(self, name: str) -> None:
        self.clients: dict[tuple[str, int], str] = {}
        self.topics: dict[bytes, str] = {}
        self.history, self.facts = learn(self._noted(events(name)))

    def _noted(self, of: Iterator[Event]) -> Iterator[Event]:
        for event in of:
            if isinstance(event, Exchange):
                self.clients[event.connection.id, event.ordinal] = str(event.client_id)
                if (
                    event.api_key == METADATA
                    and (event.api_version or 0) >= 10
                    and event.response is not None
                ):
                    self.topics.update({row.topic_id: row.name for row in event.response_body().topics})
            yield event


@cache  # several tests look at one capture, and reading it takes most of the time
def learned(name: str) -> Learned:
    return Learned(name)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", truths("transactions"))
def test_transactions_are_those_recorded(name: str) -> None:
    wanted: dict[str, list[str]] = defaultdict(list)
    for row in truth(name)["transactions"]:
        wanted[row["id"]].append(row["outcome"])
    for transactional_id, outcomes in ENDED_BY_ADMIN.get(name, {}).items():
        wanted[transactional_id] += outcomes
    seen: dict[str, list[str]] = defaultdict(list)  # an id is one of each cluster
    for known in learned(name).history.transactions.ids:
        seen[known.transactional_id] += [str(transaction.outcome) for transaction in known.ended]
    assert seen == wanted


@pytest.mark.parametrize("name", truths("principals"))
def test_principals_are_those_recorded(name: str) -> None:
    rows = truth(name)["principals"]
    done = [
        known for known in learned(name).history.sasl.connections if known.phase is SaslPhase.AUTHENTICATED
    ]
    assert done
    seen = {(known.principal, known.mechanism) for known in done}
    wanted = {(row["name"].removeprefix("User:"), row["mechanism"]) for row in rows}
    by_token = {pair for pair in wanted if pair[0].endswith("by delegation token")}
    strangers = seen - wanted - {("admin", "PLAIN")}
    assert len(strangers) == len(by_token)  # a token's holder shows the token's id instead of a name
    if "sasl" in name:
        assert wanted - by_token <= seen


Owned = dict[tuple[str, str], list[frozenset[str]]]


def owned_as_recorded(rows: list[dict[str, Any]]) -> Owned:
    """Return what each client held after each assignment, from the calls of its rebalance listener."""
    held: dict[tuple[str, str], frozenset[str]] = defaultdict(frozenset)
    after: Owned = defaultdict(list)
    for row in rows:
        who, partitions = (row["group"], row["client_id"]), frozenset(row["partitions"] or ())
        if row["what"] == "assigned":
            held[who] |= partitions
            add(after[who], held[who])
        else:
            held[who] -= partitions
    return after


def add(to: list[frozenset[str]], partitions: frozenset[str]) -> None:
    if not to or to[-1] != partitions:
        to.append(partitions)


def owned_as_seen(name: str) -> Owned:
    """Return the same, from SyncGroup and heartbeat answers."""
    after: Owned = defaultdict(list)
    known = learned(name)
    for fact in known.facts:
        if fact.kind == "assigned":
            raw = isinstance(fact.seen, bytes)
            pairs = assigned_partitions(fact.seen) or () if raw else named(fact.seen, known.topics)
            client_id = known.clients[fact.evidence.connection, fact.evidence.ordinal]
            add(
                after[fact.key[1], client_id], frozenset(f"{topic}-{partition}" for topic, partition in pairs)
            )
    return after


def named(holdings: Any, topics: dict[bytes, str]) -> list[tuple[str, int]]:
    """Partitions by name; tasks of streams groups are no partitions."""
    return [(topics[row[0]], row[1]) for row in holdings if len(row) == 2]


# A member there was told to give up what it holds, and hangs.
HANGS = "kafka44_java_waiting"


@pytest.mark.parametrize("name", [name for name in truths("groups", "_java_") if name != HANGS])
def test_assignments_are_those_recorded(name: str) -> None:
    rows = [row for row in truth(name)["groups"] if row["what"] in ("assigned", "revoked", "lost")]
    wanted, seen = owned_as_recorded(rows), owned_as_seen(name)
    assert {who: seen[who] for who in wanted} == wanted


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    "name", [name for name in truths(part="kafka") if not WRONG_ON_PURPOSE & {*name.split("_")}]
)
def test_apache_kafka_gives_no_difference(name: str) -> None:
    path_of(name)
    assert not [fact for fact in learned(name).facts if is_difference(fact) and fact.kind not in EXPECTED]


@pytest.mark.parametrize("name", SMALL)
def test_a_pickled_history_goes_on_where_it_was(name: str) -> None:
    whole = list(events(name))
    _, facts = learn(whole)
    history = History()
    found = []
    for index, event in enumerate(whole):
        if index in (len(whole) // 3, len(whole) // 2):
            history = pickle.loads(pickle.dumps(history))
        found += history.add(event)
    assert found + history.finish() == facts


def middle_start(whole: list[Event], chance: random.Random) -> list[Event]:
    kept = whole[chance.randrange(len(whole)) :]
    seen = {e.connection.id for e in whole[: -len(kept)] if isinstance(e, Exchange)} if kept else set()
    for event in kept:
        if event.connection.id in seen:
            event.connection.middle_start = True
    return kept


def loss(whole: list[Event], chance: random.Random) -> list[Event]:
    kept = []
    for event in whole:
        if isinstance(event, Exchange) and chance.random() < 0.1:
            event.connection.note(Anomaly(AnomalyKind.RESYNCHRONISED))
        else:
            kept.append(event)
    return kept


def vantage(whole: list[Event], chance: random.Random) -> list[Event]:
    """Return a capture that misses whole connections, and has no way to know."""
    gone = {name for name in sorted({event.connection.id for event in whole}) if chance.random() < 0.4}
    return [event for event in whole if event.connection.id not in gone]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("damage", [middle_start, loss, vantage])
@pytest.mark.parametrize("name", SMALL)
def test_what_is_missing_is_never_taken_for_a_difference(
    name: str, damage: Callable[[list[Event], random.Random], list[Event]]
) -> None:
    _, undamaged = learn(events(name))
    honest = {(fact.kind, fact.evidence) for fact in undamaged}
    for seed in range(4):
        _, facts = learn(damage(list(events(name)), random.Random(seed)))
        wrong = [
            fact
            for fact in facts
            if is_difference(fact) and fact.sure and (fact.kind, fact.evidence) not in honest
        ]
        assert not wrong


def test_the_reference_captures_give_no_sure_difference(reference: Path) -> None:
    for path in sorted((reference / "captures").glob("*.pcap*")):
        _, facts = learn(Dissection(str(path)).events())
        assert not [fact for fact in facts if is_difference(fact) and fact.kind not in EXPECTED], path.name


def garbled(of: Iterator[Event], chance: random.Random) -> Iterator[Event]:
    """Yield the same events with bytes of their bodies changed."""
    for event in of:
        for side in ("request", "response") if isinstance(event, Exchange) else ():
            frame = getattr(event, side)
            if frame is not None and len(frame.data) > 20 and chance.random() < 0.5:
                data = bytearray(frame.data)
                for _ in range(chance.choice((1, 1, 3))):
                    data[chance.randrange(12, len(data))] = chance.choice(
                        (0, 1, 0x7F, 0xFF, chance.randrange(256))
                    )
                setattr(event, side, with_data(frame, bytes(data)))
        yield event


@pytest.mark.parametrize("name", SMALL)
def test_bodies_of_any_content_raise_nothing(name: str) -> None:
    for seed in range(3):
        history, _ = learn(garbled(events(name), random.Random(seed)))
        pickle.dumps(history)


def test_a_connection_that_is_over_leaves_no_state_of_its_own() -> None:
    """Of short connections there are any number."""
    history, known = History(), 0
    tables = history.versions.connections, history.leader_epochs.clusters
    for events in Dissection(str(CAPTURES / "kafka44_java_admin.pcapng")).batches():
        for event in events:
            history.add(event)
            known = max(known, *map(len, tables))
    assert known > 1
    assert list(map(len, tables)) == [0, 0]
