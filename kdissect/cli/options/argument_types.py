"""Types of arguments: functions that read a text, for argparse."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import TypeVar

Read = TypeVar("Read")
_MOST = 0x7FFFFFFF


def as_argument(read: Callable[[str], Read]) -> Callable[[str], Read]:
    """Return a type for argparse, which then prints the reason of an error of `read`.

    Otherwise argparse prints the text, and with it what a URL has of a secret.
    """

    def argument(text: str) -> Read:
        try:
            return read(text)
        except (ValueError, OSError) as error:
            raise ArgumentTypeError(str(error)) from None

    return argument


def http_url(owner: str) -> Callable[[str], str]:
    """Return a type of http and https URLs. `owner` is the option."""

    def url(text: str) -> str:
        from kdissect.serdes.http_exchange import checked_url  # start-up: HTTP

        checked_url(text, owner)
        return text

    return as_argument(url)


def count(text: str) -> int:
    """Return a number above 0."""
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no number above 0")
    return min(int(text), _MOST)
