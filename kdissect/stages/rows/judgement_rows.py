"""The tables `findings` and `coverage`, and back: what `check` reports, from tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kdissect.engine.exchange_rows import Row
from kdissect.model.finding import Claim, Finding, Level, Location, Party, Severity, Who
from kdissect.model.packets.packet import FILE_SHIFT, NUMBER_MASK, packet_ref
from kdissect.rules.fingerprint import fingerprint
from kdissect.rules.registry import EVERY_RULE, SCHEMA_RULES
from kdissect.rules.run_coverage.coverage import NUMBERS, Coverage
from kdissect.rules.run_coverage.rule_coverage import Exercise, Software
from kdissect.rules.run_coverage.traffic_counts import Kind, TimeLine
from kdissect.sketches.distribution import Distribution
from kdissect.stages.judges import Judgement
from kdissect.stages.rows.table_rows import when

_LATENCY = ("latency_sum", "latency_least", "latency_most", "latency_zeros")


def finding_rows(judgement: Judgement, files: Sequence[str]) -> Iterator[Row]:
    """Yield rows of `findings`; `files` are the inputs' names by file index."""
    for finding in judgement.findings.all():
        yield _finding_row(finding, files)


def _finding_row(finding: Finding, files: Sequence[str]) -> Row:
    party, place = finding.party, finding.place
    file = place.first_ref >> FILE_SHIFT
    is_span = place.start >= 0
    row: Row = {
        "code": finding.code,
        "name": finding.name,
        "level": str(finding.level),
        "claim": str(finding.claim),
        "severity": str(finding.severity),
        **party._asdict(),
        "role": str(party.role),
        "count": finding.count,
        "capture_set": finding.capture_set,
        "connection": place.connection,
        "exchange": place.exchange if place.exchange >= 0 else None,
        "api_key": place.api_key,
        "api": place.api,
        "api_version": place.api_version,
        "side": place.side or None,
        "file": files[file] if place.first_ref and file < len(files) else None,
        "first_packet": place.first_ref & NUMBER_MASK or None,
        "last_packet": place.last_ref & NUMBER_MASK or None,
        "path": place.path or None,
        "bytes_start": place.start if is_span else None,
        "bytes_end": place.end if is_span else None,
        "bytes_seen": place.bytes_seen if is_span else None,
        "expected": finding.expected,
        "seen": finding.seen,
        "consequence": finding.consequence or None,
        "earlier": None
        if finding.earlier is None
        else {"connection": finding.earlier[0], "exchange": finding.earlier[1]},
        "last_time_ns": finding.last_time_ns,
        "fingerprint": fingerprint(finding),
    }
    row["address"] = party.address
    return when(row, place.time_ns)


def finding_of_row(row: Mapping[str, Any], files: Mapping[str, int]) -> Finding:
    """Return the finding of a row; `files` are file indexes by name."""
    file = files.get(row["file"] or "", 0)
    first, last = row["first_packet"], row["last_packet"]
    is_span = row["bytes_start"] is not None
    place = Location(
        row["connection"],
        -1 if row["exchange"] is None else row["exchange"],
        row["api"], row["api_key"], row["api_version"], row["side"] or "",
        packet_ref(file, first) if first else 0,
        packet_ref(file, last) if last else 0,
        row["time_ns"],
        row["bytes_start"] if is_span else -1,
        row["bytes_end"] if is_span else -1,
        row["bytes_seen"] or b"",
        row["path"] or "",
    )  # fmt: skip
    party = Party(
        Who(row["role"]), row["address"], row["software"], row["version"], row["client_id"], row["label"]
    )
    finding = Finding(
        row["code"], row["name"], Level(row["level"]), Claim(row["claim"]), Severity(row["severity"]), party,
        place, row["expected"], row["seen"], row["consequence"] or "",
    )  # fmt: skip
    finding.count, finding.last_time_ns = row["count"], row["last_time_ns"]
    finding.capture_set = row["capture_set"]
    earlier = row["earlier"]
    finding.earlier = None if earlier is None else (earlier["connection"], earlier["exchange"])
    return finding


def coverage_rows(judgement: Judgement) -> Iterator[Row]:
    """Yield rows of `coverage`, sorted by what they count."""
    rows = [*_counted(judgement.coverage), *_looked_at(judgement.coverage), *_times(judgement.coverage)]
    rows += [_row("inconclusive", count, key) for key, count in judgement.inconclusive.items()]
    rows.append(_row("dropped", judgement.findings.dropped))
    yield from sorted(rows, key=lambda row: (row["what"], _sortable(row["names"]), _sortable(row["numbers"])))


def _row(what: str, count: int, names: Iterable[Any] = (), numbers: Iterable[int | None] = ()) -> Row:
    texts = [None if name is None else str(name) for name in names]
    return {"what": what, "names": texts, "numbers": list(numbers), "count": count}


def _sortable(values: Sequence[Any]) -> list[tuple[bool, Any]]:
    return [(value is not None, value) for value in values]


def _counted(coverage: Coverage) -> Iterator[Row]:
    for name in NUMBERS:
        yield _row(name, getattr(coverage, name))
    for kind, count in coverage.connections.items():
        yield _row("connection", count, [kind])
    for api, count in coverage.apis.items():
        yield _row("api", count, numbers=api)
    for peer, count in coverage.peers.items():
        yield _row("peer", count, peer)


def _looked_at(coverage: Coverage) -> Iterator[Row]:
    for (client, broker), exercise in coverage.exercises.pairs.items():
        pair = client.name, client.version, client.label, broker.label
        for code, count in exercise.looks().items():
            if count:
                yield _row("rule", count, (code, *pair))


def _times(coverage: Coverage) -> Iterator[Row]:
    for api, held in coverage.traffic.latencies.items():
        zeros, bins = held.bins()
        for what, number in zip(_LATENCY, (held.sum, held.min, held.max, zeros), strict=True):
            yield _row(what, number, numbers=api)
        for index, count in bins:
            yield _row("latency", count, numbers=(*api, index))
    times = coverage.traffic.times
    for number, (count, lost) in times.items():
        yield _row("time", count, numbers=(times.width_ns, number))
        if lost:
            yield _row("time_unanswered", lost, numbers=(times.width_ns, number))


def judgement_of(
    findings: Iterable[Mapping[str, Any]], coverage: Iterable[Mapping[str, Any]], files: Mapping[str, int]
) -> Judgement:
    """Return the judges' result, from rows of the two tables.

    Its rules include those about schemas if one of them looked at something.
    """
    judgement = Judgement()
    for row in findings:
        judgement.findings.put_back(finding_of_row(row, files))
    latencies: dict[Kind, _Latencies] = {}
    for row in coverage:
        if row["what"].startswith("latency"):
            key, version, *of_bin = row["numbers"]
            latencies.setdefault((key, version), _Latencies()).take(row["what"], of_bin, row["count"])
        else:
            _take(judgement, row)
    judgement.coverage.traffic.latencies.update((kind, held.counted()) for kind, held in latencies.items())
    looked_at = judgement.coverage.rules
    if any(looked_at[rule.code] for rule in SCHEMA_RULES):
        judgement.rules = EVERY_RULE
    return judgement


class _Latencies:
    """The rows of one API version, which come in any order."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._bins: list[tuple[int, int]] = []

    def take(self, what: str, of_bin: Sequence[int], count: int) -> None:
        if of_bin:
            self._bins.append((of_bin[0], count))
        else:
            self._numbers[what] = count

    def counted(self) -> Distribution:
        found = Distribution()
        total, least, most, zeros = (self._numbers.get(what, 0) for what in _LATENCY)
        found.add_bins(zeros, self._bins, total, least, most)
        return found


def _take(judgement: Judgement, row: Mapping[str, Any]) -> None:
    what, names, numbers, count = row["what"], row["names"], row["numbers"], row["count"]
    coverage = judgement.coverage
    if what in NUMBERS:
        setattr(coverage, what, count)
    elif what == "dropped":
        judgement.findings.dropped = count
    elif what == "inconclusive":
        judgement.inconclusive[names[0], names[1]] = count
    elif what == "connection":
        coverage.connections[names[0]] = count
    elif what == "api":
        coverage.apis[numbers[0], numbers[1]] = count
    elif what == "peer":
        coverage.peers[(Who(names[0]), *names[1:])] = count
    elif what == "rule":
        _take_rule(coverage, names, count)
    else:
        times = TimeLine(numbers[0])
        is_lost = what == "time_unanswered"
        times.count(numbers[0] * numbers[1], (0, count) if is_lost else (count, 0))
        coverage.traffic.times.merge(times)


def _take_rule(coverage: Coverage, names: Sequence[Any], count: int) -> None:
    code, name, version, label, of_broker = names
    pair = Software(Who.CLIENT, name, version, label), Software(Who.BROKER, label=of_broker)
    coverage.exercises.pairs.setdefault(pair, Exercise()).rules[code] = count
