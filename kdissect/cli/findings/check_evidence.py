"""`--evidence` of `check`: a capture file for each finding."""

import os
import re
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Sequence

from kdissect.api import Dissection
from kdissect.capture.formats.packet_file import PacketFile
from kdissect.capture.whole_file import WholeFiles
from kdissect.cli.diagnostics import OK, UNREADABLE, say
from kdissect.cli.options.input_options import open_again
from kdissect.model.finding import Finding
from kdissect.report.evidence_files import Evidence, collect_evidence, file_comment, packet_comment
from kdissect.report.verdict import Verdict
from kdissect.rules.judge import Judge

_OURS = re.compile(r"[A-Z]{3}\d{3}-\d{3,}\.pcapng")


def write_evidence(
    options: Namespace, dissection: Dissection, verdict: Verdict, judge: Callable[[], Judge]
) -> int:
    """Write the files and return the exit code. They replace the files of an earlier run, all or none."""
    findings = verdict.findings
    made = collect_evidence(findings, lambda: open_again(options, dissection), judge, options.show_secrets)
    names = dict(zip(map(id, findings), file_names(findings), strict=True))
    try:
        os.makedirs(options.evidence, exist_ok=True)  # noqa: PTH103
        with WholeFiles(options.evidence, _OURS) as staging:
            for evidence in made:
                path = os.path.join(staging, names[id(evidence.finding)])  # noqa: PTH118
                _write(path, evidence, verdict.files, options.show_secrets)
        for evidence in made:  # now they are there
            name = names[id(evidence.finding)]
            evidence.finding.evidence = os.path.join(options.evidence, name)  # noqa: PTH118
    except OSError as error:
        say(f"{error.filename or options.evidence}: {error.strerror or error}")
        return UNREADABLE
    _say_what_is_missing(findings, [evidence.finding for evidence in made if not evidence.shows_again])
    return OK


def file_names(findings: Sequence[Finding]) -> list[str]:
    """Return `BDY003-001.pcapng`: the rule, and the number of the finding within its rule."""
    count: Counter[str] = Counter()
    names = []
    for finding in findings:
        count[finding.code] += 1
        names.append(f"{finding.code}-{count[finding.code]:03}.pcapng")
    return names


def _write(path: str, evidence: Evidence, files: Sequence[str], show_secrets: bool) -> None:
    comment = file_comment(evidence, files, show_secrets)
    with PacketFile(path, comment) as file:
        last = ""
        for item in evidence.packets:
            text = packet_comment(evidence, item)
            label = "" if item.frame is None else item.frame.label(item.connection)
            parts = [label] if text == last else [label, text]
            file.write(item.packet, "\n".join(filter(None, parts)))
            last = text or last


def _say_what_is_missing(findings: Sequence[Finding], unshown: Sequence[Finding]) -> None:
    without = [finding.code for finding in findings if finding.evidence is None]
    if without:
        codes = ", ".join(sorted(set(without)))
        say(f"no evidence, for it is too large, or of too many findings: {codes}")
    if unshown:
        codes = ", ".join(sorted({finding.code for finding in unshown}))
        say(f"evidence that needs more of the capture to show its finding again: {codes}")
