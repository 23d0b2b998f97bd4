"""`kdissect conform`: tests a running broker or a client against the protocol, and compares two reports."""

from __future__ import annotations

import signal
import tempfile
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kdissect.capture.whole_file import is_special
from kdissect.cli.diagnostics import ENDING_SIGNALS, FINDINGS, NOTHING, OK, UNREADABLE, say
from kdissect.cli.findings.baseline_options import add_baseline, read_baseline, write_baseline
from kdissect.cli.findings.report_files import FORMATS, render
from kdissect.cli.formats.row_table import RowTable
from kdissect.cli.formats.titled_tables import ROW_FORMATS, add_tables
from kdissect.cli.options.argument_types import as_argument
from kdissect.cli.options.client_config import client_settings, needs_client
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.live.live_options import time_span
from kdissect.cli.options.output_options import writing
from kdissect.cli.options.printed_schema import add_schema
from kdissect.cli.output import Output, UsageError
from kdissect.conform.broker_report import broker_report
from kdissect.conform.broker_run import RunOverError
from kdissect.conform.broker_suite import Wanted, test_broker
from kdissect.conform.broker_suite import judged as broker_verdict
from kdissect.conform.conform_report import ConformReport, conform_json, conform_schema, conform_text
from kdissect.conform.version_tests import wanted_keys
from kdissect.model.endpoint import Endpoint
from kdissect.model.finding import Severity
from kdissect.model.topic_name import is_legal_topic_name
from kdissect.schema.acceptance import releases, resolve, taken_range
from kdissect.schema.protocol_messages import api_keys

if TYPE_CHECKING:
    from kdissect.report.baseline import Baseline

_TARGETS = ("broker", "client", "diff")


def run(arguments: Sequence[str]) -> int:
    """Test a broker or a client, print the report and return the exit code."""
    words = list(arguments)
    if words[:1] == ["diff"]:
        from kdissect.cli.findings import conform_diff  # start-up: most test something

        return conform_diff.run(words[1:])
    at = words.index("--") if "--" in words else len(words)
    parser = _parser()
    options = parser.parse_args(words[:at])
    options.command = words[at + 1 :]
    if options.tested == "diff":
        parser.error("conform diff A.json B.json requires diff as its first word")
    if options.capture == "-" or (options.capture and is_special(options.capture)):
        parser.error(f"--capture {options.capture} is no regular file, and kdissect reads the packets again")
    if options.tested == "client":
        _check_client(parser, options)
    else:
        _check_broker(parser, options)
    baseline = read_baseline(options)
    with tempfile.TemporaryDirectory(prefix="kdissect-conform-") as folder:
        path = options.capture or str(Path(folder) / "run.pcapng")
        test = _client if options.tested == "client" else _broker
        try:
            found = test(options, path, baseline)
        except OSError as error:
            say(f"{error.filename or path}: {error.strerror}")
            return UNREADABLE
        except RunOverError as error:
            say(str(error))
            return UNREADABLE
        code = writing(parser, options, lambda output: _write(options, output, found))
    if found.over:
        say(f"the run ended early: {found.over}")
    return code if code != OK else _code(options, found)


def _check_broker(parser: ArgumentParser, options: Namespace) -> None:
    if options.address is None or options.command:
        parser.error("conform broker requires HOST:PORT, and no command")
    if options.situations or options.topics:
        parser.error("--situation and --topic are options of conform client")
    try:
        options.keys = wanted_keys(options.apis) if options.apis else None
    except KeyError as error:
        parser.error(f"no API is named {error}")
    if options.command_config:
        needs_client("--command-config")
    options.settings = client_settings(options.command_config)


def _check_client(parser: ArgumentParser, options: Namespace) -> None:
    # start-up: most test brokers
    from kdissect.conform.client.situations import SITUATIONS

    if options.address is not None or not options.command:
        parser.error("conform client requires -- COMMAND, and no HOST:PORT")
    if not options.command[0]:
        parser.error("the first word of COMMAND is empty: conform client requires the name of a program")
    for topic in options.topics:
        if not is_legal_topic_name(topic):
            parser.error(
                f"--topic {topic!r}: a topic name has 1 to 249 letters, digits, '.', '_' and '-', "
                "and is neither '.' nor '..'"
            )
    if options.apis or options.command_config or options.destructive:
        parser.error("--api, --command-config and --destructive are options of conform broker")
    known = [one.name for one in SITUATIONS]
    for name in options.situations:
        if name not in known:
            parser.error(f"no situation is named {name!r}; the situations are: {', '.join(known)}")


def _broker(options: Namespace, path: str, baseline: Baseline | None) -> ConformReport:
    release = {key: taken_range(key, options.target) for key in api_keys()} if options.target else None
    wanted = Wanted(options.keys, release, options.destructive)
    with Path(path).open("wb") as capture, _interrupted_by_signals():
        found = test_broker(options.address, options.settings, options.timeout or 10.0, wanted, capture)
    return broker_report(found, broker_verdict(found, path, _shown(options), baseline))


def _client(options: Namespace, path: str, baseline: Baseline | None) -> ConformReport:
    # start-up: most test brokers
    from kdissect.conform.client.client_report import client_report
    from kdissect.conform.client.client_suite import ClientRun, judged, play_situations

    release, timeout = options.target or releases()[-1], options.timeout or 30.0
    found = ClientRun(options.command, release, timeout, options.topics)
    with Path(path).open("wb") as capture, _interrupted_by_signals():
        play_situations(found, options.situations, capture)
    return client_report(found, judged(found, path, _shown(options), baseline))


def _shown(options: Namespace) -> list[str]:
    return [options.capture] if options.capture else []


@contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    """Let signals that end a program raise KeyboardInterrupt, unless they are ignored."""
    numbers = [getattr(signal, name) for name in ENDING_SIGNALS if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _code(options: Namespace, found: ConformReport) -> int:
    if options.write_baseline:
        code = write_baseline(options.write_baseline, found.verdict)
        return UNREADABLE if code == OK and found.over else code
    if any(one.severity is Severity.ERROR and not one.known for one in found.verdict.findings):
        return FINDINGS
    if found.over:
        return UNREADABLE
    return OK if found.exercised else NOTHING


def _write(options: Namespace, output: Output, found: ConformReport) -> None:
    is_whole = not (options.fields or options.table or options.sort or options.limit)
    style = options.format or "text"
    if is_whole and style == "text":
        output.write_text(conform_text(found), "  again  ")
    elif is_whole and style == "json":
        output.write(conform_json(found).encode())
    elif is_whole and style in FORMATS:
        output.write(render(style, found.verdict))
    else:
        _write_rows(options, output, found)


def _write_rows(options: Namespace, output: Output, found: ConformReport) -> None:
    # start-up: few choose rows
    from kdissect.cli.findings.finding_tables import finding_tables
    from kdissect.cli.formats.held_rows import write_rows

    style = options.format or ("table" if output.is_terminal else "tsv")
    style = "table" if style == "text" else style
    if style not in ("table", *ROW_FORMATS):
        raise UsageError(f"{style} is a report of everything: --table, -e, --sort and --limit go with rows")
    tables = [
        RowTable("versions", lambda: list(found.versions)),
        RowTable("statements", lambda: list(found.statements)),
        RowTable("situations", lambda: list(found.situations)),
        *finding_tables(found.verdict),
    ]
    write_rows({table.name: table for table in tables}[options.table or "versions"], style, options, output)


def _parser() -> ArgumentParser:
    parser = command_parser(
        "conform",
        "Test a broker or a client against the protocol. conform broker sends requests of each API version "
        "that the broker advertises, and plays sequences such as the life of a topic or a transaction. It "
        "creates topics, groups and transactional ids that begin with kdissect-conform-, and deletes the "
        "topics and groups. conform client runs COMMAND with a scripted cluster on loopback, once for each "
        "situation, such as a leader change. conform diff A.json B.json compares two reports.",
    )
    parser.add_argument("tested", choices=_TARGETS, help="what to test, or diff")
    parser.add_argument(
        "address", metavar="HOST:PORT", nargs="?", type=_address,
        help="broker: a broker; kdissect connects to no other host",
    )  # fmt: skip
    add = parser.add_argument_group("what to test").add_argument
    add("--api", dest="apis", metavar="NAME", action="append", default=[], help=(
        "broker: only this API (may be repeated)"
    ))  # fmt: skip
    add("--situation", dest="situations", metavar="NAME", action="append", default=[], help=(
        "client: only this situation (may be repeated)"
    ))  # fmt: skip
    add("--topic", dest="topics", metavar="NAME", action="append", default=[], help=(
        "client: a topic that the cluster has before a client names it (may be repeated)"
    ))  # fmt: skip
    release = as_argument(resolve)
    add("--target", metavar="RELEASE", type=release, help=(
        "broker: only versions that this Kafka release has; client: the release of the cluster "
        "(default: the newest)"
    ))  # fmt: skip
    add("--destructive", action="store_true", help=(
        "broker: also requests that may change the cluster, such as ACLs and those of controllers"
    ))  # fmt: skip
    connect = parser.add_argument_group("how to connect").add_argument
    connect("--command-config", metavar="FILE", help=(
        "broker: properties of a Kafka client: security.protocol, sasl.*, ssl.* (PEM files)"
    ))  # fmt: skip
    connect("--timeout", metavar="TIME", type=time_span, help=(
        "broker: wait for each response (default: 10s); client: time until each situation is played "
        "(default: 30s)"
    ))  # fmt: skip
    verdict = parser.add_argument_group("what fails").add_argument
    add_baseline(verdict)
    report = parser.add_argument_group("the report").add_argument
    report("--capture", metavar="FILE", help="write the packets of the run to a pcapng file")
    add_schema(report, conform_schema, "the JSON report")
    add_tables(
        parser, "versions", "statements", "situations", "findings", "software", text="text", reports=FORMATS
    )
    return parser


def _address(text: str) -> Endpoint:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ArgumentTypeError(f"{text!r} is no HOST:PORT")
    return Endpoint(host, int(port))
