"""A finding as others are told of it: one JSON object.

`id` is the same whenever the same finding is told, so that receivers drop doubles. It is made of what makes
findings equal (`rules.findings`), not of the place of the first of them: a file that comes late may have an
earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from kdissect.engine.times import rfc3339
from kdissect.rules.findings import key_of
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import Once
from kdissect.stages.judgement_rows import finding_of_row

Alert = dict[str, Any]

# Columns of `findings`; not the bytes, which those who are told have no use for.
_TOLD = (
    "severity", "code", "name", "level", "claim", "expected", "seen", "consequence", "role", "address",
    "software", "version", "client_id", "label", "capture_set", "connection", "exchange", "api",
    "api_version", "side", "path", "file", "first_packet", "last_packet", "count", "fingerprint",
)  # fmt: skip
# Bytes of an id, in hex; it tells apart the findings of one directory.
_ID_BYTES = 16
_ONCE = {rule.code: rule.once for rule in ALL_RULES}


def alert_of(row: Mapping[str, Any]) -> Alert:
    """What is told of a row of `findings`. Secrets are not in it: rows have none."""
    time_ns = row["time_ns"]
    time = None if time_ns is None else rfc3339(time_ns)
    return {"id": _id(row), "time": time, **{name: row[name] for name in _TOLD}}


def _id(row: Mapping[str, Any]) -> str:
    key = key_of(_ONCE.get(row["code"], Once.EACH), finding_of_row(row, {}))
    text = "\0".join(map(str, key)).encode("utf-8", "backslashreplace")
    return blake2b(text, digest_size=_ID_BYTES).hexdigest()
