"""What comes again and again costs little: an exchange that is the one before once more is only counted."""

import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from random import Random
from typing import Any

import pytest

from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.model.finding import Finding
from kdissect.model.packets.packet import Packet
from kdissect.rules.findings import FindingLog, Key
from kdissect.rules.judge import Judge
from kdissect.rules.judging.repeated import LOOKS_EVERY
from kdissect.rules.rule import Rule
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange
from kdissect.stages.forwarding import Codes
from kdissect.stages.judges import FlowJudge
from tests.rules.scripted_connection import SOFTWARE, VERSIONS, events_of, judged
from tests.support.messages.traffic import CLIENT, STEP_NS, Conversation, request, response

TIMES = 400
Pair = tuple[Callable[[int], bytes], Callable[[int], bytes]]
_MEMBER = b"\0\1g\0\0\0\1\0\1m"


def pair(key: int, version: int, asked: bytes, answered: bytes, client: bytes | None = b"test") -> Pair:
    return lambda n: request(key, version, n, asked, client), lambda n: response(n, answered)


def offered(*rows: tuple[int, int, int]) -> bytes:
    return struct.pack(">hi", 0, len(rows)) + b"".join(struct.pack(">hhh", *row) for row in rows)


NOT_LISTED = pair(18, 0, b"", offered())
PAIRS: dict[str, Pair] = {
    "versions not listed": NOT_LISTED,
    "no name": pair(18, 0, b"", offered(), None),
    "a body that should not be": pair(18, 0, bytes(4), offered((18, 0, 4))),
    "versions": pair(18, 0, b"", offered((18, 0, 4), (12, 0, 4), (3, 0, 2))),
    "other versions": pair(18, 0, b"", offered((18, 0, 4), (3, 2, 12))),
    "throttled versions": pair(18, 1, b"", offered((18, 0, 4)) + struct.pack(">i", 7)),
    "negative throttle": pair(18, 1, b"", offered((18, 0, 4)) + struct.pack(">i", -7)),
    "refused": pair(18, 0, b"", struct.pack(">hi", 35, 1) + struct.pack(">hhh", 18, 1, 3)),
    "refused otherwise": pair(18, 0, b"", struct.pack(">hi", 42, 0)),
    "versions and software": (
        lambda n: encode_request(18, 3, n, "test", SOFTWARE),
        lambda n: encode_response(18, 3, n, VERSIONS),
    ),
    "broken": pair(3, 1, b"\x7f\xff", b"\0\0\0\1\x7f"),
    "left over": pair(12, 0, _MEMBER + b"\0", b"\0\0"),
    "beat": pair(12, 0, _MEMBER, b"\0\0"),
    "beat of no group": pair(12, 0, b"\0\0" + _MEMBER[3:], b"\0\0"),
    "metadata": pair(
        3, 1, struct.pack(">ih", 1, 1) + b"t", struct.pack(">iiihh", 0, 7, 1, 0, 1) + b"t" + bytes(5)
    ),
    "unknown API": pair(12345, 0, b"abc", b"abc"),
    "negative version": pair(3, -1, b"abc", b"abc"),
    "dropped version": pair(1, 0, struct.pack(">iiii", -1, 1, 1, 0), struct.pack(">i", 0)),
    "produce": pair(0, 3, struct.pack(">hhii", -1, 1, 9, 0), struct.pack(">ii", 0, 0)),
}


Round = list[tuple[Pair, int]]
"""Exchanges, with their correlation ids, that are all asked before they are answered."""


def packets(rounds: Iterable[Round], port: int = 40000, back_at: int = -1) -> list[Packet]:
    """Return a connection. Its clock is set back before the round `back_at`."""
    talk = Conversation(ports=(port, 9092)).handshake()
    for number, together in enumerate(rounds):
        if number == back_at:
            talk.wait(-number * STEP_NS)
        talk.client(b"".join(ask(number) for (ask, _), number in together))
        talk.broker(b"".join(answer(number) for (_, answer), number in together))
    return talk.fin(CLIENT).packets


def told(judge: Judge) -> list[object]:
    """Return all that a report says."""
    coverage = judge.coverage
    return [
        [(f.code, f.place, f.party, f.count, f.last_time_ns, f.expected, f.seen, f.consequence, f.earlier)
         for f in judge.findings.all()],
        judge.inconclusive,
        {code: count for code, count in coverage.rules.items() if count},
        coverage.apis, coverage.exchanges, coverage.peers,
        {kind: (d.count, d.sum) for kind, d in coverage.traffic.latencies.items()},
        coverage.traffic.times.row(),
    ]  # fmt: skip


def one_by_one(monkeypatch: pytest.MonkeyPatch, found: list[Packet]) -> list[object]:
    """Return the findings if no exchange counts as repeated."""
    with monkeypatch.context() as patch:
        patch.setattr(ConnectionView, "is_again", lambda *_: False)
        return told(judged(found))


def closely(monkeypatch: pytest.MonkeyPatch, found: list[Packet]) -> tuple[int, list[object]]:
    """Return the number of exchanges that rules receive, and the findings."""
    calls = [0]
    real = Judge._closely

    def count(self: Judge, exchange: Exchange, *rest: Any) -> None:
        calls[0] += 1
        real(self, exchange, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Judge, "_closely", count)
        return calls[0], told(judged(found))


def repeated(one: Pair, in_flight: int = 1) -> list[Packet]:
    """Return one exchange again and again."""
    return packets([(one, first + at) for at in range(in_flight)] for first in range(0, TIMES, in_flight))


def mixed(dice: Random, port: int) -> list[Packet]:
    """Return runs of exchanges, some interrupted, with ids that do not rise and with lost packets."""
    chosen = dice.sample(list(PAIRS.values()), 3)

    def rounds() -> Iterator[Round]:
        number = 0
        for _ in range(dice.randrange(2, 12)):
            run = dice.choice(
                [chosen[:1], chosen[1:2], chosen[2:], chosen[:2], [chosen[0]] * 30 + chosen[1:]]
            )
            in_flight, step = dice.choice([1, 1, 3, 7, 20]), dice.choice([1, 1, 1, 0, -1])
            for _ in range(dice.randrange(1, 40)):
                numbers = range(number + 1, number + 1 + in_flight)
                yield [(run[at % len(run)], max(at, 0)) for at in numbers]
                number += in_flight if step == 1 else step

    found = packets(rounds(), port, dice.choice([-1, 10, 50]))
    if dice.random() < 0.3:
        del found[dice.randrange(3, len(found))]
    return found


@pytest.mark.parametrize("in_flight", [1, 5, 100])
def test_rules_are_asked_of_a_few_of_many_repeated_exchanges(
    in_flight: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, found = closely(monkeypatch, repeated(NOT_LISTED, in_flight))
    assert calls <= in_flight + 2 * LOOKS_EVERY
    assert found == one_by_one(monkeypatch, repeated(NOT_LISTED, in_flight))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("in_flight", [1, 8])
def test_each_repeated_exchange_is_counted_as_if_it_were_judged(
    name: str, in_flight: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = repeated(PAIRS[name], in_flight)
    assert told(judged(found)) == one_by_one(monkeypatch, found)


@pytest.mark.rotated(5)
@pytest.mark.sampled(32)
@pytest.mark.parametrize("seed", range(60))
def test_repeated_exchanges_among_others_are_counted_as_if_they_were_judged(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = Random(seed)
    many = [mixed(dice, 40000 + number) for number in range(dice.randrange(1, 4))]
    found = [packet for turn in zip_longest(*many) for packet in turn if packet is not None]
    assert told(judged(found)) == one_by_one(monkeypatch, found)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", PAIRS)
def test_what_rules_silenced_is_told_of_repeated_exchanges_too(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silenced() -> list[tuple[int, Codes]]:
        found: list[tuple[int, Codes]] = []
        judge = FlowJudge(lambda exchange, codes: found.append((exchange.ordinal, codes)))
        for event in events_of(repeated(PAIRS[name])):
            judge.add(event)
        judge.finish()
        return found

    quickly = silenced()
    monkeypatch.setattr(ConnectionView, "is_again", lambda *_: False)
    assert silenced() == quickly


def test_a_log_that_sees_each_finding_sees_those_of_repeated_exchanges() -> None:
    class Each(FindingLog):
        seen = 0

        def repeats(self, key: Key, time_ns: int) -> bool:
            return False

        def add(self, rule: Rule, finding: Finding) -> None:
            self.seen += 1

    judge = Judge()
    judge.findings = each = Each()
    for event in events_of(repeated(NOT_LISTED)):
        judge.add(event)
    judge.finish()
    assert each.seen >= TIMES
