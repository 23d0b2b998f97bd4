"""A program that captures: its start, its words, its end."""

import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable

from kdissect.capture.live.live_settings import LiveError, LiveSettings, MissingError
from kdissect.capture.live.programs import FILE, NOTE, Program, error_of, lost_packets

if sys.platform == "linux":
    import fcntl

# Seconds of waiting for a program that does not report that it captures. dumpcap takes 0.3 s.
_START_S = 30.0
# Seconds until a program that does not end when asked is killed.
_END_S = 10.0
# Seconds between two tests whether an ending program is busy.
_LOOK_S = 0.05
_READ = 1 << 20
_PIPE = 1 << 20  # fcntl(2) F_SETPIPE_SZ: the most that is allowed without privilege
_WORDS = 40  # lines of stderr that are stored: the last ones name the error


class Child:
    """A running program, constructed when it captures. Raises LiveError if it does not.

    `new_file` is called, from a thread, with the path of each file that it begins to write, and `note` with
    what it says about its files.
    """

    def __init__(
        self,
        program: Program,
        settings: LiveSettings,
        new_file: Callable[[str], None] | None = None,
        note: Callable[[str], None] | None = None,
    ) -> None:
        self.name = program.name
        self._program = program
        self._new_file = new_file
        self._note = note
        self._words: deque[str] = deque(maxlen=_WORDS)
        self._ready = threading.Event()
        self._asked = False
        self._process = self._start(program, settings)
        self._listener = threading.Thread(target=self._listen, name=f"kdissect-{self.name}", daemon=True)
        self._listener.start()
        self._wait_until_ready()

    def stop(self) -> None:
        """Ask it to end, and kill it if it does not. Safe in a signal handler. More than once is fine."""
        if self._asked:
            return
        self._asked = True
        threading.Thread(target=self._end, name=f"kdissect-end-{self.name}", daemon=True).start()

    def wait(self) -> None:
        """Wait until it has ended."""
        self._process.wait()
        self._listener.join(_END_S)

    def failure(self) -> str:
        """Return its last words, if it ended on its own. Waits for its end."""
        was_asked = self._asked
        self._collect()
        return "" if was_asked else f"{self.name}: {error_of(self.name, list(self._words))}"

    def drops(self) -> int:
        """Return packets lost, from what it said on stderr."""
        return lost_packets(list(self._words)) if self.name == "tcpdump" else 0

    def _end(self) -> None:
        """Let it take the packets that the kernel gathered for it: at a signal it forgets them, and does not
        count them.
        """
        until = time.monotonic() + _END_S
        time.sleep(self._program.gathers_s)
        while self._program.gathers_s and _is_busy(self._process.pid) and time.monotonic() < until:
            time.sleep(_LOOK_S)
        if self._program.ends_with_stdin:
            assert self._process.stdin is not None
            self._process.stdin.close()
        else:
            self._process.terminate()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _start(self, program: Program, settings: LiveSettings) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                program.command(settings),
                stdin=subprocess.PIPE if program.ends_with_stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=child_environment(),
                start_new_session=True,  # Ctrl-C is for us: we end it when the time has come
            )
        except OSError as error:
            raise MissingError(f"{program.name}: {error.strerror}") from None

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            text = line.decode(sys.getfilesystemencoding(), "surrogateescape").strip()
            if text.startswith(FILE) and self._new_file is not None:
                self._new_file(text.removeprefix(FILE))
            if text.startswith(self._program.ready):
                self._ready.set()
            elif text.startswith(NOTE) and self._note is not None:
                self._note(text.removeprefix(NOTE))
            elif text:
                self._words.append(text.encode("utf-8", "replace").decode())
        self._ready.set()

    def _wait_until_ready(self) -> None:
        came = self._ready.wait(_START_S)
        if came and self._listener.is_alive() and self._process.poll() is None:
            return
        self._asked = True
        self._process.kill()
        self._collect()
        raise error_of(self.name, list(self._words)) if came else LiveError(f"{self.name} does not start")

    def _collect(self) -> None:
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(_END_S)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


class ChildSource(Child):
    """A program that writes the packets to its standard output."""

    def __init__(self, program: Program, settings: LiveSettings) -> None:
        super().__init__(program, settings._replace(path=None))
        assert self._process.stdout is not None
        self._stdout = self._process.stdout.fileno()
        widen(self._stdout)

    def read(self) -> bytes:
        """Return the next bytes, after waiting for them, or no bytes at the end."""
        return os.read(self._stdout, _READ)


def _is_busy(pid: int) -> bool:
    """Return whether a thread of a process runs or waits for a processor. Only Linux shows it."""
    try:
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208  paths stay strings here
            with open(f"/proc/{pid}/task/{task}/stat", "rb") as facts:  # noqa: PTH123
                if facts.read().rpartition(b") ")[2][:1] == b"R":  # proc(5): field 3, after the name
                    return True
    except OSError:
        return False
    return False


def widen(handle: int) -> None:
    """Enlarge a pipe if the system allows it: fewer switches between processes and threads."""
    if sys.platform == "linux":
        try:
            fcntl.fcntl(handle, fcntl.F_SETPIPE_SZ, _PIPE)
        except OSError:
            return  # no pipe, or pipes of this user take too much already


def child_environment() -> dict[str, str]:
    """Return ours, with this very package in front for a child that imports it."""
    root = os.path.abspath(__file__)  # noqa: PTH100  paths stay strings here
    for _ in __name__.split("."):
        root = os.path.dirname(root)  # noqa: PTH120
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "LC_ALL": "C"}
