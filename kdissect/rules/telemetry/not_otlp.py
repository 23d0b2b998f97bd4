"""TEL005: Pushed metrics must be OpenTelemetry MetricsData."""

from collections.abc import Iterator

from kdissect.decoders.payloads.telemetry import metrics_fault
from kdissect.model.finding import Severity, Who
from kdissect.model.record_batch import Codec
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


class NotOtlp(BodyRule):
    """Pushed metrics must be OpenTelemetry MetricsData.

    Protocol Buffers, compressed as a whole with the codec that the request names. Brokers hand them to
    plugins, which may fail.

    Example: bytes that are no Protocol Buffers message.

    What to do: encode MetricsData, then compress it.
    """

    code = "TEL005"
    name = "telemetry-otlp"
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-714 Public Interfaces",)
    on = (("PushTelemetry", REQUEST),)

    def check(self, body: Body) -> Iterator[Violation]:
        """The metrics, decompressed and decoded."""
        metrics, codec = bytes(body.value.metrics), body.value.compression_type
        is_known = 0 <= codec <= Codec.ZSTD  # others are TEL004 and BDY017
        why = metrics_fault(metrics, codec) if metrics and is_known else None
        if why is not None:
            yield body.violation("metrics", "MetricsData", why)
