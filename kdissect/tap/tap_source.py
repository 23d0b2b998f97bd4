"""The stream of pcapng that comes out of a tapped JVM, as a source of bytes."""

import hashlib
import hmac
import os
import re
import secrets
import select
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from kdissect.tap import ENGINES, PREFIX, TapError
from kdissect.tap.jvms import ALONE, AT_START, owner_of, pid_inside, refuse_unfit, root_of

# The agent has been there when it is waited for; a JVM that begins takes a while.
_GREETING_S = 5.0
_START_S = 120.0
# What waited in the agent when it was asked to end comes within this, or is given up.
_END_S = 5.0
_LOOK_S = 0.2
_READ = 1 << 18
_MAX_GREETING = 4096
_SOCKET_S = 10.0
_ATTACH_LOOK_S = 0.05
# The answer comes when the agent has hooked the classes that are loaded.
_ANSWER_S = 60.0
_MAX_ANSWER = 1 << 16


def agent_jar() -> str:
    """The path of the agent. Raises TapError where options of a JVM cannot name it."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kdissect-tap.jar")  # noqa: PTH100, PTH118, PTH120
    if "," in path or "=" in path:
        raise TapError(f"{path}: a JVM takes no agent whose path has a comma or an equals sign")
    return path


def process_of(interface: str) -> tuple[int, bool]:
    """The process that `tap:PID` names, and whether `,engines` is behind it. Raises TapError."""
    number, _, words = interface.removeprefix(PREFIX).partition(",")
    if not (number.isascii() and number.isdigit() and 0 < int(number) < 1 << 31):
        raise TapError(f"{interface}: tap:PID needs a process id, which 'kdissect tap --list' tells")
    if words not in ("", ENGINES):
        raise TapError(f"{interface}: behind tap:PID there may be ,{ENGINES} alone")
    return int(number), words == ENGINES


class TapSource:
    """Gives what the agent writes, until the JVM or the tap ends. Made by `attach` or `launch`."""

    def __init__(self, name: str, link: socket.socket) -> None:
        self.name = name
        self._link = link
        self._end = 0.0

    @property
    def is_asked(self) -> bool:
        """Whether `stop` was called."""
        return self._end > 0

    def read(self) -> bytes:
        """The next bytes, waits for them; empty at the end. Raises OSError."""
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
        """The end of a JVM is no failure."""
        return ""

    def drops(self) -> int:
        """Only what the stream itself tells."""
        return 0


def attach(pid: int, engines: bool = False) -> TapSource:
    """Tap a JVM that runs; with `engines` also what goes through its TLS engines. Raises TapError."""
    with _Meeting(engines) as meeting, _jar_for(pid) as jar:
        load_agent(pid, jar, f"jar={jar},{meeting.options},kafka=needed")
        return TapSource(f"{PREFIX}{pid}", meeting.wait(None, _GREETING_S))


def detach(pid: int) -> None:
    """End the tap of a JVM, whoever began it. Raises TapError."""
    with _jar_for(pid) as jar:
        load_agent(pid, jar, "stop")


@contextmanager
def _jar_for(pid: int) -> Iterator[str]:
    """The path of the agent as a process sees it: for one in another container a copy, while it is needed."""
    own = agent_jar()
    refuse_unfit(pid)
    root = root_of(pid)
    if not root:
        yield own
        return
    with open(own, "rb") as file:  # noqa: PTH123
        data = file.read()
    # One name for one content: a JVM would add another to its class path. Anybody may make files in /tmp.
    path = f"/tmp/.kdissect-tap-{hashlib.sha256(data).hexdigest()[:16]}.jar"
    try:
        new = f"{root}{path}.{secrets.token_hex(8)}"
        handle = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o644)
        with os.fdopen(handle, "wb") as copy:
            copy.write(data)
            os.fchmod(handle, 0o644)
        os.rename(new, f"{root}{path}")  # noqa: PTH104
    except OSError as error:
        raise TapError(
            f"process {pid}: no copy of the agent in its /tmp: {error.strerror}; {ALONE}"
        ) from None
    try:
        yield path
    finally:
        with suppress(OSError):
            os.unlink(f"{root}{path}")  # noqa: PTH108  the JVM has it open


def launch(command: Sequence[str], engines: bool = False) -> tuple[TapSource, "subprocess.Popen[bytes]"]:
    """Start a JVM, or a program that starts one, with the tap in it. Raises TapError, OSError."""
    with _Meeting(engines) as meeting:
        option = f"-javaagent:{agent_jar()}=jar={agent_jar()},{meeting.options}"
        environment = dict(os.environ)
        words = list(command)
        if os.path.basename(words[0]) == "java":  # noqa: PTH119
            words.insert(1, option)
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
    """Where the agent comes to: a port of 127.0.0.1 for one connection, which knows a secret."""

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
        """The connection of the agent, once it has begun. Raises TapError where it has not."""
        self._server.settimeout(_LOOK_S)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                link, _ = self._server.accept()
            except TimeoutError:
                if process is not None and process.poll() is not None:
                    raise TapError(f"it ended with {process.returncode}, and no agent came") from None
                continue
            said = _greeting(link)
            if hmac.compare_digest(said[: len(self._token)].encode(), self._token.encode()):
                return _begun(link, said[len(self._token) :].strip())
            link.close()
        raise TapError("the agent did not come: the standard error of the JVM says why")


def _greeting(link: socket.socket) -> str:
    link.settimeout(_GREETING_S)
    line = b""
    try:
        while not line.endswith(b"\n") and len(line) < _MAX_GREETING and (data := link.recv(1)):
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


# HotSpot's attach protocol: a JVM that runs loads an agent. No JDK is needed.
#
# Source: OpenJDK, src/hotspot/os/posix/attachListener_posix.cpp. A file `.attach_pidN` and SIGQUIT have the
# JVM open the socket `/tmp/.java_pidN`. A request is the version 1, a command and three arguments, each with
# a NUL behind it; the answer is a number in a line, 0 where the command was carried out, and what the command
# says.
def load_agent(pid: int, jar: str, options: str) -> None:
    """Have a JVM load an agent, and wait until it has begun. Raises TapError."""
    refuse_unfit(pid)
    path = _listening(pid)
    try:
        answer = _asked(path, ["load", "instrument", "false", f"{jar}={options}"])
    except OSError as error:
        raise TapError(f"process {pid} does not answer: {error.strerror or error}") from None
    _check(pid, answer)


def _listening(pid: int) -> str:
    """The socket of the JVM, which it opens when it is asked to."""
    path = f"{root_of(pid)}/tmp/.java_pid{pid_inside(pid)}"
    if _is_socket(path, pid):
        return path
    mark = _mark(pid)
    try:
        os.kill(pid, signal.SIGQUIT)
        end = time.monotonic() + _SOCKET_S
        while time.monotonic() < end:
            if _is_socket(path, pid):
                return path
            owner_of(pid)
            time.sleep(_ATTACH_LOOK_S)
    except OSError as error:
        raise TapError(f"process {pid}: {error.strerror}") from None
    finally:
        with suppress(OSError):
            os.unlink(mark)  # noqa: PTH108
    raise TapError(f"process {pid} opened no socket for attachment within {_SOCKET_S:.0f} s")


def _is_socket(path: str, pid: int) -> bool:
    """Whether it is the socket of that JVM: anybody may make files in /tmp."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == owner_of(pid)


def _mark(pid: int) -> str:
    """Make the file by which the JVM knows what SIGQUIT is for."""
    why = "?"
    name = f".attach_pid{pid_inside(pid)}"
    for path in (f"/proc/{pid}/cwd/{name}", f"{root_of(pid)}/tmp/{name}"):
        try:
            handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            why = str(error.strerror)
            continue
        try:
            if os.geteuid() == 0:
                os.fchown(handle, owner_of(pid), -1)
        finally:
            os.close(handle)
        return path
    raise TapError(f"process {pid}: no file {name} in its folder nor in /tmp: {why}")


def _asked(path: str, words: list[str]) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(_ANSWER_S)
        link.connect(path)
        link.sendall(b"".join(word.encode() + b"\0" for word in ["1", *words]))
        answer = b""
        while len(answer) < _MAX_ANSWER and (data := link.recv(4096)):
            answer += data
    return answer.decode("utf-8", "replace")


def _check(pid: int, answer: str) -> None:
    code, _, rest = answer.partition("\n")
    said = " ".join(rest.split())
    result = re.match(r"(?:return code: )?(-?\d+)$", said)
    if code.strip() == "0" and (result is None or result[1] == "0"):
        return
    if "EnableDynamicAgentLoading" in said:
        raise TapError(f"process {pid} runs with -XX:-EnableDynamicAgentLoading: {AT_START}")
    if result is not None and result[1] == "100":  # JPLIS_ERROR of a jar that cannot be opened
        raise TapError(f"process {pid} cannot read the agent's jar: its user must be able to")
    raise TapError(
        f"process {pid} refused the agent: {said or 'no reason given'} ({code.strip() or 'no answer'})"
    )
