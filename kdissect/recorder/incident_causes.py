"""The causes that `why` finds in the capture file of an incident alone."""

from __future__ import annotations

import gc
from pathlib import Path

from kdissect.causes.diagnose import diagnose
from kdissect.causes.evidence.gathering import Gathering
from kdissect.model.cause import Diagnosis
from kdissect.recorder.incident import Row
from kdissect.recorder.reading import Reading
from kdissect.recorder.release import trim


def write_why(capture: Path, reading: Reading) -> Row:
    """Write the causes next to a capture file, and return them in short. Raises OSError."""
    diagnosis = _diagnosis(capture, reading)
    gc.collect()
    trim()
    # Memory: only now, when that of the analysis is free.
    from kdissect.report.causes.html import causes_html
    from kdissect.report.causes.json import causes_json
    from kdissect.report.causes.markdown import causes_markdown

    reports = {"why.json": causes_json, "why.md": causes_markdown, "why.html": causes_html}
    for name, report in reports.items():
        capture.with_name(name).write_bytes(report(diagnosis).encode("utf-8", "replace"))
    return {"causes": [cause.id for cause in diagnosis.causes], "files": [capture.name, *reports]}


def _diagnosis(capture: Path, reading: Reading) -> Diagnosis:
    dissection = reading.dissection([str(capture)])
    gathering = Gathering(dissection.topics)
    for events in dissection.batches():
        gathering.take(events, dissection.guard.note)
    gathering.note_clock(dissection.captures.files)
    gathering.finish()
    return diagnose(gathering, [capture.name])
