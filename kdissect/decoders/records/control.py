"""Keys of control records (spec/001 "5.3.1.1 Control Batches"); `payloads.records` decodes their values."""

from typing import NamedTuple

# org.apache.kafka.common.record.internal.ControlRecordType;
# 0 and 1 also in spec/001 "5.3.1.1 Control Batches", 2 from KIP-595, 3 and 4 from KIP-630, 5 and 6 from
# KIP-853.
_NAMES = ("abort", "commit", "leader_change", "snapshot_header", "snapshot_footer", "kraft_version", "voters")
_KEY_SIZE = 4  # version int16, type int16 (spec/001 "5.3.1.1 Control Batches"). Later versions may add to it


class ControlKey(NamedTuple):
    """The key of a control record; `type` is 0 for abort, 1 for commit ..."""

    version: int
    type: int

    @property
    def name(self) -> str:
        """`abort`, `commit`, `leader_change` ...; `control type 9` for one that does not exist yet."""
        return _NAMES[self.type] if 0 <= self.type < len(_NAMES) else f"control type {self.type}"


def control_key(key: bytes | None) -> ControlKey | None:
    """Return the key of a control record; None if it is too short. Raises nothing."""
    if key is None or len(key) < _KEY_SIZE:
        return None
    return ControlKey(int.from_bytes(key[:2], signed=True), int.from_bytes(key[2:_KEY_SIZE], signed=True))
