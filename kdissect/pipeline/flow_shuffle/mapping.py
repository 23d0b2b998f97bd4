"""What a mapping task does: files to runs, each row with the partition it goes to."""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from zlib import crc32

from kdissect.model import faults
from kdissect.model.limits import in_force, use
from kdissect.pipeline.flow_shuffle.arrow_runs import to_batches
from kdissect.pipeline.flow_shuffle.run import Run
from kdissect.pipeline.flow_shuffle.run_reader import RunReader
from kdissect.pipeline.flow_shuffle.sent_to_all import facts_of, news_of
from kdissect.pipeline.inputs import Input


class Mapping:
    """The function of the task, for `mapInArrow`: rows hold pickled lists of inputs in the column `task`."""

    def __init__(self, parts: int) -> None:
        self._parts = parts
        self._limits = in_force()  # of the driver
        self._listener = faults.in_force()

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        use(self._limits)
        faults.use(self._listener)
        for batch in batches:
            for task in batch.column("task").to_pylist():
                yield from to_batches(self.runs(pickle.loads(task)))

    def runs(self, inputs: Sequence[Input]) -> Iterator[Run]:
        """The runs of files, and what the files tell every partition."""
        for found in inputs:
            file = found.open()
            reader = RunReader(file, self.part_of)
            yield from reader.runs()
            yield from news_of(file, found.capture_set, self._parts)
            yield facts_of(file, found.name)

    def part_of(self, key: bytes) -> int:
        """The partition of a flow: the same on every machine, which Python's own hash is not."""
        return crc32(key) % self._parts
