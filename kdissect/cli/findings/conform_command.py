"""`kdissect conform`: tests a running broker against the protocol, with requests of its own."""

from __future__ import annotations

import signal
import tempfile
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

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
from kdissect.conform.broker_report import (
    conform_json,
    conform_schema,
    conform_text,
    statement_rows,
    version_rows,
)
from kdissect.conform.broker_run import BrokerRun, RunOverError
from kdissect.conform.broker_suite import Wanted, judged, test_broker
from kdissect.conform.version_tests import wanted_keys
from kdissect.model.endpoint import Endpoint
from kdissect.model.finding import Severity
from kdissect.schema.acceptance import resolve, taken_range
from kdissect.schema.protocol_messages import api_keys

if TYPE_CHECKING:
    from kdissect.report.verdict import Verdict

_TARGETS = ("broker",)


def run(arguments: Sequence[str]) -> int:
    """Test a broker, print the report and return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        apis = wanted_keys(options.apis) if options.apis else None
    except KeyError as error:
        parser.error(f"no API is named {error}")
    if options.command_config:
        needs_client("--command-config")
    settings = client_settings(options.command_config)
    baseline = read_baseline(options)
    release = {key: taken_range(key, options.target) for key in api_keys()} if options.target else None
    wanted = Wanted(apis, release, options.destructive)
    with tempfile.TemporaryDirectory(prefix="kdissect-conform-") as folder:
        path = options.capture or str(Path(folder) / "run.pcapng")
        try:
            with Path(path).open("wb") as capture, _interrupted_by_signals():
                found = test_broker(options.address, settings, options.timeout, wanted, capture)
        except OSError as error:
            say(f"{path}: {error.strerror}")
            return UNREADABLE
        except RunOverError as error:
            say(str(error))
            return UNREADABLE
        verdict = judged(found, path, [options.capture] if options.capture else [], baseline)
        code = writing(parser, options, lambda output: _write(options, output, found, verdict))
    if found.over:
        say(f"the run ended early: {found.over}")
    return code if code != OK else _code(options, found, verdict)


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


def _code(options: Namespace, found: BrokerRun, verdict: Verdict) -> int:
    if options.write_baseline:
        return write_baseline(options.write_baseline, verdict)
    if any(one.severity is Severity.ERROR and not one.known for one in verdict.findings):
        return FINDINGS
    if found.over:
        return UNREADABLE
    return OK if found.exercised else NOTHING


def _write(options: Namespace, output: Output, found: BrokerRun, verdict: Verdict) -> None:
    is_whole = not (options.fields or options.table or options.sort or options.limit)
    style = options.format or "text"
    if is_whole and style == "text":
        output.write_text(conform_text(found, verdict), "  again  ")
    elif is_whole and style == "json":
        output.write(conform_json(found, verdict).encode())
    elif is_whole and style in FORMATS:
        output.write(render(style, verdict))
    else:
        _write_rows(options, output, found, verdict)


def _write_rows(options: Namespace, output: Output, found: BrokerRun, verdict: Verdict) -> None:
    # start-up: few choose rows
    from kdissect.cli.findings.finding_tables import finding_tables
    from kdissect.cli.formats.held_rows import write_rows

    style = options.format or ("table" if output.is_terminal else "tsv")
    style = "table" if style == "text" else style
    if style not in ("table", *ROW_FORMATS):
        raise UsageError(f"{style} is a report of everything: --table, -e, --sort and --limit go with rows")
    tables = [
        RowTable("versions", lambda: version_rows(found, verdict)),
        RowTable("statements", lambda: statement_rows(found)),
        *finding_tables(verdict),
    ]
    write_rows({table.name: table for table in tables}[options.table or "versions"], style, options, output)


def _parser() -> ArgumentParser:
    parser = command_parser(
        "conform",
        "Test a running broker against the protocol. kdissect sends requests of each API version that the "
        "broker advertises, plays sequences such as the life of a topic or a transaction, and judges the "
        "responses with the rules of check and with statements of its own. It creates topics, groups and "
        "transactional ids that begin with kdissect-conform-, and deletes the topics and groups.",
    )
    parser.add_argument("tested", choices=_TARGETS, help="what to test")
    parser.add_argument(
        "address", metavar="HOST:PORT", type=_address, help="a broker; kdissect connects to no other host"
    )
    add = parser.add_argument_group("what to test").add_argument
    add("--api", dest="apis", metavar="NAME", action="append", default=[], help=(
        "only this API (may be repeated)"
    ))  # fmt: skip
    release = as_argument(resolve)
    add("--target", metavar="RELEASE", type=release, help="only versions that this Kafka release has")
    add("--destructive", action="store_true", help=(
        "also requests that may change the cluster, such as ACLs and those of controllers"
    ))  # fmt: skip
    connect = parser.add_argument_group("how to connect").add_argument
    connect("--command-config", metavar="FILE", help=(
        "properties of a Kafka client: security.protocol, sasl.*, ssl.* (PEM files)"
    ))  # fmt: skip
    connect("--timeout", metavar="TIME", type=time_span, default=10.0, help=(
        "wait for each response, such as 5s (default: 10s)"
    ))  # fmt: skip
    verdict = parser.add_argument_group("what fails").add_argument
    add_baseline(verdict)
    report = parser.add_argument_group("the report").add_argument
    report("--capture", metavar="FILE", help="write the packets of the run to a pcapng file")
    add_schema(report, conform_schema, "the JSON report")
    add_tables(parser, "versions", "statements", "findings", "software", text="text", reports=FORMATS)
    return parser


def _address(text: str) -> Endpoint:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ArgumentTypeError(f"{text!r} is no HOST:PORT")
    return Endpoint(host, int(port))
