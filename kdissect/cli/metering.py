"""`--metrics`: serves what a command counts to Prometheus while it reads."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from kdissect.api import Dissection
from kdissect.cli.diagnostics import say
from kdissect.cli.exits import USAGE
from kdissect.model.finding import Finding
from kdissect.session.events import Event

if TYPE_CHECKING:
    from kdissect.metrics.address import Address
    from kdissect.metrics.capture_counts import CaptureCounts
    from kdissect.metrics.meter import Meter
    from kdissect.metrics.server import MetricsServer


def add_metrics(parser: ArgumentParser) -> None:
    """Add `--metrics` and `--metrics-series`."""
    add = parser.add_argument_group("metrics").add_argument
    add("--metrics", metavar="[HOST]:PORT", type=_address, help=(
        "serve metrics to Prometheus while reading; without HOST: on 127.0.0.1"
    ))  # fmt: skip
    add("--metrics-series", metavar="N", type=_limit, help=(
        "label sets of each metric; what comes later counts as other; default: 1000"
    ))  # fmt: skip


class Metering:
    """Within it metrics are served, if they were asked for; `watch` counts what goes by.

    `findings` and `capture` say where those counts come from. Entering raises SystemExit behind one line on
    stderr, where metrics cannot be served.
    """

    def __init__(
        self,
        options: Namespace,
        dissection: Dissection,
        findings: Callable[[], Iterable[Finding]] | None = None,
        capture: Callable[[], CaptureCounts] | None = None,
    ) -> None:
        self._address: Address | None = options.metrics
        self._limit: int | None = options.metrics_series
        self._dissection = dissection
        self._findings = findings
        self._capture = capture
        self._meter: Meter | None = None
        self._server: MetricsServer | None = None

    def __enter__(self) -> Metering:
        if self._address is None:
            return self
        from kdissect.metrics.errors import MetricsError
        from kdissect.metrics.server import MetricsServer

        self._meter = self._new_meter()
        try:
            self._server = MetricsServer(self._address, self._meter.snapshot)
        except MetricsError as error:
            say(str(error))
            raise SystemExit(USAGE) from None
        say(f"metrics at {self._server.address.url}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()

    def watch(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events, counted as they go by."""
        return iter(events) if self._meter is None else self._meter.watch(events)

    def _new_meter(self) -> Meter:
        from kdissect.metrics.capture_counts import file_counts
        from kdissect.metrics.label_sets import MAX_LABEL_SETS
        from kdissect.metrics.meter import Meter

        dissection = self._dissection
        meter = Meter(dissection.topics, self._limit or MAX_LABEL_SETS)
        meter.findings = self._findings
        meter.capture = self._capture or (lambda: file_counts(dissection.captures.files))
        meter.other_anomalies = lambda: {
            str(kind): count for kind, count in dissection.analyzer.parser.anomaly_counts.items()
        }
        return meter


def _address(text: str) -> Address:
    from kdissect.metrics.address import parse_address

    try:
        return parse_address(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def _limit(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no number of label sets")
    return int(text)
