"""The stream of pcapng that comes out of a tapped JVM, as a source of bytes."""

import hashlib
import hmac
import os
import secrets
import select
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from kdissect.tap import ENGINES, PREFIX, TapError, shared_folders
from kdissect.tap.argument_file import argument_file, takes_argument_files
from kdissect.tap.attachment import load_agent
from kdissect.tap.jvms import ALONE, refuse_unfit, root_of, temporary_folder

# The agent is already there when kdissect waits for its greeting. A JVM that begins takes longer.
_GREETING_S = 5.0
_START_S = 120.0
# Seconds for the data that waited in the agent when it received the request to end. Later data are dropped.
_END_S = 5.0
_LOOK_S = 0.2
_READ = 1 << 18
_MAX_GREETING = 4096


def agent_jar() -> str:
    """Return the path of the agent. Raises TapError if options of a JVM cannot name it."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kdissect-tap.jar")  # noqa: PTH100, PTH118, PTH120
    if "," in path or "=" in path:
        raise TapError(f"{path}: a JVM takes no agent whose path has a comma or an equals sign")
    return path


def process_of(interface: str) -> tuple[int, bool]:
    """Return the process that `tap:PID` names, and whether `,engines` follows. Raises TapError."""
    number, _, words = interface.removeprefix(PREFIX).partition(",")
    if not (number.isascii() and number.isdigit() and 0 < int(number) < 1 << 31):
        raise TapError(f"{interface}: tap:PID requires a process id: see 'kdissect tap --list'")
    if words not in ("", ENGINES):
        raise TapError(f"{interface}: after tap:PID there may be ,{ENGINES} alone")
    return int(number), words == ENGINES


class TapSource:
    """Source of the agent's data, until the JVM or the tap ends. Made by `attach` or `launch`."""

    def __init__(self, name: str, link: socket.socket) -> None:
        self.name = name
        self._link = link
        self._end = 0.0

    @property
    def is_asked(self) -> bool:
        """Whether `stop` was called."""
        return self._end > 0

    def read(self) -> bytes:
        """Return the next bytes, after waiting for them, or no bytes at the end. Raises OSError."""
        while not self._end or time.monotonic() < self._end:
            ready, _, _ = select.select([self._link], [], [], _LOOK_S)
            if ready:
                try:
                    data = self._link.recv(_READ)
                except ConnectionResetError:  # the JVM was killed
                    data = b""
                if not data:
                    self._link.close()
                return data
        return b""

    def stop(self) -> None:
        """Ask the agent to end: what it still has is read. More than once is fine."""
        if not self._end:
            self._end = time.monotonic() + _END_S
            try:
                self._link.shutdown(socket.SHUT_WR)
            except OSError:
                return  # it ended

    def close(self) -> None:
        """Read no further."""
        self._link.close()

    def failure(self) -> str:
        """Return no failure: the end of a JVM is none."""
        return ""

    def drops(self) -> int:
        """Return no drops: the stream itself reports them."""
        return 0


def attach(pid: int, engines: bool = False) -> TapSource:
    """Tap a running JVM. With `engines`, tap the data of its TLS engines too. Raises TapError."""
    with _Meeting(engines) as meeting, _jar_for(pid) as jar:
        load_agent(pid, jar, f"jar={jar},{meeting.options},kafka=needed")
        return TapSource(f"{PREFIX}{pid}", meeting.wait(None, _GREETING_S))


def detach(pid: int) -> None:
    """End the tap of a JVM, even if another process began it. Raises TapError."""
    with _jar_for(pid) as jar:
        load_agent(pid, jar, "stop")


@contextmanager
def _jar_for(pid: int) -> Iterator[str]:
    """Yield the path of the agent as a process sees it: in another container, that of a temporary copy."""
    own = agent_jar()
    refuse_unfit(pid)
    root = root_of(pid)
    if not root:
        yield own
        return
    with open(own, "rb") as file:  # noqa: PTH123
        data = file.read()
    # One name for one content: a JVM would add another to its class path. Any user may make files in /tmp.
    name = f".kdissect-tap-{hashlib.sha256(data).hexdigest()[:16]}.jar"
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(temporary_folder(pid))
            new = f"{name}.{secrets.token_hex(8)}"
            with os.fdopen(shared_folders.create(folder, new, 0o644), "wb") as copy:
                copy.write(data)
                os.fchmod(copy.fileno(), 0o644)
            os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            raise TapError(
                f"process {pid}: cannot copy the agent to its /tmp: {error.strerror}; {ALONE}"
            ) from None
        try:
            yield f"/tmp/{name}"
        finally:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)  # the JVM has it open


def launch(command: Sequence[str], engines: bool = False) -> tuple[TapSource, "subprocess.Popen[bytes]"]:
    """Start a JVM, or a program that starts one, with the tap in it. Raises TapError, OSError."""
    with _Meeting(engines) as meeting, ExitStack() as stack:
        option = f"-javaagent:{agent_jar()}=jar={agent_jar()},{meeting.options}"
        environment = dict(os.environ)
        words = list(command)
        if os.path.basename(words[0]) == "java":  # noqa: PTH119
            has_file = takes_argument_files(words[0])
            words.insert(1, stack.enter_context(argument_file(option)) if has_file else option)
        else:
            environment["JAVA_TOOL_OPTIONS"] = f"{environment.get('JAVA_TOOL_OPTIONS', '')} {option}".strip()
        process = subprocess.Popen(words, env=environment)
        try:
            link = meeting.wait(process, _START_S)
        except TapError:
            process.terminate()
            raise
        return TapSource(f"{PREFIX}{process.pid}", link), process


class _Meeting:
    """Meeting point for the agent: a port of 127.0.0.1 for one connection, which knows a secret."""

    def __init__(self, engines: bool) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._token = secrets.token_hex(16)
        self.options = f"connect={self._server.getsockname()[1]},token={self._token}"
        if engines:
            self.options += f",{ENGINES}=yes"

    def __enter__(self) -> "_Meeting":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def wait(self, process: "subprocess.Popen[bytes] | None", seconds: float) -> socket.socket:
        """Return the connection of the agent, once it has begun. Raises TapError if it has not."""
        self._server.settimeout(_LOOK_S)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                link, _ = self._server.accept()
            except TimeoutError:
                if process is not None and process.poll() is not None:
                    raise TapError(f"it ended with {process.returncode}, and no agent came") from None
                continue
            said = _greeting(link, min(end, time.monotonic() + _GREETING_S))
            if hmac.compare_digest(said[: len(self._token)].encode(), self._token.encode()):
                return _begun(link, said[len(self._token) :].strip())
            link.close()
        raise TapError("the agent did not come: the standard error of the JVM says why")


def _greeting(link: socket.socket, end: float) -> str:
    """Return the first line of a connection, or what came of it until `end`."""
    line = b""
    try:
        while not line.endswith(b"\n") and len(line) < _MAX_GREETING and (left := end - time.monotonic()) > 0:
            link.settimeout(left)
            data = link.recv(1)
            if not data:
                break
            line += data
    except OSError:
        return ""
    return line.decode("utf-8", "replace")


def _begun(link: socket.socket, said: str) -> socket.socket:
    if said.startswith("ok"):
        link.settimeout(None)
        return link
    link.close()
    raise TapError(f"the JVM cannot be tapped: {said.removeprefix('error ')}")
