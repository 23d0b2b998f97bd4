"""`kdissect traces`: exchanges as spans of OpenTelemetry, into a file or to a collector."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from kdissect.api import Dissection
from kdissect.cli.diagnostics import say
from kdissect.cli.event_loop import Reading, read_events
from kdissect.cli.options.argument_types import http_url
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.exchange_selection import add_selection
from kdissect.cli.options.filter_option import add_filter, open_filtered, selected
from kdissect.cli.options.input_options import add_inputs, add_topic_ids
from kdissect.cli.options.output_options import printing
from kdissect.cli.output import Output, OutputError
from kdissect.engine.listed_rows import ListedRows
from kdissect.model.extras import missing_otel
from kdissect.model.wording import plural
from kdissect.serdes.http_exchange import HttpFailureError
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

JSON_LINES, PROTOBUF = "jsonl", "protobuf"
_BATCH = 512  # spans of a line or request: OTEL_BSP_MAX_EXPORT_BATCH_SIZE of the OpenTelemetry SDK


def run(arguments: Sequence[str]) -> int:
    """Write the spans and return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    missing = missing_otel()
    if missing is not None:
        parser.error(f"traces {missing}")
    if options.endpoint and (options.output or options.format):
        parser.error("--endpoint sends the spans: it does not go with --format and -o")
    dissection = open_filtered(parser, options)
    return printing(parser, options, dissection, partial(_copy, dissection, options))


def _parser() -> ArgumentParser:
    parser = command_parser(
        "traces",
        "Write exchanges as spans of OpenTelemetry (OTLP), into a file or to a collector. Headers "
        "traceparent of records join producers and consumers.",
    )
    add_inputs(parser)
    add_topic_ids(parser)
    add_selection(parser)
    add_filter(parser, times=False)
    add = parser.add_argument_group("where spans go").add_argument
    add(
        "--format",
        choices=(JSON_LINES, PROTOBUF),
        help="lines of OTLP JSON, or one OTLP message (default: what -o FILE ends with, else jsonl)",
    )
    add(
        "-o", "--output", metavar="FILE", help="write to FILE, or - for standard output, which is the default"
    )
    add("--endpoint", metavar="URL", type=http_url("--endpoint"), help=(
        "send the spans to an OTLP/HTTP collector instead, such as http://localhost:4318"
    ))  # fmt: skip
    parser.set_defaults(formats=(JSON_LINES, PROTOBUF))
    return parser


def _copy(dissection: Dissection, options: Namespace, output: Output) -> None:
    from kdissect.otel.collector import TRACES, signal_url  # an extra
    from kdissect.otel.encoding import json_line, protobuf, send  # the same
    from kdissect.otel.spans import Spans  # the same

    accepts = selected(options, dissection)
    spans = Spans(ListedRows(dissection.file_names, False, False, dissection.topics.topics_of))
    url = signal_url(options.endpoint, TRACES, "--endpoint") if options.endpoint else ""
    encode = protobuf if options.format == PROTOBUF else json_line
    waiting: list[ReadableSpan] = []

    def put() -> None:
        if not waiting:
            return
        if not url:
            output.write(encode(waiting))
        else:
            try:
                send(url, waiting)
            except HttpFailureError as error:
                raise OutputError(f"--endpoint: {error}") from None
        waiting.clear()

    def take(event: Event) -> None:
        if not isinstance(event, Exchange):
            return
        if accepts is not None and not accepts(event):
            dissection.topics.pass_by(event)
            return
        waiting.extend(spans.of(event))
        if len(waiting) >= _BATCH:
            put()

    reading = Reading()
    with reading:
        read_events(dissection, take)
    put()
    if spans.without_request:
        say(f"{plural(spans.without_request, 'response')} without a captured request: no span")
    reading.over()
