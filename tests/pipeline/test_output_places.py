"""A place that takes no tables is refused in one line."""

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from pyarrow import fs

from kdissect.cli import main
from tests.pipeline.conftest import CHECKOUT

CAPTURE = str(CHECKOUT / "captures" / "tansu_rdk216_txn.pcap")


@pytest.mark.parametrize("options", [[], ["--overwrite"]])
def test_a_file_is_no_place(options: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "file"
    place.write_text("kept")
    assert main(["tables", CAPTURE, "-o", str(place), *options]) == 3
    assert capfd.readouterr().err == f"kdissect: {place}: Not a directory\n"
    assert place.read_text() == "kept"


def test_a_file_system_that_lacks_its_library_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class WithoutJava:
        @staticmethod
        def from_uri(url: str) -> None:
            raise OSError("Unable to load libjvm\ndlopen(/a/libjvm.so) failed\ndlopen(/b/libjvm.so) failed")

    monkeypatch.setattr(fs, "FileSystem", WithoutJava)
    assert main(["tables", CAPTURE, "-o", "hdfs://127.0.0.1:9/tables"]) == 3
    assert capfd.readouterr().err == "kdissect: hdfs://127.0.0.1:9/tables: Unable to load libjvm\n"
