"""`kdissect tap`: writes the plaintext of a JVM's Kafka connections."""

from __future__ import annotations

import os
import signal
import stat
import sys
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

from kdissect.capture.live.blocks import BlockCutter
from kdissect.capture.live.filtered import narrowing
from kdissect.capture.live.live_settings import BadOptionsError, LiveError
from kdissect.cli.captures import live_command
from kdissect.cli.diagnostics import ENDING_SIGNALS, OK, UNREADABLE, USAGE, say
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.filter_option import add_filter
from kdissect.cli.options.live.live_options import time_span
from kdissect.cli.standard_streams import print_text
from kdissect.model.wording import plural
from kdissect.report.printable import printable
from kdissect.tap import ENGINES, PREFIX, TapError, shared_folders, tap_source
from kdissect.tap.jvms import list_jvms

if TYPE_CHECKING:
    import subprocess

    from kdissect.capture.live.recorder import ByteSource
    from kdissect.tap.tap_source import TapSource


def run(arguments: Sequence[str]) -> int:
    """Run the tap, and return the exit code."""
    words = list(arguments)
    at = words.index("--") if "--" in words else len(words)
    parser = _parser()
    options = parser.parse_args(words[:at])
    options.command = words[at + 1 :]
    _check(parser, options)
    if sys.platform != "linux":
        say("tap needs Linux here. The agent alone works elsewhere (docs/tap.md)")
        return UNREADABLE
    try:
        return _done(options)
    except BadOptionsError as error:
        say(str(error))
        return USAGE
    except (LiveError, TapError, OSError) as error:
        name = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
        say(f"{name}{error.strerror}" if isinstance(error, OSError) and error.strerror else str(error))
        return UNREADABLE


def _parser() -> ArgumentParser:
    parser = command_parser(
        "tap",
        "Capture the plaintext that a JVM reads from and writes to Kafka connections, also with TLS, and for "
        "connections that are open already. "
        "kdissect tap PID -w FILE, or kdissect tap -w FILE -- java ... "
        "Without -w, or with -Y, list the exchanges, as kdissect live -i tap:PID does. Other "
        "commands accept -i tap:PID, too.",
    )
    parser.add_argument("pid", metavar="PID", nargs="?", type=int, help="the process to tap")
    parser.add_argument(
        "-w", "--write", metavar="FILE", help="write a pcapng capture to FILE, or - for standard output"
    )
    parser.add_argument(
        "-f",
        "--capture-filter",
        metavar="BPF",
        default="",
        help="write only these packets, such as 'tcp port 9093' (pcap-filter, requires libpcap)",
    )
    add_filter(parser, "list only exchanges for which EXPR holds; -w has all")
    parser.add_argument(
        "--engines",
        action="store_true",
        help="also capture Kafka traffic of clients that are not kafka-clients (Netty) in TLS engines",
    )
    parser.add_argument("--duration", metavar="TIME", type=time_span, default=0.0, help="end after 90s, 10m")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--list", action="store_true", help="list the JVMs of this user, and exit")
    group.add_argument("--detach", action="store_true", help="end a tap of PID, whoever began it, and exit")
    group.add_argument("--print-agent", action="store_true", help="print where the agent's jar is, and exit")
    return parser


def _check(parser: ArgumentParser, options: Namespace) -> None:
    if options.list or options.print_agent:
        return
    if (options.pid is None) == (not options.command):
        parser.error("name one JVM: PID, or -- and the command that starts it. --list lists running JVMs")
    if options.detach and options.command:
        parser.error("--detach needs PID")
    if options.command and _is_listing(options):
        parser.error("a program started here has the terminal: -w FILE, without -Y, and look at FILE")
    if options.write == "-" and sys.stdout.isatty():
        parser.error("-w -: standard output is a terminal")


def _is_listing(options: Namespace) -> bool:
    return options.write is None or options.filter is not None


def _done(options: Namespace) -> int:
    if options.list:
        return _list()
    if options.print_agent:
        print_text(f"{tap_source.agent_jar()}\n")
        return OK
    if options.detach:
        tap_source.detach(options.pid)
        say(f"process {options.pid}: no tap is in it")
        return OK
    return _listed(options) if _is_listing(options) else _record(options)


def _listed(options: Namespace) -> int:
    """As `kdissect live -i tap:PID`."""
    words = ["-i", f"{PREFIX}{options.pid}" + (f",{ENGINES}" if options.engines else "")]
    given = (
        ("-f", options.capture_filter),
        ("-w", options.write),
        ("-Y", options.filter and options.filter.text),
        ("--duration", options.duration and f"{options.duration}s"),
    )
    for name, value in given:
        words += [name, value] if value else []
    return live_command.run(words)


def _list() -> int:
    found = list_jvms()
    if not found:
        say("no JVM of this user runs here")
        return OK
    rows = [("PID", "JAVA", "KAFKA", "COMMAND")]
    rows += [(str(jvm.pid), jvm.java or "?", jvm.kafka or "-", jvm.command) for jvm in found]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = [f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)]
        print_text(f"{printable('  '.join([*cells, row[3]]))}\n")
    return OK


def _record(options: Namespace) -> int:
    narrowed = narrowing(options.capture_filter)
    is_new = not os.path.lexists(options.write)
    with _opened(options.write) as out:
        try:
            source, process = _begun(options)
        except BaseException:
            if is_new and options.write != "-":
                os.unlink(options.write)  # noqa: PTH108  nothing is in it
            raise
        if stat.S_ISREG(os.fstat(out.fileno()).st_mode) and options.write != "-":
            out.truncate(0)  # the old content stays until new content replaces it
        _end_by_signals(source, process)
        say(f"tapping {source.name}, to {options.write}; Ctrl-C ends")
        try:
            if options.duration:
                _after(options.duration, source)
            size, packets, drops = _copy(narrowed(source), out)
        finally:
            source.close()
    why = "" if source.is_asked else "; the JVM, or somebody else, ended it"
    say(f"{plural(packets, 'packet')} written ({plural(size, 'byte')}), {drops} dropped{why}")
    if not packets:
        what = "that -f takes " if options.capture_filter else ""
        say(f"no packet {what}is in it: no Kafka connection of the JVM moved a frame meanwhile")
    if process is not None and process.wait():
        say(f"{options.command[0]} ended with {process.returncode}")
    return OK


def _begun(options: Namespace) -> tuple[TapSource, subprocess.Popen[bytes] | None]:
    if options.command:
        return tap_source.launch(options.command, options.engines)
    return tap_source.attach(options.pid, options.engines), None


def _copy(source: ByteSource, out: BinaryIO) -> tuple[int, int, int]:
    """Copy until the source ends, and return the numbers of bytes, of packets, and of packets that the JVM
    dropped.
    """
    size, packets, cutter = 0, 0, BlockCutter("")
    while data := source.read():
        out.write(data)
        size += len(data)
        packets += sum(blocks.packets for blocks in cutter.feed(data))
    return size, packets, sum(cutter.drops.values())


def _after(duration: float, source: TapSource) -> None:
    timer = threading.Timer(duration, source.stop)
    timer.daemon = True
    timer.start()


def _opened(path: str) -> BinaryIO:
    """Return a file that only the user may read: it contains plaintext of encrypted traffic."""
    if path == "-":
        return open(os.dup(sys.stdout.fileno()), "wb", buffering=0)  # noqa: PTH123
    return open(shared_folders.open_private(path), "wb", buffering=0)  # noqa: PTH123


def _end_by_signals(source: TapSource, process: subprocess.Popen[bytes] | None) -> None:
    """End the tap on a signal.

    If kdissect started the JVM, it forwards the signal and waits for the end of the JVM.
    """

    def end(number: int, _frame: object) -> None:
        if process is None:
            source.stop()
        elif number != signal.SIGINT:  # which a terminal gives to both
            process.send_signal(number)

    for name in ENDING_SIGNALS:
        signal.signal(getattr(signal, name), end)
