"""Apache Kafka's own request log (`kafka.request.logger` at TRACE): what the broker read and answered.

A line is `[time] LEVEL Completed request:{json} (kafka.request.logger)`; the JSON is written by the generated
`*JsonConverter` classes from `kafka.network.RequestConvertToJson`.
"""

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kdissect.schema.schema_parser import snake_case

# `broker-client-listener-index[-more]` (org.apache.kafka.common.network.Selector / kafka.network.Processor).
_CONNECTION = re.compile(r"([\d.]+:\d+)-([\d.]+:\d+)-")
# What stands for a sensitive value (org.apache.kafka.common.config.types.Password HIDDEN, and the loggable
# requests of kafka.network.RequestChannel).
_REDACTED = ("[hidden]", "(redacted)")

# Names that fields had when Kafka 2.8 wrote its log, and what they became.
_RENAMED: dict[str, tuple[str, ...]] = {
    "partition_id": ("partitions",),  # ElectLeaders
    "partition_index": ("partitions",),  # DescribeLogDirs
    "partition_responses": ("partitions",),  # Fetch
    "partition": ("partition_index",),
    "record_set_size_in_bytes": ("records_size_in_bytes",),
    "generation_id": ("generation_id_or_member_epoch",),  # OffsetCommit
    "producer_epoch": ("v3_and_below_producer_epoch",),  # AddPartitionsToTxn, from here on
    "producer_id": ("v3_and_below_producer_id",),
    "topics": ("v3_and_below_topics",),
    "transactional_id": ("v3_and_below_transactional_id",),
    "results": ("results_by_topic_v3_and_below", "results_by_partition"),
    "error_code": ("partition_error_code",),
}


class Logged(NamedTuple):
    """One request as the broker logged it."""

    client: str
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str
    request: dict[str, Any]
    response: dict[str, Any] | None

    @property
    def key(self) -> tuple[str, int, int, int]:
        """What pairs it with an exchange: the client's end, API, version and correlation id."""
        return self.client, self.api_key, self.api_version, self.correlation_id


def read_log(path: Path) -> Iterator[Logged]:
    """Return the requests of a log, in the order of their completion."""
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        _, marker, rest = line.partition("Completed request:")
        if not marker:
            continue
        entry, _ = json.JSONDecoder().raw_decode(rest)
        header = entry["requestHeader"]
        if entry.get("isForwarded"):
            continue  # inside an Envelope: the frame on the wire is the envelope
        match = _CONNECTION.match(entry["connection"])
        assert match, entry["connection"]
        yield Logged(
            match[2],
            header["requestApiKey"],
            header["requestApiVersion"],
            header["correlationId"],
            header["clientId"],
            entry["request"],
            entry["response"],
        )


def differences(logged: Any, ours: Any, path: str = "") -> Iterator[str]:
    """Yield each field in which a decoded value is not what the broker logged.

    The log leaves out tagged fields with their default, and writes sizes for records.
    """
    if isinstance(logged, dict) and isinstance(ours, dict):
        yield from _struct_differences(logged, ours, path)
    elif isinstance(logged, list) and isinstance(ours, list):
        if len(logged) != len(ours):
            yield f"{path}: {len(ours)} elements, the broker logged {len(logged)}"
        for index, (theirs, mine) in enumerate(zip(logged, ours, strict=False)):
            yield from differences(theirs, mine, f"{path}[{index}]")
    elif not _equal(logged, ours):
        yield f"{path}: {ours!r}, the broker logged {logged!r}"


def _struct_differences(logged: dict[str, Any], ours: dict[str, Any], path: str) -> Iterator[str]:
    theirs = {_name_today(snake_case(name), ours): value for name, value in logged.items()}
    for name, value in theirs.items():
        if name.endswith("_size_in_bytes"):
            records = ours.get(name.removesuffix("_size_in_bytes"))
            size = records["bytes"] if records else -1
            if size != value and not (records is None and value <= 0):
                yield f"{path}.{name}: {size}, the broker logged {value}"
        elif name in ours:
            yield from differences(value, ours[name], f"{path}.{name}")
        else:
            yield f"{path}.{name}: missing, the broker logged {value!r}"
    for name in ours.keys() - theirs.keys():
        is_payload = name.removesuffix("_decoded") in theirs  # what kdissect adds to the bytes
        if f"{name}_size_in_bytes" not in theirs and not is_payload:
            yield f"{path}.{name}: {ours[name]!r}, which the broker did not log"


def _name_today(name: str, ours: dict[str, Any]) -> str:
    """Return the field's name in today's schema; a name that still exists stays."""
    if name in ours:
        return name
    for new in _RENAMED.get(name, ()):
        if new.removesuffix("_size_in_bytes") in ours:
            return new
    return name


def _equal(logged: Any, ours: Any) -> bool:
    if logged in _REDACTED:
        return True
    if isinstance(ours, dict) and "base64" in ours:
        return bool(logged == ours["base64"])
    return type(logged) is type(ours) and bool(logged == ours)
