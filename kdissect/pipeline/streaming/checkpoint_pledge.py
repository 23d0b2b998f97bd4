"""The settings that a checkpoint was begun with, and its lock: one stream uses it, with its own tables
only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from kdissect.capture.filesystems import filesystem_of
from kdissect.pipeline.sink.lock import locked
from kdissect.pipeline.sink.table_directory import Recovered, StreamDirectory
from kdissect.pipeline.streaming.stream_settings import Settings
from kdissect.pipeline.table_files.whole_object import read_whole, write_whole

_NAME = "stream.json"
# Of what is pickled in checkpoints: another number cannot be read.
_STATE = 8


class PledgeError(ValueError):
    """The checkpoint was begun with other settings. The text is one line for people."""


@contextmanager
def pledged(settings: Settings) -> Iterator[Recovered]:
    """Hold the checkpoint. Yields the files that a crash had left in the tables and that are now deleted.

    Raises PledgeError, BusyError if another stream holds it, or OSError.
    """
    filesystem, root = filesystem_of(settings.own)
    with locked(filesystem, root, busy=f"{settings.checkpoint}: another stream uses this checkpoint"):
        path = f"{root}/{_NAME}"
        before = json.loads(read_whole(filesystem, path) or b"null")
        directory = StreamDirectory(*filesystem_of(settings.output))
        now = _pledge(settings, directory)
        if before is None:
            if directory.last_batch() is not None:
                raise PledgeError(
                    "the tables there were written with another checkpoint: name it, or another output"
                )
            write_whole(filesystem, path, json.dumps(now).encode())
        elif before != now:
            changed = ", ".join(sorted(name for name in before | now if before.get(name) != now.get(name)))
            raise PledgeError(f"the checkpoint was begun with other settings: {changed}")
        yield directory.recover()


def _pledge(settings: Settings, directory: StreamDirectory) -> dict[str, object]:
    return {
        "output": directory.root,
        "tables": sorted(settings.tables),
        "partition-by": list(settings.partition_by),
        "shards": settings.shards,
        "state": _STATE,
        **({} if settings.schemas is None else {"schemas": True}),
    }


def shards_of(settings: Settings) -> int | None:
    """Return a checkpoint's number of shards, or None for a new one. Raises OSError."""
    filesystem, root = filesystem_of(settings.own)
    before = json.loads(read_whole(filesystem, f"{root}/{_NAME}") or b"{}")
    shards: int | None = before.get("shards")
    return shards
