"""A program that writes the files of `-w` itself, while the analysis follows them."""

import threading
from collections.abc import Callable

from kdissect.capture.live.lag import Lag
from kdissect.capture.live.live_settings import LiveSettings
from kdissect.capture.live.programs import Program
from kdissect.capture.live.running_program import Child
from kdissect.capture.live.tapes import FollowedFile


class Recording:
    """Runs a program that names each file it begins. Raises LiveError where it does not start.

    `opened` is called with each file, in order; `ended` when there will be no more.
    """

    def __init__(
        self,
        program: Program,
        settings: LiveSettings,
        lag: Lag,
        opened: Callable[[FollowedFile], None],
        ended: Callable[[], None],
    ) -> None:
        self.name = program.name
        self.trouble = ""
        self.packets = 0
        self._lag = lag
        self._keep = settings.ring.keep
        self._opened = opened
        self._ended = ended
        self._files: list[FollowedFile] = []  # those that may still be there, oldest first
        self._child = Child(program, settings, self._new_file)
        self._waiter = threading.Thread(target=self._wait, name="kdissect-recording", daemon=True)

    @property
    def paths(self) -> list[str]:
        """Paths of the files there are."""
        return [file.path for file in self._files]

    @property
    def drops(self) -> int:
        """Packets lost, where the files do not tell."""
        return 0

    def start(self) -> None:
        """Watch for the end of the program, in a thread."""
        self._waiter.start()

    def stop(self) -> None:
        """Ask the program to end."""
        self._child.stop()

    def join(self) -> None:
        """Wait for the end."""
        self._waiter.join()

    def measure(self) -> None:
        """Look how far the files have grown."""
        for file in list(self._files):
            file.measure()

    def _new_file(self, path: str) -> None:
        if self._files:
            self._files[-1].close()
        file = FollowedFile(path, self._lag)
        self._files.append(file)
        if self._keep and len(self._files) > self._keep:
            self._files.pop(0).is_removed = True
        self._opened(file)

    def _wait(self) -> None:
        self._child.wait()
        self.trouble = self._child.failure()
        if self._files:
            self._files[-1].close()
        self._ended()
