"""Topics in records of the metadata log (`__cluster_metadata`), as Fetch and FetchSnapshot carry them."""

from collections.abc import Iterator

from kdissect.decoders.payloads.records import decode_record
from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.reader import iter_records
from kdissect.decoders.records.sections import record_sections
from kdissect.session.exchange import Exchange

_TOPIC_RECORD = "TopicRecord"


def topic_records(exchange: Exchange, topic: str, topic_id: bytes) -> Iterator[tuple[bytes, str]]:
    """Id and name of each topic that was created in the records of a response. Raises nothing.

    `topic` and `topic_id` are those of the metadata log.
    """
    frame, key, version = exchange.response, exchange.api_key, exchange.api_version
    if frame is None or key is None or version is None:
        return
    for section in record_sections(frame.data, exchange.response_body_offset, key, version, True):
        if section.topic != topic and section.topic_id != topic_id:
            continue
        end = min(section.end, len(frame.data))
        for batch in split_batches(frame.data, section.start, end, may_be_cut=True).batches:
            if batch.is_control:
                continue
            for record in iter_records(batch, []):
                payload = decode_record(topic, record.key, record.value).value
                if payload is not None and payload.name == _TOPIC_RECORD and payload.error is None:
                    yield payload.value.topic_id, payload.value.name
