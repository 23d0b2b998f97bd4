"""Acknowledgements of members of share groups, in ShareFetch and ShareAcknowledge (KIP-932)."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from kdissect.history.sessions.acquired_records import Partition

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)  # enums.table, acknowledgeType


class Acknowledged(NamedTuple):
    """Offsets `first` to `last` of a partition, and the type of their acknowledgement.

    `is_refused`: the broker answered with an error, and acknowledged no offset of the partition.
    """

    partition: Partition
    first: int
    last: int
    type: int
    is_refused: bool


def acknowledged(request: Any, answer: Any) -> Iterator[Acknowledged]:
    """Yield the acknowledgements of a request, in runs of one type."""
    refused = _refused(answer)
    for topic in request.topics or ():
        for row in topic.partitions or ():
            partition = topic.topic_id, row.partition_index
            is_refused = answer.error_code != 0 or partition in refused
            for batch in row.acknowledgement_batches or ():
                for first, last, kind in _runs(batch):
                    yield Acknowledged(partition, first, last, kind, is_refused)


def _refused(answer: Any) -> set[Partition]:
    return {
        (topic.topic_id, row.partition_index)
        for topic in answer.responses or ()
        for row in topic.partitions or ()
        if row.error_code or getattr(row, "acknowledge_error_code", 0)
    }


def _runs(batch: Any) -> Iterator[tuple[int, int, int]]:
    """Yield the first offset, the last offset and the type. A batch has one type for all of its records, or
    one for each.
    """
    types: Sequence[int] = batch.acknowledge_types or ()
    if len(types) == 1:
        if batch.first_offset <= batch.last_offset:
            yield batch.first_offset, batch.last_offset, types[0]
        return
    first = batch.first_offset
    for kind, run in groupby(types):
        last = min(first + sum(1 for _ in run) - 1, batch.last_offset)
        if first > last:
            return
        yield first, last, kind
        first = last + 1
