"""Exposes what a command counts while it reads: to Prometheus, and to collectors of OpenTelemetry."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import TracebackType

from kdissect.api import Dissection
from kdissect.capture.files import Captures
from kdissect.capture.live.captures import LiveCaptures
from kdissect.cli.diagnostics import USAGE, say
from kdissect.metrics.catalogue import Exposed, of_snapshot
from kdissect.metrics.label_sets import MAX_LABEL_SETS
from kdissect.metrics.meter import Meter
from kdissect.metrics.scrape_guard import token_in
from kdissect.metrics.server import Address, MetricsError, MetricsServer
from kdissect.metrics.snapshot import CaptureCounts, file_counts
from kdissect.model.extras import missing_otel
from kdissect.model.finding import Finding
from kdissect.model.http_access import new_token
from kdissect.report.printable import printable

_INTERVAL_S = 60.0  # OpenTelemetry SDK: OTEL_METRIC_EXPORT_INTERVAL


class Metering:
    """Within it what is read is counted and exposed as the options say.

    Entering raises SystemExit behind one line on stderr, where metrics cannot be exposed.
    """

    def __init__(
        self, options: Namespace, dissection: Dissection, findings: Callable[[], Iterable[Finding]] | None
    ) -> None:
        self._options = options
        self._dissection = dissection
        self._findings = findings
        self._held = ExitStack()

    def __enter__(self) -> None:
        meter = self._new_meter()
        self._held.enter_context(served_and_sent(self._options, of_snapshot(meter.snapshot)))
        self._dissection.observer = meter.take
        self._dissection.analyzer.reports_opened = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._dissection.observer = None
        self._held.close()

    def _new_meter(self) -> Meter:
        dissection = self._dissection
        meter = Meter(dissection.topics, self._options.metrics_series or MAX_LABEL_SETS)
        meter.findings = self._findings
        meter.capture = lambda: _capture_counts(dissection.captures)
        meter.other_anomalies = lambda: {
            str(kind): count for kind, count in dissection.analyzer.parser.anomaly_counts.items()
        }
        return meter


@contextmanager
def served_and_sent(options: Namespace, exposed: Exposed) -> Iterator[None]:
    """Serve metrics to Prometheus and send them to a collector of OpenTelemetry, as the options say.

    Raises SystemExit after one line on stderr if that is impossible.
    """
    with ExitStack() as held:
        if options.metrics is not None:
            token_path, is_open = options.metrics_token, options.metrics_open
            held.enter_context(_serve(options.metrics, exposed, token_path, is_open))
        if options.metrics_otlp is not None:
            seconds = options.metrics_interval or _INTERVAL_S
            held.enter_context(_push(options.metrics_otlp, exposed, seconds))
        yield


def _push(endpoint: str, exposed: Exposed, seconds: float) -> AbstractContextManager[object]:
    missing = missing_otel()
    if missing is not None:
        say(f"--metrics-otlp {missing}")
        raise SystemExit(USAGE)
    from kdissect.metrics.otlp_push import OtlpPush  # an extra
    from kdissect.otel.collector import METRICS, signal_url  # the same

    return OtlpPush(signal_url(endpoint, METRICS, "--metrics-otlp"), exposed, seconds, say)


def _serve(address: Address, exposed: Exposed, token_path: str | None, is_open: bool) -> MetricsServer:
    """Serve metrics, and report where and how one scrapes them."""
    token, how = _token(token_path, is_open)
    try:
        server = MetricsServer(address, exposed, token)
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
