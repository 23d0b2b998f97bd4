"""Personal data as one self-contained HTML page: no network, no script, no other file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kdissect.model.version import __version__
from kdissect.model.wording import plural
from kdissect.report.columns.personal_data import clients_text
from kdissect.report.html.markup import (
    Markup,
    code,
    definitions,
    element,
    join,
    number,
    scrolled,
    section,
    table,
    wire,
)
from kdissect.report.html.page import page, titled
from kdissect.report.quantities import grouped

_FOUND, _EXAMINED = ("personal-data", "Personal data"), ("examined", "Examined")
_HEADS = (
    "kind",
    "topic",
    "part",
    "path",
    "confidence",
    "#hits",
    "producers",
    "consumers",
    "forms",
    "examples",
)
# Rows of the page. The other formats have all rows.
MAX_SHOWN = 2_000
_TAGS = {"sure": "error", "likely": "warning", "possible": "info"}


def personal_data_html(facts: dict[str, Any], files: Sequence[str]) -> str:
    """Return the whole page."""
    rows = facts["personal_data"]
    head = titled("personal data", files)
    foot = element("footer", element("p", f"kdissect {__version__}"))
    sections = [_found(rows), _examined(facts)]
    return page(head, sections, foot, (_FOUND, _EXAMINED), "kdissect: personal data")


def _found(rows: list[dict[str, Any]]) -> Markup:
    if not rows:
        return section(*_FOUND, element("p", "No personal data was found.", class_="empty"))
    grid = table(_HEADS, map(_row, rows[:MAX_SHOWN]), "Personal data by field", "plain-table")
    left = len(rows) - MAX_SHOWN
    parts = [scrolled("Personal data", grid)]
    if left > 0:
        parts.append(element("p", f"{plural(left, 'more row', spec=',')} not shown.", class_="note"))
    note = "Examples show the form of a value: x for a letter, 9 for a digit."
    return section(*_FOUND, *parts, note=note)


def _row(row: dict[str, Any]) -> Iterator[str]:
    yield row["kind"]
    yield wire(row["topic"]) if row["topic"] else element("span", "-", class_="note")
    yield row["part"]
    yield element("td", code(row["path"]))
    yield element("td", element("span", row["confidence"], class_=f"tag {_TAGS[row['confidence']]}"))
    yield number(grouped(row["hits"]))
    for clients in (row["producers"], row["consumers"]):
        yield wire(clients_text(clients))
    yield wire(", ".join(row["forms"]))
    yield element("td", join((code(example) for example in row["examples"]), ", "))


def _examined(facts: dict[str, Any]) -> Markup:
    rows = [(name.replace("_", " "), grouped(count)) for name, count in facts["examined"].items()]
    rows += [
        (f"left out: {name.replace('_', ' ')}", grouped(count)) for name, count in facts["left_out"].items()
    ]
    return section(*_EXAMINED, definitions(rows, "numbers"))
