"""The survey that runs in a process of its own, as the application sees it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import kdissect
from kdissect.tui.survey.job import PARTS, Codes, Job, Snapshot

Listener = Callable[[Snapshot | Codes], None]
_END_SECONDS = 2  # that a worker gets to go by itself


class SurveyProcess:
    """Starts with the first `want`, so that nobody pays for tables that are not looked at.

    `listener` is called in another thread.
    """

    def __init__(self, job: Job, listener: Listener) -> None:
        self.job = job
        self._listener = listener
        self._process: subprocess.Popen[bytes] | None = None
        self._parts: frozenset[str] = frozenset()
        self._is_closed = False

    def start(self) -> None:
        """Read the inputs, even if nothing is wanted yet: for the codes of findings."""
        if self._process is not None or self._is_closed:
            return
        try:
            process = self._process = _process()
        except OSError as error:
            self._fail(f"no process can be started: {error.strerror}")
            return
        self._send(self.job)
        Thread(target=self._read, args=(process,), daemon=True).start()

    def want(self, parts: Iterable[str]) -> None:
        """From now on snapshots of these parts are told, and no others."""
        self._parts = frozenset(parts)
        self.start()
        self._send(self._parts)

    def close(self) -> None:
        """End the process. Calls of the listener may still come while this runs."""
        self._is_closed = True
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was not sent yet is not needed any more
                    pipe.close()
        process.terminate()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _send(self, what: Any) -> None:
        process = self._process
        if process is None or process.stdin is None:
            return
        try:
            pickle.dump(what, process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
        except (OSError, ValueError):
            return  # it is gone: the reader tells

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        try:
            while True:
                self._listener(pickle.load(process.stdout))
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            if not self._is_closed:
                self._fail(f"the process that counts ended with {process.wait()}")

    def _fail(self, why: str) -> None:
        for part in PARTS:
            self._listener(Snapshot(part, {}, 0, True, why))


def _process() -> subprocess.Popen[bytes]:
    """A worker, of the package that is running."""
    home = str(Path(kdissect.__file__).parent.parent)
    path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-m", "kdissect.tui.survey.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C at the terminal is for the application
    )
