"""Recordings with what is known of them, and what `kdissect why` says of one."""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kdissect.causes.diagnose import diagnose
from kdissect.report.causes.json import diagnosis_row
from tests.causes.diagnosing import gathered_from

Row = dict[str, Any]
Truth = dict[str, str]
"""The ids of the causes that are true of a recording, each with why."""
RECORDED = Path(__file__).resolve().parent / "recorded"
_TRUTHS = RECORDED.with_name("truths.json")
_INJECTED = ".fault.json"
_ENDS = ("", "ng", ".gz", "ng.gz")


class Recording(NamedTuple):
    """A capture, and what is true of it; None if nobody knows.

    `injected` is the file of the laboratory next to it, empty without one; `clients` are the libraries that
    take part as far as a file says so.
    """

    name: str
    path: Path
    truth: Truth | None
    injected: Row
    clients: frozenset[str]

    @property
    def is_healthy(self) -> bool:
        """Whether it is known that nothing is wrong."""
        return self.truth == {}

    @property
    def is_aside(self) -> bool:
        """Whether it is a drawn run that nobody looks into while causes are changed."""
        return bool(self.injected.get("is_aside"))


def recordings(folder: Path) -> list[Recording]:
    """The captures of a folder with their truths, by name."""
    found = []
    for path in sorted(folder.glob("*.pcap*")):
        name, _, end = path.name.partition(".pcap")
        if end in _ENDS:
            found.append(_recording(name, path))
    return found


def injected_in(folder: Path) -> list[Recording]:
    """Those of a folder that the laboratory made."""
    return [one for one in recordings(folder) if one.injected]


def _recording(name: str, path: Path) -> Recording:
    injected = _content(path.with_name(f"{name}{_INJECTED}"))
    known = _content(path.with_name(_TRUTHS.name)).get(name, _content(_TRUTHS).get(name))
    truth: Truth | None = known
    if injected:
        truth = dict.fromkeys([*injected["causes"], *injected["also"]], injected["story"]) | (known or {})
    told = injected or _content(path.with_name(f"{name}.truth.json"))
    return Recording(name, path, truth, injected, frozenset(_libraries(told.get("clients", ()))))


def _libraries(clients: Iterable[Row]) -> Iterable[str]:
    """Their names without what drives them: `librdkafka` of `librdkafka (confluent-kafka-python)`."""
    return (client["name"].partition(" (")[0] for client in clients)


@cache
def _content(path: Path) -> Row:
    found: Row = json.loads(path.read_text()) if path.exists() else {}
    return found


def page_of(*paths: Path) -> Row:
    """The page of `why` with all causes, as its JSON; TLS with the keys next to the capture."""
    files = [str(path) for path in paths]
    found: Row = diagnosis_row(diagnose(gathered_from(*paths), files, most=1_000))
    return found
