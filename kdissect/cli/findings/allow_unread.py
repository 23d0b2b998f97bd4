"""`--allow-unread`: whether a verdict may be green though clients could not be read."""

from argparse import BooleanOptionalAction, Namespace
from collections.abc import Callable

from kdissect.api import Dissection
from kdissect.cli.diagnostics import NOTHING, OK, say


def add_allow_unread(add: Callable[..., object]) -> None:
    """Add the option to a parser or group."""
    add("--allow-unread", action=BooleanOptionalAction, help=(
        "exit with 0 even if TLS connections or link types could not be read (default: with 4)"
    ))  # fmt: skip


def green(options: Namespace, dissection: Dissection) -> int:
    """Return the exit code if the readable inputs have no finding."""
    unread = dissection.unread()
    if unread.is_whole or options.allow_unread:
        return OK
    say("exit code 4: the verdict leaves out what could not be read; --allow-unread accepts that")
    return NOTHING
