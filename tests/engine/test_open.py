"""`kdissect.open`: what cannot be opened is an error at once, what goes wrong later a warning at the end."""

import gzip
import os
import warnings
from pathlib import Path

import pytest

import kdissect
from tests.support.console import TXN

EXCHANGES = 98


def text(folder: Path) -> Path:
    path = folder / "text.pcap"
    path.write_text("no capture")
    return path


@pytest.mark.parametrize("beside", [[], [TXN]], ids=["alone", "beside a capture"])
def test_what_cannot_be_opened_raises(beside: list[str], tmp_path: Path) -> None:
    """Also before anything is asked of it."""
    (tmp_path / "empty.pcap").touch()
    (tmp_path / "folder").mkdir()
    for path, why in [
        ("nosuch.pcap", "No such file or directory"),
        (text(tmp_path), "not a capture, but text"),
        (tmp_path / "empty.pcap", "empty"),
        (tmp_path / "folder", "no captures in this directory"),
        (str(tmp_path / "*.nothing"), "no file matches"),
    ]:
        with pytest.raises(kdissect.CaptureError, match=why) as caught:
            kdissect.open([*beside, path])
        assert caught.value.path == str(path)


def test_what_goes_wrong_later_is_warned_of(tmp_path: Path) -> None:
    whole = Path(TXN).read_bytes()
    cut, packed = tmp_path / "cut.pcap", tmp_path / "cut.pcap.gz"
    cut.write_bytes(whole[:50_000])
    packed.write_bytes(gzip.compress(whole)[:-5_000])
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes(whole[:50_000] + b"\xff" * 50_000)
    for path, words in [(cut, "ends inside packet 145"), (packed, "gzip"), (damaged, "packet")]:
        with pytest.warns(kdissect.CaptureWarning, match=words) as caught:
            found = list(kdissect.open(path))
        assert 0 < len(found) < EXCHANGES
        (warning,) = caught
        assert str(warning.message).startswith(f"{path}: ")
        assert warning.filename == __file__


def test_what_is_whole_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(kdissect.open(TXN))) == EXCHANGES
        assert len(list(kdissect.open([TXN, TXN]))) == EXCHANGES


def test_a_pipe_is_not_looked_into() -> None:
    """Its bytes can be read but once."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe, warnings.catch_warnings():
        warnings.simplefilter("error")
        exchanges = kdissect.open(f"/dev/fd/{reading}")
        pipe.write(Path(TXN).read_bytes()[:50_000])
    os.close(reading)
    assert exchanges.captures.is_live
