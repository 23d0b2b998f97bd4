"""`kdissect live`: captures, and lists the exchanges as they complete."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.cli.captures.inspect_command import list_exchanges
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.exchange_options import add_listing, check_listing
from kdissect.cli.options.input_options import add_inputs
from kdissect.cli.options.live.live_options import settings_of
from kdissect.cli.options.live.metrics_options import add_metrics, metering


def run(arguments: Sequence[str]) -> int:
    """Capture and print until the capture ends, and return the exit code."""
    parser = command_parser(
        "live",
        "Capture, and list the exchanges as they complete. With - the packets come from standard input: "
        "ssh host tcpdump -U -w - tcp port 9092 | kdissect live -",
    )
    add_inputs(parser, live=True)
    add_listing(parser)
    add_metrics(parser)
    parser.set_defaults(live=True)
    options = parser.parse_args(arguments)
    if options.paths not in ([], ["-"]):
        parser.error("live captures from interfaces (-i) or standard input (-): inspect reads files")
    if options.paths and options.interfaces:
        parser.error("packets come from an interface (-i) or from standard input (-), not from both")
    settings_of(parser, options)
    check_listing(parser, options)
    return list_exchanges(parser, options, metering)
