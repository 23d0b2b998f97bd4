"""The report as GitHub's Markdown, for `$GITHUB_STEP_SUMMARY` and comments.

All text from the wire is in `<code>`, and each of its characters that may have a meaning in Markdown or HTML
is written as a number (`&#124;`): such a character is only text.
"""

from collections.abc import Iterable, Iterator

from kdissect.model.finding import Finding
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
from kdissect.report.text import also_lines, command, hex_text, party_text, place_text
from kdissect.report.verdict import Verdict
from kdissect.rules.registry import rule_by
from kdissect.schema.citations import resolve

# A step summary on GitHub has at most 1 MiB and is dropped when it is longer. A finding takes up to 3 KB
# here.
MAX_FOLDS = 200
_MAX_VALUE = 300  # characters of a value from the wire. A command shows all of it
# Marks that mean nothing within a line. A dot is not among them: `www.` begins a link in GitHub's Markdown.
_PLAIN = frozenset(" -/,=()")
_ICONS = {"error": ":x:", "warning": ":warning:", "info": ":information_source:"}


def report_markdown(verdict: Verdict) -> str:
    """Return the summary: a table of findings, each in full below, and what the run looked at."""
    return "\n".join(_lines(verdict)) + "\n"


def _lines(verdict: Verdict) -> Iterator[str]:
    shown = verdict.folds[:MAX_FOLDS]
    yield "## kdissect: Kafka on the wire"
    yield ""
    yield f"**{found_text(verdict)}**"
    if verdict.quality.reasons:
        yield ""
        yield from (f"- {reason}" for reason in verdict.quality.reasons)
    if shown:
        yield ""
        yield from _table(shown)
        yield from (line for fold in shown for line in _details(fold, verdict))
    left = sum(1 + len(fold.others) for fold in verdict.folds[MAX_FOLDS:])
    if left:
        yield f"\n{plural(left, 'more finding stands', 'more findings stand')} in the other reports."
    yield ""
    yield from _run(verdict)


def _table(folds: list[Fold]) -> Iterator[str]:
    yield "| | rule | claim | who | seen | times |"
    yield "|---|---|---|---|---|---:|"
    for fold in folds:
        finding = fold.first
        cells = (
            _ICONS[finding.severity],
            f"{finding.code} {finding.name}",
            finding.claim,
            code(party_text(finding.party)),
            code(finding.seen),
            str(fold.times),
        )
        yield f"| {' | '.join(cells)} |"


def _details(fold: Fold, verdict: Verdict) -> Iterator[str]:
    finding = fold.first
    place = finding.place
    rows = [
        ("who", code(party_text(finding.party))),
        ("where", code(place_text(place, verdict.files))),
        ("expected", code(finding.expected)),
        ("seen", code(finding.seen)),
        ("then", code(finding.consequence)),
        ("cites", cites(finding)),
        ("again", code(command(place, verdict.files), limit=0)),
        *(("also", code(line)) for line in also_lines(fold, verdict.files)),
    ]
    if place.end > place.start >= 0:
        rows.insert(2, ("bytes", code(f"{place.start}-{place.end}: {hex_text(place)}")))
    yield ""
    yield f"<details><summary>{finding.code} {finding.name}, {finding.severity}, {finding.level}</summary>"
    yield ""
    yield "| | |"
    yield "|---|---|"
    yield from (f"| {name} | {value} |" for name, value in rows if value)
    yield ""
    yield "</details>"


def cites(finding: Finding) -> str:
    """Return the sources of a finding's rule, as links."""
    rule = rule_by(finding.code)
    return links(rule.cites if rule is not None else ())


def links(citations: Iterable[str]) -> str:
    """Return sources as links."""
    found = [(citation, resolve(citation)) for citation in citations]
    return "; ".join(f"[{citation}]({one.url})" if one else citation for citation, one in found)


def _run(verdict: Verdict) -> Iterator[str]:
    yield exercised_text(verdict) + "."
    if verdict.inconclusive:
        yield f"Inconclusive: {inconclusive_text(verdict)}."
    yield ""
    if verdict.not_exercised:
        yield "<details><summary>Not exercised</summary>"
        yield ""
        yield from (f"- {line}" for line in not_exercised_lines(verdict))
        yield ""
        yield "</details>"
        yield ""
    yield f"{versions_text(verdict)}."
    yield ""
    yield "| capture | SHA-256 |"
    yield "|---|---|"
    yield from (f"| {code(path, limit=0)} | {code(digest)} |" for path, digest in hash_texts(verdict))


def code(text: str, limit: int = _MAX_VALUE) -> str:
    """Return a value in `<code>`, inert, and cut it if it is longer than `limit` (0: never).

    Empty for an empty one.
    """
    shown = printable(text)
    if limit and len(shown) > limit:
        shown = f"{shown[:limit]} ..."
    return f"<code>{''.join(map(_inert, shown))}</code>" if shown else ""


def _inert(char: str) -> str:
    return char if char.isalnum() or char in _PLAIN else f"&#{ord(char)};"
