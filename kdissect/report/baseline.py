"""A baseline: findings that were there when a project began to check, and are not to fail its builds.

The file is JSON, sorted, one finding an object, without times or counts: written again for the same faults it
is the same file, and a diff of two shows what came and what went.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from kdissect.model.finding import Finding
from kdissect.rules.fingerprint import bare_path, fingerprint, shape

VERSION = 1
_Row = dict[str, Any]


class Known(NamedTuple):
    """A finding of a baseline. `api` is key and version, None without one; `text` is for people."""

    fingerprint: str
    code: str
    name: str
    api: tuple[int | None, int | None]
    text: str


class Baseline(NamedTuple):
    """A file that was read. `path` is its name in reports."""

    path: str
    known: dict[str, Known]

    def mark(self, findings: Iterable[Finding]) -> None:
        """Mark the findings that are in the baseline."""
        for finding in findings:
            finding.known = fingerprint(finding) in self.known

    def missing(self, findings: Iterable[Finding]) -> list[Known]:
        """Return findings of the baseline that are not among these."""
        seen = {fingerprint(finding) for finding in findings}
        return [known for known in self.known.values() if known.fingerprint not in seen]


def baseline_text(findings: Iterable[Finding]) -> str:
    """Return the file for these findings."""
    rows = {row["fingerprint"]: row for row in map(_row, findings)}
    ordered = sorted(rows.values(), key=lambda row: [str(value) for value in row.values()])
    return json.dumps({"baseline_version": VERSION, "findings": ordered}, indent=2) + "\n"


def parse_baseline(path: str, text: str) -> Baseline:
    """Return the findings of a file. Raises ValueError, with the line where that is known."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}:{error.lineno}: {error.msg}") from None
    version = document.get("baseline_version") if isinstance(document, dict) else None
    if version != VERSION:
        raise ValueError(
            f"{path}: no baseline of version {VERSION}; kdissect check --write-baseline makes one"
        )
    return Baseline(path, _known(path, document.get("findings")))


def _known(path: str, rows: object) -> dict[str, Known]:
    found = {}
    row: Any
    for row in rows if isinstance(rows, list) else [rows]:
        texts = _texts(row, ("fingerprint", "code", "name")) if isinstance(row, dict) else []
        if len(texts) < 3:
            raise ValueError(f"{path}: a finding needs fingerprint, code and name")
        api = _number(row, "api_key"), _number(row, "api_version")
        found[texts[0]] = Known(texts[0], texts[1], texts[2], api, _line(row))
    return found


def _row(finding: Finding) -> _Row:
    party, place = finding.party, finding.place
    return {
        "code": finding.code,
        "name": finding.name,
        "who": party.role,
        "software": party.software,
        "label": party.label,
        "api": place.api,
        "api_key": place.api_key,
        "api_version": place.api_version,
        "side": place.side or None,
        "path": bare_path(place.path) or None,
        "expected": shape(finding.expected),
        "seen": shape(finding.seen),
        "fingerprint": fingerprint(finding),
    }


def _texts(row: _Row, keys: Sequence[str]) -> list[str]:
    """Return the values of these keys that are texts and not empty."""
    return [row[key] for key in keys if isinstance(row.get(key), str) and row[key]]


def _number(row: _Row, key: str) -> int | None:
    value = row.get(key)
    return value if isinstance(value, int) else None


def _line(row: _Row) -> str:
    version = row.get("api_version")
    api = [*_texts(row, ("api",)), *([f"v{version}"] if isinstance(version, int) else ())]
    where = [*api, *_texts(row, ("side", "path"))]
    parts = (
        _texts(row, ("code", "name")),
        _texts(row, ("who", "software", "label")),
        where,
        _texts(row, ("seen",)),
    )
    return ", ".join(" ".join(part) for part in parts if part)
