"""A batch that is repeated after a crash, wherever the first attempt came to its end, without Spark."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from kdissect.pipeline.sink.table_directory import StreamDirectory
from kdissect.pipeline.streaming import micro_batch, set_work
from kdissect.pipeline.streaming.micro_batch import Batches
from tests.pipeline.parquet import of_stream
from tests.pipeline.streaming.arriving import arrive, assert_equal, cut, packets_of
from tests.pipeline.streaming.drive import Stream, settings_of

NAME = "kafka44_sarama_transactions.pcapng"


class KilledError(Exception):
    """Stands for a kill."""


def _killed_at(calls: int, real: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function until its n-th call, which is the last thing that happens."""
    left = [calls]

    def function(*arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise KilledError
        return real(*arguments, **named)

    return function


MOMENTS = {
    "while what a capture set had is written": (set_work, "write_whole", 1),
    "while the state of a capture set is written": (set_work, "write_whole", 2),
    "while what is open is written": (set_work, "write_whole", 3),
    "while the judgement is written": (set_work, "write_whole", 4),
    "while names are written": (micro_batch, "write_whole", 1),
    "while the index is written": (micro_batch, "write_whole", 2),
    "before the commit": (StreamDirectory, "commit_batch", 1),
    "while rewritten files move": (StreamDirectory, "move_in", 1),
    "while files move": (StreamDirectory, "move_in", 2),
    "before the manifest": (StreamDirectory, "_replace", 1),
    "behind the commit": (Batches, "_forget", 1),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("moment", ["while rewritten files move", "before the manifest", "behind the commit"])
def test_a_batch_that_rewrites_rows_is_repeated(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host that counts comes second: rows and counts of the other one are put right once."""
    place, name, calls = MOMENTS[moment]
    packets = packets_of(NAME)
    later = [packet._replace(time_ns=packet.time_ns + 1_000_000) for packet in packets]
    folders = [tmp_path / "a", tmp_path / "b"]
    stream = Stream(settings_of(tmp_path, *folders))
    arrive(folders[1], 0, later, "b_trace")
    stream.step()
    arrive(folders[0], 0, packets, "a_trace")
    stores = copy.deepcopy(stream.stores)
    with monkeypatch.context() as patched:
        patched.setattr(place, name, _killed_at(calls, getattr(place, name)))
        with pytest.raises(KilledError):
            stream.step()
    stream.stores = stores
    stream.directory.recover()
    stream.batches = Batches(
        stream.settings, StreamDirectory(stream.directory.filesystem, stream.directory.root)
    )
    stream.step()
    assert_equal(tmp_path / "tables", folders)
    assert any(row["same_as"] for row in of_stream(tmp_path / "tables", "connections"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("moment", MOMENTS)
def test_the_batch_is_repeated(moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, name, calls = MOMENTS[moment]
    parts = cut(packets_of(NAME), 3)
    stream = Stream(settings_of(tmp_path, tmp_path / "in"))
    for number in (0, 1):
        arrive(tmp_path / "in", number, parts[number])
        stores = copy.deepcopy(stream.stores)
        if number:
            with monkeypatch.context() as patched:
                patched.setattr(place, name, _killed_at(calls, getattr(place, name)))
                with pytest.raises(KilledError):
                    stream.step()
        stream.stores = stores  # as Spark loads the version of the batch before
        stream.directory.recover()
        stream.batches = Batches(
            stream.settings, StreamDirectory(stream.directory.filesystem, stream.directory.root)
        )
        stream.step()
    arrive(tmp_path / "in", 2, parts[2])
    stream.step()
    assert_equal(tmp_path / "tables", [tmp_path / "in"])
    manifest = stream.directory.manifest()
    assert manifest is not None
    known = {file["path"] for file in (*manifest["files"], *manifest["gone"])}
    there = {str(path.relative_to(tmp_path / "tables")) for path in (tmp_path / "tables").rglob("*.parquet")}
    assert there == known
