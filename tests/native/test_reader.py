"""The compiled piece of the reader does what its piece in Python does, whatever the bytes."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdissect.model.frame import Frame
from kdissect.model.limits import Limits
from kdissect.model.native import native
from kdissect.model.packets.stream import CloseKind
from kdissect.net.store import Store
from kdissect.session.framing import FrameReader
from tests.support.messages.sessions import Owner, PlainReader, reader_state, told
from tests.support.messages.traffic import frame

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")

LIMITS = Limits(frame_size=200, frame_bytes=100)
SIZES = st.sampled_from((b"\xff\xff\xff\xff", b"\0\0\1\0", b"\x7f\xff\xff\xff", b"\0\0\0", b"\0"))
STREAMS = st.lists(st.binary(max_size=40).map(frame) | SIZES | st.binary(max_size=3), max_size=12).map(
    b"".join
)
CUTS = st.lists(st.integers(1, 60), max_size=30)
GAPS = st.sets(st.integers(0, 29), max_size=2)


class Run:
    """One reader, what it gave and what it holds after each call."""

    def __init__(self, kind: type[FrameReader], certain: bool, doubts: bool) -> None:
        self.owner = Owner(at=3)
        self.reader = kind(self.owner, 0, Store(LIMITS))
        self.frames: list[Any] = []
        self.states: list[Any] = []
        self.doubts = doubts
        self.reader.start_frames(self.take, certain)

    def take(self, frame: Frame, doubtful: bool) -> bool:
        self.frames.append((told(frame), doubtful))
        if frame.data[:1] == b"O":
            self.reader.go_opaque()
        return not (self.doubts and doubtful and frame.size % 2)

    def feed(self, payload: bytes, number: int, is_gap: bool) -> None:
        if is_gap:
            self.reader.gap(len(payload), number % 2 == 0, number, number * 10)
        else:
            self.reader.data(payload, number, number * 10)
        self.states.append(reader_state(self.reader))

    def end(self) -> Any:
        self.reader.end(CloseKind.FIN, 99, 990)
        return self.frames, self.states, self.owner.calls, reader_state(self.reader)


def pieces(stream: bytes, cuts: list[int]) -> list[bytes]:
    found = []
    for size in cuts:
        found.append(stream[:size])
        stream = stream[size:]
    return [piece for piece in (*found, stream) if piece]


@given(STREAMS, CUTS, GAPS, st.booleans(), st.booleans())
def test_any_stream(stream: bytes, cuts: list[int], gaps: set[int], certain: bool, doubts: bool) -> None:
    runs = [Run(kind, certain, doubts) for kind in (FrameReader, PlainReader)]
    for number, piece in enumerate(pieces(stream, cuts)):
        for run in runs:
            run.feed(piece, number, number in gaps)
    assert runs[0].end() == runs[1].end()


def test_before_it_is_known_and_when_it_is_opaque() -> None:
    for kind in (FrameReader, PlainReader):
        owner = Owner()
        reader = kind(owner, 0)
        reader.data(b"abc", 1, 2)
        reader.go_opaque()
        reader.data(b"def", 1, 2)
        assert owner.calls == [("undecided", b"abc", 1)]


def test_a_large_frame_is_counted() -> None:
    content = bytes(3_000_000)
    runs = [Run(kind, True, False) for kind in (FrameReader, PlainReader)]
    for run in runs:
        run.reader._store = Store(Limits(frame_bytes=2_500_000))
        for number, piece in enumerate(pieces(frame(content) + frame(b"x"), [65_000] * 46)):
            run.feed(piece, number, False)
    assert runs[0].end() == runs[1].end()
    assert len(runs[0].frames) == 2


def test_frames_are_those_of_python() -> None:
    from kdissect.model.frame import FrameInPython

    for data, size in ((b"abc", 3), (b"abc", 4), (b"", 0), (b"a", 1 << 40)):
        made, plain = Frame(data, size, 1, 2, 3, 4), FrameInPython(data, size, 1, 2, 3, 4)
        for one in (made, plain, made.shortened(2), plain.shortened(2)):
            assert one.anomalies is None
        assert told(made) == told(plain)
        assert (made.is_cut, made.bytes_on_wire) == (plain.is_cut, plain.bytes_on_wire)
        assert made.shortened(2).data == plain.shortened(2).data
        for one in (made, plain):
            one.note(1)  # type: ignore[arg-type]
            one.note(2)  # type: ignore[arg-type]
        assert told(made) == told(plain)
        assert pickle.dumps(made) == pickle.dumps(plain)
        assert told(pickle.loads(pickle.dumps(made))) == told(made)
