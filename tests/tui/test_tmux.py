"""The whole way in a real terminal: open, filter, a record inside an lz4 batch, a finding, save, quit."""

import shutil
from pathlib import Path

import pytest

from benchmarks.screens.tmux import walk
from kdissect.api import Dissection


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_walk(tmp_path: Path) -> None:
    saved = tmp_path / "saved.pcapng"
    screens = walk(100, 30, saved)
    assert "commit0-2" in screens["records"]
    assert "ommit0-2" in screens["bytes of a record"], "the decompressed bytes as text"
    assert "severity" in screens["findings"]
    assert 0 in {exchange.api_key for exchange in Dissection(str(saved))}, "the marked Produce"
