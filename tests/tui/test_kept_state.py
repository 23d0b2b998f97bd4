"""State in a file: what is kept, and that nothing about the file can do harm."""

from pathlib import Path

import pytest

from kdissect.tui.user_state import FILTERS_KEPT, LARGEST_FILE, LONGEST_FILTER, KeptState, state_path
from tests.support.console import CAPTURES
from tests.tui.driving import Driven, drive

CAPTURE = CAPTURES / "kafka44_java_transactions.pcapng"


def test_what_was_saved_is_there_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "tui.json"
    state = KeptState(path)
    state.theme, state.columns = "textual-light", ("time", "api")
    state.history = ['topic == "a"', "error", 'topic == "a"']
    state.save()
    again = KeptState(path)
    assert (again.theme, again.columns) == ("textual-light", ("time", "api"))
    assert again.history == ["error", 'topic == "a"']
    assert [file.name for file in path.parent.iterdir()] == ["tui.json"]


def test_it_stands_in_the_configuration_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert state_path() == tmp_path / "kdissect" / "tui.json"


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"\xff\xfe", b"[]", b"3", b'{"theme": 3, "columns": {}, "filters": "x"}', b"[" * 100_000,
        b'{"theme": "light"}' + b" " * LARGEST_FILE,
    ],
)  # fmt: skip
def test_a_damaged_file_costs_what_stands_in_it(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tui.json"
    path.write_bytes(content)
    state = KeptState(path)
    assert (state.theme, state.columns, state.history) == ("textual-dark", (), [])
    state.theme = "textual-light"
    state.save()
    assert KeptState(path).theme == "textual-light"


def test_a_directory_that_cannot_be_written_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    KeptState(tmp_path / "file" / "tui.json").save()
    (tmp_path / "tui.json").mkdir()
    KeptState(tmp_path / "tui.json").save()
    assert [file.name for file in (tmp_path / "tui.json").parent.glob("tui.json?*")] == []


def test_filters_are_bounded(tmp_path: Path) -> None:
    state = KeptState(tmp_path / "tui.json")
    state.history = [*(f"api_key == {number}" for number in range(500)), "x" * (LONGEST_FILTER + 1), " "]
    state.save()
    kept = KeptState(tmp_path / "tui.json").history
    assert len(kept) == FILTERS_KEPT
    assert kept[-1] == "api_key == 499"


def test_columns_are_chosen_on_screen_and_kept(tmp_path: Path) -> None:
    state = KeptState(tmp_path / "tui.json")
    state.columns = ("time", "gone", "api", "latency")

    async def play(driven: Driven) -> None:
        await driven.loaded()
        assert driven.rows.columns_on_screen == ("time", "api", "latency")
        await driven.press("C")
        assert any("[x] API" in line for line in driven.screen())
        assert any("[ ] Topic" in line for line in driven.screen())
        await driven.press("home", "enter", *("down",) * 5, "space")  # the number comes, the API goes
        await driven.press("escape")
        await driven.until(lambda: driven.rows.columns_on_screen == ("number", "time", "latency"))
        assert " API " not in driven.screen()[driven.rows.region.y]

    drive(play, CAPTURE, state=state)
    assert KeptState(tmp_path / "tui.json").columns == ("number", "time", "latency")


@pytest.mark.exhaustive
def test_the_last_column_stays_and_all_can_come_back(tmp_path: Path) -> None:
    state = KeptState(tmp_path / "tui.json")
    state.columns = ("number",)

    async def play(driven: Driven) -> None:
        await driven.loaded()
        await driven.press("C", "enter", "escape")
        assert driven.rows.columns_on_screen == ("number",)
        await driven.press("C", "a", "escape")
        await driven.until(lambda: len(driven.rows.columns_on_screen) > 5)

    drive(play, CAPTURE, state=state)
    assert KeptState(tmp_path / "tui.json").columns == ()
