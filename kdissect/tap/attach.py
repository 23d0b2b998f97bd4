"""HotSpot's attach protocol: a JVM that runs loads an agent. No JDK is needed.

Source: OpenJDK, src/hotspot/os/posix/attachListener_posix.cpp. A file `.attach_pidN` and SIGQUIT have the JVM
open the socket `/tmp/.java_pidN`. A request is the version 1, a command and three arguments, each with a NUL
behind it; the answer is a number in a line, 0 where the command was carried out, and what the command says.
"""

import os
import re
import signal
import socket
import stat
import time
from contextlib import suppress

from kdissect.tap import TapError
from kdissect.tap.jvms import AT_START, owner_of, refuse_unfit

_SOCKET_S = 10.0
_LOOK_S = 0.05
# The answer comes when the agent has hooked the classes that are loaded.
_ANSWER_S = 60.0
_MAX_ANSWER = 1 << 16


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
    path = f"/tmp/.java_pid{pid}"
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
            time.sleep(_LOOK_S)
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
    for path in (f"/proc/{pid}/cwd/.attach_pid{pid}", f"/tmp/.attach_pid{pid}"):
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
    raise TapError(f"process {pid}: no file .attach_pid{pid} in its folder nor in /tmp: {why}")


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
