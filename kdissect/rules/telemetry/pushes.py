"""Rules: pushes of client metrics."""

from collections.abc import Iterator

from kdissect.decoders.generated.summary import NO_TOPIC_ID
from kdissect.decoders.payloads.telemetry import metrics_fault
from kdissect.history.sessions.telemetry_pushes import TelemetryFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.model.record_batch import Codec
from kdissect.rules.kinds import BodyRule, FactRule
from kdissect.rules.rule import BOTH_FRAMES, REQUEST, RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class MetricsTooLarge(FactRule):
    """Metrics must not be larger than telemetry_max_bytes.

    The subscription names it. Brokers answer TELEMETRY_TOO_LARGE.

    Example: 1,100,000 bytes with a maximum of 1,048,576.

    What to do: compress, or push fewer metrics.
    """

    code = "TEL001"
    name = "telemetry-size"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-714 Public Interfaces", "org.apache.kafka.server.ClientMetricsManager#validatePushRequest")
    facts = (TelemetryFact.TOO_LARGE,)
    expects = "{} bytes at most"
    sees = "{} bytes"


class OtherSubscription(FactRule):
    """PushTelemetry must name the subscription given last.

    Brokers answer UNKNOWN_SUBSCRIPTION_ID, and the client asks for the new one.

    Example: subscription 9 given, 8 named.

    What to do: keep the id of the last GetTelemetrySubscriptions.
    """

    code = "TEL002"
    name = "telemetry-subscription"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-714 Public Interfaces", "org.apache.kafka.server.ClientMetricsManager#validatePushRequest")
    facts = (TelemetryFact.OTHER_SUBSCRIPTION,)
    expects = "subscription {}"
    sees = "subscription {}"


class PushedTooEarly(FactRule):
    """Metrics must not be pushed before push_interval_ms is over.

    Brokers answer THROTTLING_QUOTA_EXCEEDED. The last push of a client that ends may come at any time.
    Reported if the push comes before half the interval.

    Example: interval 300 s, a push after 100 s.

    What to do: wait for the interval, counted from the last push.
    """

    code = "TEL003"
    name = "telemetry-interval"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-714 Public Interfaces", "org.apache.kafka.server.ClientMetricsManager#validatePushRequest")
    facts = (TelemetryFact.TOO_EARLY,)
    expects = "a push {} ms after the last"
    sees = "{} ms"


class CodecNotAccepted(FactRule):
    """Metrics must be compressed with an accepted codec, or not at all.

    The subscription lists them. Brokers answer UNSUPPORTED_COMPRESSION_TYPE.

    Example: gzip where zstd alone is accepted.

    What to do: take the first codec of the list that you have.
    """

    code = "TEL004"
    name = "telemetry-codec"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-714 Public Interfaces", "org.apache.kafka.server.ClientMetricsManager#validatePushRequest")
    facts = (TelemetryFact.CODEC_NOT_ACCEPTED,)
    expects = "codec {} or none"
    sees = "codec {}"


class PushedAfterEnd(FactRule):
    """Nothing must be pushed after a push with terminating set.

    It says that the client ends. Brokers answer INVALID_REQUEST to a further push.

    Example: terminating, and a push a second later.

    What to do: set it once, in the last push.
    """

    code = "TEL006"
    name = "telemetry-end"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-714 Public Interfaces", "org.apache.kafka.server.ClientMetricsManager#validatePushRequest")
    facts = (TelemetryFact.AFTER_TERMINATING,)
    expects = "no push"
    sees = "another push"


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
        """Yield the metrics, decompressed and decoded."""
        metrics, codec = bytes(body.value.metrics), body.value.compression_type
        is_known = 0 <= codec <= Codec.ZSTD  # TEL004 and BDY017 judge other codecs
        why = metrics_fault(metrics, codec) if metrics and is_known else None
        if why is not None:
            yield body.violation("metrics", "MetricsData", why)


class OtherInstance(BodyRule):
    """A broker must keep the id of a client instance.

    A client without an id sends zero, and receives an id. From then on it sends this id, and the response
    has zero, or repeats it as Apache Kafka does. The id says which metrics are of one client.

    Example: client_instance_id `a` in the request, `b` in the response.

    What to do: give an id to a request without one alone.
    """

    code = "TEL007"
    name = "telemetry-instance"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("KIP-714 Public Interfaces",)
    on = (("GetTelemetrySubscriptions", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the id of the response, if the request has another one."""
        asked, answered = body.other(), body.value
        if asked is None or answered.error_code:
            return
        wanted, given = asked.client_instance_id, answered.client_instance_id
        if wanted == NO_TOPIC_ID == given:
            yield body.violation("client_instance_id", "an id", "zero")
        elif NO_TOPIC_ID not in (wanted, given) and wanted != given:
            yield body.violation("client_instance_id", f"{wanted.hex()}, or zero", given.hex())


class InstanceChanged(FactRule):
    """A client must keep the id of its instance.

    A client receives the id with its first subscription, and sends it in each later request. The id says
    which metrics are of one client. The rule compares requests of one connection.

    Example: GetTelemetrySubscriptions returns the id `a`, and PushTelemetry on the same connection names `b`.

    What to do: store the id for the life of the client. A proxy may put several clients on one connection.
    """

    code = "TEL008"
    name = "telemetry-instance-changed"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-714 Public Interfaces",)
    facts = (TelemetryFact.OTHER_INSTANCE,)
    expects = "client instance {}"
    sees = "client instance {}"
