"""Which source captures: the one that was asked for, or the first that works."""

import sys
from collections.abc import Callable
from typing import TypeVar

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
from kdissect.capture.live.programs import PROGRAMS, Program

# Measured (docs/live.md): libpcap shows an exchange after 5 ms, dumpcap, which lets the kernel gather packets
# for 250 ms, after 200; where packets come at their fastest dumpcap is the one that still takes them all.
# A ring is written by our own child: dumpcap puts no comment into files of a ring.
# scapy needs nothing but Python, and is the slowest.
_WATCHING = (LIBPCAP, DUMPCAP, TCPDUMP, SCAPY)
_KEEPING = (DUMPCAP, LIBPCAP, TCPDUMP, SCAPY)

T = TypeVar("T")


def first_that_works(settings: LiveSettings, start: Callable[[Program], T]) -> T:
    """What `start` makes of the first program that captures. Raises LiveError.

    A bad filter is bad for all of them; of several that do not work, the reason is told that can be mended.
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
        return MissingError(f"nothing to capture with: {'; '.join(map(str, reasons))}")
    return (present or reasons)[0]


def _how_to_permit(settings: LiveSettings) -> str:
    """What grants the right to capture, or does without, in one line."""
    if sys.platform in ("darwin", "win32"):
        return how_to_grant()
    interface = settings.interfaces[0] if settings.interfaces else "any"
    return f"{how_to_grant()}, or: sudo tcpdump -i {interface} -U -w - | kdissect live -"


def how_to_grant() -> str:
    """What grants the right to capture, in one line."""
    if sys.platform == "darwin":
        return "/dev/bpf* must be readable: install Wireshark's ChmodBPF, or use sudo"
    if sys.platform == "win32":
        return "Npcap must be installed, and may ask for an administrator"
    return (
        "CAP_NET_RAW is missing: sudo setcap cap_net_raw,cap_net_admin+eip $(command -v dumpcap), or join "
        "group wireshark"
    )
