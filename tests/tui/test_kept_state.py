"""State in a file: what is kept, and that nothing about the file can do harm."""

from pathlib import Path

import pytest

from kdissect.tui.kept_state import FILTERS_KEPT, LARGEST_FILE, LONGEST_FILTER, KeptState, state_path


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
