"""The exchanges view: list, fields, bytes, and how they follow each other."""

from __future__ import annotations

import pytest

from kdissect.tui.panes.dissection import Item
from kdissect.tui.screens.go_to import GoToScreen, row_named
from tests.support.console import CAPTURES
from tests.tui.driving import Driven, drive

PRODUCE = CAPTURES / "kafka44_java_produce.pcapng"


def find_line(driven: Driven, label: str) -> Item:
    """Return the first open line with a label."""
    return next(item for item in driven.fields.lines if item.label == label)


def row_with(driven: Driven, topic: str, api_key: int) -> int:
    log = driven.session.log
    return next(row for row in range(len(log)) if topic in log.topics(row) and log.api_key(row) == api_key)


@pytest.mark.exhaustive
def test_fields_and_bytes_find_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        await driven.go_to(0)
        item = find_line(driven, "client_software_name")
        driven.fields.choose(item)
        await driven.pilot.pause()
        start, end = driven.bytes.field
        buffer = driven.bytes.buffer
        assert buffer is not None
        assert buffer.side == "request"
        assert b"apache-kafka-java" in buffer.data[start:end]
        frame = driven.session.log.frame(0, "request")
        assert frame is not None
        assert buffer.data == frame.data
        # and back: each byte of the request leads to a field that holds it
        await driven.press("tab", "tab")
        assert driven.bytes.has_focus
        for offset in range(len(buffer.data)):
            driven.bytes.pick(offset)
            await driven.pilot.pause()
            chosen = driven.fields.item
            assert chosen is not None
            assert chosen.start <= offset < chosen.end
            assert not any(child.start <= offset < child.end for child in chosen.children)
        await driven.press("home")
        assert find_line(driven, "request_api_key") is driven.fields.item

    drive(play, PRODUCE, monkeypatch=monkeypatch)


def test_a_record_inside_an_lz4_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        await driven.go_to(row_with(driven, "codec-lz4", 0))
        frame_buffer = driven.bytes.buffer
        driven.fields.choose(driven.fields.dissected.root("request"))  # type: ignore[union-attr, arg-type]
        driven.fields.action_open_all()
        value = find_line(driven, "value")
        driven.fields.choose(value)
        await driven.pilot.pause()
        buffer = driven.bytes.buffer
        assert buffer is not None
        assert buffer is not frame_buffer
        assert "decompressed" in driven.bytes.title
        start, end = driven.bytes.field
        assert 0 <= start < end <= len(buffer.data)
        assert value.node is not None
        found = value.node.value
        content = found if isinstance(found, bytes) else found.encode()
        assert content in buffer.data[start:end]
        driven.bytes.pick(end - 1)
        await driven.pilot.pause()
        inner = driven.fields.item
        assert inner is not None
        assert inner is value or inner.parent is value

    drive(play, PRODUCE, monkeypatch=monkeypatch)


def test_keys_of_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        log, rows = driven.session.log, driven.rows
        await driven.press("e")
        assert log.errors(rows.row or 0)
        first = rows.row
        await driven.press("e", "E")
        assert rows.row == first
        await driven.press("m", "down", "m", "home")
        assert bytes(log.marked).count(1) == 2
        await driven.press("apostrophe")
        assert rows.row == first
        await driven.press("end")
        assert rows.row == len(log) - 1
        await driven.press("home", "j", "k", "pagedown", "pageup")
        assert rows.row == 0
        await driven.settled()
        await driven.press("r")
        assert driven.fields.item is not None
        assert driven.fields.item.side == "response"
        await driven.press("r")
        assert driven.fields.item.side == "request"
        await driven.press("z")
        assert driven.app.query_one("#detail").display is False
        await driven.press("z")
        assert driven.app.query_one("#detail").display is True

    drive(play, PRODUCE, monkeypatch=monkeypatch)


@pytest.mark.exhaustive
def test_go_to_number_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        await driven.press("colon", *"23", "enter")
        assert driven.rows.row == 22
        await driven.press("colon", *"99999", "enter")
        assert isinstance(driven.app.screen, GoToScreen)
        await driven.press("escape")
        assert driven.rows.row == 22
        session = driven.session
        row = row_named(session, "+2s")
        assert row is not None
        assert session.log.time_ns(row) >= session.log.start_ns + 2 * 10**9 > session.log.time_ns(row - 3)
        with pytest.raises(ValueError, match="no time"):
            row_named(session, "yesterday")

    drive(play, PRODUCE, monkeypatch=monkeypatch)


@pytest.mark.exhaustive
def test_findings_are_shown_and_gone_to(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        codes = {row: driven.session.log.codes(row) for row in range(len(driven.session.log))}
        first = min(row for row, found in codes.items() if found and row)
        await driven.press("n")
        assert driven.rows.row == first
        await driven.settled()
        assert any(item.label == f"! {codes[first][0]}" for item in driven.fields.lines)
        await driven.use_filter("has finding")
        await driven.until(lambda: len(driven.session.shown))
        shown = driven.session.shown
        assert [shown[place] for place in range(len(shown))] == [row for row, found in codes.items() if found]

    drive(play, CAPTURES / "kafka44_franz_raw.pcapng", monkeypatch=monkeypatch, studies=("findings",))


def test_the_place_in_the_tree_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        driven.fields.choose(find_line(driven, "correlation_id"))
        await driven.press("down")
        await driven.settled()
        assert driven.fields.item is not None
        assert driven.fields.item.label == "correlation_id"
        assert driven.fields.item.side == "request"

    drive(play, PRODUCE, monkeypatch=monkeypatch)


def test_freeze_and_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        count = len(driven.session.log)
        await driven.press("space")
        assert driven.session.shown.frozen_at == count
        driven.session.log.troubled += b"\0"  # as if one more had come
        assert len(driven.session.shown) == count
        await driven.press("space")
        assert len(driven.session.shown) == count + 1
        del driven.session.log.troubled[-1]
        await driven.press("F")
        assert driven.rows.row == count - 1
        await driven.press("up")
        assert not driven.rows.follows

    drive(play, PRODUCE, monkeypatch=monkeypatch)


def test_mouse(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        await driven.pilot.click("#list", offset=(20, 4))
        assert driven.rows.row == 3
        await driven.settled()
        lines = driven.fields.lines
        index = next(place for place, item in enumerate(lines) if item.label == "correlation_id")
        await driven.pilot.click("#tree", offset=(10, index))
        assert driven.fields.item is lines[index]
        await driven.pilot.click("#hex", offset=(1 + 6 + 3 * 2, 0))
        assert driven.bytes.cursor == 2
        assert driven.fields.item.label == "request_api_version"  # type: ignore[union-attr]

    drive(play, PRODUCE, monkeypatch=monkeypatch)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_every_line_fits(monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        for view in (driven.rows, driven.fields, driven.bytes):
            for y in range(view.size.height):
                assert view.render_line(y).cell_length == view.size.width
        text = driven.screen()
        assert len(text) == size[1]
        assert "ApiVersions v5" in text[4]
        assert "▼ Request" in "\n".join(text)
        assert "Quit" in text[-1] or size[0] == 80

    drive(play, PRODUCE, monkeypatch=monkeypatch, size=size)


def test_the_palette_offers_every_key_that_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        offered = {command.title: command for command in driven.app.get_system_commands(driven.app.screen)}
        for what in (
            "Next error",
            "Mark before",
            "Filter",
            "Next pane",
            "To the response, or back to the request",
        ):
            assert what in offered
        result = offered["Next error"].callback()
        assert result is not None
        await result
        await driven.pilot.pause()
        assert driven.session.log.errors(driven.rows.row or 0)

    drive(play, PRODUCE, monkeypatch=monkeypatch)
