"""Which processes are JVMs, and which of them speak Kafka: from /proc and the JVM's performance data."""

import os
import re
import signal
from contextlib import AbstractContextManager
from platform import system
from struct import Struct, error
from typing import NamedTuple

from kdissect.tap import TapError, shared_folders

_CLIENTS = re.compile(r"kafka-clients-(\d[\w.+-]*?)\.jar(?: \(deleted\))?")
_DISABLED = "-XX:+DisableAttachMechanism"
AT_START = "it takes the agent at its start alone (-javaagent, docs/tap.md)"
ALONE = "'kdissect tap --print-agent' prints the path of the agent, which can write a file separately"
_MAGIC = b"\xca\xfe\xc0\xc0"
_MAX_BYTES = 1 << 22
_MAX_ENTRIES = 10_000
_BYTES = ord("B")


class Jvm(NamedTuple):
    """A JVM: the main class or jar of its start, its version, and the version of kafka-clients by the names
    of the jars it holds open. Empty if unknown.
    """

    pid: int
    command: str
    java: str
    kafka: str


def list_jvms() -> list[Jvm]:
    """Return the HotSpot JVMs whose memory this user may read, by process id."""
    found = [_jvm(int(name)) for name in _names("/proc") if name.isdigit() and _is_hotspot(int(name))]
    return sorted(found)


def refuse_unfit(pid: int) -> None:
    """Raise TapError if a process cannot be tapped from here. The process is not touched."""
    if system() != "Linux":
        raise TapError("attaching to a JVM needs Linux. The agent alone works elsewhere (docs/tap.md)")
    owner = owner_of(pid)
    if os.geteuid() not in (0, owner):
        raise TapError(f"process {pid} belongs to {shared_folders.user(owner)}: run kdissect as that user")
    if not _is_hotspot(pid):
        raise TapError(f"process {pid} ({_name(pid)}) is no HotSpot JVM")
    if _namespace(pid, "net") != _namespace(os.getpid(), "net"):
        raise TapError(
            f"process {pid} has a network of its own, which 'nsenter -n -t {pid} kdissect' enters; {ALONE}"
        )
    if _DISABLED in _options(pid):
        raise TapError(f"process {pid} runs with {_DISABLED}: {AT_START}")
    if not _catches_quit(pid):
        raise TapError(f"process {pid} takes no attachment: it starts or ends just now, or runs with -Xrs")


def root_of(pid: int) -> str:
    """Return the root of a process in another container, without a slash at the end, or empty in this
    container.
    """
    return "" if _namespace(pid, "mnt") == _namespace(os.getpid(), "mnt") else f"/proc/{pid}/root"


def pid_inside(pid: int) -> int:
    """Return the process id in the process's own container."""
    found = re.search(r"^NSpid:.*?(\d+)$", _read(f"/proc/{pid}/status"), re.MULTILINE)
    return int(found[1]) if found else pid


def owner_of(pid: int) -> int:
    """Return the user id of a process. Raises TapError."""
    try:
        return os.stat(f"/proc/{pid}").st_uid  # noqa: PTH116
    except OSError:
        raise TapError(f"there is no process {pid}") from None


def _jvm(pid: int) -> Jvm:
    told = _performance(pid)
    command = (told.get("sun.rt.javaCommand", "").split() or [_name(pid)])[0]
    return Jvm(pid, os.path.basename(command), told.get("java.property.java.version", ""), _kafka(pid))  # noqa: PTH119


def _is_hotspot(pid: int) -> bool:
    return "/libjvm.so" in _read(f"/proc/{pid}/maps")


def _kafka(pid: int) -> str:
    """Return versions of the kafka-clients jars that the process holds open."""
    folder = f"/proc/{pid}/fd"
    versions: set[str] = set()
    for name in _names(folder):
        try:
            target = os.readlink(f"{folder}/{name}")  # noqa: PTH115
        except OSError:
            continue
        found = _CLIENTS.fullmatch(os.path.basename(target))  # noqa: PTH119
        if found is not None:
            versions.add(found[1])
    return ", ".join(sorted(versions))


def _options(pid: int) -> str:
    """Return all options of the JVM's start: from its command line, from variables, from files."""
    command = _read(f"/proc/{pid}/cmdline").replace("\0", " ")
    return f"{command} {_performance(pid).get('java.rt.vmArgs', '')} "


def _performance(pid: int) -> dict[str, str]:
    """Return the performance data of a JVM, from its `/tmp`, or an empty dict if it has none, or another user
    made them.
    """
    try:
        owner = owner_of(pid)
        with temporary_folder(pid) as folder:
            names = (name for name in _names(f"/proc/self/fd/{folder}") if name.startswith("hsperfdata_"))
            wanted = names if root_of(pid) else [f"hsperfdata_{shared_folders.user(owner)}"]
            found = (_performance_data(folder, name, str(pid_inside(pid)), owner) for name in wanted)
            return next(filter(None, found), {})
    except (OSError, TapError):
        return {}


def _performance_data(folder: int, name: str, file: str, owner: int) -> dict[str, str]:
    try:
        with shared_folders.opened_folder(f"/proc/self/fd/{folder}", name) as inner:
            return strings(shared_folders.read(inner, file, (owner,), _MAX_BYTES))
    except OSError:
        return {}


def temporary_folder(pid: int) -> AbstractContextManager[int]:
    """Open the `/tmp` of a process, which may be in another container. Raises OSError on entry."""
    root = root_of(pid)
    return shared_folders.opened_folder(root, "tmp") if root else shared_folders.opened_folder("/tmp")


def _catches_quit(pid: int) -> bool:
    """Return whether SIGQUIT is caught: it ends a process that does not."""
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", _read(f"/proc/{pid}/status"), re.MULTILINE)
    return caught is not None and bool(int(caught[1], 16) >> (signal.SIGQUIT - 1) & 1)


def _namespace(pid: int, kind: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")  # noqa: PTH115
    except OSError:
        return ""


def _name(pid: int) -> str:
    return _read(f"/proc/{pid}/comm").strip() or "?"


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:  # noqa: PTH123
            return stream.read()
    except OSError:
        return ""


# The facts that a HotSpot JVM publishes in its performance data, the file that `jps` reads.
#
# Source: OpenJDK, src/hotspot/share/runtime/perfMemory.hpp (PerfDataPrologue, PerfDataEntry), version 2.0.
def strings(data: bytes) -> dict[str, str]:
    """Return the entries that are texts, by name, or an empty dict if the data are no performance data."""
    if data[:4] != _MAGIC or len(data) < 32 or data[4] > 1:
        return {}
    order = "<" if data[4] else ">"
    head, entry = Struct(f"{order}II"), Struct(f"{order}IIIBBBBI")
    at, count = head.unpack_from(data, 24)
    found: dict[str, str] = {}
    try:
        for _ in range(min(count, _MAX_ENTRIES)):
            length, name_at, items, kind, _flags, _units, _variability, data_at = entry.unpack_from(data, at)
            if length < entry.size or at + length > len(data):
                break
            if kind == _BYTES and items:
                name = _text(data, at + name_at, at + data_at)
                found[name] = _text(data, at + data_at, at + data_at + items)
            at += length
    except error:  # cut short
        pass
    return found


def _text(data: bytes, start: int, end: int) -> str:
    return data[start:end].partition(b"\0")[0].decode("utf-8", "replace")
