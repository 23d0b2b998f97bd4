"""The drivers of the Go clients: built with the versions their go.mod pins, into the workshop."""

import re

from captures.record import workshop
from captures.record.drivers import Driver

_SOURCES = workshop.RECORD / "clients" / "go"


def franz() -> Driver:
    """The driver of franz-go, its admin client and kmsg."""
    return _driver("franz-go", "franz", "github.com/twmb/franz-go")


def sarama() -> Driver:
    """The driver of sarama."""
    return _driver("sarama", "sarama", "github.com/IBM/sarama")


def segmentio() -> Driver:
    """The driver of segmentio's kafka-go."""
    return _driver("segmentio kafka-go", "segmentio", "github.com/segmentio/kafka-go")


def _driver(name: str, folder: str, module: str) -> Driver:
    source = _SOURCES / folder
    found = re.search(rf"{re.escape(module)} v(\S+)", (source / "go.mod").read_text())
    assert found is not None, f"{folder}/go.mod does not pin {module}"
    return Driver(name, found[1], [_build(folder)])


def _build(folder: str) -> str:
    go = workshop.program("go", "build the drivers of the Go clients")
    target = workshop.folder("go", "bin") / folder
    places = [f"GOMODCACHE={workshop.folder('go', 'mod')}", f"GOCACHE={workshop.folder('go', 'cache')}"]
    workshop.run(["env", *places, go, "build", "-p", "2", "-o", str(target), "."], cwd=_SOURCES / folder)
    return str(target)
