"""The reports of an incident: what `why` and `check` say of its capture file alone.

Each report reads the file itself, so that one analysis at a time is in memory.
"""

from __future__ import annotations

from pathlib import Path

from kdissect.capture.byte_source import FileSource
from kdissect.causes.diagnose import diagnose
from kdissect.causes.evidence.gathering import Gathering
from kdissect.recorder.incident import Row
from kdissect.recorder.reading import Reading
from kdissect.report.causes.html import causes_html
from kdissect.report.causes.json import causes_json
from kdissect.report.causes.markdown import causes_markdown
from kdissect.report.json import report_json
from kdissect.report.markdown import report_markdown
from kdissect.report.verdict import Verdict
from kdissect.rules.judge import Judge
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.run_coverage.capture_quality import quality_of
from kdissect.stages.block_takers import taking_blocks

_WHY = {"why.json": causes_json, "why.md": causes_markdown, "why.html": causes_html}
_CHECK = {"check.json": report_json, "check.md": report_markdown}


def write_why(capture: Path, reading: Reading) -> Row:
    """Write the causes next to a capture file, and return them in short. Raises OSError."""
    dissection = reading.dissection([str(capture)])
    gathering = Gathering(dissection.topics)
    for events in dissection.batches():
        gathering.take(events, dissection.guard.note)
    gathering.note_clock(dissection.captures.files)
    gathering.finish()
    diagnosis = diagnose(gathering, [capture.name])
    for name, report in _WHY.items():
        capture.with_name(name).write_bytes(report(diagnosis).encode("utf-8", "replace"))
    return {"causes": [cause.id for cause in diagnosis.causes], "files": [capture.name, *_WHY]}


def write_check(capture: Path, reading: Reading) -> Row:
    """Write the violations next to a capture file, and return them in short. Raises OSError."""
    dissection = reading.dissection([str(capture)])
    (source,) = (file.source for file in dissection.captures.files)
    assert isinstance(source, FileSource)
    source.is_hashed = True
    judge = Judge(ALL_RULES)
    judge_all = taking_blocks(dissection, judge.add, judge.take_block)
    for events in dissection.batches():
        judge_all(events)
    judge.finish()
    hashes = {} if source.sha256 is None else {capture.name: source.sha256}
    verdict = Verdict(judge, quality_of(judge.coverage), [capture.name], hashes=hashes)
    for name, report in _CHECK.items():
        capture.with_name(name).write_bytes(report(verdict).encode("utf-8", "replace"))
    return {"findings": verdict.by_severity(), "files": [*_CHECK]}
