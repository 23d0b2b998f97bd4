"""Where files are off, as in a browser, no action writes one."""

from pathlib import Path

import pytest

from kdissect.tui.app import KdissectApp
from kdissect.tui.screens.save_screen import SaveScreen
from kdissect.tui.user_state import KeptState
from kdissect.tui.view import FILES_OFF
from tests.support.console import CAPTURES
from tests.tui.driving import Driven, drive

PRODUCE = CAPTURES / "kafka44_java_produce.pcapng"


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the notices. A driven app draws none."""
    texts: list[str] = []
    monkeypatch.setattr(KdissectApp, "notify", lambda _, message, **_options: texts.append(message))
    return texts


@pytest.mark.parametrize("may_use_files", [False, True])
@pytest.mark.parametrize("key", ["w", "W"])
def test_saving(key: str, may_use_files: bool, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        await driven.press("1", key)

        await driven.until(lambda: isinstance(driven.app.screen, SaveScreen) or said)
        assert isinstance(driven.app.screen, SaveScreen) is may_use_files
        assert said == ([] if may_use_files else [FILES_OFF])

    drive(play, PRODUCE, monkeypatch=monkeypatch, may_use_files=may_use_files)


@pytest.mark.parametrize("may_use_files", [False, True])
def test_screenshots(
    may_use_files: bool, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(driven: Driven) -> None:
        await driven.loaded()
        driven.app.deliver_screenshot(path=str(tmp_path))

        await driven.until(lambda: list(tmp_path.iterdir()) or said)
        assert (FILES_OFF in said) is not may_use_files

    drive(play, PRODUCE, monkeypatch=monkeypatch, may_use_files=may_use_files)
    assert bool(list(tmp_path.iterdir())) is may_use_files


@pytest.mark.parametrize("is_saved", [False, True])
def test_what_the_screen_remembers(is_saved: bool, tmp_path: Path) -> None:
    path = tmp_path / "tui.json"
    state = KeptState(path, is_saved)
    state.theme = "textual-light"
    state.save()
    assert path.exists() is is_saved
