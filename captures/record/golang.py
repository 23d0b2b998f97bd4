"""The drivers of the Go clients: built with the versions their go.mod pins, into the workshop."""

import re
from pathlib import Path

from captures.record import workshop
from captures.record.drivers import Driver

_SOURCES = workshop.RECORD / "clients" / "go"
_FRANZ = "github.com/twmb/franz-go"
_STEADY = ("connect.go", "steady.go", "steady_main.go")


def franz(release: str = "") -> Driver:
    """Return the driver of franz-go, its admin client and kmsg; of another `release`: what goes on without
    end.
    """
    if release:
        return Driver("franz-go", release, [_build_steady(release)])
    return _driver("franz-go", "franz", _FRANZ)


def sarama() -> Driver:
    """Return the driver of sarama."""
    return _driver("sarama", "sarama", "github.com/IBM/sarama")


def segmentio() -> Driver:
    """Return the driver of segmentio's kafka-go."""
    return _driver("segmentio kafka-go", "segmentio", "github.com/segmentio/kafka-go")


def kfake() -> Driver:
    """Return the mock cluster of franz-go, which is a broker and no client."""
    return _driver("kfake", "kfake", f"{_FRANZ}/pkg/kfake")


def _driver(name: str, folder: str, module: str) -> Driver:
    source = _SOURCES / folder
    found = re.search(rf"{re.escape(module)} v(\S+)", (source / "go.mod").read_text())
    assert found is not None, f"{folder}/go.mod does not pin {module}"
    return Driver(name, found[1], [_build(folder)])


def _build(folder: str) -> str:
    target = workshop.folder("go", "bin") / folder
    _go("build", "-p", "2", "-o", str(target), ".", cwd=_SOURCES / folder)
    return str(target)


def _build_steady(release: str) -> str:
    """Build the part of the driver of franz-go that any release has, against one of them."""
    target = workshop.folder("go", "bin") / f"franz-{release}"
    if not target.exists():
        modules = workshop.folder("go", f"franz-{release}") / "go.mod"
        own = (_SOURCES / "franz" / "go.mod").read_text()
        kept = re.findall(r"^(?:module|go|replace) .*", own, re.MULTILINE)
        needs = [f"require {_FRANZ} v{release}", "require kdissect.invalid/record/driver v0.0.0"]
        modules.write_text("\n".join([*kept, *needs]) + "\n")
        options = ["-p", "2", "-mod=mod", f"-modfile={modules}", "-tags", "steady", "-o", str(target)]
        _go("build", *options, *_STEADY, cwd=_SOURCES / "franz")
    return str(target)


def _go(*words: str, cwd: Path) -> None:
    go = workshop.program("go", "build the drivers of the Go clients")
    places = [f"GOMODCACHE={workshop.folder('go', 'mod')}", f"GOCACHE={workshop.folder('go', 'cache')}"]
    workshop.run(["env", *places, go, *words], cwd=cwd)
