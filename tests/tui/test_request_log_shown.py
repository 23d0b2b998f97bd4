"""The screen shows a request log: exchanges with the times of the broker, and what the log lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdissect.engine.exchange_log.logged_frames import LoggedFrame
from kdissect.tui.screens.save_screen import SaveScreen
from tests.support.console import CAPTURES
from tests.tui.driving import Driven, drive

LOG = CAPTURES / "phases/recorded/slow-follower.requests.log.gz"
PRODUCE = 0


def test_an_exchange_of_a_log_has_the_times_of_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        log = driven.session.log
        assert driven.session.troubles == []
        rows = [row for row in range(len(log)) if log.api_key(row) == PRODUCE]
        assert rows
        await driven.go_to(rows[0])
        dissected = driven.fields.dissected
        assert dissected is not None
        facts, request_lines, _ = dissected.roots
        shown = {item.label: item.value for item in facts.children}
        assert all(name in shown["broker"] for name in ("queue ", "remote ", "PLAINTEXT"))
        assert shown["not in the log"] == "records, sizes of frames, packets"
        assert request_lines.value.startswith("line ")
        lines = {log.exchange(row).logged for row in rows}
        assert len(lines) == len(rows), "each exchange has its own line"
        request = log.exchange(rows[0]).request
        assert isinstance(request, LoggedFrame)
        assert request.bytes_on_wire is None
        assert request.logged is not None
        assert request.first_ref == log.columns["request_first_ref"][rows[0]]

    drive(play, LOG, monkeypatch=monkeypatch)


def test_packets_of_a_log_cannot_be_saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        screen = SaveScreen(driven.session, [0], "1 exchange")
        assert screen._trouble(str(tmp_path / "out.pcapng")) == "a request log has no packets"

    drive(play, LOG, monkeypatch=monkeypatch)
