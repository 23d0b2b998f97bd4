"""Trouble that brokers report in words, in answers whose error code is 0.

- StreamsGroupHeartbeat: statuses of the group (KIP-1071).
- SaslAuthenticate: a challenge that is the refusal (RFC 7628 section 3.2.2; RFC 5802 section 7 for SCRAM).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import sent
from kdissect.history import api_keys as apis
from kdissect.stats.client import text_of

_TEXT_KEPT = 200  # characters
_SCRAM_ERROR = b"e="  # RFC 5802 section 7: server-error


class ReportedTrouble(NamedTuple):
    """`status` is the number of a Streams status, None for a challenge; `text` the broker's own words."""

    status: int | None
    text: str


def trouble_in(api_key: int, answer: Any) -> list[ReportedTrouble]:
    """Return the trouble that a decoded response reports."""
    if api_key == apis.STREAMS_GROUP_HEARTBEAT:
        return list(_statuses(answer))
    if api_key == apis.SASL_AUTHENTICATE:
        token = bytes(sent(answer, "auth_bytes") or b"")
        if not sent(answer, "error_code") and (is_refusal(token) or token.startswith(_SCRAM_ERROR)):
            return [ReportedTrouble(None, token[:_TEXT_KEPT].decode("utf-8", "replace"))]
    return []


def is_refusal(token: bytes) -> bool:
    """Return whether a token of the broker is the error of OAUTHBEARER: a JSON object with a status."""
    return token.startswith(b"{") and b'"status"' in token


def _statuses(answer: Any) -> Iterator[ReportedTrouble]:
    for row in sent(answer, "status") or ():
        detail = sent(row, "status_detail")
        yield ReportedTrouble(sent(row, "status_code"), text_of(detail)[:_TEXT_KEPT] if detail else "")
