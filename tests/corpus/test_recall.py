"""Kafka is found wherever it is: each exchange of the corpus as a connection of its own, on an unknown port.

With its handshake, and from the middle, as where the segments before it were lost.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.session.exchange import Exchange, ExchangeKind, State
from tests.support.both_engines import is_second
from tests.support.messages.traffic import Conversation, frame
from tests.support.run import exchanges_of

CORPUS = Path(__file__).parents[2] / "captures"
PORT = 31337
SEGMENT = 8000
# Every n-th exchange: the Python engine takes fewer, if the native engine takes all in other processes.
EVERY = 40 if is_second() else 1
WITH_HANDSHAKE, WITHOUT = 0.999, 0.998


@cache
def captures() -> tuple[str, ...]:
    return tuple(sorted(map(str, CORPUS.glob("*.pcap*"))))


def exchanges(every: int) -> Iterator[Exchange]:
    """Yield exchanges of the corpus with whole requests that stand on their own: no SASL token, no orphan."""
    number = 0
    for path in captures():
        for found in Dissection(path):
            if found.kind is ExchangeKind.SASL_TOKEN or found.state is State.ORPHAN_RESPONSE:
                continue
            if found.request is None or found.request.is_cut:
                continue
            number += 1
            if number % every == 0:
                yield found


def is_found(exchange: Exchange, with_handshake: bool) -> bool:
    talk = Conversation(ports=(40000, PORT))
    if with_handshake:
        talk.handshake()
    assert exchange.request is not None
    talk.client(frame(exchange.request.data), SEGMENT)
    if exchange.response is not None:
        talk.broker(frame(exchange.response.data), SEGMENT)
    ids = [(found.api_key, found.api_version, found.correlation_id) for found in exchanges_of(talk.packets)]
    return ids == [(exchange.api_key, exchange.api_version, exchange.correlation_id)]


def recall(every: int, with_handshake: bool) -> tuple[int, list[str]]:
    """Return how many were looked at, and those that were not found."""
    looked, missed = 0, []
    for exchange in exchanges(every):
        looked += 1
        if not is_found(exchange, with_handshake):
            name = exchange.connection.capture_set
            missed.append(f"{name} {exchange.connection.id}/{exchange.ordinal} key {exchange.api_key}")
    return looked, missed


@pytest.mark.exhaustive
@pytest.mark.parametrize(("with_handshake", "least"), [(True, WITH_HANDSHAKE), (False, WITHOUT)])
def test_exchanges_are_found_alone(with_handshake: bool, least: float) -> None:
    looked, missed = recall(EVERY, with_handshake)
    assert looked > 20_000 / EVERY
    assert 1 - len(missed) / looked >= least, missed
