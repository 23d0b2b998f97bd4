"""Tables of what `stats` counts: response times as sketches that merge, and rates over time."""

from kdissect.engine.exchange_rows import RowField
from kdissect.engine.tables.shared_columns import BROKER, CAPTURE_SET, DAY, sketch
from kdissect.engine.tables.table import Table

LATENCIES = Table(
    "latencies",
    "Exchanges counted by who, where and what, with sketches of their times in nanoseconds. Rows add up: "
    "counts by adding, sketches by adding their bins.",
    (
        CAPTURE_SET,
        DAY._replace(doc=("day in UTC of the request's first byte, or of the response's if there is no "
            "request")),
        BROKER,
        RowField("client", "string", "the client's address without its port"),
        RowField("client_id", "string", "client id of the requests. Null if there is none"),
        RowField("software", "string", "name and version the client gave in ApiVersions"),
        RowField("principal", "string", "user the client authenticated as, where the mechanism shows it"),
        RowField("api", "string", "name of the API"),
        RowField("api_version", "int16", "its version. Null for SASL tokens"),
        RowField("exchanges", "int64", "exchanges"),
        RowField("failed", "int64", "exchanges with an error code, or without the response they should have"),
        RowField("states", "map<string,int64>", "exchanges by state"),
        RowField("errors", "map<string,int64>", "exchanges by error code"),
        RowField("request_bytes", "int64", "bytes of requests, with their size prefixes"),
        RowField("response_bytes", "int64", "bytes of responses, with their size prefixes"),
        RowField("first_time", "timestamp", "time of the first exchange"),
        RowField("first_time_ns", "int64", "this time in nanoseconds since 1970 UTC"),
        RowField("last_time", "timestamp", "time of the last exchange"),
        RowField("last_time_ns", "int64", "this time in nanoseconds since 1970 UTC"),
        RowField("unclear", "int64", "answers whose time at the broker is not known"),
        RowField("empty_early", "int64", "Fetches answered empty in less than a tenth of their max wait"),
        *sketch("latency_ns", "first byte of the response minus last byte of the request"),
        *sketch("broker_ns", "this time without the wait that the request allows"),
        *sketch("throttle_ns", "throttle times in responses"),
        *sketch("wait_ns", "times that Fetches waited for data, as they had asked for"),
    ),
    (
        "capture_set", "day", "broker", "client", "client_id", "software", "principal", "api", "api_version",
    ),
    (
        "capture_set", "day", "broker", "client", "client_id", "software", "principal", "api", "api_version",
    ),
)  # fmt: skip

RATES = Table(
    "rates",
    "Exchanges over time, in intervals that become wider as the capture becomes longer (10 ms to a day).",
    (
        CAPTURE_SET,
        RowField("interval_ns", "int64", "width of the interval. Every width divides the next"),
        RowField("time", "timestamp", "where the interval begins"),
        RowField("time_ns", "int64", "this time in nanoseconds since 1970 UTC"),
        DAY,
        RowField("exchanges", "int64", "exchanges whose first byte lies within it"),
        RowField("request_bytes", "int64", "bytes of their requests"),
        RowField("response_bytes", "int64", "bytes of their responses"),
        RowField("errors", "int64", "exchanges with an error code"),
    ),
    ("capture_set", "time_ns"),
    ("capture_set", "time_ns"),
)
