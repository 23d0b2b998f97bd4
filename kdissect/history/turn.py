"""An exchange on its way through the histories: its two bodies decoded once, for all of them."""

from typing import Any

from kdissect.history.fact import Evidence, evidence_of
from kdissect.model.anomaly import AnomalyKind
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

# Anomalies of a connection after which exchanges may be missing.
_LOSSES = (
    AnomalyKind.SKIPPED_BYTES, AnomalyKind.RESYNCHRONISED, AnomalyKind.BAD_FRAME_SIZE, AnomalyKind.GAP,
    AnomalyKind.PENDING_LIMIT, AnomalyKind.REASSEMBLY_LIMIT,
)  # fmt: skip


class Turn:
    """One exchange. `request` and `response` are decoded bodies, None where there is none that fits.

    `losses` counts the places of the connection where bytes were lost up to now: a machine that sees it grow
    knows that it missed something. `others_whole` says the same of the other connections of the capture set,
    for machines that look at several.
    """

    __slots__ = (
        "_evidence",
        "exchange",
        "info",
        "key",
        "losses",
        "others_whole",
        "request",
        "response",
        "version",
    )

    def __init__(self, exchange: Exchange, others_whole: bool = True) -> None:
        self.exchange = exchange
        self.others_whole = others_whole
        self.info: ConnectionInfo = exchange.connection
        self.key = -1 if exchange.api_key is None else exchange.api_key
        self.version = -1 if exchange.api_version is None else exchange.api_version
        counts = self.info.anomaly_counts
        self.losses = sum(counts[kind] for kind in _LOSSES) if counts else 0
        request, response = exchange.bodies()
        # Half a body, or one in an unknown layout, is no basis for a fact; nor are bytes left over.
        self.request: Any = request.value if request is not None and request.fits else None
        self.response: Any = response.value if response is not None and response.fits else None
        self._evidence: Evidence | None = None

    @property
    def evidence(self) -> Evidence:
        """What a fact about this exchange points at."""
        if self._evidence is None:
            self._evidence = evidence_of(self.exchange)
        return self._evidence

    @property
    def is_whole(self) -> bool:
        """Whether the connection was captured from its start, and nothing of it was lost so far."""
        return not self.losses and not self.info.middle_start

    @property
    def all_whole(self) -> bool:
        """Whether that holds, and nothing of the capture set's other connections was lost."""
        return self.is_whole and self.others_whole

    @property
    def is_refused_whole(self) -> bool:
        """Whether the response's top-level error code is set, or there is no response at all."""
        answer = self.response
        return answer is None or bool(getattr(answer, "error_code", 0))

    @property
    def sent_ns(self) -> int:
        """Time of the request's first byte; that of the response for an orphan."""
        exchange = self.exchange
        frame = exchange.request or exchange.response
        return 0 if frame is None else frame.time_ns
