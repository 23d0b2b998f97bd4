"""An incident that is being written: one step after the other, with pauses for evaluations between them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

from kdissect.capture.live.process_copy import ProcessCopy, become, write_all
from kdissect.capture.whole_file import beside
from kdissect.recorder.folder import Folder
from kdissect.recorder.incident import Incident, Row
from kdissect.recorder.incident_step import DEBUG
from kdissect.recorder.incident_writer import STEPS, Task, facts_of
from kdissect.recorder.settings import RecorderSettings

_PROGRAM = "kdissect.recorder.incident_step"
_NOT_FOR_IT = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1")  # the recorder ends a step, or waits for it


class IncidentJob:
    """Writes an incident: `begin` a step, `poll` until it ends, until `facts` are there.

    If `is_fresh`, each step is a new Python, which has the memory of its step alone. Else it is a copy of the
    process, for which the modules are there already.
    """

    def __init__(
        self, folder: Folder, settings: RecorderSettings, incident: Incident, is_fresh: bool
    ) -> None:
        self.incident = incident
        self.facts: Row | None = None
        """Facts about the files, or `error` and `is_full`, once everything is over."""
        self._folder = folder
        self._settings = settings
        self._row = incident.row()  # symptoms that come meanwhile are described later
        self._part = beside(str(folder.incident_path(incident.id)))
        self._is_fresh = is_fresh
        self._steps = list(STEPS)
        self._found: Row = {}
        self._copy: ProcessCopy | None = None

    @property
    def is_running(self) -> bool:
        """Whether a process does a step."""
        return self._copy is not None

    def begin(self) -> None:
        """Begin the next step. Raises OSError if there is no memory for a process."""
        task = self._task()

        def compute(handle: int) -> None:
            if self._is_fresh:
                with suppress(OSError):  # else this copy does the step
                    self._become_fresh(json.dumps(task.row()).encode(), handle)
            write_all(handle, json.dumps(facts_of(task)).encode())

        self._copy = ProcessCopy(compute, _NOT_FOR_IT if self._is_fresh else ())

    def poll(self, seconds: float) -> bool:
        """Wait at most this long for the end of the step. Return whether it has ended."""
        if self._copy is None or not self._copy.poll(seconds):
            return self._copy is None
        answer, self._copy = self._copy.end(), None
        self._take({"error": "the process that wrote it failed"} if answer is None else json.loads(answer))
        return True

    def rehearse(self) -> None:
        """Do the next step in this process: it has everything in memory then that a copy needs."""
        self._take(facts_of(self._task()))

    def _task(self) -> Task:
        return Task(self._steps[0], self._part, self._settings, self._row, self._found)

    def _take(self, found: Row) -> None:
        self._steps.pop(0)
        self._found |= found
        if "error" in found:
            shutil.rmtree(self._part, ignore_errors=True)
        if "error" in found or not self._steps:
            self.facts = self._found

    def _become_fresh(self, task: bytes, handle: int) -> None:
        with TemporaryFile(dir=Path(self._part).parent) as file:  # no other place must be writable
            file.write(task)
            file.seek(0)
            os.dup2(file.fileno(), 0)
        self._folder.keep_lock()
        become(_PROGRAM, handle, *(word for word in sys.argv if word == DEBUG))
