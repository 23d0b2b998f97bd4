"""Findings as SARIF results (section 3.27)."""

from typing import Any

from kdissect.model.finding import Finding, Location
from kdissect.model.packets.packet import ref_file
from kdissect.report.json import finding_row
from kdissect.report.printable import printable
from kdissect.report.sarif.frames import Frames, uri_of
from kdissect.report.sarif.rules import LEVELS
from kdissect.report.text import command, party_text, place_text
from kdissect.report.verdict import Verdict
from kdissect.rules.fingerprint import fingerprint

Row = dict[str, Any]
# Keys of a finding that a result says in its own way.
_SAID = frozenset({"code", "name", "severity", "count", "fingerprint", "cites", "known"})


def results(verdict: Verdict, frames: Frames) -> list[Row]:
    """All findings. The artifacts that they need are added to `frames`."""
    numbers = {rule.code: number for number, rule in enumerate(verdict.rules)}
    seen: dict[str, int] = {}
    rows = []
    for finding in verdict.findings:
        mark = fingerprint(finding)
        seen[mark] = seen.get(mark, 0) + 1
        row = _result(finding, verdict, f"{mark}:{seen[mark]}")
        row["ruleIndex"] = numbers[finding.code]
        if finding.place.end > finding.place.start >= 0:
            row["relatedLocations"] = [frames.location(finding.place)]
        if verdict.baseline is not None:
            row["baselineState"] = "unchanged" if finding.known else "new"  # section 3.27.24
        rows.append(row)
    return rows


def _result(finding: Finding, verdict: Verdict, mark: str) -> Row:
    row = finding_row(finding, verdict)
    return {
        "ruleId": finding.code,
        "level": LEVELS[finding.severity],
        "kind": "fail",
        "message": {"text": _message(finding, verdict)},
        "locations": [_location(finding.place, verdict)],
        "occurrenceCount": finding.count,
        # the second name is the one that GitHub compares
        "partialFingerprints": {"kdissect/v1": mark, "primaryLocationLineHash": mark},
        "properties": {name: value for name, value in row.items() if name not in _SAID},
    }


def _message(finding: Finding, verdict: Verdict) -> str:
    place = finding.place
    lines = [
        f"{party_text(finding.party)}: expected {finding.expected}, seen {finding.seen}.",
        f"In {place_text(place, verdict.files)}.",
    ]
    if finding.consequence:
        lines.append(f"Then: {finding.consequence}.")
    lines.append(f"Shown again by: {command(place, verdict.files)}")
    return _plain("\n".join(printable(line) for line in lines))


def _plain(text: str) -> str:
    """Text without a link in it: `[text](target)` would be one (section 3.11.6)."""
    if "](" not in text:
        return text
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _location(place: Location, verdict: Verdict) -> Row:
    """The capture, and the way to the field in the terms of the protocol."""
    location: Row = {"logicalLocations": [_logical(place)]}
    index = ref_file(place.first_ref)
    known = place.first_ref or len(verdict.files) == 1
    if known and index < len(verdict.files):
        artifact = {"uri": uri_of(verdict.files[index]), "index": index}
        location["physicalLocation"] = {"artifactLocation": artifact}
    return location


def _logical(place: Location) -> Row:
    if place.exchange < 0:
        return {"name": place.connection, "fullyQualifiedName": place.connection, "kind": "connection"}
    names = [place.connection, str(place.exchange), place.side, place.path]
    return {
        "name": printable(place.path or f"{place.api or 'frame'} {place.side}"),
        "fullyQualifiedName": printable("/".join(name for name in names if name)),
        "kind": "member" if place.path else "message",
    }
