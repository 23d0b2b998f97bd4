"""The filter of a job as a test of exchanges."""

from __future__ import annotations

from collections.abc import Callable, Collection

from kdissect.api import Dissection
from kdissect.rules.judge import Judge
from kdissect.session.exchange import Exchange
from kdissect.tui.survey.job import Job
from kdissect.tui.survey.placed_findings import PlacedFindings


def accepts_of(job: Job, dissection: Dissection) -> Callable[[Exchange], bool] | None:
    """The test, None where the job has no filter.

    Reads the inputs once if the filter asks for findings. Raises FilterError, ValueError for text that is no
    filter: whoever makes a job has checked it.
    """
    if not job.filter.strip():
        return None
    from kdissect.query import Context, compile_filter

    predicate = compile_filter(job.filter)
    files = dissection.captures.files
    context = Context(
        start_ns=lambda: min((f.first_time_ns for f in files if f.first_time_ns is not None), default=0),
        topics_of=dissection.topics.topics_of,
        findings_of=_findings_of(job) if predicate.needs_findings else None,
        file_names=dissection.file_names,
    )
    return predicate.bind(context)


def _findings_of(job: Job) -> Callable[[Exchange], Collection[str]]:
    judge = Judge()
    judge.findings = found = PlacedFindings()
    for event in Dissection(job.paths, job.ports, job.topic_ids, job.key_logs, job.hosts).events():
        judge.add(event)
    judge.finish()
    return lambda exchange: found.codes.get((exchange.connection.id, exchange.ordinal), ())
