"""One thing a history learned, and the exchange that shows it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from kdissect.model.native import native
from kdissect.model.packets.packet import is_before
from kdissect.session.exchange import Exchange

GroupKey = tuple[str, str]
"""Capture set and id of a group."""


class Evidence(NamedTuple):
    """An exchange by its identity, and the packets of its two frames.

    `request` and `response` are (first, last) packet references, None for a frame that was not captured;
    `sent_ns` is the time of the request's first byte, `answered_ns` of the response's last; 0: none.
    """

    connection: str
    ordinal: int
    api_key: int | None
    api_version: int | None
    request: tuple[int, int] | None
    response: tuple[int, int] | None
    sent_ns: int
    answered_ns: int


def is_answered_before(earlier: Evidence, later: Evidence) -> bool:
    """Return whether the response of one exchange was captured before the request of another one; True if
    either is missing.
    """
    response, request = earlier.response, later.request
    if response is None or request is None:
        return earlier.answered_ns <= later.sent_ns
    return not is_before((request[0], later.sent_ns), (response[1], earlier.answered_ns))


def is_answered_first(exchange: Exchange) -> bool:
    """Return whether the response was captured before the request: the order of packets proves nothing
    then.
    """
    # Hot, once an exchange.
    request, response = exchange.request, exchange.response
    if request is None or response is None:
        return False
    if response.time_ns < request.end_time_ns:
        return True
    return is_before((response.first_ref, response.time_ns), (request.last_ref, request.end_time_ns))


def answer_of(evidence: Evidence) -> tuple[int, int] | None:
    """Return the last packet of a response and its time, for the native engine; None without a response."""
    return None if evidence.response is None else (evidence.response[1], evidence.answered_ns)


def is_sent_before(earlier: Evidence, later: Evidence) -> bool:
    """Return whether the request of one exchange was captured before the request of another one."""
    first, second = earlier.request, later.request
    if first is None or second is None:
        return earlier.sent_ns < later.sent_ns
    return is_before((first[0], earlier.sent_ns), (second[0], later.sent_ns))


def is_of_connection(known: Evidence | None, connection: str) -> bool:
    """Return whether what is known came from a connection, or from none.

    An exchange of another connection may belong to this one, captured on the other side of a NAT.
    """
    return known is None or known.connection == connection


def evidence_of(exchange: Exchange) -> Evidence:
    """Return the identity and packets of an exchange."""
    request, response = exchange.request, exchange.response
    asked = None if request is None else (request.first_ref, request.last_ref)
    answered = None if response is None else (response.first_ref, response.last_ref)
    parts = (
        exchange.connection.id,
        exchange.ordinal,
        exchange.api_key,
        exchange.api_version,
        asked,
        asked if answered == asked else answered,  # of a log both are one line: states keep thousands
        0 if request is None else request.time_ns,
        0 if response is None else response.end_time_ns,
    )
    return tuple.__new__(Evidence, parts)  # one for nearly every exchange: saves a call


def evidence_of_row(connection: str, api_key: int, row: native.EvidenceRow) -> Evidence:
    """Return the identity and packets of an exchange of a connection, as a row has it."""
    _, ordinal, version, request, response, sent_ns, answered_ns = row
    response = request if response == request else response  # as in `evidence_of`
    return Evidence(connection, ordinal, api_key, version, request, response, sent_ns, answered_ns)


class Fact(NamedTuple):
    """A change of state, or a difference from what the state led to expect.

    `kind` is a member of the machine's own enumeration, `key` the machine's key. `expected` and `seen` are
    values of the field `path` in the request or response (`side`), or the old and the new value if the fact
    is a change. `earlier` is the exchange that `expected` comes from. `sure` is False where bytes of the
    connection were lost, or the capture began too late, so that something unseen may explain it. `detail` is
    one line for people.
    """

    kind: StrEnum
    key: tuple[Any, ...]
    evidence: Evidence
    side: str = "request"
    path: str = ""
    expected: Any = None
    seen: Any = None
    earlier: Evidence | None = None
    sure: bool = True
    detail: str = ""
