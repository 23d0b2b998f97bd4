"""Much at once is written as it is: not copied, and behind what was held."""

import os
from pathlib import Path

import pytest

from kdissect.cli.output import Output


def test_much_at_once_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, written = os.write, list[object]()

    def noting(descriptor: int, data: memoryview) -> int:
        written.append(data.obj)
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", noting)
    path, much = tmp_path / "out", bytes(1 << 20)
    with Output(str(path)) as output:
        output.write(b"a")
        output.write(b"b")
        output.write(much)
        output.write(b"c")
    assert path.read_bytes() == b"ab" + much + b"c"
    assert written[0] == b"ab"
    assert any(data is much for data in written)
