"""What may follow the batches of a Fetch response: the beginning of a batch that the broker cut off."""

import pytest

from kdissect.engine.records.compiled_records import rest_fits
from tests.support.messages.batches import batch_bytes, record_bytes

BATCH = batch_bytes(record_bytes(value=b"value"))


@pytest.mark.parametrize(
    ("data", "may_be_cut", "fits"),
    [
        (b"", True, True),
        (BATCH[:40], True, True),
        (BATCH[:-1], True, True),
        (BATCH[:40], False, False),
        (BATCH, True, False),
        (BATCH + BATCH[:40], True, False),
        (b"\xff" * 80, True, False),
    ],
    ids=[
        "empty",
        "head of a batch",
        "all but a byte",
        "not to be cut",
        "a batch",
        "a batch and a head",
        "noise",
    ],
)
def test_only_an_incomplete_batch_fits(data: bytes, may_be_cut: bool, fits: bool) -> None:
    before, behind = b"before", b"behind"
    end = len(before) + len(data)
    assert rest_fits(before + data + behind, len(before), end, may_be_cut) is fits
