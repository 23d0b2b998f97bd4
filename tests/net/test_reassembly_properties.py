"""Segmentation, order, repetition and loss of known bytes, against a reassembler of a few lines."""

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.model.packets.segment import ACK, FIN, PSH
from tests.net.recorder import BROKER, CLIENT, Wire

SEQUENCES = st.one_of(st.integers(0, 0xFFFFFFFF), st.integers(-300, 300).map(lambda n: n & 0xFFFFFFFF))
WINDOW = 8  # segments may move this far: within the grace


class Piece(NamedTuple):
    start: int
    end: int


def reference(length: int, stream: bytes, pieces: list[Piece]) -> list[bytes | int]:
    """Return bytes and holes of the first `length` bytes, from a set of offsets alone."""
    seen = {at for piece in pieces for at in range(piece.start, piece.end)}
    runs: list[bytes | int] = []
    for at in range(length):
        last = runs[-1] if runs else None
        if at in seen:
            byte = stream[at : at + 1]
            runs[-1:] = [last + byte] if isinstance(last, bytes) else ([last, byte] if runs else [byte])
        else:
            runs[-1:] = [last + 1] if isinstance(last, int) else ([last, 1] if runs else [1])
    return runs


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, list[Piece]]:
    """Return bytes, and pieces that cover them: in order, some overlapping the ones before, some repeated."""
    sizes = draw(st.lists(st.integers(2, 40), min_size=1, max_size=30))
    stream = bytes(at * 7 % 251 for at in range(sum(sizes)))
    pieces: list[Piece] = []
    at = 0
    for size in sizes:
        back = draw(st.sampled_from((0, 0, 0, 1, 5, 50)))
        pieces.append(Piece(max(0, at - back), at + size))
        at += size
        if draw(st.sampled_from((False, False, True))):
            pieces.append(draw(st.sampled_from(pieces)))
    return stream, pieces


@st.composite
def shuffled(draw: st.DrawFn, pieces: list[Piece]) -> list[Piece]:
    """Return the pieces, each moved by less than WINDOW places."""
    keys = draw(st.lists(st.integers(0, WINDOW), min_size=len(pieces), max_size=len(pieces)))
    order = sorted(range(len(pieces)), key=lambda at: (at + keys[at], at))
    return [pieces[at] for at in order]


@settings(max_examples=100, deadline=None)
@given(st.data(), SEQUENCES)
def test_all_there_in_any_order(data: st.DataObject, isn: int) -> None:
    stream, pieces = data.draw(streams())
    wire = Wire((isn, 0))
    wire.open()
    for piece in data.draw(shuffled(pieces)):
        wire.send(CLIENT, piece.start, stream[piece.start : piece.end])
    assert wire.sinks[CLIENT].runs == [stream]
    assert wire.connection._streams[0].odd.out_of_order_bytes == 0
    wire.flush()
    assert wire.connection.anomalies == []
    assert wire.connection.health[CLIENT].bytes == len(stream)


@pytest.mark.exhaustive
@settings(max_examples=120, deadline=None)
@given(st.data(), SEQUENCES)
def test_losses_leave_holes_of_their_length(data: st.DataObject, isn: int) -> None:
    stream, pieces = data.draw(streams())
    lost = data.draw(st.lists(st.booleans(), min_size=len(pieces), max_size=len(pieces)))
    kept = [piece for piece, gone in zip(pieces, lost, strict=True) if not gone]
    wire = Wire((isn, 7))
    wire.open()
    for piece in data.draw(shuffled(kept)):
        wire.send(CLIENT, piece.start, stream[piece.start : piece.end])
        if data.draw(st.booleans()):
            wire.send(BROKER, 0, flags=ACK, ack=data.draw(st.sampled_from((0, piece.end))))
    wire.send(BROKER, 0, flags=ACK, ack=len(stream))
    wire.flush()
    expected = reference(len(stream), stream, kept)
    # One last byte that is acknowledged and never seen is taken for a FIN.
    if expected[-1] == 1 and wire.sinks[CLIENT].runs == expected[:-1]:
        expected.pop()
    assert wire.sinks[CLIENT].runs == expected
    health = wire.connection.health[CLIENT]
    assert health.gap_bytes == sum(run for run in expected if isinstance(run, int))
    assert health.bytes == sum(len(run) for run in expected if isinstance(run, bytes))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_snap_length_of_every_segment(data: st.DataObject) -> None:
    stream, pieces = data.draw(streams())
    snap = data.draw(st.integers(0, 30))
    wire = Wire()
    wire.open()
    in_order = [
        piece for at, piece in enumerate(pieces) if piece.end > max([0, *(p.end for p in pieces[:at])])
    ]
    for piece in in_order:
        payload = stream[piece.start : piece.end][:snap]
        wire.send(CLIENT, piece.start, payload, missing=piece.end - piece.start - len(payload))
    kept: list[Piece] = []
    reached = 0
    for piece in in_order:  # what an earlier segment covered is not looked at again
        kept.append(Piece(reached, max(reached, min(piece.end, piece.start + snap))))
        reached = piece.end
    assert wire.sinks[CLIENT].runs == reference(len(stream), stream, kept)
    assert wire.sinks[CLIENT].snapped == wire.connection.health[CLIENT].snapped_bytes
    assert wire.connection.health[CLIENT].gaps == 0


class ExchangeView(NamedTuple):
    """A segment of a conversation, with how much of the other side its sender had by then."""

    side: int
    offset: int
    payload: bytes
    ack: int


@st.composite
def conversations(draw: st.DrawFn) -> list[ExchangeView]:
    reached = [0, 0]
    turns = []
    for at in range(draw(st.integers(2, 25))):
        side = draw(st.integers(0, 1))
        payload = bytes([at, side]) * draw(st.integers(1, 20))
        turns.append(ExchangeView(side, reached[side], payload, reached[1 - side]))
        reached[side] += len(payload)
    return turns


@pytest.mark.exhaustive
@settings(max_examples=100, deadline=None)
@given(st.data(), SEQUENCES, SEQUENCES)
def test_streams_keep_the_order_of_cause_and_effect(data: st.DataObject, first: int, second: int) -> None:
    """Whatever a packet acknowledged was delivered, or declared lost, before the packet's own bytes."""
    turns = data.draw(conversations())
    lost = data.draw(st.lists(st.sampled_from((False, False, False, True)), min_size=25, max_size=25))
    wire = Wire((first, second))
    wire.open()
    order = data.draw(shuffled([Piece(at, at + 1) for at in range(len(turns)) if not lost[at]]))
    for piece in order:
        turn = turns[piece.start]
        wire.send(turn.side, turn.offset, turn.payload, ack=turn.ack)
    wire.flush()
    reached = [0, 0]
    for side, what in wire.journal:
        length = len(what) if isinstance(what, bytes) else what
        assert isinstance(length, int)
        starts = [
            each
            for each in turns
            if each.side == side and reached[side] <= each.offset < reached[side] + length
        ]
        if isinstance(what, bytes):
            assert all(turn.ack <= reached[1 - side] for turn in starts)
        reached[side] += length
    for side in (0, 1):
        kept = [turns[piece.start] for piece in order if turns[piece.start].side == side]
        bytes_there = sum(len(turn.payload) for turn in kept)
        assert wire.connection.health[side].bytes == bytes_there


@settings(max_examples=120, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 1),
            st.integers(-50, 300) | st.integers(-(1 << 31), 1 << 31),
            st.binary(max_size=20),
            st.sampled_from((ACK, ACK | PSH, ACK | FIN, 2, 2 | ACK, 4, 0)),
            st.integers(-50, 300) | st.integers(-(1 << 31), 1 << 31),
            st.integers(0, 3) | st.integers(0, 65535),
            st.integers(0, 1 << 36),
        ),
        max_size=60,
    )
)
def test_nonsense_neither_raises_nor_breaks_the_sinks(
    packets: list[tuple[int, int, bytes, int, int, int, int]],
) -> None:
    wire = Wire()
    for side, offset, payload, flags, ack, missing, wait_ns in packets:
        segment = wire.send(side, offset, payload, flags, ack, missing, ip_id=0, wait_ns=wait_ns)
        wire.connection.opens_new_incarnation(side, segment, wire.time_ns)
    wire.flush()
    for sink, stream, health in zip(
        wire.sinks, wire.connection._streams, wire.connection.health, strict=True
    ):
        assert len(sink.ends) == 1
        delivered = sum(len(run) if isinstance(run, bytes) else run for run in sink.runs)
        assert delivered == stream.offset == health.bytes + health.gap_bytes + health.snapped_bytes
    assert wire.connection.closed
