"""The page as text, for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    """Return the whole page."""
    return "\n".join(_lines(diagnosis)) + "\n"


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    yield headline(diagnosis)
    for number, cause in enumerate(diagnosis.causes, 1):
        yield ""
        yield f"{number:>2}. {printable(cause.title)}  [{cause.id}]"
        yield from printed_cause(cause, diagnosis.files)
    if diagnosis.left_out:
        yield ""
        yield f"{diagnosis.left_out} more cost less; --format json --all has them"
    yield ""
    yield from named_lines("looked at", "; ".join(diagnosis.looked_at))
    for line in diagnosis.not_seen:
        yield from named_lines("not seen", line)


def printed_cause(cause: FoundCause, files: Sequence[str]) -> Iterator[str]:
    """Yield all that is known of a cause, in lines of the page."""
    for name, text in cause_lines(cause, files):
        yield f"    {text}" if name is None else f"    {name:<{_INDENT}}{text}"


Named = tuple[str | None, str]
"""A line: before the first of a part its name, before the others nothing; None before the sentence."""


def cause_lines(
    cause: FoundCause, files: Sequence[str], width: int = WIDTH, folds_commands: bool = False
) -> Iterator[Named]:
    """Yield all that is known of a cause, safe to print, in lines of `width` cells with their indent of the
    page.

    A command stays one line, so that it can be copied, unless it is folded.
    """
    for line in folded(cause.sentence, width - 4, break_long_words=True):
        yield None, line
    for name, text in _parts(cause, files):
        is_whole = name == "more" and not folds_commands
        lines = [printable(text)] if is_whole else folded(text, width - 4 - _INDENT)
        yield from ((name if not number else "", line) for number, line in enumerate(lines))


def _parts(cause: FoundCause, files: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield "who", cause.who
    yield "since", since_text(cause)
    if cost := cost_text(cause.cost):
        yield "cost", cost
    for effect in cause.effects:
        yield "then", effect.sentence
    yield "sure", certainty_text(cause)
    for packets in cause.evidence:
        yield "packets", packets_text(packets, files)
    yield "more", command_text(cause.command, files)
    yield "helps", f"{cause.help} ({'; '.join(cause.cites)})"


def named_lines(name: str, text: str) -> Iterator[str]:
    """Yield a text after its name, in lines of the page."""
    for number, line in enumerate(folded(text, WIDTH - 4 - _INDENT)):
        yield f"    {'' if number else name:<{_INDENT}}{line}"


def folded(text: str, width: int, break_long_words: bool = False) -> list[str]:
    """Return a text in lines of at most `width` cells, safe to print. A longer word stays whole, or is
    broken.
    """
    return wrap(printable(text), max(width, 1), break_on_hyphens=False, break_long_words=break_long_words)
