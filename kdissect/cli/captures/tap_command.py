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

from kdissect.cli.diagnostics import ENDING_SIGNALS, OK, UNREADABLE, say
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.live_options import time_span
from kdissect.cli.standard_streams import print_text
from kdissect.model.wording import plural
from kdissect.report.printable import printable
from kdissect.tap import TapError, stream
from kdissect.tap.jvms import list_jvms

if TYPE_CHECKING:
    import subprocess

    from kdissect.tap.stream import TapSource


def run(arguments: Sequence[str]) -> int:
    """Do what is asked; gives the exit code."""
    words = list(arguments)
    at = words.index("--") if "--" in words else len(words)
    parser = _parser()
    options = parser.parse_args(words[:at])
    options.command = words[at + 1 :]
    _check(parser, options)
    if sys.platform != "linux":
        say("tap needs Linux here; the agent alone works elsewhere (docs/tap.md)")
        return UNREADABLE
    try:
        return _done(options)
    except (TapError, OSError) as error:
        name = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
        say(f"{name}{error.strerror}" if isinstance(error, OSError) and error.strerror else str(error))
        return UNREADABLE


def _parser() -> ArgumentParser:
    parser = command_parser(
        "tap",
        "Write what a JVM reads from and writes to Kafka connections, in plaintext, as a capture: of TLS, "
        "too, and of connections that are open. "
        "kdissect tap PID -w FILE, or kdissect tap -w FILE -- java ...; "
        "'-i tap:PID' of other commands looks at it at once.",
    )
    parser.add_argument("pid", metavar="PID", nargs="?", type=int, help="the process to tap")
    parser.add_argument("-w", "--write", metavar="FILE", help="where to (pcapng); -: standard output")
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
        parser.error("name one JVM: PID, or -- and the command that starts it; --list lists those that run")
    if options.detach and options.command:
        parser.error("--detach needs PID")
    if not options.detach and options.write is None:
        parser.error("-w FILE is missing; 'kdissect live -i tap:PID' lists the exchanges instead")
    if options.write == "-" and sys.stdout.isatty():
        parser.error("-w -: standard output is a terminal")


def _done(options: Namespace) -> int:
    if options.list:
        return _list()
    if options.print_agent:
        print_text(f"{stream.agent_jar()}\n")
        return OK
    if options.detach:
        stream.detach(options.pid)
        say(f"process {options.pid}: no tap is in it")
        return OK
    return _record(options)


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
    is_new = not os.path.lexists(options.write)
    with _opened(options.write) as out:
        try:
            source, process = _begun(options)
        except BaseException:
            if is_new and options.write != "-":
                os.unlink(options.write)  # noqa: PTH108  nothing is in it
            raise
        if stat.S_ISREG(os.fstat(out.fileno()).st_mode) and options.write != "-":
            out.truncate(0)  # what was there is kept until something takes its place
        _end_by_signals(source, process)
        say(f"tapping {source.name}, to {options.write}; Ctrl-C ends")
        try:
            size = _copy(source, out, options.duration)
        finally:
            source.close()
    why = "" if source.is_asked else "; the JVM, or somebody else, ended it"
    say(f"{plural(size, 'byte')} written{why}")
    if process is not None and process.wait():
        say(f"{options.command[0]} ended with {process.returncode}")
    return OK


def _begun(options: Namespace) -> tuple[TapSource, subprocess.Popen[bytes] | None]:
    if options.command:
        return stream.launch(options.command)
    return stream.attach(options.pid), None


def _copy(source: TapSource, out: BinaryIO, duration: float) -> int:
    """Until the source ends; gives the number of bytes."""
    if duration:
        _after(duration, source)
    size = 0
    while data := source.read():
        out.write(data)
        size += len(data)
    return size


def _after(duration: float, source: TapSource) -> None:
    timer = threading.Timer(duration, source.stop)
    timer.daemon = True
    timer.start()


def _opened(path: str) -> BinaryIO:
    """A file that nobody else may read: it holds what was encrypted on its way."""
    if path == "-":
        return open(os.dup(sys.stdout.fileno()), "wb", buffering=0)  # noqa: PTH123
    handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        os.fchmod(handle, 0o600)
    return open(handle, "wb", buffering=0)  # noqa: PTH123


def _end_by_signals(source: TapSource, process: subprocess.Popen[bytes] | None) -> None:
    """A signal ends the tap; where the JVM was started here it is passed on, and its end is waited for."""

    def end(number: int, _frame: object) -> None:
        if process is None:
            source.stop()
        elif number != signal.SIGINT:  # which a terminal gives to both
            process.send_signal(number)

    for name in ENDING_SIGNALS:
        signal.signal(getattr(signal, name), end)
