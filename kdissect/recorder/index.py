"""The list of incidents, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.model.wording import plural
from kdissect.recorder.incident import Incident
from kdissect.report.json_pages import json_page, versioned
from kdissect.report.printable import printable


def index_markdown(incidents: Sequence[Incident], skipped: int) -> str:
    """Return a table of incidents, the oldest first."""
    if not incidents:
        return f"No incidents.{_more(skipped)}\n"
    lines = ["| incident | about | seen | latest | causes in its file |", "|---|---|---:|---|---|"]
    for one in incidents:
        cells = (
            one.id,
            one.headline(),
            str(one.seen),
            one.row()["latest"][:19] + "Z",
            ", ".join(one.written.get("causes", ())),
        )
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return "\n".join(lines) + f"\n\n{plural(len(incidents), 'incident')}.{_more(skipped)}\n"


def index_json(incidents: Sequence[Incident], skipped: int) -> str:
    """Return everything that is known of incidents, without the reports."""
    return json_page(versioned({"incidents": [one.row() for one in incidents], "skipped": skipped}))


def _more(skipped: int) -> str:
    return f" {plural(skipped, 'problem has', 'problems have')} none." if skipped else ""


def _cell(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace("|", "\\|")
