"""One line says that the native engine is missing, if the input is large and the user did not choose so."""

from pathlib import Path

import pytest

from kdissect.cli import input_states, main
from kdissect.model import native

CAPTURE = Path(__file__).parents[2] / "captures" / "kafka32_quorum.pcapng"
NOTE = (
    "kdissect: note: slow, as the native engine is missing: no Rust compiler (cargo) when it was installed; "
)


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Remove the engine, and have captures of this size count as large."""
    monkeypatch.setattr(input_states, "LARGE_BYTES", CAPTURE.stat().st_size)
    monkeypatch.setattr(native, "is_compiled", False)
    monkeypatch.setattr(native, "_trouble", "no Rust compiler (cargo) when it was installed")
    return monkeypatch


@pytest.mark.parametrize(
    "command",
    [
        ("inspect",), ("inspect", "--jobs", "2", "--format", "jsonl"), ("info",), ("stats",), ("why",),
        ("records",), ("check", "--fail-on", "never"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_large_capture_gets_one_line(
    command: tuple[str, ...], missing: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    main([*command, str(CAPTURE)])
    lines = [line for line in capfd.readouterr().err.splitlines() if "engine" in line]
    assert len(lines) == 1
    assert lines[0].startswith(NOTE)
    assert "https://rustup.rs" in lines[0]
    assert "KDISSECT_NATIVE=0" in lines[0]


def test_a_small_one_gets_none(missing: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    missing.setattr(input_states, "LARGE_BYTES", CAPTURE.stat().st_size + 1)
    assert main(["inspect", str(CAPTURE)]) == 0
    assert "engine" not in capfd.readouterr().err


@pytest.mark.parametrize("why", ["KDISSECT_NATIVE=0", "KDISSECT_NATIVE=0 when it was installed"])
def test_a_choice_is_not_questioned(
    why: str, missing: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    missing.setattr(native, "_trouble", why)
    assert main(["inspect", str(CAPTURE)]) == 0
    assert "engine" not in capfd.readouterr().err


def test_what_is_there_is_not_missing(missing: pytest.MonkeyPatch) -> None:
    assert native.wish_for()
    missing.setattr(native, "is_compiled", True)
    assert not native.wish_for()
