"""The pytest plugin: a fixture that records a port while a test runs, and fails the test for what it finds.

Loaded by every pytest of an environment that has kdissect, so nothing of it is imported before the fixture
is used. docs/testing.md says how to use it.

PYTEST_DONT_REWRITE: nothing is asserted here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kdissect.testing.wire import KafkaWire as KafkaWire

__all__ = ["KafkaWire", "kafka_wire"]

MARKER = "kafka_wire"
_MARKER_HELP = (
    "kafka_wire(port=9092, interface=None, select=(), ignore=(), judge='both', strict=False, "
    "fail_on='error', label={}, allow_empty=False): what the fixture kafka_wire records and what fails the "
    "test (kdissect)."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ini option."""
    parser.addini(
        "kafka_wire_required",
        "fail instead of skip where kafka_wire cannot record (kdissect)",
        type="bool",
        default=False,
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _MARKER_HELP)


@pytest.fixture
def kafka_wire(request: pytest.FixtureRequest) -> Iterator[KafkaWire]:
    """What Kafka clients and brokers say on the wire while the test runs; broken rules fail the test.

    With `@pytest.mark.kafka_wire(port=9092)` the port is recorded from here on; `kafka_wire.record(9092)`
    begins later, `kafka_wire.capture(path)` reads a file instead.
    """
    from kdissect.testing.wire import wire_of  # start-up of pytest

    wire = wire_of(request, MARKER)
    try:
        yield wire
    finally:
        problem = wire.close()
    if problem:
        pytest.fail(problem, pytrace=False)


def __getattr__(name: str) -> Any:
    """`KafkaWire`, for annotations, when it is asked for."""
    if name == "KafkaWire":
        from kdissect.testing.wire import KafkaWire  # start-up of pytest

        return KafkaWire
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
