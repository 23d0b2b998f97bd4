"""What one task of the data source reads."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.datasource import InputPartition

from kdissect.pipeline.inputs import Input


class Share(InputPartition):
    """What one task reads: `files`, and of their flows those whose number is `shard` modulo `shards`.

    `others` are the paths of the files that other tasks read.
    """

    def __init__(
        self, files: Sequence[Input], others: Sequence[str] = (), shard: int = 0, shards: int = 1
    ) -> None:
        super().__init__(None)
        self.files = tuple(files)
        self.others = tuple(others)
        self.shard = shard
        self.shards = shards

    @property
    def is_whole(self) -> bool:
        """Whether this is all there is."""
        return self.shards == 1 and not self.others
