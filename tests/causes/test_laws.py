"""Each law refutes a cause at its limit, and not just before it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kdissect.causes.evidence.clock import Clock
from kdissect.causes.laws.laws import LAWS, refuted_by
from kdissect.model.cause import Certainty, Cost, FoundCause, Packets, Party, Severity
from tests.causes.fixtures.boundaries import (
    BROKER_2,
    FIRST,
    MS,
    NAMELESS,
    OTHER,
    _beats,
    _error,
    _fact,
    _group,
    _joined,
    _late,
    _left,
    _link,
    _lost,
    _made,
    _tally,
    _topic,
    _txn,
)
from tests.causes.fixtures.case import BROKER, NOTHING, SECOND, WHO, Change, Made, gathered

PARTIES = frozenset(
    {
        Party("client", "orders"),
        Party("host", WHO.address),
        Party("broker", BROKER),
        Party("topic", "clicks"),
        Party("group", "shop"),
        Party("id", "tx-1"),
    }
)


def cause(
    cause_id: str,
    since_s: float = 10,
    until_s: float = 20,
    times: int = 4,
    time_ns: int = 0,
    parties: frozenset[Party] = PARTIES,
    evidence: tuple[Packets, ...] = (),
    certainty: Certainty = Certainty.LIKELY,
) -> FoundCause:
    return FoundCause(
        cause_id,
        "title",
        Severity.DELAYS,
        "It is.",
        "who",
        parties,
        int(since_s * SECOND),
        int(until_s * SECOND),
        times,
        Cost(time_ns=time_ns),
        certainty,
        "",
        evidence,
        "",
        "help",
        (),
    )


def against(found: FoundCause, *changes: Change) -> str:
    """Return what refutes a cause; empty if nothing does."""
    seen = Made(gathered(NOTHING))
    _made(*changes)(seen)
    refuted = refuted_by(found, seen)
    words = [law.refutes(found, seen) for law in LAWS if found.id in law.causes]
    assert next(filter(None, words), "") == ("" if refuted is None else refuted.against)
    assert all(isinstance(one, str) for one in words)
    assert refuted is None or (refuted.id, refuted.sentence) == (found.id, "It is.")
    return "" if refuted is None else refuted.against


def _blind(lost: int = 0, cut: int = 0, clock: bool = False) -> Change:
    def change(seen: Made) -> None:
        facts = {"bytes_not_captured": lost, "cut_frames": cut}
        seen.gathering.blind = SimpleNamespace(facts=lambda: facts)  # type: ignore[assignment]
        seen.gathering.clock = Clock()
        seen.gathering.clock.went_back = clock

    return change


LINK = _link(bytes=2000)
GAP = _link(bytes=2000, gap_bytes=1)
ELSEWHERE = _link(OTHER, bytes=2000, gap_bytes=1)
CLOCK = "the clock of the capture was set back: its times do not show what came first"
LOST = "1 B of its connections, or of others at that time, were not captured"


@pytest.mark.parametrize(
    ("cause_id", "times", "changes", "words"),
    [
        ("member-crashed", 4, (LINK, _blind()), ""),
        ("member-crashed", 4, (LINK, _blind(clock=True)), CLOCK),
        ("commit-storm", 4, (LINK, _blind(clock=True)), CLOCK),
        ("topic-denied", 4, (LINK, _blind(clock=True)), ""),
        ("unknown-topic", 49, (LINK, _blind(clock=True)), CLOCK),
        ("unknown-topic", 50, (LINK, _blind(clock=True)), ""),
        ("coordinator-unavailable", 4, (LINK, _blind(clock=True)), CLOCK),
        ("coordinator-unavailable", 4, (LINK, _blind(cut=5)), ""),
        ("member-crashed", 4, (LINK, _blind(cut=5)), "0 B of 2.0 kB were not captured, 5 frames cut"),
        ("member-crashed", 4, (LINK, _blind(cut=4)), ""),
        ("member-crashed", 4, (LINK, _blind(lost=11)), "11 B of 2.0 kB were not captured, 0 frames cut"),
        ("member-crashed", 4, (LINK, _blind(lost=10)), ""),
        ("member-crashed", 2, (LINK, _blind(lost=1)), LOST),
        ("member-crashed", 3, (LINK, _blind(lost=1)), ""),
        ("member-crashed", 3, (GAP, _blind(lost=1)), LOST),
        ("member-crashed", 3, (LINK, ELSEWHERE, _blind(lost=1)), ""),
        ("member-crashed", 2, (GAP, _blind()), ""),
        (
            "slow-network",
            1,
            (_link(bytes=2000, gap_bytes=1, trips=[(1, "a")], trips_by_handshake=[1]), _blind(lost=1)),
            "",
        ),
        ("tls-handshake-failed", 1, (GAP, _blind(lost=1)), ""),
        ("tls-handshake-failed", 1, (GAP, _blind(lost=99)), "99 B of 2.1 kB were not captured, 0 frames cut"),
    ],
)
def test_what_may_be_missing(cause_id: str, times: int, changes: tuple[Change, ...], words: str) -> None:
    assert against(cause(cause_id, times=times), *changes) == words


def test_an_alert_that_says_why_needs_no_other_packets() -> None:
    said = cause("tls-handshake-failed", certainty=Certainty.SURE)
    assert against(said, GAP, _blind(lost=99, clock=True)) == ""


@pytest.mark.parametrize(
    ("took_s", "broker", "words"),
    [
        (300.001, BROKER, "a response came after 300.00 s, which no client waits for"),
        (300, BROKER, ""),
        (301, BROKER_2, ""),
    ],
)
def test_no_client_waits_longer(took_s: float, broker: str, words: str) -> None:
    late = _late(0, 1, SECOND, int(took_s * SECOND), broker=broker)
    assert against(cause("responses-late"), _late(1, 1, SECOND, 5), late) == words
    assert against(cause("responses-late")) == ""


def test_no_session_lasts_longer() -> None:
    assert against(cause("member-crashed", 10, 1810)) == ""
    longer = against(cause("member-crashed", 10, 1810.001))
    assert longer == "that lasts 0 h 30 m, longer than brokers let a session or rebalance last"


def _twice(exchanges: int = 1, alone: int = 0, **changed: Any) -> tuple[Change, ...]:
    """Return connections of two clients, each captured with two addresses; others were captured once."""
    facts = {"exchanges": 5, "bytes": 70, "packets": 8, "opened": 1, "starts": [(5 * SECOND, "c")]}
    return (
        _link(WHO, **facts),
        _link(WHO._replace(address="10.0.0.9"), **facts | {"exchanges": 5 * exchanges} | changed),
        *(
            _link(OTHER._replace(address=f"10.0.1.{number}"), **facts | {"bytes": number})
            for number in range(alone)
        ),
    )


TWICE = "most connections were captured twice, with two addresses of their clients"


@pytest.mark.parametrize(
    ("cause_id", "times", "time_ns", "changes", "words"),
    [
        ("fetch-session-churn", 9, 0, _twice(), TWICE),
        ("fetch-session-churn", 10, 0, _twice(), ""),
        ("leader-moved", 5, 0, _twice(), TWICE),
        ("leader-moved", 6, 0, _twice(), ""),
        ("slow-broker", 10, 4 * SECOND, _twice(), ""),
        ("slow-broker", 9, 4 * SECOND, _twice(), TWICE),
        ("slow-broker", 10, 4 * SECOND - 1, _twice(), TWICE),
        ("fetch-session-churn", 9, 0, _twice(alone=1), TWICE),
        ("fetch-session-churn", 9, 0, _twice(alone=2), ""),
        ("fetch-session-churn", 9, 0, _twice(exchanges=2), ""),
        ("fetch-session-churn", 9, 0, _twice(exchanges=0), ""),
        ("fetch-session-churn", 9, 0, _twice(bytes=71), ""),
        ("fetch-session-churn", 9, 0, _twice(packets=9), ""),
        ("fetch-session-churn", 9, 0, _twice(opened=2), ""),
        ("fetch-session-churn", 9, 0, _twice(starts=[(6 * SECOND - 1, "c")]), TWICE),
        ("fetch-session-churn", 9, 0, _twice(starts=[(6 * SECOND, "c")]), ""),
        ("fetch-session-churn", 9, 0, _twice(starts=[(5 * SECOND, "c"), (9 * SECOND, "d")]), TWICE),
        ("fetch-session-churn", 9, 0, (), ""),
    ],
)
def test_what_is_captured_twice_counts_once(
    cause_id: str, times: int, time_ns: int, changes: tuple[Change, ...], words: str
) -> None:
    assert against(cause(cause_id, times=times, time_ns=time_ns), *changes) == words


@pytest.mark.parametrize(
    ("wrote_s", "who", "words"),
    [
        (10, WHO, "no producer wrote to its topics after it came"),
        (10.001, WHO, ""),
        (9, OTHER, ""),
    ],
)
def test_a_consumer_falls_behind_where_records_come(wrote_s: float, who: Any, words: str) -> None:
    wrote = _tally("Produce", 5, int(wrote_s * SECOND) - SECOND, who)
    read = _tally("Fetch", 5, 90 * SECOND)
    found = cause("lag-slow-consumer")
    assert against(found, _topic(), _topic("other", writers=[]), wrote, read) == words
    by_id = cause("lag-slow-consumer", parties=frozenset({Party("topic", "id")}))
    assert against(by_id, _topic(None, "id"), wrote) == words
    assert against(found, _topic("other"), wrote) == ""


@pytest.mark.parametrize(
    ("trips", "shown", "words"),
    [
        (
            [(20, "a")],
            [],
            "no handshake in the capture shows a round trip: an end may have delayed its acknowledgements",
        ),
        ([(20 * MS, "a"), (30 * MS, "b")], [9 * MS, 15 * MS], "the handshake took 9.00 ms"),
        ([(20 * MS, "a")], [10 * MS], ""),
        ([], [], ""),
    ],
)
def test_the_handshake_shows_the_round_trip(trips: list[Any], shown: list[int], words: str) -> None:
    here = {"trips": trips, "trips_by_handshake": shown}
    others = _link(OTHER, trips=[(1, "o")], trips_by_handshake=[1])
    assert against(cause("slow-network"), _link(**here), others) == words
    nameless = cause(
        "slow-network", parties=frozenset({Party("host", NAMELESS.address), Party("broker", BROKER)})
    )
    assert against(nameless, _link(NAMELESS, **here), others) == words
    assert against(nameless, _link(NAMELESS._replace(client_id="x"), **here)) == ""
    assert against(cause("slow-network"), _link(broker=BROKER_2, **here)) == ""


def _offers(
    low: int, high: int, at_s: float = 9, connection: str = "c1", broker: str = BROKER, api: int = 1
) -> Change:
    return _fact(
        "VersionFact.offered", broker=broker, at_s=at_s, connection=connection, seen={api: (low, high)}
    )


@pytest.mark.parametrize(
    ("change", "is_refuted"),
    [
        (_offers(4, 7), True),
        (_offers(7, 9), True),
        (_offers(4, 6), False),
        (_offers(8, 9), False),
        (_offers(4, 7, connection="other"), False),
        (_offers(4, 7, at_s=9.999, connection="other"), True),  # answered a millisecond later
        (_offers(4, 7, broker=BROKER_2), False),
        (_offers(4, 7, api=0), False),
    ],
)
def test_a_broker_has_the_versions_that_it_offers(change: Change, is_refuted: bool) -> None:
    places = (Packets("c1", 3, "frame"), Packets("c1", 4, "Fetch v7"), Packets("c1", 5, "Fetch vX"))
    words = against(cause("version-refused", evidence=places), change)
    assert bool(words) is is_refuted
    if words:
        assert words.startswith(f"{BROKER} offers Fetch v")
        assert words.endswith("in its response to ApiVersions")
    assert against(cause("version-refused", evidence=(Packets("c1", 4, "Nonsense v0"),)), change) == ""


def _lists(*mechanisms: str, connection: str = "c1") -> Change:
    return _fact("SaslFact.mechanism_refused", connection=connection, expected=mechanisms, seen="PLAIN")


def test_a_broker_offers_the_mechanisms_that_it_lists() -> None:
    found = cause("mechanism-refused", evidence=(Packets("c1", 5), Packets("c2", 5)))
    listed, not_listed = _lists("GSSAPI", "PLAIN"), _lists("GSSAPI", connection="c2")
    assert against(found, listed) == "the response that refuses PLAIN lists it"
    assert against(found, listed, not_listed) == against(found, not_listed) == against(found) == ""
    assert against(found, _lists("PLAIN", connection="c3")) == ""
    assert against(found._replace(evidence=(Packets("c1", 4),)), listed) == ""


@pytest.mark.parametrize(("members", "is_refuted"), [(1, True), (2, False), (0, True)])
def test_a_group_has_other_members(members: int, is_refuted: bool) -> None:
    rows = [one | {"members": members} for one in (_left(10), _joined(11))]
    words = "group 'shop' never had another member" * is_refuted
    assert against(cause("flapping-member"), _group(*rows)) == words
    assert against(cause("flapping-member"), _group(*rows, group="other")) == ""
    assert against(cause("flapping-member"), _group()) == ""


def test_a_member_with_heartbeats_is_not_silent() -> None:
    found = cause("member-crashed")
    words = "the heartbeats of 'a' went on during the rebalance, answered REBALANCE_IN_PROGRESS 2 times"
    assert against(found, _group(FIRST, _lost(10), failures=[_beats()])) == words
    assert against(found, _group(FIRST, _lost(10), _lost(12, "b"), failures=[_beats()])) == ""
    assert against(found, _group(FIRST, failures=[_beats()])) == ""


@pytest.mark.parametrize(
    ("taken", "clients", "code", "is_refuted"),
    [
        (1, ("orders",), 47, True),
        (1, ("orders", "AddPartitionsManager-1"), 47, True),
        (1, (), 47, True),
        (2, ("orders",), 47, False),
        (1, ("orders", "billing"), 47, False),
        (1, ("orders",), 90, False),
    ],
)
def test_an_id_is_given_to_two(taken: int, clients: tuple[str, ...], code: int, is_refuted: bool) -> None:
    changes = (_error(code, 22, txn="tx-1"), _txn(taken, *clients))
    words = against(cause("fenced-producer"), *changes)
    assert words == is_refuted * (
        "transactional id 'tx-1' belongs to one producer: the epoch that it sends is not the one that it"
        " received last"
    )
    two = cause("fenced-producer", parties=PARTIES | {Party("id", "tx-2")})
    assert against(two, *changes) == ""  # of the other nothing is known


def _leads(
    node: int, at_s: float, kind: str = "learned", topic: str = "clicks", partition: int = 0
) -> Change:
    return _fact(f"LeaderFact.{kind}", ("set", topic, partition), at_s=at_s, seen=(node, 1))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            (_leads(2, 1), _leads(1, 9.999, partition=1)),
            "no other node leads afterwards than before: node 1, 2",
        ),
        ((_leads(2, 1), _leads(1, 9.998, partition=1)), ""),
        ((_leads(2, 1), _leads(2, 12, "changed")), "no other node leads afterwards than before: node 2"),
        ((_leads(2, 1), _leads(1, 12, "changed")), ""),
        ((_leads(2, 1), _leads(-1, 12, "changed")), "no other node leads afterwards than before: node 2"),
        ((_leads(0, 1), _leads(-1, 12, "changed")), "no other node leads afterwards than before: node 0"),
        ((_leads(-1, 12),), ""),
        ((_leads(2, 1), _leads(2, 12, topic="other")), ""),
        ((), ""),
    ],
)
def test_leaders_moved_where_another_leads(changes: tuple[Change, ...], words: str) -> None:
    assert against(cause("leader-moved"), *changes) == words


@pytest.mark.parametrize(
    ("records", "senders", "writer", "cut", "is_refuted"),
    [
        (1, (), "orders", 0, True),
        (0, (), "orders", 0, False),
        (1, ("orders",), "orders", 0, False),
        (1, ("billing",), "orders", 0, True),
        (1, (), "billing", 0, False),
        (1, (), "orders", 5, False),
    ],
)
def test_only_batches_with_an_id_have_sequences(
    records: int, senders: tuple[str, ...], writer: str, cut: int, is_refuted: bool
) -> None:
    writers = [{"client_id": writer, "records": records, "address": "h"}]

    def known(seen: Made) -> None:
        seen.producers["producers"] = [{"client_ids": list(senders), "events": [], "event_counts": {}}]

    words = against(cause("sequence-gap"), _topic(writers=writers), known, _blind(cut=cut))
    assert words == "no batch of the client has a producer id" * is_refuted


@pytest.mark.parametrize(
    ("answers", "words"), [(0, ""), (1, f"{BROKER} answered 1 other connection with TLS")]
)
def test_an_end_that_answers_with_tls_does_not_speak_plaintext(answers: int, words: str) -> None:
    assert against(cause("tls-to-plaintext"), _link(tls_answers=answers), _blind()) == words


_REFUSED = ("refused", 0, "CONCURRENT_TRANSACTIONS", "p-0")
_GAP = ("refused", 1, "OUT_OF_ORDER_SEQUENCE_NUMBER", "p-0")
_AGAIN = ("retried", 2, "1", "p-0")


@pytest.mark.parametrize(
    ("events", "kept", "is_refuted"),
    [
        ((_REFUSED, _GAP, _AGAIN), 3, True),
        ((_REFUSED, _GAP, _AGAIN), 4, False),  # one is not kept
        ((_REFUSED, _GAP), 2, False),
        ((_GAP, _AGAIN), 2, False),
        ((_REFUSED, ("refused", 6, *_GAP[2:]), ("retried", 7, "1", "p-0")), 3, False),
        ((_REFUSED, (*_GAP[:3], "p-1"), (*_AGAIN[:3], "p-1")), 3, False),
        ((_REFUSED, _GAP, (*_AGAIN[:3], "p-1")), 3, False),
        ((_GAP, _GAP, _AGAIN), 3, False),
        ((_REFUSED, _GAP, _AGAIN, ("refused", 9, *_GAP[2:])), 4, False),
    ],
)
def test_batches_under_way_are_refused_together(
    events: tuple[tuple[str, int, str, str], ...], kept: int, is_refuted: bool
) -> None:
    rows = [
        {"what": what, "time_ns": at * SECOND, "seen": error, "where": where}
        for what, at, error, where in events
    ]

    def known(seen: Made) -> None:
        row = {"client_ids": ["orders"], "events": rows, "event_counts": {"refused": kept}}
        seen.producers["producers"] = [row]

    words = against(cause("sequence-gap"), known, _blind())
    expected = "batches before were refused with CONCURRENT_TRANSACTIONS, and the client sent them again"
    assert words == expected * is_refuted


def _lists_partition(number: int, at_s: float, api: int = 3, topic: str = "clicks") -> Change:
    return _fact("LeaderFact.learned", ("set", topic, number), at_s=at_s, api=api, seen=(1, 1))


def test_partitions_were_there_from_the_start() -> None:
    found = cause("hot-partition")
    first = (_lists_partition(0, 1), _lists_partition(1, 1))
    assert against(found, *first) == against(found) == ""
    words = "Metadata listed 2 partitions of topic 'clicks' (2 and 3) later than the others"
    assert against(found, *first, _lists_partition(3, 5), _lists_partition(2, 5)) == words
    assert against(found, *first, _lists_partition(2, 5, api=1)) == ""
    assert against(found, *first, _lists_partition(2, 5, topic="other")) == ""
