"""The drivers of the Go clients: built with the versions their go.mod pins, into the workshop."""

import re
from collections.abc import Sequence
from pathlib import Path

from captures.record import workshop
from captures.record.drivers import Driver

_SOURCES = workshop.RECORD / "clients" / "go"
_FRANZ = "github.com/twmb/franz-go"
_SARAMA = "github.com/IBM/sarama"
_SARAMA_BEFORE = "github.com/Shopify/sarama"
_SARAMA_MOVED = (1, 40)  # the first release of the module with its new path
_SEGMENTIO = "github.com/segmentio/kafka-go"
_SEAWEEDFS = "github.com/seaweedfs/seaweedfs"
SEAWEEDFS = "0.0.0-20261109003541-7506e5f91cd6"
"""The version of its module: SeaweedFS has no tags that Go knows."""
# Its go.mod replaces a module that is not there any more, and only the main module's replacements count.
_SEAWEEDFS_NEEDS = "replace github.com/tyler-smith/go-bip39 => github.com/cosmos/go-bip39 v1.0.0"


def franz(release: str = "") -> Driver:
    """Return the driver of franz-go, its admin client and kmsg; of another `release`: what goes on without
    end.
    """
    if release:
        files = ("connect.go", "steady.go", "steady_main.go")
        return Driver("franz-go", release, [_build_steady("franz", release, [f"{_FRANZ} v{release}"], files)])
    return _driver("franz-go", "franz", _FRANZ)


def sarama(release: str = "") -> Driver:
    """Return the driver of sarama; of another `release`: what goes on without end."""
    if not release:
        return _driver("sarama", "sarama", _SARAMA)
    number = tuple(int(part) for part in release.split(".")[:2])
    needs = [f"{_SARAMA} v{release}"]
    if number < _SARAMA_MOVED:
        needs = [f"{_SARAMA} v{'.'.join(map(str, _SARAMA_MOVED))}.0"]
        needs.append(f"{_SARAMA} => {_SARAMA_BEFORE} v{release}")
    return Driver("sarama", release, [_build_steady("sarama", release, needs, ("steady.go",))])


def segmentio(release: str = "") -> Driver:
    """Return the driver of segmentio's kafka-go; of another `release`: what goes on without end."""
    if not release:
        return _driver("segmentio kafka-go", "segmentio", _SEGMENTIO)
    built = _build_steady("segmentio", release, [f"{_SEGMENTIO} v{release}"], ("steady.go",))
    return Driver("segmentio kafka-go", release, [built])


def kfake() -> Driver:
    """Return the mock cluster of franz-go, which is a broker and no client."""
    return _driver("kfake", "kfake", f"{_FRANZ}/pkg/kfake")


def seaweedfs() -> str:
    """Return the program of SeaweedFS, which has a gateway for Kafka. It takes ten minutes to build."""
    home = workshop.folder("go", f"seaweedfs-{SEAWEEDFS}")
    target = home / "weed"
    if not target.exists():
        needs = f"require {_SEAWEEDFS} v{SEAWEEDFS}\n{_SEAWEEDFS_NEEDS}\n"
        (home / "go.mod").write_text(f"module brokers\n{needs}")
        _go("build", "-p", "2", "-mod=mod", "-o", str(target), f"{_SEAWEEDFS}/weed", cwd=home)
    return str(target)


def _driver(name: str, folder: str, module: str) -> Driver:
    source = _SOURCES / folder
    found = re.search(rf"{re.escape(module)} v(\S+)", (source / "go.mod").read_text())
    assert found is not None, f"{folder}/go.mod does not pin {module}"
    return Driver(name, found[1], [_build(folder)])


def _build(folder: str) -> str:
    target = workshop.folder("go", "bin") / folder
    _go("build", "-p", "2", "-o", str(target), ".", cwd=_SOURCES / folder)
    return str(target)


def _build_steady(folder: str, release: str, modules: Sequence[str], files: Sequence[str]) -> str:
    """Build the part of a driver that any release has, against one of them.

    `modules` are those of go.mod, as `PATH vVERSION`, or `PATH => OTHER vVERSION`.
    """
    target = workshop.folder("go", "bin") / f"{folder}-{release}"
    if not target.exists():
        module_file = workshop.folder("go", f"{folder}-{release}") / "go.mod"
        own = (_SOURCES / folder / "go.mod").read_text()
        kept = re.findall(r"^(?:module|go|replace) .*", own, re.MULTILINE)
        needs = [f"{'replace' if '=>' in one else 'require'} {one}" for one in modules]
        needs.append("require kdissect.invalid/record/driver v0.0.0")
        module_file.write_text("\n".join([*kept, *needs]) + "\n")
        options = ["-p", "2", "-mod=mod", f"-modfile={module_file}", "-tags", "steady", "-o", str(target)]
        _go("build", *options, *files, cwd=_SOURCES / folder)
    return str(target)


def _go(*words: str, cwd: Path) -> None:
    go = workshop.program("go", "build the drivers of the Go clients, and SeaweedFS")
    places = [f"GOMODCACHE={workshop.folder('go', 'mod')}", f"GOCACHE={workshop.folder('go', 'cache')}"]
    workshop.run(["env", *places, go, *words], cwd=cwd, timeout=workshop.BUILD_S)
