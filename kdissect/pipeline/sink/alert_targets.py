"""Receivers of findings: a file of JSON lines, or a webhook.

A target takes all alerts of a call, or raises `NotSentError`. After a failure it receives all of them again,
although it may have taken some. Its name in messages has only the host of a URL: the path often is a token.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol
from urllib.request import Request

from kdissect.model.version import __version__
from kdissect.serdes.http_exchange import HttpFailureError, checked_url, exchange

Alert = dict[str, Any]
"""A finding as receivers get it."""

# A person waits for the alert, a stream for the person's webhook: less than the batches of most.
TIMEOUT_S = 5.0
# Waits between attempts: three attempts, 17 seconds at most, whatever the host does.
PAUSES_S = (0.5, 1.5)
_READ_BYTES = 1 << 16


class NotSentError(Exception):
    """A target did not take alerts. The text is one line for people, without secrets."""


class Target(Protocol):
    """A receiver of findings."""

    name: str
    """Its name in messages."""
    identity: str
    """Its identity among targets. May contain a secret."""

    def send(self, alerts: Sequence[Alert]) -> None:
        """Send some. Raises NotSentError."""


class JsonLines:
    """Appends a line to a file for each alert."""

    def __init__(self, path: str) -> None:
        self.name = path
        self.identity = f"jsonl={os.path.abspath(path)}"  # noqa: PTH100  pathlib would resolve links
        self._path = path

    def send(self, alerts: Sequence[Alert]) -> None:
        """Write and flush to disk. First remove a line that a kill cut off."""
        lines = "".join(json.dumps(alert, ensure_ascii=True) + "\n" for alert in alerts).encode()
        try:
            with open(self._path, "a+b") as file:  # noqa: PTH123
                _end_of_lines(file)
                file.write(lines)
                file.flush()
                if file.seekable():
                    os.fsync(file.fileno())
        except OSError as error:
            raise NotSentError(error.strerror or str(error)) from error


class Webhook:
    """Sender that posts a JSON list of alerts.

    `timeout_s` is the limit of an attempt in seconds, from the name lookup to the headers of the answer. It
    does not read the answer's body.
    """

    def __init__(
        self, url: str, timeout_s: float = TIMEOUT_S, pauses_s: Sequence[float] = PAUSES_S,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        parts = checked_url(url, "a webhook")
        self.name = f"{parts.scheme}://{parts.hostname}"
        self.identity = f"webhook={url}"
        self._url = url
        self._timeout_s = timeout_s
        self._pauses_s = pauses_s
        self._sleep = sleep

    def send(self, alerts: Sequence[Alert]) -> None:
        """Post the alerts. Try again if that may help."""
        body = json.dumps(list(alerts), ensure_ascii=True).encode()
        headers = {"Content-Type": "application/json", "User-Agent": f"kdissect/{__version__}"}
        pauses = iter(self._pauses_s)
        while True:
            try:
                exchange(Request(self._url, body, headers, method="POST"), self._timeout_s)
                return
            except HttpFailureError as failure:
                pause = next(pauses, None)
                if pause is None or not failure.may_pass:
                    raise NotSentError(str(failure)) from None
                self._sleep(pause)


def target_of(text: str) -> Target:
    """Return the target of `jsonl=FILE` or `webhook=URL`. Raises ValueError with one line for people."""
    kind, _, value = text.partition("=")
    if kind == "jsonl" and value:
        return JsonLines(value)
    if kind == "webhook" and value:
        return Webhook(value)
    raise ValueError(f"{kind!r} is neither jsonl=FILE nor webhook=URL")


def _end_of_lines(file: Any) -> None:
    """Cut a file after its last whole line."""
    if not file.seekable():
        return  # a pipe or a terminal
    end = position = file.seek(0, os.SEEK_END)
    while position:
        start = max(0, position - _READ_BYTES)
        file.seek(start)
        found = file.read(position - start).rfind(b"\n")
        if found >= 0 or not start:
            keep = start + found + 1
            if keep < end:
                file.truncate(keep)
            return
        position = start
