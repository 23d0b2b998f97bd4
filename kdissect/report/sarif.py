"""The report as SARIF 2.1.0 (OASIS): what code scanning services and editors read."""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from kdissect.model.finding import Finding, Location, Severity
from kdissect.model.packets.packet import ref_file, ref_number
from kdissect.model.version import __version__
from kdissect.model.wording import path_of
from kdissect.report.json import finding_row, report_row
from kdissect.report.json_pages import json_page
from kdissect.report.printable import printable
from kdissect.report.text import command, party_text, place_text
from kdissect.report.verdict import Verdict
from kdissect.rules.fingerprint import fingerprint
from kdissect.rules.pages import page
from kdissect.rules.registry import ruleset_version
from kdissect.rules.rule import Rule
from kdissect.rules.run_coverage.capture_quality import GOOD
from kdissect.schema.citations import resolve

# SARIF 2.1.0 errata 01, section 3.13.3
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
# Keys of the JSON report that SARIF says in its own way.
_SAID_OF_REPORT = frozenset({"findings", "captures", "report_version", "kdissect_version"})
# Keys of a finding that a result says in its own way.
_SAID_OF_FINDING = frozenset({"code", "name", "severity", "count", "fingerprint", "cites", "known"})
Row = dict[str, Any]


def report_sarif(verdict: Verdict) -> str:
    """Return the whole report, ASCII only."""
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(verdict)]}
    return json_page(log, indent=1)


def _run(verdict: Verdict) -> Row:
    frames = _Frames(len(verdict.files))
    found = _results(verdict, frames)
    return {
        "tool": {"driver": _driver(verdict)},
        "invocations": [_invocation(verdict)],
        "artifacts": [_capture(path, digest) for path, digest in verdict.captures] + frames.artifacts,
        "results": found,
        "columnKind": "unicodeCodePoints",
        "properties": {
            name: value for name, value in report_row(verdict).items() if name not in _SAID_OF_REPORT
        },
    }


def _driver(verdict: Verdict) -> Row:
    return {
        "name": "kdissect",
        "semanticVersion": __version__,
        "version": ruleset_version(verdict.rules),
        "rules": [_rule_row(rule) for rule in verdict.rules],
    }


def _invocation(verdict: Verdict) -> Row:
    """Return the invocation: the tool ran without an error. A defect of the capture is a notification."""
    level = "note" if verdict.quality.verdict == GOOD else "warning"
    notes = [{"level": level, "message": {"text": printable(why)}} for why in verdict.quality.reasons]
    return {"executionSuccessful": True, "toolExecutionNotifications": notes}


def _capture(path: str, digest: str | None) -> Row:
    artifact: Row = {"location": {"uri": uri_of(path)}, "roles": ["analysisTarget"]}
    return artifact | ({"hashes": {"sha-256": digest}} if digest else {})


def _without(row: Row, names: frozenset[str]) -> Row:
    return {name: value for name, value in row.items() if name not in names}


def _rule_row(rule: Rule) -> Row:
    """Return a rule as `reportingDescriptor` (section 3.49), with its page as help.

    `helpUri` leads to the first source it cites.
    """
    text = page(rule)
    cites = [{"source": name, "url": found.url} for name in rule.cites if (found := resolve(name))]
    row = {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": text.splitlines()[0]},
        "fullDescription": {"text": _why(text)},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": _LEVELS[rule.effective_severity()]},
        "properties": {
            "claim": rule.claim,
            "level": rule.level,
            "judges": rule.who or "both",
            "needs": rule.vantage,
            "cites": cites,
            "tags": ["kafka", rule.claim, rule.level],
        },
    }
    return row | {"helpUri": cites[0]["url"]} if cites else row


def _why(text: str) -> str:
    """Return the second paragraph of a page, which says why the rule matters. A statement has one alone."""
    why = (*text.split("\n\n"), "")[1] or text
    return why.replace("\n", " ")


def _results(verdict: Verdict, frames: _Frames) -> list[Row]:
    """Return all findings as results (section 3.27). The artifacts that they need are added to `frames`."""
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
        "level": _LEVELS[finding.severity],
        "kind": "fail",
        "message": {"text": _message(finding, verdict)},
        "locations": [_location(finding.place, verdict)],
        "occurrenceCount": finding.count,
        # the second name is the one that GitHub compares
        "partialFingerprints": {"kdissect/v1": mark, "primaryLocationLineHash": mark},
        "properties": _without(row, _SAID_OF_FINDING),
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
    """Return text without a link in it: `[text](target)` would be one (section 3.11.6)."""
    if "](" not in text:
        return text
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _location(place: Location, verdict: Verdict) -> Row:
    """Return the capture, and the way to the field in the terms of the protocol."""
    location: Row = {"logicalLocations": [_logical(place)]}
    index = ref_file(place.first_ref)
    known = place.first_ref or len(verdict.files) == 1
    if known and index < len(verdict.files):
        artifact = {"uri": uri_of(verdict.files[index]), "index": index}
        location["physicalLocation"] = {"artifactLocation": artifact} | _packets(place)
    return location


def _packets(place: Location) -> Row:
    """Return the packets that carry the frame, as lines of the capture: who reads SARIF asks for lines."""
    if not place.first_ref:
        return {}
    return {"region": {"startLine": ref_number(place.first_ref), "endLine": ref_number(place.last_ref)}}


def _logical(place: Location) -> Row:
    if place.exchange < 0:
        return {"name": place.connection, "fullyQualifiedName": place.connection, "kind": "connection"}
    names = [place.connection, str(place.exchange), place.side, place.path]
    return {
        "name": printable(place.path or f"{place.api or 'frame'} {place.side}"),
        "fullyQualifiedName": printable("/".join(name for name in names if name)),
        "kind": "member" if place.path else "message",
    }


class _Frames:
    """Collects the frames that results show bytes of. `captures` artifacts stand before them in the log.

    A frame is an artifact, nested in its capture (section 3.24), so that `byteOffset` counts within a defined
    object: a capture cuts the bytes of one frame into packets, and mixes frames.
    """

    def __init__(self, captures: int) -> None:
        self.artifacts: list[Row] = []
        self._captures = captures
        self._known: dict[str, int] = {}

    def location(self, place: Location) -> Row:
        """Return where the bytes of a place stand, and the bytes if they are all kept."""
        name = f"/{place.connection}/{place.exchange}/{place.side}"
        region: Row = {"byteOffset": place.start, "byteLength": place.end - place.start}
        if len(place.bytes_seen) == place.end - place.start:
            region["snippet"] = {"binary": b64encode(place.bytes_seen).decode()}
        return {
            "message": {"text": f"bytes {place.start} to {place.end} of the frame's content"},
            "physicalLocation": {
                "artifactLocation": {"uri": name, "index": self._index(name, place)},
                "region": region,
            },
        }

    def _index(self, name: str, place: Location) -> int:
        if name not in self._known:
            self._known[name] = self._captures + len(self.artifacts)
            parent = ref_file(place.first_ref)
            artifact: Row = {
                "location": {"uri": name},
                "mimeType": "application/octet-stream",
                "description": {"text": f"a {place.side or 'frame'} without the 4 bytes of its size"},
            }
            if place.first_ref and parent < self._captures:
                artifact["parentIndex"] = parent
            self.artifacts.append(artifact)
        return self._known[name]


def uri_of(path: str) -> str:
    """Return a path as a URI reference, and a relative path as a relative one."""
    if path == "-":
        return "stdin"
    name = PurePath(os.fsdecode(path_of(path)))
    if name.is_absolute():
        return name.as_uri()
    # a colon in the first segment would end a scheme (RFC 3986 section 4.2)
    return quote(name.as_posix(), safe="/~@!$&'()*+,=", errors="surrogateescape")
