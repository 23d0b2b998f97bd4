"""Serves what a command counts to Prometheus while it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING

from kdissect.api import Dissection
from kdissect.capture.files import Captures
from kdissect.capture.live.captures import LiveCaptures
from kdissect.cli.diagnostics import USAGE, say
from kdissect.metrics.label_sets import MAX_LABEL_SETS
from kdissect.metrics.meter import Meter
from kdissect.metrics.scrape_guard import token_in
from kdissect.metrics.server import Address, MetricsError, MetricsServer, of_snapshot
from kdissect.metrics.snapshot import CaptureCounts, file_counts
from kdissect.model.finding import Finding
from kdissect.model.http_access import new_token
from kdissect.report.printable import printable

if TYPE_CHECKING:
    from prometheus_client.registry import Collector


class Metering:
    """Within it what is read is counted and served; `limit` bounds the label sets of each metric.

    A scraper needs the token in the file `token_path`, or a printed one, unless it `is_open`. Entering raises
    SystemExit behind one line on stderr, where metrics cannot be served.
    """

    def __init__(
        self,
        address: Address,
        token_path: str | None,
        is_open: bool,
        limit: int | None,
        dissection: Dissection,
        findings: Callable[[], Iterable[Finding]] | None,
    ) -> None:
        self._address = address
        self._token_path = token_path
        self._is_open = is_open
        self._limit = limit
        self._dissection = dissection
        self._findings = findings
        self._server: MetricsServer | None = None

    def __enter__(self) -> None:
        meter = self._new_meter()
        self._server = serve(self._address, of_snapshot(meter.snapshot), self._token_path, self._is_open)
        self._dissection.observer = meter.take
        self._dissection.analyzer.reports_opened = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._dissection.observer = None
        if self._server is not None:
            self._server.close()

    def _new_meter(self) -> Meter:
        dissection = self._dissection
        meter = Meter(dissection.topics, self._limit or MAX_LABEL_SETS)
        meter.findings = self._findings
        meter.capture = lambda: _capture_counts(dissection.captures)
        meter.other_anomalies = lambda: {
            str(kind): count for kind, count in dissection.analyzer.parser.anomaly_counts.items()
        }
        return meter


def serve(
    address: Address, collector: Callable[[], Collector], token_path: str | None, is_open: bool
) -> MetricsServer:
    """Serve metrics, and report where and how one scrapes them.

    Raises SystemExit after one line on stderr if metrics cannot be served.
    """
    token, how = _token(token_path, is_open)
    try:
        server = MetricsServer(address, collector, token)
    except MetricsError as error:
        say(str(error))
        raise SystemExit(USAGE) from None
    say(f"metrics at {server.address.url} {how}")
    return server


def _token(path: str | None, is_open: bool) -> tuple[str | None, str]:
    """Return the token, None for an open server, and how one scrapes it."""
    if is_open:
        return None, "for everybody who reaches it: --metrics-open"
    if path is None:
        token = new_token()
        return token, f"with Authorization: Bearer {token}"
    try:
        return token_in(path), f"with the token in {printable(path)}"
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        say(f"--metrics-token {printable(path)}: {why}")
        raise SystemExit(USAGE) from None


def _capture_counts(captures: Captures) -> CaptureCounts:
    if not captures.is_live:
        return file_counts(captures.files)
    if not isinstance(captures, LiveCaptures):  # a pipe, which somebody else writes
        return file_counts(captures.files)
    return file_counts(captures.files)._replace(
        dropped={"kernel": captures.drops},
        lag_ns=int(captures.behind().seconds * 1e9),
        unanalysed_bytes=captures.unanalysed,
    )
