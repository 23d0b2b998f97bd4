"""The last position of each client in each partition. The native engine has the same table
(native/src/transfers/position_table.rs).
"""

from __future__ import annotations

from kdissect.history.state_table import Table
from kdissect.stats.by_group.group_links import ClientKey

Partition = tuple[str, int]
"""Topic as `transfers.topic_key` has it, and partition."""
State = tuple[int | None, int | None, int]
"""Fetch offset and high watermark, None for values that were not seen, and when the offset was requested."""


class PositionTable:
    """Forgets the positions that were used longest ago."""

    def __init__(self, most: int) -> None:
        self._states: Table[tuple[ClientKey, Partition], State] = Table(most)

    def __len__(self) -> int:
        return len(self._states)

    def learn(
        self, client: ClientKey, partition: Partition, asked: tuple[int, int] | None, behind: int | None,
        high_watermark: int | None, is_lost: bool,
    ) -> None:  # fmt: skip
        """Note the requested offset and its time, the one after received records, and the high watermark.

        The offset `is_lost` after records that are not known.
        """
        # Hot, once for each partition of a Fetch.
        offset, known_watermark, time_ns = self._states.peek((client, partition)) or (None, None, 0)
        if asked is not None:
            offset, time_ns = asked
        if is_lost:
            offset = None
        elif behind is not None and behind > (offset or 0):
            offset = behind
        watermark = known_watermark if high_watermark is None else high_watermark
        self.put(client, partition, (offset, watermark, time_ns))

    def put(self, client: ClientKey, partition: Partition, state: State) -> None:
        """Set a position, which counts as used now."""
        self._states.put((client, partition), state)

    def get(self, client: ClientKey, partition: Partition) -> State | None:
        """Return a position, without counting it as used."""
        return self._states.peek((client, partition))

    def items(self) -> list[tuple[tuple[ClientKey, Partition], State]]:
        """Return all positions, the one unused for longest first."""
        return list(self._states.items())
