"""Options of the commands that run on Spark, and whether it is installed."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError

from kdissect.cli.options.input_options import add_topic_ids
from kdissect.model.extras import are_installed, how_to_install

_NEEDS = ("pyspark", "pyarrow", "pandas")
INSTALL = f"kdissect pipeline needs the extra spark: {how_to_install('spark')}"


def add_spark(parser: ArgumentParser) -> None:
    """Add the options that `run` and `watch` share."""
    add = parser.add_argument
    add("--master", default="local[*]", metavar="URL", help=(
        "Spark master, or sc://HOST:PORT for Spark Connect; default: local[*], this process"
    ))  # fmt: skip
    add("--conf", metavar="NAME=VALUE", type=_setting, action="append", default=[], help=(
        "setting of Spark; may be repeated"
    ))  # fmt: skip
    add("--partition-by", metavar="COLUMN,...", type=_columns, default=("day", "broker"), help=(
        "columns that make directories; default: day,broker; 'none' for no directories"
    ))  # fmt: skip
    add("--recursive", action="store_true", help="search directories below those named, too")
    add_topic_ids(parser)


def _columns(text: str) -> tuple[str, ...]:
    return () if text == "none" else tuple(filter(None, text.split(",")))


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def count(text: str) -> int:
    """A number from 1 on, for argparse."""
    if not text.isdigit() or not int(text):
        raise ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def is_installed() -> bool:
    """Whether the extra is there."""
    return are_installed(*_NEEDS)
