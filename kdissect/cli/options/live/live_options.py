"""The options of live capture, which `live` has and the commands that take `-i`."""

from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from typing import NoReturn

from kdissect.capture.live.live_settings import (
    BUFFER_MIB,
    SNAPLEN,
    SOURCES,
    STDIN,
    LiveError,
    LiveSettings,
    Ring,
)
from kdissect.capture.whole_file import is_special
from kdissect.cli.diagnostics import OK, UNREADABLE, say
from kdissect.cli.options.argument_types import count
from kdissect.cli.standard_streams import print_text
from kdissect.model.version import __version__
from kdissect.report.printable import printable

_SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}
_TIMES = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DIGITS = "0123456789."
# libpcap takes the size in bytes as an int.
_MAX_BUFFER_MIB = 2047
# Options that only make sense for a capture in progress: (name of the option, its attribute).
_LIVE_ONLY = (
    ("-f", "capture_filter"), ("-w", "write"), ("--duration", "duration"), ("--rotate-size", "rotate_size"),
    ("--rotate-time", "rotate_time"), ("--keep", "keep"),
)  # fmt: skip


def add_live(parser: ArgumentParser, writes: bool = True, buffer_mib: int = BUFFER_MIB) -> None:
    """Add `-i`, `-f`, `-D` and what goes with them; if it `writes`, also `-w` and its options."""
    add = parser.add_argument_group("live capture (docs/live.md)").add_argument
    add("-i", "--interface", dest="interfaces", metavar="IFACE", action="append", default=[], help=(
        "capture on this interface (may be repeated). any: on all interfaces"
    ))  # fmt: skip
    add("-D", "--list-interfaces", action=_ListInterfaces, nargs=0, help="list the interfaces, and exit")
    add("-f", "--capture-filter", metavar="BPF", default="", help=(
        "capture only these packets, such as 'tcp port 9092' (pcap-filter)"
    ))  # fmt: skip
    if writes:
        add("-w", "--write", metavar="FILE", help=(
            "write the packets to FILE (pcapng) before kdissect analyzes them"
        ))  # fmt: skip
    add(
        "--source",
        choices=SOURCES,
        default="auto",
        help="the program or API that captures (default: auto, the best that works)",
    )
    add("--promiscuous", action="store_true", help="also packets for other machines")
    add("--snaplen", metavar="N", type=count, default=SNAPLEN, help="bytes to capture of a packet")
    add("--buffer-size", metavar="MIB", type=_buffer, default=buffer_mib, help=(
        f"buffer of the kernel (default: {buffer_mib} MiB)"
    ))  # fmt: skip
    add("--duration", metavar="TIME", type=time_span, default=0.0, help="end after 90s, 10m, 1h ...")
    if not writes:
        parser.set_defaults(write=None, rotate_size=0, rotate_time=0.0, keep=0)
        return
    add("--rotate-size", metavar="SIZE", type=byte_size, default=0, help="with -w: next file after 100MB ...")
    add("--rotate-time", metavar="TIME", type=time_span, default=0.0, help="with -w: next file after 10m ...")
    add("--keep", metavar="N", type=count, default=0, help="with both: remove all but the last N files")


def settings_of(parser: ArgumentParser | None, options: Namespace) -> LiveSettings:
    """Return the settings that the options come to.

    Leaves with exit code 2 where they contradict each other.
    """
    ring = Ring(options.rotate_size, options.rotate_time, options.keep)
    problem = _contradiction(options, ring)
    if problem:
        if parser is not None:
            parser.error(problem)
        raise ValueError(problem)
    source = STDIN if "-" in options.paths else options.source
    return LiveSettings(
        tuple(options.interfaces), options.capture_filter, source, options.promiscuous, options.snaplen,
        options.buffer_size, options.write, ring, options.duration, f"kdissect {__version__}",
    )  # fmt: skip


def refuse_without_interface(parser: ArgumentParser, options: Namespace) -> None:
    """Exit with code 2 if files are read and an option makes no sense for files."""
    for name, attribute in _LIVE_ONLY:
        if getattr(options, attribute):
            parser.error(f"{name} needs -i: it is about live capture")


def _contradiction(options: Namespace, ring: Ring) -> str:
    if ring.is_rotated and options.write is None:
        return "--rotate-size and --rotate-time need -w FILE"
    if ring.keep and not ring.is_rotated:
        return "--keep needs --rotate-size or --rotate-time"
    if "-" in options.paths and options.capture_filter:
        return "-f filters what is captured here: give the filter to whoever writes standard input"
    if options.write is not None:
        return _unwritable(options.write)
    return ""


def _unwritable(path: str) -> str:
    if path == "-" or is_special(path):
        return f"-w {path}: not a regular file, and what is written is read again while it grows"
    return ""


class _ListInterfaces(Action):
    def __call__(self, *_: object) -> NoReturn:
        from kdissect.capture.live.bindings import list_interfaces  # start-up: ctypes

        try:
            found = list_interfaces()
        except LiveError as error:
            say(str(error))
            raise SystemExit(UNREADABLE) from None
        width = max((len(entry.name) for entry in found), default=0)
        for entry in found:
            what = entry.description or ("loopback" if entry.is_loopback else "")
            state = "" if entry.is_up else "(down) "
            line = f"{entry.name:{width}}  {state}{what}".rstrip()
            print_text(f"{printable(line)}\n")
        raise SystemExit(OK)


def _buffer(text: str) -> int:
    number = count(text)
    if number > _MAX_BUFFER_MIB:
        raise ArgumentTypeError(f"at most {_MAX_BUFFER_MIB} MiB")
    return number


def byte_size(text: str) -> int:
    """Return bytes, of an argument such as 100MB or 64MiB."""
    number, unit = _split(text)
    unit = unit.lower().removesuffix("b")
    if number is None or unit not in _SIZES or number * _SIZES[unit] < 1:
        raise ArgumentTypeError(f"{text!r} is no size, such as 100MB or 64MiB")
    return int(number * _SIZES[unit])


def time_span(text: str) -> float:
    """Return seconds, of an argument such as 90s, 10m or 1h."""
    number, unit = _split(text)
    if number is None or unit not in _TIMES or number <= 0:
        raise ArgumentTypeError(f"{text!r} is no time, such as 90s, 10m or 1h")
    return number * _TIMES[unit]


def _split(text: str) -> tuple[float | None, str]:
    unit = text.lstrip(_DIGITS)
    try:
        return float(text[: len(text) - len(unit)]), unit
    except ValueError:
        return None, unit
