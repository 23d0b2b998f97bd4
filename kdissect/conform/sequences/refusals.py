"""Requests that a broker refuses: unknown versions and APIs, frames of a wrong size, short bodies."""

from __future__ import annotations

import struct
from collections.abc import Callable

from kdissect.conform.broker_connection import Outcome, framed, request_header
from kdissect.conform.broker_run import METADATA, BrokerRun, errors_of, key_of
from kdissect.decoders.encoder import encode
from kdissect.schema import protocol_messages
from kdissect.schema.protocol_messages import API_VERSIONS

_NO_SUCH_API = 32_000


def refusals(run: BrokerRun) -> None:
    """Send what a broker refuses, each on a connection of its own."""
    for name in ("Metadata", "FindCoordinator", "ListOffsets"):
        if run.has(name):
            key, version = key_of(name), run.highest(name) + 1
            _refused(run, "CNF060", _unknown_frame(key, version), key, version)
    _refused(run, "CNF061", _unknown_frame(_NO_SUCH_API, 0), _NO_SUCH_API, 0)
    for size in (-1, 0x7FFFFFFF):
        _refused(run, "CNF062", _frame_of_size(size), METADATA, 0)
    if run.has("Metadata"):
        _refused(run, "CNF063", _short_frame(run), METADATA, run.highest("Metadata"))


def _refused(run: BrokerRun, code: str, frame: Callable[[int], bytes], key: int, version: int) -> None:
    connection = run.fresh()
    before = connection.ask(API_VERSIONS, 0, {})
    response = connection.send(frame(connection.next_id), key, version) if before.is_answered else before
    connection.close()
    if response is before:
        return
    if response.outcome is not Outcome.UNDECODABLE:
        passed = response.outcome is Outcome.CLOSED
        if response.is_answered:
            passed = bool(errors_of(response.body))
        run.observe(
            code, response, passed=passed, expected="the broker closes the connection, or an error",
            seen=response.text,
        )  # fmt: skip
    served = run.ask_alone(API_VERSIONS, 0)
    run.observe(
        "CNF064", served, passed=served.is_answered, expected="a response on another connection",
        seen=served.text,
    )  # fmt: skip


def _unknown_frame(key: int, version: int) -> Callable[[int], bytes]:
    def frame(number: int) -> bytes:
        return framed(struct.pack(">hhih", key, version, number, -1) + b"\0" + bytes(8))

    return frame


def _frame_of_size(size: int) -> Callable[[int], bytes]:
    return lambda number: struct.pack(">ihhi", size, METADATA, 0, number)


def _short_frame(run: BrokerRun) -> Callable[[int], bytes]:
    version = run.highest("Metadata")
    message = protocol_messages.request_message(METADATA)
    assert message is not None
    name = run.subject.name("topic")
    body = encode(message, version, {"topics": [{"name": name}]})[: len(name) // 2]

    def frame(number: int) -> bytes:
        return framed(request_header(METADATA, version, number, None, {}) + body)

    return frame
