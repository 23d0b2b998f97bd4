"""The page as GitHub's Markdown. Everything from the wire is inert, as in `report.markdown`."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.model.cause import Diagnosis, FoundCause
from kdissect.report.causes.words import (
    certainty_text,
    command_text,
    cost_text,
    headline,
    packets_text,
    since_text,
)
from kdissect.report.markdown import code, links

_ICONS = (":no_entry:", ":warning:", ":hourglass:", ":money_with_wings:")


def causes_markdown(diagnosis: Diagnosis) -> str:
    """Return the whole page."""
    return "\n".join(_lines(diagnosis)) + "\n"


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    yield "## kdissect: why"
    yield ""
    yield f"**{headline(diagnosis)}**"
    if diagnosis.causes:
        yield ""
        yield "| | | cause | what happened | cost |"
        yield "|---:|---|---|---|---|"
    for number, cause in enumerate(diagnosis.causes, 1):
        icon = _ICONS[cause.severity]
        cells = icon, cause.title, code(cause.sentence, limit=0), cost_text(cause.cost)
        yield f"| {number} | {' | '.join(cells)} |"
    for number, cause in enumerate(diagnosis.causes, 1):
        yield from _details(number, cause, diagnosis)
    if diagnosis.left_out:
        yield f"\n{diagnosis.left_out} more cost less."
    yield ""
    yield from (f"- looked at: {code(line)}" for line in diagnosis.looked_at)
    yield from (f"- not seen: {code(line)}" for line in diagnosis.not_seen)


def _details(number: int, cause: FoundCause, diagnosis: Diagnosis) -> Iterator[str]:
    rows = [
        ("who", code(cause.who)),
        ("since", since_text(cause)),
        *(("then", code(effect.sentence, limit=0)) for effect in cause.effects),
        ("sure", certainty_text(cause)),
        *(("packets", code(packets_text(packets, diagnosis.files))) for packets in cause.evidence),
        ("more", code(command_text(cause.command, diagnosis.files), limit=0)),
        ("helps", f"{code(cause.help, limit=0)} {links(cause.cites)}"),
    ]
    yield ""
    yield f"<details><summary>{number}. {cause.title} ({cause.id})</summary>"
    yield ""
    yield "| | |"
    yield "|---|---|"
    yield from (f"| {name} | {value} |" for name, value in rows)
    yield ""
    yield "</details>"
