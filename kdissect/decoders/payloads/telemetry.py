"""PushTelemetry's metrics (KIP-714): compressed as a whole, then OpenTelemetry's MetricsData."""

from __future__ import annotations

from functools import cache
from typing import Any

from kdissect.decoders.as_json.jsonable import float_value
from kdissect.decoders.compression.codec import codec_name, decompress
from kdissect.decoders.payloads.payload import Found, Plain, Tree
from kdissect.decoders.payloads.protobuf import MAX_NESTING, Messages, Part, Reader
from kdissect.decoders.payloads.scope import Scope
from kdissect.decoders.trees.node import Node
from kdissect.model.errors import DecodeError, OutputLimitError
from kdissect.model.native import is_compiled, native

NAME = "MetricsData"
# A broker accepts 1 MiB of compressed metrics (telemetry.max.bytes,
# org.apache.kafka.server.metrics.ClientMetricsConfigs). Metrics compress by a factor of 4 to 10.
MAX_METRICS = 16 << 20
_POINT = {2: Part("start_time_unix_nano", "fixed64"), 3: Part("time_unix_nano", "fixed64")}
_ATTRIBUTES = Part("attributes", "KeyValue", True)
_FLAGS = Part("flags", "uint32")
_TEMPORALITY = Part("aggregation_temporality", "int32")

# github.com/open-telemetry/opentelemetry-proto 1.5: metrics.proto, common.proto, resource.proto
MESSAGES: Messages = {
    "MetricsData": {1: Part("resource_metrics", "ResourceMetrics", True)},
    "ResourceMetrics": {
        1: Part("resource", "Resource"),
        2: Part("scope_metrics", "ScopeMetrics", True),
        3: Part("schema_url", "string"),
    },
    "Resource": {1: _ATTRIBUTES, 2: Part("dropped_attributes_count", "uint32")},
    "ScopeMetrics": {
        1: Part("scope", "InstrumentationScope"),
        2: Part("metrics", "Metric", True),
        3: Part("schema_url", "string"),
    },
    "InstrumentationScope": {
        1: Part("name", "string"),
        2: Part("version", "string"),
        3: _ATTRIBUTES,
        4: Part("dropped_attributes_count", "uint32"),
    },
    "Metric": {
        1: Part("name", "string"),
        2: Part("description", "string"),
        3: Part("unit", "string"),
        5: Part("gauge", "Gauge"),
        7: Part("sum", "Sum"),
        9: Part("histogram", "Histogram"),
        10: Part("exponential_histogram", "ExponentialHistogram"),
        11: Part("summary", "Summary"),
        12: Part("metadata", "KeyValue", True),
    },
    "Gauge": {1: Part("data_points", "NumberDataPoint", True)},
    "Sum": {
        1: Part("data_points", "NumberDataPoint", True),
        2: _TEMPORALITY,
        3: Part("is_monotonic", "bool"),
    },
    "Histogram": {1: Part("data_points", "HistogramDataPoint", True), 2: _TEMPORALITY},
    "ExponentialHistogram": {1: Part("data_points", "ExponentialHistogramDataPoint", True), 2: _TEMPORALITY},
    "Summary": {1: Part("data_points", "SummaryDataPoint", True)},
    "NumberDataPoint": {
        **_POINT,
        4: Part("as_double", "double"),
        5: Part("exemplars", "Exemplar", True),
        6: Part("as_int", "sfixed64"),
        7: _ATTRIBUTES,
        8: _FLAGS,
    },
    "HistogramDataPoint": {
        **_POINT,
        4: Part("count", "fixed64"),
        5: Part("sum", "double"),
        6: Part("bucket_counts", "fixed64", True),
        7: Part("explicit_bounds", "double", True),
        8: Part("exemplars", "Exemplar", True),
        9: _ATTRIBUTES,
        10: _FLAGS,
        11: Part("min", "double"),
        12: Part("max", "double"),
    },
    "ExponentialHistogramDataPoint": {
        1: _ATTRIBUTES,
        **_POINT,
        4: Part("count", "fixed64"),
        5: Part("sum", "double"),
        6: Part("scale", "sint32"),
        7: Part("zero_count", "fixed64"),
        8: Part("positive", "Buckets"),
        9: Part("negative", "Buckets"),
        10: _FLAGS,
        11: Part("exemplars", "Exemplar", True),
        12: Part("min", "double"),
        13: Part("max", "double"),
        14: Part("zero_threshold", "double"),
    },
    "Buckets": {1: Part("offset", "sint32"), 2: Part("bucket_counts", "uint64", True)},
    "SummaryDataPoint": {
        **_POINT,
        4: Part("count", "fixed64"),
        5: Part("sum", "double"),
        6: Part("quantile_values", "ValueAtQuantile", True),
        7: _ATTRIBUTES,
        8: _FLAGS,
    },
    "ValueAtQuantile": {1: Part("quantile", "double"), 2: Part("value", "double")},
    "Exemplar": {
        2: Part("time_unix_nano", "fixed64"),
        3: Part("as_double", "double"),
        4: Part("span_id", "bytes"),
        5: Part("trace_id", "bytes"),
        6: Part("as_int", "sfixed64"),
        7: Part("filtered_attributes", "KeyValue", True),
    },
    "KeyValue": {1: Part("key", "string"), 2: Part("value", "AnyValue")},
    "AnyValue": {
        1: Part("string_value", "string"),
        2: Part("bool_value", "bool"),
        3: Part("int_value", "int64"),
        4: Part("double_value", "double"),
        5: Part("array_value", "ArrayValue"),
        6: Part("kvlist_value", "KeyValueList"),
        7: Part("bytes_value", "bytes"),
    },
    "ArrayValue": {1: Part("values", "AnyValue", True)},
    "KeyValueList": {1: Part("values", "KeyValue", True)},
}


def telemetry(data: bytes, start: int, end: int, scope: Scope) -> Found | None:
    """Return the metrics a client pushed."""
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
    """Return why bytes are no metrics compressed with a codec; None if they are. Raises nothing."""
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


# OpenTelemetry's metrics (opentelemetry.proto.metrics.v1.MetricsData), which clients push (KIP-714).
def metrics(data: bytes, start: int, end: int, node: Node | None = None) -> dict[str, Any]:
    """MetricsData as a dict: names of its proto, what was not sent left out. Raises DecodeError.

    NaN and infinities are strings, as in bodies.
    """
    found = _compiled().read(NAME, data, start, end) if is_compiled and node is None else None
    return Reader(MESSAGES, data).message(NAME, start, end, node) if found is None else found


@cache
def _compiled() -> native.Protobuf:
    return native.Protobuf(MESSAGES, MAX_NESTING, float_value)
