"""`--schema`: prints the JSON Schema of a report, with no capture or broker named."""

from __future__ import annotations

from argparse import Action, ArgumentParser
from collections.abc import Callable

from kdissect.cli.output import Output


def add_schema(add: Callable[..., object], schema: Callable[[], str], of: str) -> None:
    """Add the option to a parser or group. It prints the JSON Schema of something, and exits."""

    class PrintSchema(Action):
        def __call__(self, parser: ArgumentParser, *_: object) -> None:
            with Output() as output:
                output.write(schema().encode())
            parser.exit()

    add("--schema", action=PrintSchema, nargs=0, help=f"print the JSON Schema of {of}, and exit")
