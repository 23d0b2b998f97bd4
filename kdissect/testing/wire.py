"""The wire of a test: recordings and captures, their exchanges, and their findings."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import pytest

from kdissect.api import Dissection
from kdissect.config.read import ConfigError, ConfigFile, find_config, read_config
from kdissect.config.suppression import Suppression, parse_suppressions
from kdissect.model.finding import Finding, Severity, Who
from kdissect.model.wording import plural
from kdissect.report.baseline import Baseline, parse_baseline
from kdissect.report.folds import folded
from kdissect.report.text import fold_text, report_text
from kdissect.report.verdict import Verdict
from kdissect.rules.judge import Judge
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule_selection import select
from kdissect.rules.run_coverage.capture_quality import quality_of
from kdissect.session.exchange import Exchange
from kdissect.testing.wire_recording import CannotRecordError, start_recording

# Keys of the configuration that a test follows. Other keys are about the command.
_KEYS = {"select": list, "ignore": list, "judge": str, "strict": bool, "fail-on": str, "label": dict}
_FAIL_ON = ("error", "warning", "never")
_JUDGE = ("client", "broker", "both")
_FAILING = {
    "error": {Severity.ERROR},
    "warning": {Severity.ERROR, Severity.WARNING},
    "never": set[Severity](),
}


# Options of a test: the arguments of the marker, and the project's configuration below them.
class WireOptions:
    """Arguments of the marker `kafka_wire`.

    `port` is one or several. `label` names ends, as `--label`. `allow_empty` lets a test pass whose traffic
    has no Kafka. Further arguments are as the options of `kdissect check`. Raises ValueError for an invalid
    value, TypeError for an unknown name.
    """

    def __init__(
        self,
        *,
        port: int | Iterable[int] = (),
        interface: str | None = None,
        select: Iterable[str] = (),
        ignore: Iterable[str] = (),
        judge: str = "both",
        strict: bool = False,
        fail_on: str = "error",
        label: Mapping[str, str] | None = None,
        allow_empty: bool = False,
    ) -> None:
        self.ports = [port] if isinstance(port, int) else list(port)
        self.interface = interface
        self.select = _words(select)
        self.ignore = _words(ignore)
        self.judge = _one_of("judge", judge, _JUDGE)
        self.strict = strict
        self.fail_on = _one_of("fail_on", fail_on, _FAIL_ON)
        self.label = dict(label or {})
        self.allow_empty = allow_empty
        self.suppressions: Sequence[Suppression] = ()
        self.baseline: Baseline | None = None


def wire_options(given: Mapping[str, Any], folder: str) -> WireOptions:
    """Return the options of a test: from the markers, else from the configuration nearest to `folder`.

    Raises ConfigError for a file that cannot be used.
    """
    path = find_config(folder)
    if path is None:
        return WireOptions(**given)
    file = read_config(path)
    options = WireOptions(**{**_from_file(file, "select" in given), **given})
    options.suppressions = parse_suppressions(file)
    options.baseline = _baseline(file)
    return options


def _baseline(file: ConfigFile) -> Baseline | None:
    name = file.table.get("baseline")
    if name is None:
        return None
    try:
        path = Path(file.path).parent / name
        return parse_baseline(str(path), path.read_text("utf-8"))
    except (OSError, TypeError, ValueError) as error:
        raise file.error(("baseline",), str(error)) from None


def _from_file(file: ConfigFile, selects: bool) -> dict[str, Any]:
    found = {}
    for key, kind in _KEYS.items():
        if key in file.table and not (selects and key == "ignore"):
            value = file.table[key]
            if not isinstance(value, kind):
                raise file.error((key,), f"{key!r} is no {kind.__name__}")
            found[key.replace("-", "_")] = value
    return found


def _words(words: Iterable[str]) -> list[str]:
    return [words] if isinstance(words, str) else list(words)


def _one_of(name: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise ValueError(f"{name} is {' or '.join(map(repr, known))}, not {value!r}")
    return value


class Recording(Protocol):
    """A recording that goes on: `testing.wire_recording` has it."""

    path: str

    def flush(self) -> None:
        """Wait until everything sent so far is in the file."""

    def stop(self) -> None:
        """Flush and end."""


StartRecording = Callable[[list[int], str | None], Recording]


class KafkaWire:
    """The traffic of one test.

    `exchanges`, `findings`, `verdict` and `report` cover everything until now, also while a recording goes
    on: each reads the captures again. The test fails at its end for findings at or above `fail_on`, and if
    there was no Kafka to judge.
    """

    def __init__(self, options: WireOptions, start: StartRecording) -> None:
        self.options = options
        self._start = start
        self._paths: list[str] = []
        self._recordings: list[Recording] = []
        self._is_recordable = True

    def capture(self, path: str | PathLike[str]) -> "KafkaWire":
        """Judge a capture: a file, a directory or a glob."""
        self._paths.append(str(path))
        return self

    def record(self, *ports: int, interface: str | None = None) -> "KafkaWire":
        """Record ports from now on, until the test is over. Skips the test if that is not allowed."""
        self._is_recordable = False
        self._recordings.append(self._start(list(ports), interface or self.options.interface))
        self._is_recordable = True
        return self

    @property
    def paths(self) -> list[str]:
        """The captures, those being recorded included."""
        return [*self._paths, *(recording.path for recording in self._recordings)]

    def exchanges(self) -> list[Exchange]:
        """Return every exchange until now, in the order of completion."""
        return list(self._open())

    @property
    def findings(self) -> list[Finding]:
        """Return the findings, loudest first, of every severity, without suppressed findings."""
        return self.verdict().findings

    def verdict(self) -> Verdict:
        """Return everything a report knows. Raises OSError for a capture that cannot be read."""
        options = self.options
        who = None if options.judge == "both" else Who(options.judge)
        judge = Judge(select(ALL_RULES, options.select, options.ignore, who), who, options.label)
        dissection = self._open()
        for event in dissection.events():
            judge.add(event)
        judge.finish()
        errors = [str(error) for error in dissection.captures.errors]
        if errors:
            raise OSError("; ".join(errors))
        quality = quality_of(judge.coverage)
        names, strict = dissection.file_names, bool(options.strict)
        return Verdict(judge, quality, names, options.suppressions, options.baseline, strict)

    def report(self) -> str:
        """Return the text report of `kdissect check`."""
        return report_text(self.verdict())

    def check(self) -> None:
        """Raise AssertionError now for what would fail the test at its end."""
        problem = self._problem()
        if problem:
            raise AssertionError(problem)

    def close(self) -> str:
        """End the recordings. Return the problem, or an empty text if there is none, or if `record` reported
        it.
        """
        for recording in self._recordings:
            recording.stop()
        return self._problem() if self._is_recordable else ""

    def _open(self) -> Dissection:
        for recording in self._recordings:
            recording.flush()
        return Dissection(self.paths)

    def _problem(self) -> str:
        if not self.paths:
            return (
                "kafka_wire had no traffic to judge: mark the test with "
                "@pytest.mark.kafka_wire(port=...), or "
                "call kafka_wire.record(port) or kafka_wire.capture(path)"
            )
        try:
            verdict = self.verdict()
        except OSError as error:
            return f"kafka_wire cannot read {error}"
        if not verdict.exchanges and not self.options.allow_empty:
            why = "; ".join(verdict.quality.reasons) or "no Kafka traffic"
            return f"kafka_wire had no traffic to judge in {', '.join(self.paths)}: {why}"
        failing_severities = _FAILING[self.options.fail_on]
        failing = [f for f in verdict.findings if f.severity in failing_severities and not f.known]
        return "\n".join(self._lines(verdict, failing)) if failing else ""

    def _lines(self, verdict: Verdict, failing: list[Finding]) -> Iterator[str]:
        count = plural(len(failing), "finding")
        yield f"kafka_wire: {count} in {plural(verdict.exchanges, 'exchange')}"
        for fold in folded(failing):
            yield ""
            yield fold_text(fold, verdict.files)


def wire_of(request: pytest.FixtureRequest, marker_name: str) -> KafkaWire:
    """Return the wire of the test that asks, recording if its marker names a port."""
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
    folder = request.getfixturevalue("tmp_path")
    number = len(list(folder.glob("kafka_wire*.pcapng"))) + 1
    try:
        return start_recording(str(folder / f"kafka_wire{number}.pcapng"), ports, interface)
    except CannotRecordError as error:
        why = f"{marker_name} cannot record: {error}"
    if request.config.getini("kafka_wire_required"):
        pytest.fail(why, pytrace=False)
    pytest.skip(why)
