"""Findings for people. All text from the wire becomes printable: see `printable`."""

from collections.abc import Iterator, Sequence
from shlex import quote
from textwrap import wrap

from kdissect.model.finding import Finding, Location, Party, Who
from kdissect.model.packets.packet import ref_file, span_text
from kdissect.model.wording import plural
from kdissect.report.about import (
    exercised_text,
    found_text,
    hash_texts,
    inconclusive_text,
    not_exercised_lines,
    versions_text,
)
from kdissect.report.folds import Fold
from kdissect.report.printable import printable
from kdissect.report.verdict import Verdict
from kdissect.rules.registry import rule_by
from kdissect.schema.secrets import MASK
from kdissect.session.exchange import exchange_text

WIDTH = 110
MAX_OTHERS = 8  # further forms in a fold that are listed


def finding_text(finding: Finding, files: Sequence[str]) -> str:
    """Return one finding, without a line end."""
    return fold_text(Fold(finding), files)


def fold_text(fold: Fold, files: Sequence[str]) -> str:
    """Return the first finding of a fold in full and the further ones in a line each, without a line end."""
    also = (f"  also      {printable(line)}" for line in also_lines(fold, files))
    return "\n".join([*_lines(fold, files), *also])


def also_lines(fold: Fold, files: Sequence[str]) -> Iterator[str]:
    """Yield the further forms in a fold: how often, where first, and the values seen."""
    for finding in fold.others[:MAX_OTHERS]:
        where = f"{plural(finding.count, 'time')}, {place_text(finding.place, files)}"
        evidence = f", evidence {finding.evidence}" if finding.evidence else ""
        yield f"{where}: {finding.seen}{evidence}"
    left = len(fold.others) - MAX_OTHERS
    if left > 0:
        yield f"{plural(left, 'more form')}; --format json has them"


def times_text(fold: Fold) -> str:
    """`5 times, in 3 forms`; empty for once."""
    forms = f", in {plural(len(fold.others) + 1, 'form')}" if fold.others else ""
    return f"{plural(fold.times, 'time')}{forms}" if fold.times > 1 else ""


def _lines(fold: Fold, files: Sequence[str]) -> Iterator[str]:
    finding = fold.first
    times = f", {often}" if (often := times_text(fold)) else ""
    known = ", known" if finding.known else ""
    yield f"{finding.code} {finding.name}  {finding.severity}, {finding.level}, {finding.claim}{times}{known}"
    first = ", the first" if fold.times > 1 and finding.party.role is Who.CLIENT else ""
    yield f"  who       {printable(party_text(finding.party))}{first}"
    place = finding.place
    yield f"  where     {printable(place_text(place, files))}"
    if place.start >= 0 and place.end > place.start:
        yield f"  bytes     {place.start}-{place.end} of the frame's content: {hex_text(place)}"
    yield f"  expected  {printable(finding.expected)}"
    yield f"  seen      {printable(finding.seen)}"
    if finding.consequence:
        yield f"  then      {printable(finding.consequence)}"
    rule = rule_by(finding.code)
    if rule is not None:
        yield f"  cites     {'; '.join(rule.cites)}"
    yield f"  again     {printable(command(place, files))}"
    if finding.evidence:
        yield f"  evidence  {printable(finding.evidence)}"


def hex_text(place: Location) -> str:
    """Return the bytes of a place in hex; `***` where they may hold a secret, `...` where they go on."""
    if not place.bytes_seen:
        return MASK
    more = " ..." if place.end - place.start > len(place.bytes_seen) else ""
    return f"{place.bytes_seen.hex(' ')}{more}"


def party_text(party: Party) -> str:
    """Role, software, address, client id, label."""
    parts = [str(party.role)]
    if party.software:
        parts.append(f"{party.software} {party.version or ''}".strip())
    parts.append(party.address)
    if party.client_id:
        parts.append(f"client id {party.client_id}")
    if party.label:
        parts.append(f"({party.label})")
    return " ".join(parts)


def place_text(place: Location, files: Sequence[str]) -> str:
    """Return API, side, exchange, connection, packets, field."""
    if place.exchange < 0:
        return f"connection {place.connection}"
    what = f"{frame_text(place)} of connection {place.connection}"
    if place.first_ref:
        what += f", {packets_text(place, files)}"
    return f"{what}, {place.path}" if place.path else what


def frame_text(place: Location) -> str:
    """Return API, side and exchange."""
    api = place.api or (f"API key {place.api_key}" if place.api_key is not None else "frame")
    version = "" if place.api_version is None else f" v{place.api_version}"
    return f"{api}{version} {place.side}, {exchange_text(place.exchange)}"


def packets_text(place: Location, files: Sequence[str]) -> str:
    """`packets 4-6 of a.pcap`."""
    return f"{span_text(place.first_ref, place.last_ref)} of {file_of(place, files)}"


def command(place: Location, files: Sequence[str]) -> str:
    """Return the command that shows the place again."""
    if place.exchange < 0:
        return f"kdissect connections {quote(file_of(place, files))}"
    which = f"{place.connection}/{place.exchange}"
    return f"kdissect inspect {quote(file_of(place, files))} --bodies --format tree --exchange {which}"


def file_of(place: Location, files: Sequence[str]) -> str:
    """Return the name of the capture; `-` for standard input, and if it is unknown."""
    index = ref_file(place.first_ref)
    return files[index] if index < len(files) else "-"


def report_text(verdict: Verdict, statistics: bool = False) -> str:
    """Return the whole report."""
    return "\n".join(_report(verdict, statistics)) + "\n"


def _report(verdict: Verdict, statistics: bool) -> Iterator[str]:
    for fold in verdict.folds:
        yield fold_text(fold, verdict.files)
        yield ""
    if statistics:
        yield from _statistics(verdict)
    yield found_text(verdict)
    for reason in verdict.quality.reasons:
        yield f"  {reason}"
    yield from _compared(verdict)
    yield from _suppressed(verdict)
    if verdict.inconclusive:
        yield f"inconclusive: {inconclusive_text(verdict)}"
    hint = (
        ""
        if statistics or not verdict.not_exercised
        else " (--statistics: other rules, and why they had no findings)"
    )
    yield exercised_text(verdict) + hint
    if statistics:
        yield from _not_exercised(verdict)
    yield versions_text(verdict)
    for path, digest in hash_texts(verdict):
        yield f"sha256 {digest}  {printable(path)}"


def _not_exercised(verdict: Verdict) -> Iterator[str]:
    if verdict.not_exercised:
        yield "not exercised:"
    for line in not_exercised_lines(verdict):
        yield from wrap(line, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def _compared(verdict: Verdict) -> Iterator[str]:
    if verdict.baseline is None:
        return
    known = sum(finding.known for finding in verdict.findings)
    new, fixed = len(verdict.findings) - known, len(verdict.fixed)
    yield f"baseline {printable(verdict.baseline.path)}: {known} known, {new} new, {fixed} fixed"
    for item in verdict.fixed:
        yield f"  fixed: {printable(item.text)}"
    for item in verdict.not_judged:
        yield f"  not seen, for nothing like it came up: {printable(item.text)}"


def _suppressed(verdict: Verdict) -> Iterator[str]:
    """Yield the counted suppressions, so that a project does not forget them, and the suppressions that no
    longer apply.
    """
    if verdict.suppressed:
        yield f"suppressed: {len(verdict.suppressed)}"
    for finding, by in verdict.suppressed:
        times = f" {plural(finding.count, 'time')}" if finding.count > 1 else ""
        yield f"  {finding.code} {finding.name}{times}: {printable(by.reason)} ({printable(by.where)})"
    for entry in verdict.unused_suppressions:
        yield f"  {printable(entry.where)}: suppresses nothing: {entry.rule}, {printable(entry.reason)}"


def _statistics(verdict: Verdict) -> Iterator[str]:
    counts: dict[str, int] = {}
    for finding in verdict.findings:
        counts[finding.code] = counts.get(finding.code, 0) + finding.count
    for code, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        rule = rule_by(code)
        yield f"{count:>8}  {code}  {rule.name if rule else ''}"
    yield ""
