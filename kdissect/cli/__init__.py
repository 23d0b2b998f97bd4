"""The command line: argument parsing and printing only. stdout is data, stderr is diagnostics.

A command's module is imported when the command is called, so that `kdissect inspect` does not pay for the
others.
"""

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Protocol, cast

from kdissect.cli.diagnostics import DEBUG, INTERRUPTED, OK, UNREADABLE, USAGE, listener_of, say, write_error
from kdissect.cli.output import OutputError, folded, terminal_width
from kdissect.cli.standard_streams import flush, forget_output, hold_places, print_text
from kdissect.model import extras, faults
from kdissect.model.limits import in_force, use
from kdissect.model.run_budget import start_run, take_met

# Name -> the folder of its module `NAME_command`, and what it does. This is the one place of late imports for
# start-up: a module is imported when its command is called, and imports at its top what the command needs.
COMMANDS = {
    "inspect": ("captures", "list the exchanges of captures: who asked what, what came back, how fast"),
    "tui": (
        "captures",
        "look at the exchanges on the screen, with their fields and bytes, while they are read",
    ),
    "live": ("captures", "capture from interfaces, and list the exchanges as they complete"),
    "tap": ("captures", "write the plaintext of a JVM's Kafka connections, also of TLS, while it runs"),
    "info": ("captures", "what captures hold: files, connections, APIs, gaps, anomalies"),
    "connections": ("captures", "one line for each TCP connection"),
    "records": ("captures", "list the records in requests and responses, also inside compressed batches"),
    "stats": ("statistics", "response times, rates and errors, by API, client, topic, group ..."),
    "topics": ("statistics", "who writes and who reads each topic, how much, and who was denied"),
    "groups": ("statistics", "members, rebalances with their causes, assignments and lag"),
    "producers": ("statistics", "producer ids, epochs, retries, duplicates, transactions and how they ended"),
    "fetch-sessions": (
        "statistics",
        "fetch sessions: how often they are rebuilt, and polls that bring nothing",
    ),
    "offsets": ("statistics", "positions that jump and why, readers held back, records written twice"),
    "logins": ("statistics", "who logged in how and as whom (SASL), and what came of it"),
    "changes": ("statistics", "who created, altered and deleted topics, configs, ACLs, quotas, users"),
    "diff": ("statistics", "what clients and brokers do otherwise in one capture than in another"),
    "why": ("findings", "what is wrong, the worst first: causes with their costs and packets"),
    "upgrade": ("findings", "which clients break on another Kafka release"),
    "segments": ("log_segments", "what log segments and snapshots hold, and whether they are sound"),
    "check": ("findings", "hold the traffic to the rules of the protocol"),
    "extract": (
        "captures",
        "write the packets of some exchanges or connections to a file, also without what is secret",
    ),
    "tables": ("parquet_tables", "write everything captures tell as Parquet tables"),
    "pipeline": ("parquet_tables", "analyse captures larger than one machine on Spark, into tables"),
    "rules": ("reference", "what check holds it to: the list, or one rule explained"),
    "fields": ("reference", "what a filter (-Y) can name"),
    "limits": ("reference", "the bounds on memory and time, and their names for --limits"),
    "decode": ("reference", "decode one frame or body given as hex"),
    "schema": ("reference", "print the grammar of a message in one version"),
    "wireshark-plugin": ("reference", "a plugin by which Wireshark and tshark read every Kafka message"),
    "completion": ("reference", "a script by which a shell completes commands, options and filters"),
}

# Objects made between two searches for cycles: exchanges and what hangs on them go without cycles, so that a
# search finds nothing; with Python's 700 such searches take a twentieth of the time, and where thousands of
# connections are opened even 20 000 take as much. 50 000 hold some 5 MB.
COLLECT_EVERY = 50_000
_USAGE = "usage: kdissect COMMAND ... | FILE | -t FILE | --version | --help"
# A file without a command: on the screen, and as tshark names it.
_SCREEN, _READ = "-t", "-r"


class Command(Protocol):
    """What a command's module has."""

    def run(self, arguments: Sequence[str]) -> int:
        """Run the command; gives the exit code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` names; gives the exit code (`cli.diagnostics`).

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
            # any more. The look takes a twentieth of the time of a small capture.
            gc.freeze()


def _guarded(arguments: list[str]) -> int:
    """The guard of the process: whatever comes out of a command becomes a line and an exit code."""
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
    """What was printed goes out. Raises OutputError where it cannot, and nobody knows yet."""
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
            write_error(f"kdissect: {_unknown(first)}\nkdissect --help tells the commands\n")
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
    """Whether no command is named, but what to look at: `FILE`, `-r FILE`, `-t FILE`."""
    words = [word for word in arguments if word != _SCREEN]
    return bool(words) and (words[0] == _READ or os.path.exists(words[0]))  # noqa: PTH110


def _unknown(first: str) -> str:
    """What is wrong with the first word, and what was meant."""
    from kdissect.cli.options.wanted_names import near_names  # start-up: only where something is wrong

    what = "option" if first.startswith("-") else "command or file"
    near = near_names(first, COMMANDS)
    return f"unknown {what} {first!r}" + (f"; did you mean {near[0]}?" if near else "")


def _report_limits_met() -> None:
    for name in take_met():
        bound = f"{name}={getattr(in_force(), name)}"
        say(f"compressed batches hold more than is read in one run: {bound}; --limits sets another bound")


def command_of(name: str) -> Command:
    """A command of `COMMANDS`, its module imported."""
    return cast(Command, import_module(f"kdissect.cli.{COMMANDS[name][0]}.{name.replace('-', '_')}_command"))


def _help() -> str:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:{width}}  {what}" for name, (_, what) in COMMANDS.items())
    return (
        "kdissect takes the Kafka traffic in packet captures apart.\n\n"
        f"{_USAGE}\n\ncommands:\n{commands}\n\n"
        "'kdissect COMMAND --help' tells the options of a command, with examples.\n"
        "'kdissect FILE' is 'kdissect info FILE', 'kdissect -t FILE' shows it on the screen.\n"
        "Exit codes: 0 all read, 1 findings, 2 wrong usage, 3 some input could not be read (the rest is "
        "printed first), 4 nothing to judge or clients unread, 130 interrupted.\n"
    )
