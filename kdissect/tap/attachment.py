"""HotSpot's attach protocol: a running JVM loads an agent. No JDK is needed.

Source: OpenJDK, src/hotspot/os/posix/attachListener_posix.cpp. A file `.attach_pidN` and SIGQUIT make the JVM
open the socket `/tmp/.java_pidN`. A request is the version 1, a command and three arguments, each followed by
a NUL. The response is a line with a number, 0 if the JVM carried out the command, and the output of the
command.

Other users can write the folders of both files. kdissect refuses what it finds there in their place, sends
the signal only after it created the file, and waits for nothing without a time limit.
"""

import os
import re
import signal
import socket
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from kdissect.tap import TapError, shared_folders
from kdissect.tap.jvms import owner_of, pid_inside, refuse_unfit, temporary_folder

_SOCKET_S = 10.0
_ATTACH_LOOK_S = 0.05
# The response comes after the agent has hooked the loaded classes.
_ANSWER_S = 60.0
_MAX_ANSWER = 1 << 16
_CREDENTIALS = struct.Struct("iII")  # struct ucred of unix(7): process, user, group


def load_agent(pid: int, jar: str, options: str) -> None:
    """Have a JVM load an agent, and wait until it has begun. Raises TapError."""
    refuse_unfit(pid)
    try:
        with _connected(pid) as link:
            answer = _asked(link, ["load", "instrument", "false", f"{jar}={options}"])
    except OSError as error:
        raise TapError(f"process {pid} does not answer: {error.strerror or error}") from None
    _check(pid, answer)


@contextmanager
def _connected(pid: int) -> Iterator[socket.socket]:
    """Connect to the socket of the JVM, which the JVM opens on request. Raises TapError, OSError."""
    with ExitStack() as stack:
        process = _opened_process(pid, stack)
        temporary = stack.enter_context(temporary_folder(pid))
        link = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        link.settimeout(_SOCKET_S)
        if not _is_connected(link, temporary, pid):
            with _attach_file(pid, temporary):
                _send_quit(process, pid)
                end = time.monotonic() + _SOCKET_S
                while not _is_connected(link, temporary, pid):
                    owner_of(pid)
                    if time.monotonic() > end:
                        raise TapError(
                            f"process {pid} opened no socket for attachment within {_SOCKET_S:.0f} s:"
                            " is it stopped, or too busy?"
                        )
                    time.sleep(_ATTACH_LOOK_S)
        yield link


def _opened_process(pid: int, stack: ExitStack) -> int:
    """Open the process, so that no later one with its number gets the signal; -1 before Linux 5.3."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return -1
    stack.callback(os.close, handle)
    refuse_unfit(pid)  # the process that is open now
    return handle


def _send_quit(process: int, pid: int) -> None:
    if process < 0:
        os.kill(pid, signal.SIGQUIT)
    else:
        signal.pidfd_send_signal(process, signal.SIGQUIT)


def _is_connected(link: socket.socket, temporary: int, pid: int) -> bool:
    """Connect to the JVM's socket; False if it has none yet. Raises TapError for anything else there."""
    name = f".java_pid{pid_inside(pid)}"
    what = shared_folders.found(temporary, name)
    if what is None:
        return False
    _refuse(pid, name, "/tmp", shared_folders.objection(what, (owner_of(pid),), stat.S_ISSOCK))
    try:
        link.connect(f"/proc/self/fd/{temporary}/{name}")
    except (ConnectionRefusedError, FileNotFoundError):  # an earlier JVM left it: this one replaces it
        return False
    peer, _, _ = _CREDENTIALS.unpack(
        link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    _refuse(pid, name, "/tmp", "" if peer == pid else f"is a socket of process {peer}")
    return True


@contextmanager
def _attach_file(pid: int, temporary: int) -> Iterator[None]:
    """Have the file by which the JVM knows the purpose of SIGQUIT. Raises TapError.

    kdissect creates it, makes the JVM's user its owner and removes it. A file that another attachment left is
    fine if its owner is the JVM's user: it remains as it is.
    """
    owner, name, why = owner_of(pid), f".attach_pid{pid_inside(pid)}", "?"
    with ExitStack() as stack:
        for where, path in (("its folder", f"/proc/{pid}/cwd"), ("/tmp", f"/proc/self/fd/{temporary}")):
            try:
                folder = stack.enter_context(shared_folders.opened_folder(path))
                handle = shared_folders.create(folder, name, 0o600)
            except FileExistsError:
                what = shared_folders.found(folder, name)
                if what is None:
                    raise TapError(f"process {pid}: another program attaches just now: try again") from None
                _refuse(pid, name, where, shared_folders.objection(what, (owner,)))
            except OSError as error:
                why = str(error.strerror)
                continue
            else:
                stack.callback(_remove, folder, name, handle)
                if os.geteuid() != owner:
                    os.fchown(handle, owner, -1)  # JVMs before Java 9 accept no file of root
            yield
            return
    raise TapError(f"process {pid}: cannot create {name} in its folder nor in /tmp: {why}")


def _remove(folder: int, name: str, handle: int) -> None:
    """Remove the file that was created, not one that took its place."""
    try:
        what = shared_folders.found(folder, name)
        if what is not None and os.path.samestat(what, os.fstat(handle)):
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
    finally:
        os.close(handle)


def _refuse(pid: int, name: str, where: str, objection: str) -> None:
    if objection:
        raise TapError(f"process {pid}: {name} in {where} {objection}: remove it, and tap again")


def _asked(link: socket.socket, words: list[str]) -> str:
    """Send a request and return the response. Raises OSError, TimeoutError among them."""
    end = time.monotonic() + _ANSWER_S
    link.settimeout(_ANSWER_S)
    link.sendall(b"".join(word.encode() + b"\0" for word in ["1", *words]))
    answer = b""
    while len(answer) < _MAX_ANSWER:
        link.settimeout(max(end - time.monotonic(), _ATTACH_LOOK_S))  # for all of it, not for each piece
        data = link.recv(4096)
        if not data:
            break
        if time.monotonic() > end:
            raise TimeoutError(f"no whole response within {_ANSWER_S:.0f} s")
        answer += data
    return answer.decode("utf-8", "replace")


def _check(pid: int, answer: str) -> None:
    """Raise TapError unless the JVM loaded the agent. Some refusals have code 0 and say why in words."""
    code, _, rest = answer.partition("\n")
    said = " ".join(rest.split())
    if "dynamic agent loading" in said.lower() or "EnableDynamicAgentLoading" in said:
        raise TapError(
            f"process {pid} runs with -XX:-EnableDynamicAgentLoading: start it without that option,"
            " or with the agent (-javaagent, docs/tap.md)"
        )
    result = re.fullmatch(r"(?:return code: )?(-?\d+)", said)
    if code.strip() == "0" and (not said or (result is not None and result[1] == "0")):
        return
    if result is not None and result[1] == "100":  # JPLIS_ERROR of a jar that cannot be opened
        raise TapError(f"process {pid} cannot read the agent's jar: its user must be able to")
    raise TapError(
        f"process {pid} refused the agent: {said or 'no reason given'} ({code.strip() or 'no answer'})"
    )
