"""`--metrics` and `--metrics-otlp`: whether what a command counts is served to Prometheus, or sent to a
collector of OpenTelemetry, and where.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from kdissect.api import Dissection
from kdissect.cli.diagnostics import USAGE, say
from kdissect.cli.options.argument_types import http_url
from kdissect.cli.options.time_options import seconds

if TYPE_CHECKING:
    from kdissect.metrics.catalogue import Exposed
    from kdissect.metrics.server import Address
    from kdissect.model.finding import Finding


def add_metrics(parser: ArgumentParser, has_series: bool = True) -> None:
    """Add where metrics go, who may read them, and `--metrics-series` if the labels come from the traffic."""
    group = parser.add_argument_group("metrics")
    add = group.add_argument
    add("--metrics", metavar="[HOST]:PORT", type=_address, help=(
        "serve metrics to Prometheus while reading. Without HOST: on 127.0.0.1"
    ))  # fmt: skip
    access = group.add_mutually_exclusive_group().add_argument
    access("--metrics-token", metavar="FILE", help=(
        "require the token in FILE, which is created if missing (default: a random token, printed on stderr)"
    ))  # fmt: skip
    access("--metrics-open", action="store_true", help="serve metrics without a token")
    add("--metrics-otlp", metavar="URL", type=http_url("--metrics-otlp"), help=(
        "send metrics to an OTLP/HTTP collector, such as http://localhost:4318, at intervals and at the end"
    ))  # fmt: skip
    add("--metrics-interval", metavar="SECONDS", type=seconds, help="between two sendings (default: 60)")
    if not has_series:
        return
    add("--metrics-series", metavar="N", type=_limit, help=(
        "label sets of each metric. Later label sets count as other (default: 1000)"
    ))  # fmt: skip


def metering(
    options: Namespace, dissection: Dissection, findings: Callable[[], Iterable[Finding]] | None = None
) -> AbstractContextManager[None]:
    """Count the input and expose the counts within the context, if the options say so.

    `findings` returns the findings, if traffic is judged. Entering raises SystemExit behind one line on
    stderr, where metrics cannot be exposed.
    """
    if not _are_wanted(options):
        return nullcontext()
    from kdissect.cli.options.live.metering import Metering  # start-up: a server

    return Metering(options, dissection, findings)


def exposing(options: Namespace, exposed: Exposed) -> AbstractContextManager[None]:
    """Expose metrics within the context, if the options say so. Raises SystemExit."""
    if not _are_wanted(options):
        return nullcontext()
    from kdissect.cli.options.live.metering import served_and_sent  # start-up: a server

    return served_and_sent(options, exposed)


def _are_wanted(options: Namespace) -> bool:
    if options.metrics is None and (options.metrics_open or options.metrics_token is not None):
        say("--metrics-token and --metrics-open need --metrics")
        raise SystemExit(USAGE)
    if options.metrics_otlp is None and options.metrics_interval is not None:
        say("--metrics-interval needs --metrics-otlp")
        raise SystemExit(USAGE)
    return options.metrics is not None or options.metrics_otlp is not None


def _address(text: str) -> Address:
    from kdissect.metrics.server import parse_address  # start-up: a server

    try:
        return parse_address(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def _limit(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a label set count")
    return int(text)
