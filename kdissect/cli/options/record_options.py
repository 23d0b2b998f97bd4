"""Options that commands share which print records."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace

from kdissect.model.extras import are_installed, how_to_install

_FORMS = ("text", "hex", "json", "base64")


def add_forms(parser: ArgumentParser) -> None:
    """Add `--key-format` and `--value-format`; None where the user leaves the choice to us."""
    for part in ("key", "value"):
        parser.add_argument(
            f"--{part}-format",
            choices=_FORMS,
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
    if not are_installed("pyarrow"):
        raise ValueError(f"parquet needs pyarrow: {how_to_install('arrow')}")


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no number of lines")
    return int(text)
