"""Programs that capture: their command lines, when they are ready, and the meaning of their last words.

dumpcap and our own child write the files of `-w` themselves: no code of the analysis is then between the
kernel and the disk. Sources: dumpcap(1) of Wireshark 4, tcpdump(1) of tcpdump 4.99.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from kdissect.capture.live.live_settings import (
    AUTO,
    DUMPCAP,
    LIBPCAP,
    SCAPY,
    TCPDUMP,
    BadFilterError,
    LiveError,
    LiveSettings,
    MissingError,
    NotPermittedError,
)

READY = "ready"
FILE = "File: "
NOTE = "Note: "  # our child's, about the files of its ring
# Measured (docs/live.md): libpcap shows an exchange after 5 ms, dumpcap, which lets the kernel gather packets
# for 250 ms, after 200. At the highest packet rates dumpcap is the only one that still takes all packets. A
# ring is written by our own child: dumpcap puts no comment into files of a ring. scapy needs only Python, and
# is the slowest.
_WATCHING = (LIBPCAP, DUMPCAP, TCPDUMP, SCAPY)
_KEEPING = (DUMPCAP, LIBPCAP, TCPDUMP, SCAPY)

T = TypeVar("T")


"""Words before the name of a file that is begun: dumpcap's word, and our child's."""

_PERMISSION = re.compile(r"(?i)permi(?:ssion|tted)|EACCES|EPERM|CAP_NET_RAW")
_FILTER = re.compile(r"(?i)invalid capture filter|syntax error|can't parse filter|BadFilterError")
_CHATTER = ("Capturing on", "Packets captured", "Packets received", FILE)  # dumpcap's, whatever happened
_LOST = re.compile(r"(\d+) packets? dropped by")  # "by kernel", "by interface": tcpdump(1)


class Program(NamedTuple):
    """A capturing program and its command line. A line of its stderr begins with `ready` once it captures."""

    name: str
    command: Callable[[LiveSettings], Sequence[str]]
    ready: str
    ends_with_stdin: bool = False
    """It stops when its standard input is closed, not by a signal."""
    gathers_s: float = 0.0
    """Seconds for which the kernel gathers packets before it hands them over. It loses them when the program
    is ended.
    """
    writes_rings: bool = False
    """It writes the files of a ring itself, and says which."""
    writes_file: bool = False
    """It writes a file itself, and says when."""


def _dumpcap(settings: LiveSettings) -> Sequence[str]:
    command = [_find("dumpcap"), "-q", "-n"]
    if settings.path is None:
        command += ["-w", "-"]
    else:
        command += ["-w", settings.path, "--capture-comment", settings.comment(DUMPCAP)]
    # Options before the first -i are for all interfaces.
    command += ["-s", str(settings.snaplen), "-B", str(settings.buffer_mib)]
    if len(settings.interfaces) > 1:
        # A thread reads each interface into a queue, which drops what comes while 1000 packets are in it.
        command += ["-C", str(settings.buffer_mib << 20)]
    if not settings.promiscuous:
        command.append("-p")
    if settings.capture_filter:
        command += ["-f", settings.capture_filter]
    for interface in settings.interfaces:
        command += ["-i", interface]
    return command


def _tcpdump(settings: LiveSettings) -> Sequence[str]:
    if len(settings.interfaces) > 1:
        raise LiveError("tcpdump captures on one interface at a time, or on any")
    # Without --immediate-mode: for that the kernel's buffer is cut into places of a snapshot's length each
    # (TPACKET_V2), 256 packets in 64 MiB.
    command = [_find("tcpdump"), "-n", "-U", "-w", "-", "--time-stamp-precision=nano"]
    command += ["-s", str(settings.snaplen), "-B", str(settings.buffer_mib * 1024)]
    if not settings.promiscuous:
        command.append("-p")
    command += ["-i", settings.interfaces[0]]
    return [*command, "--", settings.capture_filter] if settings.capture_filter else command


def _ours(settings: LiveSettings, source: str) -> Sequence[str]:
    wishes = settings._replace(interfaces=list(settings.interfaces), source=source)
    return [sys.executable, "-m", "kdissect.capture.live.capture_child", json.dumps(wishes._asdict())]


def _our_child(source: str) -> Program:
    command = partial(_ours, source=source)
    return Program(source, command, READY, ends_with_stdin=True, writes_rings=True, writes_file=True)


PROGRAMS = {
    LIBPCAP: _our_child(LIBPCAP),
    DUMPCAP: Program(
        DUMPCAP, _dumpcap, FILE, gathers_s=0.3, writes_file=True
    ),  # files of its rings have no comment
    TCPDUMP: Program(TCPDUMP, _tcpdump, "tcpdump: listening on", gathers_s=1.1),
    SCAPY: _our_child(SCAPY),
}


def _find(name: str) -> str:
    """Return the program on the path. On Debian tcpdump is only on root's path."""
    beside = os.pathsep.join(("/usr/sbin", "/sbin", "/usr/local/sbin"))
    path = shutil.which(name) or shutil.which(name, path=beside)
    if path is None:
        raise MissingError(f"{name} is not installed")
    return path


def error_of(name: str, words: Sequence[str]) -> LiveError:
    """Return the error in the last words of a program that did not start, or did not go on."""
    text = " ".join(line for line in words if not line.startswith(_CHATTER))
    said = re.sub(r"^(?:\w+Error|dumpcap|tcpdump): ", "", text) or "ended without a word"
    if _FILTER.search(text):
        return BadFilterError(said)
    if _PERMISSION.search(text):
        return NotPermittedError(said)
    if name in (LIBPCAP, SCAPY) and "MissingError" in text:
        return MissingError(said)
    return LiveError(said)


def lost_packets(words: Sequence[str]) -> int:
    """Return packets that tcpdump's last words say were dropped."""
    return sum(int(count) for line in words for count in _LOST.findall(line))


# The source that captures: the requested one, or the first that works.
def first_that_works(settings: LiveSettings, start: Callable[[Program], T]) -> T:
    """Call `start` with the first program that captures. Return its result. Raises LiveError.

    A bad filter is bad for all of them. If several do not work, the error is the one that the user can fix.
    """
    names = _KEEPING if settings.path is not None and not settings.ring.is_rotated else _WATCHING
    reasons: list[LiveError] = []
    for name in names if settings.source == AUTO else (settings.source,):
        try:
            return start(PROGRAMS[name])
        except BadFilterError:
            raise
        except LiveError as error:
            reasons.append(error)
    raise _worst(reasons, settings)


def _worst(reasons: list[LiveError], settings: LiveSettings) -> LiveError:
    for reason in reasons:
        if isinstance(reason, NotPermittedError):
            return NotPermittedError(f"no permission to capture: {_how_to_permit(settings)}")
    present = [reason for reason in reasons if not isinstance(reason, MissingError)]
    if not present and len(reasons) > 1:
        return MissingError(f"no program can capture: {'; '.join(map(str, reasons))}")
    return (present or reasons)[0]


def _how_to_permit(settings: LiveSettings) -> str:
    """Return how to grant the right to capture, or do without it, in one line."""
    if sys.platform in ("darwin", "win32"):
        return how_to_grant()
    interface = settings.interfaces[0] if settings.interfaces else "any"
    return f"{how_to_grant()}, or: sudo tcpdump -i {interface} -U -w - | kdissect live -"


def how_to_grant() -> str:
    """Return how to grant the right to capture, in one line."""
    if sys.platform == "darwin":
        return "/dev/bpf* must be readable: install Wireshark's ChmodBPF, or use sudo"
    if sys.platform == "win32":
        return "Npcap must be installed, and may ask for an administrator"
    return (
        "CAP_NET_RAW is missing: sudo setcap cap_net_raw,cap_net_admin+eip $(command -v dumpcap), or join "
        "group wireshark"
    )
