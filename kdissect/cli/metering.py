"""`--metrics`: serves what a command counts to Prometheus while it reads."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING

from kdissect.api import Dissection
from kdissect.cli.diagnostics import say
from kdissect.cli.exits import USAGE

if TYPE_CHECKING:
    from kdissect.capture.files import Captures
    from kdissect.metrics.meter import Meter
    from kdissect.metrics.server import Address, MetricsServer
    from kdissect.metrics.snapshot import CaptureCounts
    from kdissect.model.finding import Finding


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
    """Within it what is read is counted and served, if that was asked for.

    `findings` says where those are, if traffic is judged. Entering raises SystemExit behind one line on
    stderr, where metrics cannot be served.
    """

    def __init__(
        self,
        options: Namespace,
        dissection: Dissection,
        findings: Callable[[], Iterable[Finding]] | None = None,
    ) -> None:
        # `inspect`, which shares its listing with `live`, has no such options.
        self._address: Address | None = getattr(options, "metrics", None)
        self._limit: int | None = getattr(options, "metrics_series", None)
        self._dissection = dissection
        self._findings = findings
        self._server: MetricsServer | None = None

    def __enter__(self) -> None:
        if self._address is None:
            return
        from kdissect.metrics.server import MetricsError, MetricsServer

        meter = self._new_meter()
        try:
            self._server = MetricsServer(self._address, meter.snapshot)
        except MetricsError as error:
            say(str(error))
            raise SystemExit(USAGE) from None
        self._dissection.observer = meter.add
        say(f"metrics at {self._server.address.url}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._dissection.observer = None
        if self._server is not None:
            self._server.close()

    def _new_meter(self) -> Meter:
        from kdissect.metrics.label_sets import MAX_LABEL_SETS
        from kdissect.metrics.meter import Meter

        dissection = self._dissection
        meter = Meter(dissection.topics, self._limit or MAX_LABEL_SETS)
        meter.findings = self._findings
        meter.capture = lambda: _capture_counts(dissection.captures)
        meter.other_anomalies = lambda: {
            str(kind): count for kind, count in dissection.analyzer.parser.anomaly_counts.items()
        }
        return meter


def _capture_counts(captures: Captures) -> CaptureCounts:
    from kdissect.metrics.snapshot import file_counts

    if not captures.is_live:
        return file_counts(captures.files)
    from kdissect.capture.live.captures import LiveCaptures

    if not isinstance(captures, LiveCaptures):  # a pipe, which somebody else writes
        return file_counts(captures.files)
    return file_counts(captures.files)._replace(
        dropped={"kernel": captures.drops},
        lag_ns=int(captures.behind().seconds * 1e9),
        unanalysed_bytes=captures.unanalysed,
    )


def _address(text: str) -> Address:
    from kdissect.metrics.server import parse_address

    try:
        return parse_address(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def _limit(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no number of label sets")
    return int(text)
