"""The first signal to end asks a long run to end well; a second one ends it at once."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class StopSignals:
    """Used with `with`, in the main thread. `came()` says whether a signal came."""

    def __init__(self) -> None:
        self._came = False
        self._before: dict[int, Any] = {}

    def came(self) -> bool:
        """Whether to end."""
        return self._came

    def __enter__(self) -> StopSignals:
        for name in _NAMES:
            number = getattr(signal, name, None)
            if number is not None:
                self._before[number] = signal.signal(number, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._came = True
        for known in self._before:
            signal.signal(known, signal.default_int_handler)
