"""The findings of `check` as rows: single findings, or one row for each rule and software."""

from __future__ import annotations

from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.report.folds import Fold, folded
from kdissect.report.json import finding_row
from kdissect.report.printable import whole_text
from kdissect.report.verdict import Verdict

# Columns from the JSON of a finding (docs/reports.md), the most important ones first.
_COLUMNS = (
    "severity", "code", "name", "count", "who.role", "who.software", "who.version", "where.api",
    "where.api_version", "where.path", "expected", "seen", "known", "who.client_id", "who.address",
    "where.side", "where.file", "where.first_packet", "where.time", "where.connection", "where.exchange",
    "fingerprint",
)  # fmt: skip


def finding_tables(verdict: Verdict) -> list[RowTable]:
    """Return the tables that `--table` can name."""
    findings = verdict.findings
    return [
        RowTable("findings", lambda: (whole_text(finding_row(one, verdict)) for one in findings), _COLUMNS),
        RowTable("software", lambda: (whole_text(_fold_row(fold)) for fold in folded(findings))),
    ]


def _fold_row(fold: Fold) -> Facts:
    """Return how often a rule was broken by one software and version, in how many forms, and by how many
    ends.
    """
    first, every = fold.first, (fold.first, *fold.others)
    return {
        "severity": first.severity,
        "code": first.code,
        "name": first.name,
        "role": first.party.role,
        "software": first.party.software,
        "version": first.party.version,
        "count": fold.times,
        "findings": len(every),
        "addresses": len({one.party.address for one in every}),
        "apis": sorted({one.place.api for one in every if one.place.api is not None}),
        "known": first.known,
        "expected": first.expected,
        "seen": first.seen,
    }
