"""`--limits`: other bounds than the usual ones, for this process and those it starts."""

from __future__ import annotations

from argparse import Action, ArgumentError, ArgumentParser, Namespace
from typing import Any

from kdissect.cli.options.command_parser import EARLY_OPTION
from kdissect.model.limits import DEFAULT_LIMITS, in_force, use


def add_limits(parser: ArgumentParser) -> None:
    """Add the option. What it says holds from the parsing on: filters are parsed behind it."""
    parser.add_argument(
        EARLY_OPTION,
        metavar="NAME=VALUE,...",
        action=_UseLimits,
        help="other bounds than the usual ones on memory and time, such as batch_bytes=1GiB; "
        "see: kdissect limits",
    )
    parser.set_defaults(limits=DEFAULT_LIMITS)


class _UseLimits(Action):
    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, *_: object) -> None:
        from kdissect.model.limit_notes import parse_limits  # start-up: seldom given

        try:
            use(parse_limits(values, in_force()))
        except ValueError as error:
            raise ArgumentError(self, str(error)) from None
        setattr(namespace, self.dest, in_force())
