"""Control records: spec/001 "5.3.1.1 Control Batches" and the KRaft records (KIP-595, KIP-630, KIP-853)."""

import struct
import uuid
from typing import Any

import pytest

from kdissect.decoders.jsonable import to_jsonable
from kdissect.decoders.payloads.records import decode_record
from kdissect.decoders.records.control import control_key
from kdissect.decoders.records.reader import read_records
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.records import whole

ID = uuid.UUID(int=5).bytes


def key(kind: int, version: int = 0) -> bytes:
    return struct.pack(">hh", version, kind)


@pytest.mark.parametrize(
    ("kind", "value", "name", "content"),
    [
        (0, struct.pack(">hi", 0, 7), "abort", {"coordinator_epoch": 7}),
        (1, struct.pack(">hi", 0, 8), "commit", {"coordinator_epoch": 8}),
        (
            2,
            struct.pack(">hi", 0, 3) + b"\x02" + struct.pack(">i", 3) + b"\x00" + b"\x01" + b"\x00",
            "leader_change",
            {"version": 0, "leader_id": 3, "voters": [{"voter_id": 3}], "granting_voters": []},
        ),
        (
            2,
            struct.pack(">hi", 1, 3) + b"\x02" + struct.pack(">i", 3) + ID + b"\x00" + b"\x01" + b"\x00",
            "leader_change",
            {
                "version": 1,
                "leader_id": 3,
                "voters": [{"voter_id": 3, "voter_directory_id": "AAAAAAAAAAAAAAAAAAAABQ"}],
                "granting_voters": [],
            },
        ),
        (
            3, struct.pack(">hq", 0, 99) + b"\x00", "snapshot_header",
            {"version": 0, "last_contained_log_timestamp": 99},
        ),
        (4, struct.pack(">h", 0) + b"\x00", "snapshot_footer", {"version": 0}),
        (5, struct.pack(">hh", 0, 1) + b"\x00", "kraft_version", {"version": 0, "kraft_version": 1}),
        (
            6,
            struct.pack(">h", 0) + b"\x02" + struct.pack(">i", 1) + ID + b"\x02" + b"\x02L" + b"\x02h"
            + struct.pack(">H", 9093) + b"\x00" + struct.pack(">hh", 0, 1) + b"\x00" + b"\x00" + b"\x00",
            "voters",
            {
                "version": 0,
                "voters": [
                    {
                        "voter_id": 1,
                        "voter_directory_id": "AAAAAAAAAAAAAAAAAAAABQ",
                        "endpoints": [{"name": "L", "host": "h", "port": 9093}],
                        "kraft_version_feature": {"min_supported_version": 0, "max_supported_version": 1},
                    }
                ],
            },
        ),
    ],
)  # fmt: skip
def test_types_of_control_records(kind: int, value: bytes, name: str, content: dict[str, Any]) -> None:
    """5.3.1.1: "The key of a control record conforms to the following schema"."""
    batch = whole(batch_bytes(record_bytes(key=key(kind), value=value), attributes=0x20))
    (record,) = read_records(batch).records
    found = control_key(record.key)
    assert found is not None
    assert (found.version, found.type, found.name) == (0, kind, name)
    decoded = decode_record("any topic", record.key, record.value, is_control=True).value
    assert decoded is not None
    assert (to_jsonable(decoded.value), decoded.error) == (content, None)


def test_types_that_do_not_exist_yet() -> None:
    found = control_key(key(7))
    assert found is not None
    assert (found.type, found.name) == (7, "control type 7")


def test_a_later_key_version_is_read_as_far_as_it_is_known() -> None:
    assert control_key(key(1, 3) + b"more") == (3, 1)


@pytest.mark.parametrize("short", [None, b"", b"\0\0\0"])
def test_a_key_that_is_none(short: bytes | None) -> None:
    assert control_key(short) is None
