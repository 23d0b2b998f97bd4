"""Facts about the wire that a reader of the capture should know.

They carry no judgement (that is a Finding).
"""

from enum import StrEnum
from typing import NamedTuple


class AnomalyKind(StrEnum):
    """Every kind of anomaly. Names are output: add freely, never rename."""

    # capture and network
    CUT_CAPTURE = "cut_capture"  # the file ends inside a packet or block
    CORRUPT_CAPTURE = "corrupt_capture"  # lengths or magic of the capture file make no sense from here on
    DROPPED_PACKETS = "dropped_packets"  # the capturing side lost them, and says so
    TIME_STEP_BACK = "time_step_back"
    UNREAD_LINE = "unread_line"  # lines of a request log that are not read, or not whole, by the reason
    UNSUPPORTED_LINK = "unsupported_link"
    MALFORMED_PACKET = "malformed_packet"
    FRAGMENT_INCOMPLETE = "fragment_incomplete"
    # TCP
    GAP = "gap"
    OVERLAP_DIFFERS = "overlap_differs"
    LATE_SEGMENT = "late_segment"
    DUPLICATE_CAPTURE = "duplicate_capture"
    REASSEMBLY_LIMIT = "reassembly_limit"
    DATA_AFTER_CLOSE = "data_after_close"
    # TLS
    TLS_BAD_RECORD = (
        "tls_bad_record"  # its keys are known, but it does not open: damaged, or the keys are wrong
    )
    TLS_ALERT = "tls_alert"  # other than the one that closes in order
    # Kafka framing and pairing
    CUT_FRAME = "cut_frame"
    BAD_FRAME_SIZE = "bad_frame_size"
    FOREIGN_BYTES = "foreign_bytes"  # of another protocol, where the first frame of a direction belongs
    RESYNCHRONISED = "resynchronised"
    SKIPPED_BYTES = "skipped_bytes"
    MIDDLE_START = "middle_start"
    UNKNOWN_API = "unknown_api"
    UNKNOWN_VERSION = "unknown_version"
    MALFORMED_HEADER = "malformed_header"
    MALFORMED_BODY = "malformed_body"
    TRAILING_BYTES = "trailing_bytes"
    MALFORMED_PAYLOAD = "malformed_payload"  # what a bytes field holds does not fit its format
    ORPHAN_RESPONSE = "orphan_response"
    UNREADABLE_REQUEST = "unreadable_request"  # which a response of no known request may answer
    INFERRED_API = "inferred_api"
    OUT_OF_ORDER_RESPONSE = "out_of_order_response"
    PASSED_OVER = "passed_over"  # a request without a response, though a later one was answered
    DUPLICATE_RESPONSE = "duplicate_response"
    REUSED_CORRELATION_ID = "reused_correlation_id"
    PAIRED_AGAIN = "paired_again"  # of two requests under one id the response fits the second alone
    UNEXPECTED_RESPONSE = "unexpected_response"  # answered although acks=0 asked for none
    VERSION_FALLBACK = "version_fallback"  # ApiVersions answered in v0 (KIP-511)
    PENDING_LIMIT = "pending_limit"
    EVICTED_IDLE = "evicted_idle"
    LIMIT_REACHED = "limit_reached"  # of another item there was more than the limit (docs/limits.md)
    # record batches
    BAD_CRC = "bad_crc"
    BAD_BATCH_LENGTH = "bad_batch_length"
    CUT_BATCH = "cut_batch"  # bytes of a batch where only whole ones may stand: not the end of a Fetch
    UNKNOWN_MAGIC = "unknown_magic"
    BAD_RECORD_COUNT = "bad_record_count"
    MALFORMED_RECORD = "malformed_record"
    NEGATIVE_LENGTH = "negative_length"  # of a key, value or header, below the -1 that stands for null
    NULL_HEADER_KEY = "null_header_key"
    UNKNOWN_CODEC = "unknown_codec"
    CORRUPT_COMPRESSION = "corrupt_compression"
    DECOMPRESSION_LIMIT = "decompression_limit"
    NESTED_COMPRESSION = "nested_compression"
    INNER_MAGIC = "inner_magic"  # a message inside a compressed one has another magic
    EMPTY_WRAPPER = "empty_wrapper"  # a compressed message with nothing inside


class Anomaly(NamedTuple):
    """One anomaly.

    `ref` is a packet reference (0: none), `time_ns` the packet's time, `detail` one line for people,
    `direction` the direction of the anomalous bytes (0 or 1; -1: unknown).
    """

    kind: AnomalyKind
    detail: str = ""
    ref: int = 0
    time_ns: int = 0
    direction: int = -1
