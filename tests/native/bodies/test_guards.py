"""The compiled look at guards marks what the reference marks, of recordings and of damaged bodies."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import kdissect
from kdissect.decoders.bodies import decode_once
from kdissect.decoders.decoded import Decoded
from kdissect.model.frame import Frame
from kdissect.model.native import native
from kdissect.rules.judging.body_guards import BodyGuards
from kdissect.rules.judging.rule_index import Subjects
from kdissect.rules.registry import ALL_RULES
from kdissect.schema import protocol_messages
from kdissect.session.exchange import Exchange
from tests.native.bodies.test_canonical_bodies import damage
from tests.support.console import CAPTURES

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")

NAMES = (
    "kafka28zk_franz_raw.pcapng", "kafka44_franz_raw.pcapng", "kafka44_java_produce.pcapng",
    "kafka44_java_share.pcapng", "tansu_rdk216_txn.pcap",
)  # fmt: skip
Seen = tuple[BodyGuards, Exchange, tuple[Decoded | None, Decoded | None]]


def exchanges() -> Iterator[Seen]:
    """Yield exchanges of recordings with the guards of all rules."""
    subjects = Subjects(ALL_RULES)
    for name in NAMES:
        for exchange in kdissect.open(CAPTURES / name):
            shown = subjects.shown(exchange)
            if shown is not None:
                yield shown.guards, exchange, exchange.bodies()


def canonical(body: Decoded | None) -> Decoded | None:
    return body if body is not None and body.is_canonical and body.fits else None


def test_recordings() -> None:
    total = marked = 0
    for guards, exchange, (asked, answered) in exchanges():
        known = canonical(asked), canonical(answered)
        if known != (asked, answered):
            continue
        total += 1
        found = guards.marks(exchange)
        marked += found != 0
        assert found == guards.reference_marks(*known, exchange.latency_ns or 0)
    assert total > 500
    assert marked < total / 2


@pytest.mark.exhaustive
def test_bodies_that_are_damaged() -> None:
    random = Random(7)
    marked = unmarked = 0
    for guards, exchange, _ in exchanges():
        request = exchange.request
        if request is None or exchange.api_key is None or exchange.api_version is None:
            continue
        for _ in range(4):
            data = damage(request.data, exchange.request_body_offset, random)
            frame = Frame(data, len(data), 0, 0, 0, 0)
            key, version = exchange.api_key, exchange.api_version
            body = canonical(decode_once(frame, exchange.request_body_offset, key, version, False))
            if body is None:
                continue
            found = compiled(guards, data, exchange.request_body_offset)
            assert found == guards.reference_marks(body, None, 0)
            marked, unmarked = marked + bool(found), unmarked + (not found)
    assert marked > 20
    assert unmarked > 200


def compiled(guards: BodyGuards, *body: Any) -> int:
    marks = guards._compile()
    return marks(*body, None, 0, 0)


def test_a_body_that_does_not_fit_is_marked_by_every_guard() -> None:
    for guards, exchange, (asked, _) in exchanges():
        if asked is None or exchange.request is None:
            continue
        for data in (exchange.request.data[:-1], exchange.request.data + b"\0"):
            body = canonical(
                decode_once(
                    Frame(data, len(data), 0, 0, 0, 0), exchange.request_body_offset,
                    exchange.api_key or 0, exchange.api_version or 0, False,
                )
            )  # fmt: skip
            if body is None:
                assert compiled(guards, data, exchange.request_body_offset) == guards.bits[0]


def test_every_version_of_every_api_has_a_predicate() -> None:
    subjects = Subjects(ALL_RULES)
    for api in protocol_messages.all_apis():
        for version in api.request.versions:
            if version in api.response.versions:
                guards = subjects.shown_of((api.key, version, version)).guards
                assert guards.bits[0]
                guards._compile()


def test_rows_of_other_layouts_are_refused() -> None:
    layout = native.Layout(True, [(False, [("a", "int8", "", False, False, 0, b"")], [])])
    for row in ((1, 0, "below", [0], [], 0), (0, 1, "below", [0], [], 0), (0, 0, "topic", [], [], 0)):
        with pytest.raises(ValueError, match="other layouts"):
            native.Guards((layout, [row]), (layout, []), [], [], (0, 0))
    with pytest.raises(ValueError, match="other layouts"):
        native.Guards((layout, []), (layout, []), [], [(64, 0, 0, False, False)], (0, 0))
