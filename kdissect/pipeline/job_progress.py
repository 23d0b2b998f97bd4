"""What Spark is at, as a line on stderr: on a terminal only.

A run is a few jobs of Spark, each with its stages: dealing out what is to be done, then doing it. The job
says which it is (`begin`); Spark says how many tasks of its stages are done. Reading has tasks of files, so
that its share is one of files and bytes; the others have tasks only.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from kdissect.model.wording import plural
from kdissect.pipeline.inputs import Inputs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERY_S = 0.3
_WIDTH = 30
READING = "reading"
# Jobs, and what their stages are for people. Spark's first stage of each deals out tasks, in no time.
COMPARING, FIRST, JOINING = "comparing", "analysing", "joining"
_STAGES = {
    COMPARING: ("starting", "looking for what was captured twice"),
    FIRST: ("starting", "analysing"),
    JOINING: ("starting", "writing"),
}
Result = TypeVar("Result")


def begin(spark: SparkSession, job: str) -> None:
    """The next job of this thread is COMPARING, FIRST or JOINING."""
    try:
        spark.sparkContext.setJobGroup(job, f"kdissect: {job}")
    except Exception:  # Spark Connect, and whoever stands in for Spark: there is no line then
        return


def watched(spark: SparkSession, inputs: Inputs, work: Callable[[], Result]) -> Result:
    """Do the work, and show on a terminal how far it is. Raises what the work raises."""
    tracker = _tracker(spark)
    if tracker is None or sys.stderr is None or not sys.stderr.isatty():
        return work()
    results: list[Result] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=body, daemon=True)
    thread.start()
    started = time.monotonic()
    while thread.is_alive():
        thread.join(_EVERY_S)
        line = line_of(*_stage(tracker), inputs, time.monotonic() - started)
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()
    sys.stderr.write("\r\x1b[K")
    if errors:
        raise errors[0]
    return results[0]


def line_of(what: str, tasks: int, done: int, inputs: Inputs, seconds: float) -> str:
    """The line for a stage, of whose tasks some are done."""
    share = done / tasks if tasks else 0.0
    bar = "#" * round(share * _WIDTH)
    if what == READING:
        files, size = len(inputs.files), inputs.total_bytes / 1e6
        what = (
            f"reading  {round(share * files)} of {plural(files, 'file')}  {share * size:.1f} of {size:.1f} MB"
        )
    elif tasks:
        what = f"{what}  {done} of {plural(tasks, 'task')}"
    return f"[{bar:{_WIDTH}}] {what}  {seconds:.0f} s"


def _tracker(spark: SparkSession) -> Any:
    try:
        return spark.sparkContext.statusTracker()
    except Exception:
        return None


def _stage(tracker: Any) -> tuple[str, int, int]:
    """What the latest stage that runs is for, its tasks, and how many of them are done."""
    running = set(tracker.getActiveStageIds())
    for job, names in reversed(_STAGES.items()):
        stages = sorted(
            {stage for number in tracker.getJobIdsForGroup(job) for stage in _stages_of(tracker, number)}
        )
        if not stages:
            continue
        for name, stage in zip(names, stages, strict=False):
            info = tracker.getStageInfo(stage) if stage in running else None
            if info is not None:
                return name, info.numTasks, info.numCompletedTasks
        return ("starting" if job == FIRST else names[-1]), 0, 0
    return "starting", 0, 0


def _stages_of(tracker: Any, job: int) -> list[int]:
    info = tracker.getJobInfo(job)
    return [] if info is None else list(info.stageIds)
