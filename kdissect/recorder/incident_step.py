"""The process of one step of an incident: `python -m kdissect.recorder.incident_step HANDLE [--debug]`.

The task comes as JSON from standard input, and the facts go to HANDLE. A copy of the recorder would have the
memory of its analysis, too.
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
import traceback

from kdissect.capture.live.process_copy import DONE, write_all
from kdissect.model import faults
from kdissect.recorder.incident_writer import Task, facts_of

DEBUG = "--debug"
"""Option of the recorder. With it, a step shows where a fault is, too."""


def main() -> None:
    """Do the step that standard input describes."""
    handle = int(sys.argv[1])
    faults.use(traceback.print_exception if DEBUG in sys.argv else lambda _error: None)
    threading.Thread(target=_end_with_reader, args=(handle,), daemon=True).start()
    task = Task.from_row(json.load(sys.stdin.buffer))
    write_all(handle, json.dumps(facts_of(task)).encode() + DONE)


def _end_with_reader(handle: int) -> None:
    """End when nobody waits for the facts: the next recorder of a killed one begins the incident again."""
    reader = select.poll()
    reader.register(handle, 0)  # errors are always reported: poll(2)
    reader.poll()
    os._exit(1)


if __name__ == "__main__":
    main()
