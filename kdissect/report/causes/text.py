"""The page as text, for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from kdissect.model.cause import Diagnosis, FoundCause
from kdissect.report.causes.words import (
    certainty_text,
    command_text,
    cost_text,
    headline,
    packets_text,
    since_text,
)
from kdissect.report.printable import printable

WIDTH = 110
_INDENT = 10


def causes_text(diagnosis: Diagnosis) -> str:
    """The whole page."""
    return "\n".join(_lines(diagnosis)) + "\n"


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    yield headline(diagnosis)
    for number, cause in enumerate(diagnosis.causes, 1):
        yield ""
        yield f"{number:>2}. {printable(cause.title)}  [{cause.id}]"
        yield from _cause(cause, diagnosis)
    if diagnosis.left_out:
        yield ""
        yield f"{diagnosis.left_out} more cost less; --format json --all has them"
    yield ""
    yield from _named("looked at", "; ".join(diagnosis.looked_at))
    for line in diagnosis.not_seen:
        yield from _named("not seen", line)


def _cause(cause: FoundCause, diagnosis: Diagnosis) -> Iterator[str]:
    yield from wrap(
        printable(cause.sentence),
        WIDTH,
        initial_indent="    ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    )
    yield from _named("who", cause.who)
    yield from _named("since", since_text(cause))
    if cost := cost_text(cause.cost):
        yield from _named("cost", cost)
    for effect in cause.effects:
        yield from _named("then", effect.sentence)
    yield from _named("sure", certainty_text(cause))
    for packets in cause.evidence:
        yield from _named("packets", packets_text(packets, diagnosis.files))
    yield from _named("more", command_text(cause.command, diagnosis.files), folds=False)
    yield from _named("helps", f"{cause.help} ({'; '.join(cause.cites)})")


def _named(name: str, text: str, *, folds: bool = True) -> Iterator[str]:
    indent = " " * (4 + _INDENT)
    first = f"    {name:<{_INDENT}}"
    if not folds:
        yield f"{first}{printable(text)}"
        return
    yield from wrap(
        printable(text), WIDTH, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip
