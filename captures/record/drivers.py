"""Client programs: started with `BOOTSTRAP ACTION [--key value ...]`, they print one JSON event a line."""

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from captures.record.truth import Event

_WAIT_SECONDS = 120


class Driver(NamedTuple):
    """A client library with its version, and the command its driver is started with."""

    name: str
    version: str
    command: Sequence[str]


class Running:
    """A driver that runs: its events so far, and ways to wait for more."""

    def __init__(self, command: Sequence[str], hear: Callable[[Event], None]) -> None:
        self.command = list(command)
        self.events: list[Event] = []
        self._hear = hear
        self._errors = ""
        self._killed = False
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._readers = [threading.Thread(target=work, daemon=True) for work in (self._listen, self._collect)]
        for reader in self._readers:
            reader.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                event = json.loads(line)
                self.events.append(event)
                self._hear(event)

    def _collect(self) -> None:
        assert self._process.stderr is not None
        self._errors = self._process.stderr.read()

    def until(self, kind: str, count: int = 1, seconds: float = 40) -> None:
        """Wait until `count` events of a kind came. Raises RuntimeError when they do not."""
        end = time.monotonic() + seconds
        while sum(event.get("event") == kind for event in list(self.events)) < count:
            if time.monotonic() > end or (
                self._process.poll() is not None and not self._readers[0].is_alive()
            ):
                self.kill()
                raise RuntimeError(f"no {kind} from the driver: {self._errors[-2000:]} {self.events[-5:]}")
            time.sleep(0.05)

    def tell(self, line: str) -> None:
        """Write a line to the driver's standard input: `stop` ends the patient ones."""
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(line + "\n")
        stdin.flush()

    def stop(self) -> list[Event]:
        """Tell the driver to stop and wait for its end."""
        if self._process.poll() is None:
            self.tell("stop")
        return self.wait()

    def wait(self, seconds: float = _WAIT_SECONDS) -> list[Event]:
        """Wait for the end; the events. Raises RuntimeError when the driver fails or does not end."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            code = -1
        for reader in self._readers:
            reader.join(5)
        if code:
            raise RuntimeError(f"the driver ended with {code}: {self._errors[-3000:]} {self.events[-3:]}")
        return self.events

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    @property
    def problem(self) -> str:
        """What it said last if it failed of its own accord; empty otherwise."""
        if self._killed or not self._process.poll():
            return ""
        self._readers[1].join(5)
        return f"ended with {self._process.poll()}: {self._errors[-400:]}"

    def freeze(self) -> None:
        """Let it get no CPU, as a long pause of the garbage collector would."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self._killed = True
        self._process.kill()
        self._process.wait()
