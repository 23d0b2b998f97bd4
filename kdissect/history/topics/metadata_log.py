"""Topics in records of the metadata log (`__cluster_metadata`), as Fetch and FetchSnapshot carry them."""

from collections.abc import Iterator

from kdissect.decoders.payloads.internal_records import decode_record
from kdissect.decoders.records.reader import iter_records
from kdissect.engine.records.record_sets import record_sets
from kdissect.engine.records.snapshot_pieces import SnapshotPieces
from kdissect.session.exchange import Exchange

_TOPIC_RECORD = "TopicRecord"


def topic_records(
    exchange: Exchange, topic: str, topic_id: bytes, pieces: SnapshotPieces
) -> Iterator[tuple[bytes, str]]:
    """Yield the id and name of each topic that was created in the records of a response. Raises nothing.

    `topic` and `topic_id` name the metadata log; `pieces` knows the snapshots that came in parts.
    """
    for records in record_sets(exchange):
        section = records.records_field
        if not records.is_response or (section.topic != topic and section.topic_id != topic_id):
            continue
        pieces.join(records)
        for batch in records.found.batches:
            if batch.is_control:
                continue
            for record in iter_records(batch, []):
                payload = decode_record(topic, record.key, record.value).value
                if payload is not None and payload.name == _TOPIC_RECORD and payload.error is None:
                    yield payload.value.topic_id, _text(payload.value.name)


def _text(name: str | bytes) -> str:
    """Return a name with the bytes that are not UTF-8 as `\\xNN`, as summaries have them."""
    return name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")
