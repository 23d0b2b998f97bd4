"""The compiled pieces of dialogue and pairing do what theirs in Python do, whatever client and broker say."""

import os
import pickle
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kdissect.api import Dissection
from kdissect.model.endpoint import Endpoint
from kdissect.model.frame import Frame
from kdissect.model.limits import Limits
from kdissect.model.native import native
from kdissect.model.packets.stream import CloseKind
from kdissect.net.store import Store
from kdissect.session import connection
from kdissect.session import dialogue as dialogues
from kdissect.session.dialogue import Dialogue
from kdissect.session.framing import FrameReader
from kdissect.session.info import Close, ConnectionInfo
from tests.support.messages.sessions import Owner, PlainDialogue, PlainReader, dialogue_state, told
from tests.support.messages.traffic import request

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")

CAPTURES = Path(__file__).parent.parent.parent / "captures"
# Metadata, Heartbeat, ApiVersions, SaslHandshake, SaslAuthenticate, ControlledShutdown, what nobody knows.
KINDS = st.sampled_from(
    [
        (3, 1), (3, 1), (3, 9), (3, 12), (12, 4), (18, 3), (18, 0), (17, 0), (17, 1), (36, 2), (7, 0),
        (3, 99), (999, 0),
    ]
)  # fmt: skip
IDS = st.integers(0, 6) | st.sampled_from((-1, -(1 << 31), (1 << 31) - 1))
CLIENT_IDS = st.sampled_from([b"me", b"me", b"me", b"you", b"", None, b"\xff\xfe"])
TAGS = st.sampled_from([b"", b"\0", b"\0", b"\1\5\1x", b"\1"])
BODIES = st.sampled_from([b"", b"\0\0\0\0", b"\0\5PLAIN", b"\0\0\1", bytes(90)]) | st.binary(max_size=20)
ANSWERS = st.sampled_from([b"\0\0", b"\0\0\0\0\0\0", b"\0\x23\0\0\0\0", b"\1\0\0", b""]) | st.binary(
    max_size=12
)
TEXTS = st.sampled_from([b"", b"t", b"txn", b"t" * 130])
ACKS = st.sampled_from((0, 0, 0, 1, -1))


@st.composite
def produces(draw: st.DrawFn) -> bytes:
    """Produce requests of all layouts, also cut inside of what stands before acks."""
    version, text, is_null = draw(st.integers(0, 13)), draw(TEXTS), draw(st.booleans())
    acks = struct.pack(">h", draw(ACKS))
    if version < 3:
        body = acks
    elif version < 9:
        body = (b"\xff\xff" if is_null else len(text).to_bytes(2) + text) + acks
    else:
        length = (
            bytes([len(text) + 1])
            if len(text) < 127
            else bytes([(len(text) + 1) & 127 | 128, (len(text) + 1) >> 7])
        )
        body = b"\0" + (b"\0" if is_null else length + text) + acks
    whole = request(0, version, draw(IDS), body + bytes(8), draw(CLIENT_IDS))[4:]
    return whole[: draw(st.sampled_from([len(whole), len(whole), draw(st.integers(0, len(whole)))]))]


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    key, version = draw(KINDS)
    whole = request(key, version, draw(IDS), draw(TAGS) + draw(BODIES), draw(CLIENT_IDS))[4:]
    return whole[: draw(st.sampled_from([len(whole)] * 5 + [9, 10, 3, 0]))]


ASKED = st.tuples(st.just("request"), produces() | requests() | requests(), st.booleans())
ANSWERED = st.tuples(
    st.just("response"),
    st.builds(lambda n, more: struct.pack(">i", n) + more, IDS, ANSWERS) | st.binary(max_size=5),
    st.booleans(),
)  # fmt: skip
TALKS = st.lists(ASKED | ANSWERED | st.just(("lost", b"", False)), max_size=40)
LIMITS = st.sampled_from(
    [
        Limits(), Limits(connection_pending_requests=3), Limits(connection_pending_bytes=150),
        Limits(pending_requests=4), Limits(pending_bytes=200),
    ]
)  # fmt: skip


def info() -> ConnectionInfo:
    return ConnectionInfo("c", "", Endpoint("10.0.0.1", 1), Endpoint("10.0.0.2", 2), 0)


class Run:
    """One dialogue, what it said and what it holds after each frame."""

    def __init__(self, kind: type[Dialogue], limits: Limits) -> None:
        self.events: list[Any] = []
        self.info = info()
        self.dialogue = kind(self.info, self.events, Store(limits))
        self.states: list[Any] = []

    def feed(self, number: int, what: str, data: bytes, doubtful: bool) -> None:
        frame = Frame(data, len(data) + (number % 7 == 6), number, number, number * 10, number * 10)
        took = None
        if what == "request":
            took = self.dialogue.request(frame, doubtful)
        elif what == "response":
            took = self.dialogue.response(frame, doubtful)
        else:
            self.dialogue.responses_lost()
        self.states.append((took, dialogue_state(self.dialogue), told(self.info), told(self.events)))

    def end(self) -> Any:
        self.dialogue.finish(Close("client", CloseKind.FIN, 5))
        return self.states, told(self.events), told(self.info), dialogue_state(self.dialogue)


@given(TALKS, LIMITS)
@settings(max_examples=300, deadline=None)
@example([("request", request(0, 0, n, bytes(14))[4:], False) for n in range(9)], Limits())
@example([("request", request(3, 1, n, b"", None)[4:], False) for n in range(3)], Limits())
def test_any_talk(talk: list[tuple[str, bytes, bool]], limits: Limits) -> None:
    runs = [Run(kind, limits) for kind in (Dialogue, PlainDialogue)]
    for number, step in enumerate(talk):
        for run in runs:
            run.feed(number, *step)
    assert runs[0].end() == runs[1].end()


def test_kinds_beyond_those_that_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [Run(kind, Limits()) for kind in (Dialogue, PlainDialogue)]
    for run in runs:
        run.info.api_versions_seen = dict.fromkeys((key, 0) for key in range(100, 1100))
        for number in range(4):
            run.feed(number, "request", request(3, 1, number)[4:], False)
    assert runs[0].end() == runs[1].end()


def said(path: Path) -> list[Any]:
    return [told(event) for event in Dissection(path)]


NAMES = sorted(path.name for path in CAPTURES.glob("*.pcap*") if path.stat().st_size < 400_000)


@pytest.mark.parametrize("name", NAMES[::3])
def test_captures(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = said(CAPTURES / name)
    monkeypatch.setattr(connection, "FrameReader", PlainReader)
    monkeypatch.setattr(connection, "Dialogue", PlainDialogue)
    assert said(CAPTURES / name) == compiled
    assert dialogues.Dialogue is Dialogue


# What stands in the middle of a talk, pickled on one side, goes on at the other.
FIRST = request(3, 1, 1) + request(0, 0, 2, bytes(14)) + request(3, 1, 3)[:9]
REST = request(3, 1, 3)[9:] + request(12, 4, 4, b"\0")


def started() -> Any:
    owner, events = Owner(), []  # type: ignore[var-annotated]
    dialogue = Dialogue(info(), events, Store())
    reader, other = FrameReader(owner, 0, dialogue._pairing._store), FrameReader(owner, 1)
    reader.start_frames(dialogue.request, True)
    other.start_frames(dialogue.response, True)
    reader.data(FIRST, 1, 10)
    return reader, other, dialogue, events


def gone_on(state: Any) -> str:
    reader, other, dialogue, events = pickle.loads(state)
    reader.data(REST, 2, 20)
    other.data(struct.pack(">ii", 4, 1) + struct.pack(">iib", 5, 4, 0), 3, 30)
    dialogue.finish(Close(None, CloseKind.FIN, 5))
    return repr(told(events))


def python(script: str, data: bytes) -> bytes:
    """What a process without it says."""
    root = Path(__file__).parent.parent.parent
    environment = {
        **os.environ,
        "KDISSECT_NATIVE": "0",
        "PYTHONPATH": f"{root}:{os.environ.get('PYTHONPATH', '')}",
    }
    script = f"import pickle, sys\nfrom tests.native.test_dialogue import started, gone_on\n{script}"
    return subprocess.run(
        [sys.executable, "-c", script], input=data, env=environment, check=True, capture_output=True, cwd=root
    ).stdout


def test_state_goes_from_one_side_to_the_other() -> None:
    here = pickle.dumps(started())
    expected = gone_on(here)
    assert expected.count("request_body_offset") == 4
    assert python("print(gone_on(sys.stdin.buffer.read()))", here).decode().strip() == expected
    there = python("sys.stdout.buffer.write(pickle.dumps(started()))", b"")
    assert gone_on(there) == expected
