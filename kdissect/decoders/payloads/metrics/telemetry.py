"""PushTelemetry's metrics (KIP-714): compressed as a whole, then OpenTelemetry's MetricsData."""

from kdissect.decoders.compression.codec import codec_name, decompress
from kdissect.decoders.compression.errors import OutputLimitError
from kdissect.decoders.payloads.metrics.otlp import metrics
from kdissect.decoders.payloads.payload import Found, Plain, Tree
from kdissect.decoders.payloads.scope import Scope
from kdissect.decoders.trees.node import Node
from kdissect.model.errors import DecodeError

NAME = "MetricsData"
# A broker takes 1 MiB of compressed metrics (telemetry.max.bytes,
# org.apache.kafka.server.metrics.ClientMetricsConfigs); metrics compress by a factor of 4 to 10.
MAX_METRICS = 16 << 20


def telemetry(data: bytes, start: int, end: int, scope: Scope) -> Found | None:
    """The metrics a client pushed."""
    codec = int(scope.find("compression_type") or 0)
    try:
        if codec:
            plain = decompress(codec, data[start:end], MAX_METRICS)
            return Plain(NAME, metrics(plain, 0, len(plain)))
        return _uncompressed(data, start, end)
    except DecodeError as error:
        why = f"{codec_name(codec)}: {error.why}" if codec else error.why
        return Plain(NAME, None, DecodeError(NAME, start, why))


def metrics_fault(data: bytes, codec: int) -> str | None:
    """Why bytes are no metrics compressed with a codec; None if they are. Raises nothing."""
    try:
        plain = decompress(codec, data, MAX_METRICS) if codec else data
        metrics(plain, 0, len(plain))
    except OutputLimitError:
        return None  # larger than is read here
    except DecodeError as error:
        return error.why
    return None


def _uncompressed(data: bytes, start: int, end: int) -> Tree:
    root = Node(NAME, "payload", start)
    root.value = metrics(data, start, end, root)
    root.end = end
    return Tree(root)
