"""What a project has decided to live with, as SARIF says it: `suppression` (section 3.35)."""

from typing import Any

from kdissect.config.suppression import Suppression
from kdissect.report.printable import printable
from kdissect.report.sarif.frames import uri_of


def suppression_row(entry: Suppression) -> dict[str, Any]:
    """An entry of the configuration: kept outside of the capture, decided, with its reason."""
    row: dict[str, Any] = {
        "kind": "external",
        "status": "accepted",
        "justification": printable(entry.reason),
        "properties": {"rule": entry.rule, **{name: list(fits) for name, fits in entry.matchers}},
    }
    if entry.file:
        file: dict[str, Any] = {"artifactLocation": {"uri": uri_of(entry.file)}}
        row["location"] = {"physicalLocation": file}
        if entry.line:
            file["region"] = {"startLine": entry.line}
    return row
