"""The evidence for and against one cause, as text."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.model.cause import Explanation
from kdissect.model.wording import plural
from kdissect.report.causes.text import WIDTH, cause_lines, folded
from kdissect.report.printable import printable

_INDENT = 10


def explanation_text(explanation: Explanation) -> str:
    """The whole page."""
    return "\n".join(_lines(explanation)) + "\n"


def _lines(of: Explanation) -> Iterator[str]:
    yield f"{printable(of.title)}  [{of.id}]"
    yield ""
    count = len(of.given)
    yield f"printed {plural(count, 'time')}" if count else "not printed"
    for cause in of.given:
        yield ""
        for name, text in cause_lines(cause, of.files):
            yield f"    {text}" if name is None else f"    {name:<{_INDENT}}{text}"
    for one in of.refuted:
        yield ""
        yield from _named("refuted", one.sentence)
        yield from _named("law", one.law)
        yield from _named("against", one.against)
    if not count and not of.refuted:
        yield from _named("against", "nothing in the capture meets the conditions of this cause")
    yield ""
    for law in of.laws:
        yield from _named("law", law)
    for symptom in of.symptoms:
        yield from _named("symptom", symptom)
    if not of.symptoms:
        yield from _named("symptom", "the ledger has no symptom that this cause explains")


def _named(name: str, text: str) -> Iterator[str]:
    for number, line in enumerate(folded(text, WIDTH - 4 - _INDENT)):
        yield f"    {'' if number else name:<{_INDENT}}{line}"
