"""What Spark is at, as a line on stderr: on a terminal only.

Spark says how many tasks of a stage are done. The first long stage reads the files, so that its share is
one of files and bytes; the others have tasks only.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from kdissect.pipeline.inputs import Inputs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERY_S = 0.3
_WIDTH = 30
Result = TypeVar("Result")


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
        line = line_of(_stages(tracker), inputs, time.monotonic() - started)
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()
    sys.stderr.write("\r\x1b[K")
    if errors:
        raise errors[0]
    return results[0]


def line_of(stages: list[tuple[int, int]], inputs: Inputs, seconds: float) -> str:
    """The line for the stages that run, each as (tasks, tasks done)."""
    tasks, done = stages[0] if stages else (0, 0)
    share = done / tasks if tasks else 0.0
    bar = "#" * round(share * _WIDTH)
    if tasks and tasks == len(inputs.tasks()):
        what = f"reading  {round(share * len(inputs.files))} of {len(inputs.files)} files"
        what += f"  {share * inputs.total_bytes / 1e6:.0f} of {inputs.total_bytes / 1e6:.0f} MB"
    else:
        what = f"analysing  {done} of {tasks} tasks" if tasks else "starting"
    return f"[{bar:{_WIDTH}}] {what}  {seconds:.0f} s"


def _tracker(spark: SparkSession) -> Any:
    try:
        return spark.sparkContext.statusTracker()
    except Exception:
        return None


def _stages(tracker: Any) -> list[tuple[int, int]]:
    found = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    return [(info.numTasks, info.numCompletedTasks) for info in found if info is not None]
