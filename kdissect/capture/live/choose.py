"""Which source captures: the one that was asked for, or the first that works."""

import sys
from collections.abc import Callable

from kdissect.capture.live.child import ChildSource
from kdissect.capture.live.errors import BadFilterError, LiveError, MissingError, NotPermittedError
from kdissect.capture.live.programs import PROGRAMS
from kdissect.capture.live.recorder import ByteSource
from kdissect.capture.live.settings import AUTO, DUMPCAP, LIBPCAP, TCPDUMP, LiveSettings

# Measured (docs/live.md): libpcap shows an exchange after 5 ms, dumpcap, which lets the kernel gather packets
# for 250 ms, after 200; where packets come at their fastest dumpcap is the one that still takes them all.
WATCHING = (LIBPCAP, DUMPCAP, TCPDUMP)
KEEPING = (DUMPCAP, LIBPCAP, TCPDUMP)


def open_source(settings: LiveSettings) -> ByteSource:
    """Start capturing. Raises LiveError; of several that do not work, for the reason that can be mended."""
    if settings.source != AUTO:
        return _open(settings.source, settings)
    return first_that_works(
        KEEPING if settings.path is not None else WATCHING, lambda name: _open(name, settings)
    )


def first_that_works(names: tuple[str, ...], opened: Callable[[str], ByteSource]) -> ByteSource:
    """The first that opens. A bad filter is bad for all of them."""
    reasons: list[LiveError] = []
    for name in names:
        try:
            return opened(name)
        except BadFilterError:
            raise
        except LiveError as error:
            reasons.append(error)
    for kind in (NotPermittedError, LiveError, MissingError):  # MissingError is a LiveError as well
        for reason in reasons:
            if isinstance(reason, kind) and (kind is not LiveError or not isinstance(reason, MissingError)):
                raise reason
    raise LiveError("nothing to capture with")


def _open(name: str, settings: LiveSettings) -> ByteSource:
    try:
        return ChildSource(PROGRAMS[name], settings)
    except NotPermittedError as error:
        raise NotPermittedError(f"{error} ({how_to_permit(settings)})") from None


def how_to_permit(settings: LiveSettings) -> str:
    """What grants the right to capture, in one line."""
    if sys.platform == "darwin":
        return "/dev/bpf* must be readable: install Wireshark's ChmodBPF, or use sudo"
    if sys.platform == "win32":
        return "Npcap must be installed, and may ask for an administrator"
    interface = settings.interfaces[0] if settings.interfaces else "any"
    return (
        "CAP_NET_RAW is missing: sudo setcap cap_net_raw,cap_net_admin+eip $(command -v dumpcap), or join "
        f"group wireshark, or: sudo tcpdump -i {interface} -U -w - | kdissect live -"
    )
