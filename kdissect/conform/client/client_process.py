"""The command of a client: started in a process group of its own, and ended with all that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress

BOOTSTRAP = "KDISSECT_BOOTSTRAP"
_PLACEHOLDER = "{bootstrap}"
_LAST_OUTPUT = 2000  # bytes
_CHUNK = 65_536
_END_S = 3.0  # from SIGTERM to SIGKILL


class ClientProcess:
    """A command that runs. `{bootstrap}` in its words is replaced. Raises OSError if it cannot be started."""

    def __init__(self, command: Sequence[str], bootstrap: str) -> None:
        self._tail = b""
        self._process = subprocess.Popen(
            [word.replace(_PLACEHOLDER, bootstrap) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {BOOTSTRAP: bootstrap},
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, name="kdissect-command", daemon=True)
        self._reader.start()

    @property
    def status(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    @property
    def last_line(self) -> str:
        """The last line of its output."""
        lines = self._tail.decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def end(self) -> None:
        """End it and every process of its group."""
        try:
            if self.status is None:
                self._signal(signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_END_S)
        finally:
            self._signal(signal.SIGKILL)  # also processes that it left
            self._process.wait()
            self._reader.join(_END_S)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):  # macOS: of a group whose processes have ended
            os.killpg(self._process.pid, number)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            while more := output.read1(_CHUNK):  # type: ignore[attr-defined]
                self._tail = (self._tail + more)[-_LAST_OUTPUT:]
