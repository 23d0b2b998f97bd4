"""From a test and its markers to its wire."""

from typing import Any

import pytest

from kdissect.config.errors import ConfigError
from kdissect.testing.options import wire_options
from kdissect.testing.wire import KafkaWire, Recording


def wire_of(request: pytest.FixtureRequest, marker_name: str) -> KafkaWire:
    """The wire of the test that asks, recording if its marker names a port."""
    given: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers(marker_name))):  # the closest one has the last word
        if marker.args:
            raise pytest.UsageError(f"the arguments of {marker_name} have names: port=9092")
        given |= marker.kwargs
    try:
        options = wire_options(given, str(request.config.rootpath))
    except (ConfigError, TypeError, ValueError) as error:
        raise pytest.UsageError(f"{marker_name}: {error}") from None

    def start(ports: list[int], interface: str | None) -> Recording:
        return _start(request, marker_name, ports, interface)

    wire = KafkaWire(options, start)
    if options.ports:
        wire.record(*options.ports)
    return wire


def _start(
    request: pytest.FixtureRequest, marker_name: str, ports: list[int], interface: str | None
) -> Recording:
    from kdissect.testing.wire_recording import CannotRecordError, start_recording

    folder = request.getfixturevalue("tmp_path")
    number = len(list(folder.glob("kafka_wire*.pcapng"))) + 1
    try:
        return start_recording(str(folder / f"kafka_wire{number}.pcapng"), ports, interface)
    except CannotRecordError as error:
        why = f"{marker_name} cannot record: {error}"
    if request.config.getini("kafka_wire_required"):
        pytest.fail(why, pytrace=False)
    pytest.skip(why)
