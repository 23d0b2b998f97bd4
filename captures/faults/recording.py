"""Recordings with what is known of them, and what `kdissect why` says of one."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from kdissect.causes.diagnose import diagnose
from kdissect.causes.evidence.gathering import BY
from kdissect.engine.times import ns_of
from kdissect.report.causes.json import diagnosis_row
from tests.causes.diagnosing import gathered_from

Row = dict[str, Any]
Truth = dict[str, str]
"""The ids of the causes that are true of a recording, each with why."""
_ON_THE_WIRE = (
    "client_id",
    "client_ids",
    "group",
    "topic",
    "transactional_id",
    "user",
    "address",
    "listener",
)
RECORDED = Path(__file__).resolve().parent / "recorded"
_TRUTHS = RECORDED.with_name("truths.json")
_INJECTED = ".fault.json"
_ENDS = ("", "ng", ".gz", "ng.gz")


class Meant(NamedTuple):
    """What a truth says about one cause: names of `whom` it is about, and between which times it begins.

    Empty: nothing, so that a cause may be about anybody, or begin at any time. `unseen` has the reason why no
    packet shows the cause.
    """

    whom: frozenset[str] = frozenset()
    since: str = ""
    until: str = ""
    unseen: str = ""

    def holds(self, cause: Row) -> bool:
        """Whether a printed cause is about somebody of these, and begins then."""
        if self.whom and not names_any(self.whom, cause):
            return False
        begins_ns = ns_of(cause["since"]) if self.since or self.until else 0
        return (not self.since or ns_of(self.since) <= begins_ns) and (
            not self.until or begins_ns <= ns_of(self.until)
        )


class Recording(NamedTuple):
    """A capture, and what is true of it; None if nobody knows.

    `meant` has more about causes of `truth`, as far as it is known. `injected` is the file of the laboratory
    next to it, empty without one; `clients` are the libraries that take part as far as a file says so.
    """

    name: str
    path: Path
    truth: Truth | None
    injected: Row
    clients: frozenset[str]
    meant: Mapping[str, Meant] = MappingProxyType({})

    @property
    def is_healthy(self) -> bool:
        """Whether it is known that nothing is wrong."""
        return self.truth == {}

    @property
    def is_aside(self) -> bool:
        """Whether it is a drawn run that nobody looks into while causes are changed."""
        return bool(self.injected.get("is_aside"))


def recordings(folder: Path) -> list[Recording]:
    """Return the captures of a folder with their truths, by name."""
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
    told = _content(path.with_name(_TRUTHS.name)).get(name, _content(_TRUTHS).get(name))
    truth: Truth | None = None if told is None else {cause: _reason(entry) for cause, entry in told.items()}
    meant = {cause: _meant(entry) for cause, entry in (told or {}).items() if isinstance(entry, dict)}
    if injected:
        truth = dict.fromkeys([*injected["causes"], *injected["also"]], injected["story"]) | (truth or {})
        meant = {cause: Meant(_whom(injected, cause)) for cause in injected["causes"]} | meant
    clients = (injected or _content(path.with_name(f"{name}.truth.json"))).get("clients", ())
    return Recording(name, path, truth, injected, frozenset(_libraries(clients)), meant)


def _whom(injected: Row, cause: str) -> frozenset[str]:
    faults = [one for one in injected["injected"] if cause in one.get("causes", injected["causes"])]
    return frozenset(name for one in faults for name in whom_of(one))


def _reason(entry: str | Row) -> str:
    return entry if isinstance(entry, str) else str(entry["reason"])


def _meant(entry: Row) -> Meant:
    rest = (entry.get(key, "") for key in ("since", "until", "unseen"))
    return Meant(frozenset(entry.get("whom", ())), *rest)


def whom_of(fault: Row) -> Iterator[str]:
    """Whom an injected fault was done to, as far as packets name them."""
    for key, value in fault["who"].items():
        if key in _ON_THE_WIRE:
            yield from value if isinstance(value, list) else [value]


def names_any(whom: Iterable[str], cause: Row) -> bool:
    """Whether a printed cause names somebody of these."""
    page = "".join(json.dumps(cause.get(key)) for key in ("sentence", "who", "parties"))
    return any(one in page for one in whom)


def _libraries(clients: Iterable[Row]) -> Iterable[str]:
    """Their names without what drives them: `librdkafka` of `librdkafka (confluent-kafka-python)`."""
    return (client["name"].partition(" (")[0] for client in clients)


@cache
def _content(path: Path) -> Row:
    found: Row = json.loads(path.read_text()) if path.exists() else {}
    return found


def page_of(*paths: Path) -> Row:
    """Return the JSON of `why` with all causes; TLS is decrypted with the keys next to the capture."""
    return page_and_clients(*paths)[0]


def page_and_clients(*paths: Path) -> tuple[Row, frozenset[str]]:
    """Return the page, and the client ids in the capture."""
    gathering = gathered_from(*paths)
    found: Row = diagnosis_row(diagnose(gathering, [str(path) for path in paths], most=1_000))
    by_client = BY.index("client_id")
    return found, frozenset(filter(None, (key[by_client] for key in gathering.traffic.rows)))
