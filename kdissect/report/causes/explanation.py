"""The evidence for and against one cause, as text."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.model.cause import Explanation
from kdissect.model.wording import plural
from kdissect.report.causes.text import named_lines, printed_cause
from kdissect.report.printable import printable


def explanation_text(explanation: Explanation) -> str:
    """Return the whole page."""
    return "\n".join(_lines(explanation)) + "\n"


def _lines(of: Explanation) -> Iterator[str]:
    yield f"{printable(of.title)}  [{of.id}]"
    yield ""
    count = len(of.given)
    yield f"printed {plural(count, 'time')}" if count else "not printed"
    for cause in of.given:
        yield ""
        yield from printed_cause(cause, of.files)
    for one in of.refuted:
        yield ""
        yield from named_lines("refuted", one.sentence)
        yield from named_lines("law", one.law)
        yield from named_lines("against", one.against)
    if not count and not of.refuted:
        yield from named_lines("against", "nothing in the capture meets the conditions of this cause")
    yield ""
    for law in of.laws:
        yield from named_lines("law", law)
    for symptom in of.symptoms:
        yield from named_lines("symptom", symptom)
    if not of.symptoms:
        yield from named_lines("symptom", "the ledger has no symptom that this cause explains")
