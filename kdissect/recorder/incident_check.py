"""The violations that `check` finds in the capture file of an incident alone."""

from __future__ import annotations

from pathlib import Path

from kdissect.capture.byte_source import FileSource
from kdissect.recorder.incident import Row
from kdissect.recorder.reading import Reading
from kdissect.report.json import report_json
from kdissect.report.markdown import report_markdown
from kdissect.report.verdict import Verdict
from kdissect.rules.judge import Judge
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.run_coverage.capture_quality import quality_of
from kdissect.stages.block_takers import taking_blocks

_REPORTS = {"check.json": report_json, "check.md": report_markdown}


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
    for name, report in _REPORTS.items():
        capture.with_name(name).write_bytes(report(verdict).encode("utf-8", "replace"))
    return {"findings": verdict.by_severity(), "files": [*_REPORTS]}
