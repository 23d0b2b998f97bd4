"""What a judge came to, to be compared with another judge."""

from typing import Any

from kdissect.report.json import report_row
from kdissect.report.verdict import Verdict
from kdissect.rules.judge import Judge
from kdissect.rules.kinds import NodeRule
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.run_coverage.capture_quality import quality_of

_PIECES = {rule.code for rule in ALL_RULES if isinstance(rule, NodeRule)}


def verdict_of(judge: Judge, *, pieces: bool = True) -> dict[str, Any]:
    """Return all that is reported, but for how often each rule looked: without guards they look at
    everything.

    Without `pieces` also but for whether rules about pieces of bodies did: with guards the first body of a
    kind stands for all that are not marked, and it may lack what another one has.
    """
    row = report_row(Verdict(judge, quality_of(judge.coverage), ()))
    looked = {code for code, count in row["coverage"]["rules"].items() if count}
    row["coverage"]["rules"] = looked if pieces else looked - _PIECES
    if not pieces:
        row["not_exercised"] = [rule for rule in row["not_exercised"] if rule["code"] not in _PIECES]
    return row
