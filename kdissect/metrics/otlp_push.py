"""Sends metrics to a collector at intervals, and once more at the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

from kdissect.metrics.catalogue import Exposed
from kdissect.metrics.otlp_metrics import otlp_message
from kdissect.otel.collector import METRICS, post
from kdissect.serdes.http_exchange import HttpFailureError


class OtlpPush:
    """Within it, metrics are sent to `url` every `seconds`, and once more when it ends.

    A failure is one line to `warn`, until a request succeeds again.
    """

    def __init__(self, url: str, exposed: Exposed, seconds: float, warn: Callable[[str], None]) -> None:
        self._url = url
        self._exposed = exposed
        self._seconds = seconds
        self._warn = warn
        self._has_failed = False
        self._begin_ns = time.time_ns()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> OtlpPush:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()
        self._send()

    def _run(self) -> None:
        while not self._is_over.wait(self._seconds):
            self._send()

    def _send(self) -> None:
        try:
            message = otlp_message(self._exposed, (self._begin_ns, time.time_ns()))
            post(self._url, METRICS, message)
        except HttpFailureError as error:
            if not self._has_failed:
                self._warn(f"metrics were not sent: {error}")
            self._has_failed = True
        else:
            self._has_failed = False
