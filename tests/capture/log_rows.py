"""Rows of exchanges in a request log, and of the packets that were recorded with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kdissect.api import Dissection
from kdissect.engine.listed_rows import ListedRows
from kdissect.history import api_keys as apis

# What a log does not have, or has otherwise: docs/request-logs.md has the list.
LACKS = frozenset({"number", "connection", "exchange", "capture_set", "latency_ns"})
FRAME_LACKS = frozenset({"packets", "time", "time_ns", "end_time_ns", "bytes"})
NOT_LOGGED = frozenset({apis.SASL_HANDSHAKE, apis.SASL_AUTHENTICATE})
USES = ("outcome", "client_id", "software", "api_key", "api_version", "fate", "release")
Key = tuple[str, int, int, int]
Row = dict[str, Any]


def rows(*paths: Path | str, keys: Sequence[Path] = ()) -> list[Row]:
    dissection = Dissection([str(path) for path in paths], key_logs=[str(path) for path in keys])
    with_bodies = ListedRows(dissection.file_names, bodies=True)
    return [with_bodies.row(exchange) for exchange in dissection]


def by_key(found: list[Row]) -> dict[Key, Row]:
    return {(row["client"], row["api_key"], row["api_version"], row["correlation_id"]): row for row in found}


def differences(captured: Row, logged: Row) -> Iterator[str]:
    for name, value in captured.items():
        if name in ("request", "response"):
            for part in value.keys() - FRAME_LACKS if value is not None else ():
                if value[part] != logged[name].get(part):
                    yield f"{name}.{part}"
        elif name not in LACKS and value != logged[name]:
            yield name
