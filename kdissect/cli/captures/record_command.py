"""`kdissect record`: a flight recorder, which keeps the minutes before an incident."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from functools import partial

from kdissect.capture.live.captures import LiveCaptures, open_live
from kdissect.capture.live.live_settings import (
    AUTO,
    LIBPCAP,
    SCAPY,
    BadOptionsError,
    LiveError,
    LiveSettings,
)
from kdissect.capture.live.privileges import drop_to, ids_of
from kdissect.capture.live.process_copy import HAS_COPIES
from kdissect.cli.diagnostics import FINDINGS, OK, UNREADABLE, USAGE, say
from kdissect.cli.options.argument_types import as_argument, count
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.input_options import add_inputs
from kdissect.cli.options.live.live_input import check_expression, end_by_signals, give_way, watch_lag
from kdissect.cli.options.live.live_options import add_live, byte_size, settings_of, time_span
from kdissect.cli.options.live.metrics_options import add_metrics, exposing
from kdissect.cli.output import Output
from kdissect.engine.times import SECOND_NS
from kdissect.model.wording import plural
from kdissect.recorder.condition import ANY_CAUSE, parse_condition
from kdissect.recorder.feed import Feed
from kdissect.recorder.flight_recorder import EVALUATED_EVERY_S, FlightRecorder
from kdissect.recorder.folder import NAMES, Folder, FolderError
from kdissect.recorder.index import index_json, index_markdown
from kdissect.recorder.messages import Messages
from kdissect.recorder.reading import Reading
from kdissect.recorder.recorder_metrics import Parts, of_recorder
from kdissect.recorder.replayed_files import ReplayedFiles
from kdissect.recorder.settings import LEVELS, RecorderSettings
from kdissect.recorder.webhook import parse_webhook, read_secret

_KEEP_S, _KEEP_BYTES = 600.0, 2 * 10**9
_SETTLE_S = 1.5  # the last packets of a command that has ended
_PRIVATE = 0o077
_BUFFER_MIB = 16  # 2 s of 20,000 small packets a second: the capture goes first, and this is all memory
_NICE = 5  # with 10, two busy cores leave an analysis a tenth of one: less than 20,000 packets a second need
_SNAPS = _WHOLE, _HEADERS = "whole", "headers"
_CONNECTIONS = _ALL, _CONCERNED = "all", "concerned"


def run(arguments: Sequence[str]) -> int:
    """Record, list or mark, and return the exit code."""
    words = list(arguments)
    if words[:1] == ["list"]:
        return _list(words[1:])
    if words[:1] == ["mark"]:
        return _mark(words[1:])
    at = words.index("--") if "--" in words else len(words)
    parser = _parser()
    options = parser.parse_args(words[:at])
    options.command = words[at + 1 :]
    settings = _settings(parser, options)
    if not HAS_COPIES:
        say("record needs a system that can copy processes: Linux or macOS")
        return UNREADABLE
    folder = Folder(options.directory)
    options.umask = os.umask(_PRIVATE)  # packets are for their owner alone
    try:
        folder.open()
        return _record(options, settings, folder)
    except (ValueError, BadOptionsError) as error:
        say(str(error))
        return USAGE
    except (FolderError, LiveError, OSError) as error:
        name = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
        say(f"{name}{error.strerror}" if isinstance(error, OSError) and error.strerror else str(error))
        return UNREADABLE
    finally:
        folder.close()
        os.umask(options.umask)


def _parser() -> ArgumentParser:
    parser = command_parser(
        "record",
        "Keep the last minutes of packets on disk. When a condition holds, write the packets before and "
        "after it to a folder, with the reports of why and check. "
        "kdissect record list DIR lists the incidents, kdissect record mark DIR [TEXT] makes one now. "
        "kdissect record ... -- COMMAND records while a command runs, and fails if there was an incident.",
    )
    add_inputs(parser)
    add_live(parser, writes=False, buffer_mib=_BUFFER_MIB)
    add = parser.add_argument_group("the recorder (docs/record.md)").add_argument
    add("-d", "--directory", metavar="DIR", required=True, help=(
        "folder for packets and incidents, which only its owner can read"
    ))  # fmt: skip
    add("--keep", dest="kept", metavar="TIME|SIZE", type=_time_or_size, action="append", default=[], help=(
        "packets to keep: 10m, 2GB; with two options, both (default: 10m and 2GB)"
    ))  # fmt: skip
    condition = as_argument(parse_condition)
    add("--when", metavar="CONDITION", type=condition, action="append", default=[], help=(
        "when to make an incident (may be repeated): a cause of why by id or severity, a rule of check, a "
        "filter such as 'errors == NOT_LEADER_OR_FOLLOWER, 20 in 10s' or 'latency p99 > 500ms for 1m' "
        "(default: cause, any cause that is not merely possible)"
    ))  # fmt: skip
    add(
        "--before", metavar="TIME", type=time_span, help="time before the problem (default: 5m, at most half)"
    )
    add("--after", metavar="TIME", type=time_span, default=60.0, help="time after it (default: 60s)")
    add("--cooldown", metavar="TIME", type=time_span, default=600.0, help=(
        "a problem that comes back within this time counts in its incident (default: 10m)"
    ))  # fmt: skip
    add("--max-incidents", metavar="N", type=count, default=100, help=(
        "incidents in DIR, after which further ones are only counted (default: 100)"
    ))  # fmt: skip
    webhook = as_argument(parse_webhook)
    add("--webhook", metavar="[KIND=]URL", type=webhook, action="append", default=[], help=(
        "send a message about each incident (may be repeated). KIND: json (default), slack, teams, or "
        "pagerduty=KEY. @FILE and env:NAME instead of URL or KEY read it from there"
    ))  # fmt: skip
    add("--webhook-key", metavar="@FILE|env:NAME", type=as_argument(read_secret), help=(
        "sign messages with this key (HMAC-SHA256 in X-Kdissect-Signature)"
    ))  # fmt: skip
    add("--redact", nargs="?", choices=LEVELS, const=LEVELS[0], default="", help=(
        "overwrite secrets in incidents, or also payloads or names, as extract does (default: secrets)"
    ))  # fmt: skip
    add("--snap", choices=_SNAPS, default=_WHOLE, help=(
        "headers: no packet on the disk has more than its TCP header. The analysis has whole packets "
        "(default: whole)"
    ))  # fmt: skip
    add("--connections", choices=_CONNECTIONS, default=_ALL, help=(
        "concerned: an incident has only the connections of the clients, groups or brokers that its problems "
        "name (default: all)"
    ))  # fmt: skip
    add("--user", metavar="NAME", default="", help=(
        "go on as this user once the capture is open. Requires root, and --source libpcap or scapy "
        "(default: libpcap)"
    ))  # fmt: skip
    add_metrics(parser, has_series=False)
    return parser


def _settings(parser: ArgumentParser, options: Namespace) -> RecorderSettings:
    files = [path for path in options.paths if path != "-"]
    if bool(options.interfaces) + bool(files) + ("-" in options.paths) != 1:
        parser.error("name one source: -i INTERFACE, capture files, or - for standard input")
    kept = options.kept or [(_KEEP_S, 0), (0.0, _KEEP_BYTES)]
    keep_s, keep_bytes = max(seconds for seconds, _ in kept), max(size for _, size in kept)
    before_s = options.before or (min(300.0, keep_s / 2) if keep_s else 300.0)
    settings = RecorderSettings(
        options.directory, options.when or [parse_condition(ANY_CAUSE)], keep_bytes, keep_s, before_s,
        options.after, options.cooldown, options.max_incidents, options.redact,
        Reading(options.port, options.only_port, options.keylog), options.snap == _HEADERS,
        options.connections == _CONCERNED,
    )  # fmt: skip
    problem = settings.contradiction()
    if problem:
        parser.error(problem)
    return settings


def _record(options: Namespace, settings: RecorderSettings, folder: Folder) -> int:
    files = None
    if options.paths and "-" not in options.paths:
        files = ReplayedFiles(options.paths, int(EVALUATED_EVERY_S * SECOND_NS))
    messages = Messages(folder, options.webhook, options.webhook_key or "", settings.redact != NAMES, say)
    is_fresh = files is None and not options.user  # another user may not be able to read our modules
    recorder = FlightRecorder(settings, folder, say, files, messages.announce, is_fresh)
    for incident in recorder.incidents.open:
        messages.announce(incident)  # a kill may have come first
    live = _live_settings(options, settings, folder)
    if files is not None:
        recorder.write_open()  # the files may be of another time
    if live.user:
        folder.give_to(*ids_of(live.user))
    # another user cannot open an interface again
    longest_lag_s = settings.longest_lag_s if files is None else 0.0
    returns = files is None and not live.user
    feed = Feed(partial(_begin, live, files), returns, recorder.look, say, longest_lag_s)
    if live.user:
        from kdissect.recorder.first_use import import_all, rehearse_incident  # memory: without --user

        import_all("kdissect.recorder.incident_writer")
        rehearse_incident(settings.folder)
        drop_to(live.user)
    process = None
    try:
        _listen(recorder, feed.stop)
        if files is None:
            give_way(_NICE)
            watch_lag(feed.behind)
            say(f"recording {_where(live)} to {settings.folder}; Ctrl-C ends")
        with exposing(options, of_recorder(Parts(recorder, feed, folder, messages))):
            process = _started(options.command, options.umask, feed.stop)
            recorder.run(feed)
    finally:
        feed.stop()
        feed.captures.close()
        messages.close()
    made = recorder.incidents.made
    say(f"{plural(feed.packets, 'packet')} recorded, {feed.drops} dropped; {plural(made, 'incident')}")
    if feed.unanalysed:
        say(f"{plural(feed.unanalysed, 'byte')} more were recorded without an analysis: it lagged")
    if feed.trouble:
        say(feed.trouble)
    if process is not None:
        code = process.wait()
        return code if code else FINDINGS if made else OK
    return UNREADABLE if feed.trouble else OK


def _live_settings(options: Namespace, settings: RecorderSettings, folder: Folder) -> LiveSettings:
    """Return the settings of the capture. Raises ValueError and BadOptionsError."""
    live = settings_of(None, options)
    if live.capture_filter:
        check_expression(live.capture_filter)
    if options.user and not live.interfaces:
        raise ValueError("--user needs -i: only a capture from an interface needs root")
    if options.user and live.source == AUTO:
        live = live._replace(source=LIBPCAP)
    if options.user and live.source not in (LIBPCAP, SCAPY):
        raise ValueError(f"--user goes with --source libpcap or scapy, not with {live.source}")
    return live._replace(
        path=folder.ring, ring=settings.ring, user=options.user, headers_only=settings.headers_only
    )


def _begin(live: LiveSettings, files: ReplayedFiles | None) -> LiveCaptures:
    if files is None:
        return open_live(live)
    captures = LiveCaptures(live, files, files.clock)
    captures.start()
    return captures


def _where(live: LiveSettings) -> str:
    return ", ".join(live.interfaces) or ("any" if live.source != "stdin" else "standard input")


def _listen(recorder: FlightRecorder, stop: Callable[[], object]) -> None:
    """End on a signal, and make an incident on SIGUSR1."""
    end_by_signals(stop)

    def mark(_number: int, _frame: object) -> None:
        recorder.signalled += 1

    signal.signal(signal.SIGUSR1, mark)


def _started(
    command: Sequence[str], umask: int, stop: Callable[[], object]
) -> subprocess.Popen[bytes] | None:
    """Start a command, after whose end the capture ends; None without one. Raises OSError.

    Its files get the modes that they have without the recorder.
    """
    if not command:
        return None
    process = subprocess.Popen(command, umask=umask)

    def wait() -> None:
        process.wait()
        time.sleep(_SETTLE_S)
        stop()

    threading.Thread(target=wait, name="kdissect-command", daemon=True).start()
    return process


def _list(words: Sequence[str]) -> int:
    parser = command_parser("record list", "List the incidents that a recorder made.")
    parser.add_argument("directory", metavar="DIR", help="folder of the recorder")
    parser.add_argument(
        "--format", choices=("markdown", "json"), default="markdown", help="default: markdown"
    )
    options = parser.parse_args(words)
    folder = Folder(options.directory)
    if not os.path.isdir(folder.incidents_path):  # noqa: PTH112
        say(f"{options.directory}: no recorder wrote here")
        return UNREADABLE
    page = index_json if options.format == "json" else index_markdown
    with Output() as output:
        output.write(page(folder.incidents(), folder.state()[1]).encode("utf-8", "replace"))
    return OK


def _mark(words: Sequence[str]) -> int:
    parser = command_parser("record mark", "Make an incident now, in the recorder of a folder.")
    parser.add_argument("directory", metavar="DIR", help="folder of the recorder")
    parser.add_argument("text", metavar="TEXT", nargs="?", default="", help="what it is about")
    options = parser.parse_args(words)
    folder = Folder(options.directory)
    if not folder.is_in_use:
        say(f"{options.directory}: no recorder runs here")
        return UNREADABLE
    before = os.umask(_PRIVATE)
    try:
        folder.mark(options.text)
    finally:
        os.umask(before)
    return OK


def _time_or_size(text: str) -> tuple[float, int]:
    """Return seconds or bytes: a size ends with B."""
    if text.lower().endswith("b"):
        return 0.0, byte_size(text)
    return time_span(text), 0
