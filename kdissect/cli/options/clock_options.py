"""`--clocks-within`: by how much the clocks of captures from several places differ at most."""

from argparse import ArgumentParser, ArgumentTypeError

from kdissect.query.syntax.nodes import Literal
from kdissect.query.values.units import LATENCY


def add_clocks(parser: ArgumentParser) -> None:
    """Add the option; `clocks_within` is in nanoseconds, or None without the option."""
    parser.add_argument("--clocks-within", metavar="TIME", type=_time_span, help=(
        "of captures from two places: their clocks differ by no more (5ms; 0ms: one clock made both). "
        "Without it, the packets show the bound"
    ))  # fmt: skip


def _time_span(text: str) -> int:
    try:
        found = LATENCY.parse(Literal(text, False, 0, 0))
    except ValueError as error:
        raise ArgumentTypeError(str(error).replace("\n", "; ")) from None
    if found < 0:
        raise ArgumentTypeError(f"{text!r} is less than nothing")
    return int(found)
