"""The inputs of a command: their options, how they are opened, and what they are."""

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence

from kdissect.api import Dissection
from kdissect.capture.files import Captures
from kdissect.cli.diagnostics import say
from kdissect.cli.options.command_parser import add_limits
from kdissect.model.wording import plural

# Modules for live capture and files of names are imported at first use, because of start-up. Names a file for
# every command, so that the option is not needed each time; -n disables it.
HOSTS_VARIABLE = "KDISSECT_HOSTS"


def add_inputs(parser: ArgumentParser, live: bool = False) -> None:
    """Add `PATH...`, `--port`, `--hosts` and `-n`; with `live` also the options of live capture."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="capture file (pcap, pcapng, also gzip, zstd, lz4), directory, glob, or - for standard input",
    )
    parser.add_argument("-r", dest="read_files", metavar="FILE", action="append", default=[], help=(
        "capture file, as PATH (may be repeated)"
    ))  # fmt: skip
    parser.add_argument(
        "--port",
        metavar="N",
        type=port,
        action="append",
        default=[],
        help="treat this port as a Kafka broker, whatever the content is (may be repeated)",
    )
    parser.add_argument(
        "--only-port",
        metavar="N",
        type=port,
        action="append",
        default=[],
        help="read only connections from or to this port (may be repeated)",
    )
    parser.add_argument(
        "--keylog",
        metavar="FILE",
        type=_key_log,
        action="append",
        default=[],
        help="secrets of TLS sessions (SSLKEYLOGFILE), to read encrypted connections (may be repeated)",
    )
    _add_hosts(parser)
    add_limits(parser)
    if live:
        from kdissect.cli.options.live.live_options import (
            add_live,  # start-up: few commands take packets live
        )

        add_live(parser)


def _add_hosts(parser: ArgumentParser) -> None:
    """Add `--hosts` and `-n`."""
    parser.add_argument(
        "--hosts",
        metavar="FILE",
        type=_hosts,
        default=os.environ.get(HOSTS_VARIABLE),
        help="names for addresses: lines 'ADDRESS NAME' as in /etc/hosts, CSV, or JSON of kubectl get "
        f"(default: ${HOSTS_VARIABLE})",
    )
    parser.add_argument(
        "-n", dest="numeric", action="store_true", help="no names: print addresses as they are"
    )


def add_topic_ids(parser: ArgumentParser) -> None:
    """Add `--topic-ids`."""
    parser.add_argument(
        "--topic-ids",
        metavar="FILE",
        type=_topic_ids,
        help="names of topic ids that the captures do not name: lines 'ID NAME', JSON, or what kafka-topics "
        "--describe prints",
    )


def open_inputs(options: Namespace, make: Callable[..., Dissection] = Dissection) -> Dissection:
    """Open what the user named. `input_states.report` says after the reading what could not be read.

    `make` is the class of the dissection, or takes what that takes.
    Leaves with an exit code where a live capture cannot be started.
    """
    hosts = None if options.numeric else options.hosts
    topic_ids = getattr(options, "topic_ids", None)
    paths: Sequence[str] | Captures = options.paths
    if wants_live(options):
        from kdissect.cli.options.live.live_input import start_capture  # start-up: sources of packets

        paths = start_capture(options)
    only = options.only_port
    dissection = make(paths, options.port, topic_ids, options.keylog, hosts, only_ports=only)
    dissection.analyzer.reports_opened = False  # no command prints when a connection is recognised
    return dissection


def open_again(options: Namespace, first: Dissection) -> Dissection:
    """Return the inputs for a second reading, without the inputs that the first one stopped."""
    again = open_inputs(options)
    given_up = {first.captures.files[index].path for index in first.guard.given_up}
    for file in again.captures.files:
        if file.path in given_up:
            file.give_up("given up in the first reading")
    return again


def wants_live(options: Namespace) -> bool:
    """Return whether the input is to be captured now."""
    return bool(getattr(options, "interfaces", None) or getattr(options, "live", False))


def check_inputs(parser: ArgumentParser, options: Namespace) -> None:
    """Exit with code 2 if the options name no input, or two kinds of inputs."""
    if not hasattr(options, "interfaces") or getattr(options, "live", False):
        return
    if not options.paths and not options.interfaces:
        parser.error("the following arguments are required: PATH, or -i INTERFACE to capture live")
    if options.paths and options.interfaces:
        parser.error("-i captures live: it does not go with files")
    if options.paths:
        from kdissect.cli.options.live.live_options import refuse_without_interface  # start-up

        refuse_without_interface(parser, options)


def is_live(dissection: Dissection) -> bool:
    """Return whether an input is a stream that may still be written."""
    return dissection.captures.is_live


def start_ns(dissection: Dissection) -> int:
    """Return the time of the earliest packet read so far; 0 before the first."""
    times = [file.first_time_ns for file in dissection.captures.files if file.first_time_ns is not None]
    return min(times, default=0)


def was_read(dissection: Dissection) -> bool:
    """Return whether any input could be opened so far, and is a capture: otherwise there is no output."""
    return is_live(dissection) or any(file.format is not None for file in dissection.captures.files)


def is_input(dissection: Dissection, path: str) -> bool:
    """Return whether a path is one of the files to be read: writing to it would destroy it."""
    for file in dissection.captures.files:
        try:
            if os.path.samefile(file.path, path):  # noqa: PTH121  paths stay strings here
                return True
        except OSError:
            continue
    return False


def _topic_ids(path: str) -> dict[bytes, str]:
    from kdissect.history.topics.known_topics import parse_topic_ids  # start-up: seldom given

    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  importing pathlib costs more than the reading
            return parse_topic_ids(file.read())
    except (OSError, ValueError) as error:
        raise ArgumentTypeError(f"{path}: {error}") from None


def _hosts(path: str) -> dict[str, str]:
    from kdissect.model.hosts import parse_hosts  # start-up: seldom given

    skipped: list[str] = []
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  importing pathlib costs more than the reading
            found = parse_hosts(file.read(), skipped)
    except (OSError, ValueError) as error:
        raise ArgumentTypeError(f"{path}: {error}") from None
    if skipped:
        more = f" ({plural(len(skipped), 'address', 'addresses')} skipped)" if len(skipped) > 1 else ""
        say(f"{path}: {skipped[0]}: the address has no name{more}")
    return found


def _key_log(path: str) -> str:
    try:
        with open(path, "rb"):  # noqa: PTH123
            return path
    except OSError as error:
        raise ArgumentTypeError(f"{path}: {error.strerror}") from None


def port(text: str) -> int:
    """Return the number of a port, for argparse."""
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise ArgumentTypeError(f"{text!r} is no port")
    return int(text)
