"""Options that commands share which print records."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace

from kdissect.model.extras import how_to_install

FORMS = ("text", "hex", "json", "base64")


def add_forms(parser: ArgumentParser) -> None:
    """Add `--key-format` and `--value-format`; None where the user leaves the choice to us."""
    for part in ("key", "value"):
        parser.add_argument(
            f"--{part}-format",
            choices=FORMS,
            help=f"how to print {part}s; default: text (parquet: the bytes themselves)",
        )


def add_limit(parser: ArgumentParser) -> None:
    """Add `--limit`."""
    parser.add_argument("--limit", metavar="N", type=_positive, help="stop after N lines")


def check_parquet(options: Namespace) -> None:
    """Raises ValueError where Parquet was asked for and cannot be written."""
    if options.format != "parquet":
        return
    if options.output is None:
        raise ValueError("parquet needs --output FILE: it is no text")
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        raise ValueError(f"parquet needs pyarrow: {how_to_install('arrow')}")


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no number of lines")
    return int(text)
