"""`--alert`: who is told of findings while they are made."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kdissect.pipeline.sink.alert_targets import Target


def add_alerts(add: Callable[..., object]) -> None:
    """Add the option to a parser or group; `options.alert` are targets as `sink.alerts.Alerts` takes them."""
    add("--alert", metavar="jsonl=FILE|webhook=URL", type=_target, action="append", default=[], help=(
        "tell each finding once: a line of JSON in FILE, or a list of them posted to URL; may be repeated"
    ))  # fmt: skip


def _target(text: str) -> Target:
    from kdissect.pipeline.sink.alert_targets import target_of

    try:
        return target_of(text)
    except ValueError as error:  # argparse would print the text, and with it what a URL has of a secret
        raise ArgumentTypeError(str(error)) from None
