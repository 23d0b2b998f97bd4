"""The command line: argument parsing and printing only. stdout is data, stderr is diagnostics.

A command's module is imported when the command is called, so that `kdissect inspect` does not pay for other
commands.
"""

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from itertools import zip_longest
from typing import Protocol, cast

from kdissect.cli.diagnostics import DEBUG, INTERRUPTED, OK, UNREADABLE, USAGE, listener_of, say, write_error
from kdissect.cli.output import OutputError, folded, terminal_width
from kdissect.cli.standard_streams import flush, forget_output, hold_places, print_text
from kdissect.model import extras, faults
from kdissect.model.limits import in_force, use
from kdissect.model.run_budget import start_run, take_met

# Job -> name -> the folder of its module `NAME_command`, and what it is about, short enough for two commands
# in a line of `--help`. This is the one place of late imports for start-up: a module is imported when its
# command is called, and imports at its top what the command needs.
JOBS = {
    "find what is wrong": {
        "why": ("findings", "causes, most costly first"),
        "check": ("findings", "violations of the protocol"),
        "diff": ("statistics", "two captures compared"),
        "upgrade": ("findings", "clients a release breaks"),
        "conform": ("findings", "tests a broker or client"),
        "personal-data": ("statistics", "in records, by field"),
    },
    "see what is on the wire": {
        "info": ("captures", "summary of captures"),
        "inspect": ("captures", "requests and responses"),
        "tui": ("captures", "the same on the screen"),
        "connections": ("captures", "TCP connections, problems"),
        "records": ("captures", "records, also compressed"),
        "segments": ("log_segments", "log segments, snapshots"),
    },
    "count by subject": {
        "stats": ("statistics", "times, rates, errors"),
        "topics": ("statistics", "who writes and who reads"),
        "groups": ("statistics", "rebalances, lag, sessions"),
        "producers": ("statistics", "retries and transactions"),
        "offsets": ("statistics", "jumps, gaps, duplicates"),
        "delay": ("statistics", "from write to read"),
        "mirror": ("statistics", "topics and their copies"),
        "logins": ("statistics", "SASL logins and outcomes"),
        "access": ("statistics", "who used what, least ACLs"),
        "changes": ("statistics", "who altered what"),
    },
    "capture, share and convert": {
        "live": ("captures", "capture from interfaces"),
        "record": ("captures", "packets before an incident"),
        "tap": ("captures", "plaintext of a JVM's TLS"),
        "request-log": ("captures", "brokers' logs on and off"),
        "extract": ("captures", "packets, also redacted"),
        "report": ("findings", "one HTML page to share"),
        "tables": ("parquet_tables", "Parquet, in one process"),
        "pipeline": ("parquet_tables", "Parquet, with Spark"),
    },
    "also": {
        "rules": ("reference", "rules of check"),
        "fields": ("reference", "fields of filters (-Y)"),
        "limits": ("reference", "bounds on memory and time"),
        "schema": ("reference", "grammar of a message"),
        "decode": ("reference", "a frame or body given as hex"),
        "wireshark-plugin": ("reference", "every message in Wireshark and tshark"),
        "completion": ("reference", "completion for shells"),
        "mcp": ("reference", "answers for assistants"),
        "traces": ("captures", "OpenTelemetry spans"),
    },
}
# Old names: they work, and help does not list them.
_OLD_NAMES = {"fetch-sessions": ("statistics", "now groups --table fetch_sessions")}
COMMANDS = {name: about for commands in JOBS.values() for name, about in commands.items()} | _OLD_NAMES

# Objects created between two searches for cycles. Exchanges have no cycles, so that a search finds none. With
# Python's 700, such searches take a twentieth of the time, and if thousands of connections are opened even 20
# 000 take as long. 50 000 use some 5 MB.
COLLECT_EVERY = 50_000
_NAMES_ONLY = "also"  # a job whose commands `--help` lists by name, in one line
_USAGE = "usage: kdissect COMMAND ... | FILE | -t FILE | --version | --help"
# A file without a command: on the screen, and as tshark names it.
_SCREEN, _READ = "-t", "-r"


class Command(Protocol):
    """Interface of a command's module."""

    def run(self, arguments: Sequence[str]) -> int:
        """Run the command and return the exit code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` names and return the exit code (`cli.diagnostics`).

    `argv` are the process's arguments unless given.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    if argv is None:
        # numpy, which comes with Arrow, starts threads for matrices that wait for work, busily: a fifth of
        # what a small Parquet file costs.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        hold_places()
        extras.is_own_process = True
    before = faults.in_force()
    faults.use(listener_of(arguments))
    try:
        return _guarded(arguments)
    finally:
        faults.use(before)
        if argv is None:
            # The process ends: what Python would look for on its way out, cycles, has no memory to give back
            # any more. The search takes a twentieth of the time for a small capture.
            gc.freeze()


def _guarded(arguments: list[str]) -> int:
    """Return the guard of the process: whatever comes out of a command becomes a line and an exit code."""
    try:
        try:
            code = _dispatch(arguments)
        except SystemExit as stop:  # argparse: --help is 0, a usage error 2
            code = stop.code if isinstance(stop.code, int) else OK
        _finish(code)
    except BrokenPipeError:
        forget_output()
        return OK
    except KeyboardInterrupt as interrupt:
        say(f"interrupted: {interrupt}" if interrupt.args else "interrupted")
        return INTERRUPTED
    except Exception as error:
        say(_message_of(error))
        code = UNREADABLE
        with suppress(BrokenPipeError):
            _finish(code)
    return code


def _finish(code: int) -> None:
    """Flush the printed output. Raises OutputError if that fails, and the exit code does not show it yet."""
    try:
        flush()
    except OutputError:
        forget_output()
        if code != UNREADABLE:
            raise


def _message_of(error: Exception) -> str:
    listener = faults.in_force()
    if faults.is_fault(error):
        return faults.fault_text(error)
    if listener is not None:
        listener(error)
    if isinstance(error, OSError) and error.strerror is not None:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == [DEBUG]:
        arguments = [*arguments[1:], DEBUG] if len(arguments) > 1 else []
    first = arguments[0] if arguments else "--help"
    if first in ("-h", "--help"):
        print_text(folded(_help(), terminal_width()) if sys.stdout.isatty() else _help())
        return OK
    if first in ("-V", "--version"):
        from kdissect.model.native import is_compiled, why_without  # start-up of --help
        from kdissect.model.version import __version__  # start-up

        compiled = "yes" if is_compiled else f"no ({why_without()})"
        print_text(f"kdissect {__version__}\ncompiled hot path: {compiled}\n")
        return OK
    if first not in COMMANDS:
        if not _means_file(arguments):
            write_error(f"kdissect: {_unknown(first)}\nfor the commands, run 'kdissect --help'\n")
            return USAGE
        first = "tui" if _SCREEN in arguments else "info"
        arguments = [first, *(word for word in arguments if word != _SCREEN)]
    gc.set_threshold(COLLECT_EVERY)
    before = in_force()
    start_run()
    try:
        return command_of(first).run(arguments[1:])
    finally:
        _report_limits_met()
        use(before)  # `--limits` is over with its command


def _means_file(arguments: list[str]) -> bool:
    """Return whether no command is named, but what to look at: `FILE`, `-r FILE`, `-t FILE`."""
    words = [word for word in arguments if word != _SCREEN]
    return bool(words) and (words[0] == _READ or os.path.exists(words[0]))  # noqa: PTH110


def _unknown(first: str) -> str:
    """Return the error about the first word, with a likely correction."""
    from kdissect.cli.options.wanted_names import near_names  # start-up: only where something is wrong

    what = "option" if first.startswith("-") else "command or file"
    near = near_names(first, COMMANDS)
    return f"unknown {what} {first!r}" + (f"; did you mean {near[0]}?" if near else "")


def _report_limits_met() -> None:
    for name in take_met():
        bound = f"{name}={getattr(in_force(), name)}"
        say(f"compressed batches hold more than is read in one run: {bound}; --limits sets another bound")


def command_of(name: str) -> Command:
    """Return a command of `COMMANDS`, its module imported."""
    return cast(Command, import_module(f"kdissect.cli.{COMMANDS[name][0]}.{name.replace('-', '_')}_command"))


def _help() -> str:
    """Return the commands by job, on one screen of 80 columns and 24 lines."""
    lines = []
    for job, commands in JOBS.items():
        lines.append(f"{job}:")
        if job == _NAMES_ONLY:
            lines[-1] += f" {' '.join(commands)}"
            continue
        cells = [f"{name:11} {about}" for name, (_, about) in commands.items()]
        lines += [
            f"  {left:38}  {right}".rstrip()
            for left, right in zip_longest(cells[::2], cells[1::2], fillvalue="")
        ]
    return (
        "kdissect decodes Kafka traffic and explains what goes wrong in it.\n"
        f"{_USAGE}\n"
        + "".join(f"{line}\n" for line in lines)
        + "'kdissect COMMAND --help': the options. 'kdissect FILE': 'kdissect info FILE'.\n"
        "Exit codes: 0 read, 1 findings, 2 wrong usage, 3 unreadable, 4 not judged.\n"
    )
