"""An exchange on its way through the histories: its two bodies decoded once, for all of them."""

from enum import StrEnum
from typing import Any

from kdissect.decoders.bodies import decode_once
from kdissect.decoders.records.records_fields import RecordsField
from kdissect.engine.records.record_sets import lone_batch, record_batches
from kdissect.history.fact import Evidence, Fact, evidence_of
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.record_batch import RecordBatch
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

# Anomalies of a connection after which exchanges may be missing.
_LOSSES = (
    AnomalyKind.SKIPPED_BYTES, AnomalyKind.RESYNCHRONISED, AnomalyKind.BAD_FRAME_SIZE, AnomalyKind.GAP,
    AnomalyKind.PENDING_LIMIT, AnomalyKind.REASSEMBLY_LIMIT,
)  # fmt: skip

_UNREAD = object()
PartitionKey = tuple[str | bytes, int]
"""Name or id of a topic, whichever the message has, and the number of the partition."""


def losses_of(info: ConnectionInfo) -> int:
    """Return how many places of a connection are known where bytes were lost."""
    counts = info.anomaly_counts
    return sum(counts[kind] for kind in _LOSSES) if counts else 0


class ExchangeView:
    """One exchange. `request` and `response` are decoded bodies, None unless the body fits.

    `losses` counts the places of the connection where bytes were lost up to now: a machine that sees it grow
    knows that it missed something. `others_whole` says the same about the capture set's other connections,
    for machines that look at several. The view uses bodies that the exchange stores and decodes other bodies
    on first use.
    """

    __slots__ = (
        "_evidence",
        "_request",
        "_response",
        "exchange",
        "info",
        "is_misread",
        "is_read",
        "key",
        "losses",
        "others_whole",
        "version",
    )

    def __init__(self, exchange: Exchange, others_whole: bool = True) -> None:
        # Hot, once an exchange.
        self.exchange = exchange
        self.others_whole = others_whole
        self.info: ConnectionInfo = exchange.connection
        key, version = exchange.api_key, exchange.api_version
        self.key = -1 if key is None else key
        self.version = -1 if version is None else version
        self.losses = losses_of(self.info) if self.info.anomaly_counts else 0
        self.is_misread = False
        """Whether a requested body does not fit, or was captured in part."""
        self._evidence: Evidence | None = None
        self.is_read = False
        """Whether neither body is left to read: what there is was decoded before, and fits."""
        self._request: Any = _UNREAD
        self._response: Any = _UNREAD
        if exchange.bodies_cache is not None:
            request, response = exchange.bodies_cache
            if response is None:
                is_read = exchange.response is None
                if is_read:
                    self._response = None
            else:
                is_read = response.fits
                if is_read:
                    self._response = response.value
            if request is not None and request.fits:
                self._request = request.value
                self.is_read = is_read

    @property
    def request(self) -> Any:
        """The request, decoded on first use."""
        if self._request is _UNREAD:
            self._request = self._read(False)
        return self._request

    @property
    def response(self) -> Any:
        """The decoded response, in the same way."""
        if self._response is _UNREAD:
            self._response = self._read(True)
        return self._response

    @property
    def batches(self) -> list[tuple[PartitionKey, RecordBatch]]:
        """The record batches in the body that carries any, where it fits, with their partitions."""
        lone = lone_batch(self.exchange)
        if lone is not None:  # nearly always
            return [(partition_of(lone.records_field), lone.batch())]
        return [
            (partition_of(field), batch)
            for field, found in record_batches(self.exchange)
            for batch in found.batches
        ]

    @property
    def evidence(self) -> Evidence:
        """Evidence that a fact about this exchange refers to."""
        if self._evidence is None:
            self._evidence = evidence_of(self.exchange)
        return self._evidence

    def fact(self, kind: StrEnum, key: tuple[Any, ...], path: str = "", **more: Any) -> Fact:
        """Return a fact about this exchange. `more` are other parts of a Fact.

        As sure as `all_whole`, unless said.
        """
        more.setdefault("sure", self.all_whole)
        return Fact(kind, key, self.evidence, path=path, **more)

    @property
    def is_whole(self) -> bool:
        """Whether the connection was captured from its start, without a loss so far."""
        return not self.losses and not self.info.middle_start

    @property
    def all_whole(self) -> bool:
        """Whether the connection is whole, and no bytes of the capture set's other connections were lost."""
        return self.is_whole and self.others_whole

    @property
    def is_refused_whole(self) -> bool:
        """Whether the response's top-level error code is set, or there is no response at all."""
        answer = self.response
        return answer is None or bool(getattr(answer, "error_code", 0))

    @property
    def sent_ns(self) -> int:
        """Time of the request's first byte, or of the response's first byte for an orphan."""
        exchange = self.exchange
        frame = exchange.request or exchange.response
        return 0 if frame is None else frame.time_ns

    def _read(self, is_response: bool) -> Any:
        """Return the value of a body that fits, else None.

        Half a body is no basis for a fact. Nor is one with bytes left over: its layout is another than the
        version says.
        """
        exchange = self.exchange
        frame = exchange.response if is_response else exchange.request
        if frame is None or exchange.is_unknown:
            return None  # one in an unknown layout is no basis for a fact either
        if exchange.bodies_cache is not None:
            found = exchange.bodies_cache[is_response]
        else:
            offset = exchange.response_body_offset if is_response else exchange.request_body_offset
            found = decode_once(frame, offset, self.key, self.version, is_response)
        if found is not None and found.fits:
            return found.value
        self.is_misread = True
        return None


def partition_of(field: RecordsField) -> PartitionKey:
    """Return the partition whose records stand there."""
    topic = field.topic if field.topic_id is None else field.topic_id
    return topic or "", -1 if field.partition is None else field.partition
