"""The progress of Spark as a line on stderr, on a terminal only.

A run is a few jobs of Spark. The job names itself (`begin`), and Spark reports how many of its tasks are
done.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from kdissect.model.wording import plural

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERY_S = 0.3
_WIDTH = 30
# The jobs of a run as they follow each other, for people.
COMPARING, ANALYSING, JOINING = "looking for what was captured twice", "analysing", "joining"
_JOBS = (COMPARING, ANALYSING, JOINING)
Result = TypeVar("Result")


def begin(spark: SparkSession, job: str) -> None:
    """Name the next job of this thread, one of `_JOBS`."""
    try:
        spark.sparkContext.setJobGroup(job, f"kdissect: {job}")
    except Exception:  # Spark Connect, and objects in place of Spark: there is no line then
        return


def watched(spark: SparkSession, work: Callable[[], Result]) -> Result:
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
        line = line_of(*_stage(tracker), time.monotonic() - started)
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()
    sys.stderr.write("\r\x1b[K")
    if errors:
        raise errors[0]
    return results[0]


def line_of(what: str, tasks: int, done: int, seconds: float) -> str:
    """Return the line for a job with `done` of its `tasks` finished."""
    bar = "#" * round((done / tasks if tasks else 0.0) * _WIDTH)
    if tasks:
        what = f"{what}  {done} of {plural(tasks, 'task')}"
    return f"[{bar:{_WIDTH}}] {what}  {seconds:.0f} s"


def _tracker(spark: SparkSession) -> Any:
    try:
        return spark.sparkContext.statusTracker()
    except Exception:
        return None


def _stage(tracker: Any) -> tuple[str, int, int]:
    """Return the running job, its number of tasks, and the number of finished tasks."""
    running = set(tracker.getActiveStageIds())
    for job in reversed(_JOBS):
        known = [stage for number in tracker.getJobIdsForGroup(job) for stage in _stages_of(tracker, number)]
        for stage in running.intersection(known):
            info = tracker.getStageInfo(stage)
            if info is not None:
                return job, info.numTasks, info.numCompletedTasks
        if known:
            return job, 0, 0
    return "starting", 0, 0


def _stages_of(tracker: Any, job: int) -> list[int]:
    info = tracker.getJobInfo(job)
    return [] if info is None else list(info.stageIds)
