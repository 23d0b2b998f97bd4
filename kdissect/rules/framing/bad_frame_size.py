"""FRM001: A frame's size must not be negative, nor beyond any Kafka message."""

from collections.abc import Iterator

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.finding import Who
from kdissect.rules.kinds import ConnectionRule
from kdissect.rules.rule import Fault
from kdissect.rules.views.connection_view import ConnectionView


class BadFrameSize(ConnectionRule):
    """A frame's size must not be negative, nor beyond any Kafka message.

    The int32 before each frame says how many bytes follow. A negative size, or one of 256 MiB and more, is
    no frame: brokers close the connection, clients lose their place in the stream. Silent where bytes were
    missing before, for then the four bytes may be something else.

    Example: `ff ff ff fe` where a size belongs.

    What to do: look at the frame before it. Its size is often what is wrong.
    """

    code = "FRM001"
    name = "bad-frame-size"
    cites = ("spec/004 Size Validation", "org.apache.kafka.common.network.NetworkReceive")
    needs_start = True

    def check(self, view: ConnectionView) -> Iterator[Fault]:
        """The first bad size of the connection; what follows it is guesswork."""
        kinds = [a.kind for a in view.info.anomalies]
        if view.info.tcp is not None and view.info.tcp.gaps:
            return
        if AnomalyKind.BAD_FRAME_SIZE in kinds:
            anomaly = view.info.anomalies[kinds.index(AnomalyKind.BAD_FRAME_SIZE)]
            who = Who.CLIENT if anomaly.direction == view.info.client_direction else Who.BROKER
            yield Fault("a size from 0 to 268435455", anomaly.detail, who=who)
