"""Seconds as options take them."""

from argparse import ArgumentTypeError


def seconds(text: str) -> float:
    """A number of seconds, 0 or more; for `type` of argparse."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise ArgumentTypeError(f"{text!r} is no number of seconds")
    return found
