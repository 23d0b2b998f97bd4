"""Hostile text, inputs that fail, workers that die: the screen stays, and says what happened."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from kdissect.model.endpoint import Ports
from kdissect.tui import session as sessions
from kdissect.tui.processes.spool import GONE, TOO_LARGE, SpoolReader, SpoolWriter
from kdissect.tui.processes.worker_messages import Order
from kdissect.tui.session import Session
from kdissect.tui.view import Notice
from kdissect.tui.widgets import safe_text
from tests.support.console import CAPTURES
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import Conversation, request, response
from tests.support.packets.pcaps import write_pcap
from tests.tui.driving import Driven, drive

HOSTILE = "\x1b[2J[bold red]x[/]\u202eevil\u200b\u0301\n]]\x9b31m[@click=app.quit]"
PRODUCE = CAPTURES / "kafka44_java_produce.pcapng"


def hostile_capture(path: Path) -> str:
    """Return a capture whose client id, topic, key and value try to get at the terminal."""
    evil = HOSTILE.encode("utf-8", "surrogatepass")
    name = len(evil).to_bytes(2) + evil
    batch = batch_bytes(record_bytes(key=evil, value=evil))
    partitions = (1).to_bytes(4) + (0).to_bytes(4) + len(batch).to_bytes(4) + batch
    topics = (1).to_bytes(4) + name + partitions
    body = (
        b"\xff\xff" + (1).to_bytes(2) + (30000).to_bytes(4) + topics
    )  # Produce v3: no transactional id, acks 1
    answer = (1).to_bytes(4) + name + (1).to_bytes(4) + bytes(4) + (9999).to_bytes(2) + bytes(16) + bytes(4)
    talk = Conversation().handshake()
    talk.client(request(0, 3, 1, body, evil)).broker(response(1, answer))
    return write_pcap(path, talk.packets)


def test_hostile_text_on_screen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        assert len(driven.session.log) == 1
        driven.fields.go_to(0)
        for root in driven.fields.dissected.roots:  # type: ignore[union-attr]
            driven.fields.choose(root)
            driven.fields.action_open_all()
        for index, item in enumerate(driven.fields.lines):
            driven.fields.go_to(index)
            await driven.pilot.pause()
            assert_inert(driven)
            assert item.value.isprintable()
        await driven.press("shift+tab", "shift+tab")
        driven.rows.focus()
        driven.rows.choose_columns(("topic", "client_id"))
        await driven.press("equals_sign")
        assert driven.session.shown.predicate is not None
        await driven.until(lambda: driven.session.shown.looked_at == 1)
        assert len(driven.session.shown) == 1, "the quick filter quotes what it must"
        driven.app.give_notice(Notice(HOSTILE))
        await driven.pilot.pause()
        assert_inert(driven)
        assert "[bold red]x[/]" in "\n".join(driven.screen())

    drive(
        play,
        hostile_capture(tmp_path / "[red]evil.pcap"),
        monkeypatch=monkeypatch,
        ports=Ports((9092,)),
        size=(200, 60),
    )


def assert_inert(driven: Driven) -> None:
    """Nothing on screen does anything but stand there."""
    for line in driven.app.screen._compositor.render_strips():
        for segment in line:
            assert segment.control is None
            assert segment.text.isprintable(), repr(segment.text)
            assert segment.style is None or segment.style.link is None
            meta = segment.style.meta if segment.style is not None else {}
            assert "quit" not in str(meta.get("@click", "")) or segment.text.strip() in ("q", "Quit")


def test_nothing_in_text_moves_or_hides() -> None:
    shown = safe_text.safe(HOSTILE)
    assert shown.isprintable()
    for letter in "\x1b\u202e\u200b\u0301\n\x9b":
        assert letter not in shown
    text = safe_text.text(HOSTILE)
    assert text.plain == shown, "the brackets are text, not markup"
    assert not text.spans
    assert len(safe_text.safe("x" * 10**6)) < 3000


def test_cells_are_cut_by_width() -> None:
    assert safe_text.fitted("日本語", 5) == "日本…"
    assert safe_text.fitted("日本語", 4) == "日 …"
    assert safe_text.fitted("ab", 4, right=True) == "  ab"
    assert safe_text.fitted("abcd", 4) == "abcd"
    assert safe_text.fitted("abcd", 0) == ""


def test_inputs_that_fail_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(PRODUCE.read_bytes()[:20_000])
    text = tmp_path / "[bold]notes.txt"
    text.write_text("not a capture")

    async def play(driven: Driven) -> None:
        await driven.loaded()
        assert len(driven.session.log) > 0, "what could be read is there"
        told = "\n".join(driven.session.troubles)
        assert "not a capture, but text" in told
        assert "/nowhere.pcap" in told
        assert "cut.pcapng" in told
        assert "3 warnings" in driven.screen()[0]
        await driven.press("down", "r", "slash", "escape")
        assert driven.app.is_running

    drive(play, cut, text, "/nowhere.pcap", monkeypatch=monkeypatch)


def test_a_worker_that_is_killed() -> None:
    """A process of its own: the rows that came stay."""

    async def play(driven: Driven) -> None:
        await driven.until(lambda: len(driven.session.log))
        await driven.until(lambda: not driven.session.is_loading)
        worker = driven.session._run("filter", driven.session.order._replace(paths=("/dev/zero",)))
        assert worker is None
        process = driven.session._workers["filter"]._process
        os.kill(process.pid, signal.SIGKILL)
        await driven.until(lambda: "filter" not in driven.session._workers)
        await driven.press("down", "up")
        assert len(driven.session.log) == 54

    drive(play, PRODUCE)


def test_a_bug_in_a_worker_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(Order((str(PRODUCE),)))
    from kdissect.tui.processes.worker_messages import Failed

    class Dead:
        is_stopped = False

        def stop(self) -> None: ...

    session._take(sessions.FINDINGS, Dead(), Failed("ValueError: oh", "trace"))  # type: ignore[arg-type]
    assert session.troubles == ["the search for findings stopped: ValueError: oh (a bug of kdissect)"]
    session.close()


def test_help_while_rows_come(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.press("question_mark")
        await driven.until(lambda: not driven.session.is_loading)
        await driven.pilot.pause(0.3)
        assert driven.app.is_running
        await driven.press("escape")
        await driven.loaded()

    drive(play, PRODUCE, monkeypatch=monkeypatch)


# the spool


def spool(tmp_path: Path, bound: int) -> tuple[Any, SpoolWriter, SpoolReader]:
    file = (tmp_path / "spool").open("w+b")
    return file, SpoolWriter(file.fileno(), bound), SpoolReader(file.fileno(), bound)


def test_the_spool_keeps_the_latest(tmp_path: Path) -> None:
    file, writer, reader = spool(tmp_path, 1024)
    with file:
        contents = [bytes([number]) * (number % 90) for number in range(200)]
        numbers = [writer.put(content) for content in contents]
        kept = [index for index, number in enumerate(numbers) if not reader.get(number).why]
        assert kept[-1] == 199
        assert len(kept) >= 1024 // 96 - 2
        for index, number in enumerate(numbers):
            found = reader.get(number)
            assert (found.data, found.why) in ((contents[index], ""), (b"", GONE))
        assert file.seek(0, os.SEEK_END) <= 1024
        assert reader.get(writer.put(bytes(2000))).why == TOO_LARGE


def test_a_full_disk_ends_the_spool_alone(tmp_path: Path) -> None:
    path = tmp_path / "read only"
    path.write_bytes(b"")
    with path.open("rb") as file:
        writer = SpoolWriter(file.fileno())
        number = writer.put(b"abc")
        assert writer.error
        assert SpoolReader(file.fileno()).get(number).why == TOO_LARGE
