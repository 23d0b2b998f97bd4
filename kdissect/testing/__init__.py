"""The pytest plugin: a fixture that records a port while a test runs, and fails the test for findings.

Every pytest of an environment with kdissect loads it, so it imports no other module of kdissect before the
fixture is used. docs/testing.md says how to use it.

PYTEST_DONT_REWRITE: this module has no assertions.
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
    """Yield the Kafka traffic on the wire while the test runs. Broken rules fail the test.

    With `@pytest.mark.kafka_wire(port=9092)` the port is recorded from here on. `kafka_wire.record(9092)`
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
    """Return `KafkaWire`, for annotations, on demand."""
    if name == "KafkaWire":
        from kdissect.testing.wire import KafkaWire  # start-up of pytest

        return KafkaWire
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
