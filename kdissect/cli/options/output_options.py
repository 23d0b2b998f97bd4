"""Options of commands that print rows: `--format`, `-o`, `--color`, and the handling of a failing output."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence

from kdissect.api import Dissection
from kdissect.cli.diagnostics import OK, UNREADABLE, say
from kdissect.cli.input_states import report, report_interrupted
from kdissect.cli.options.input_options import is_input, is_live, was_read
from kdissect.cli.output import Output, OutputError, UsageError
from kdissect.engine.exchange_rows import RowField
from kdissect.model.extras import are_installed, how_to_install
from kdissect.model.limits import in_force

_FORMS = ("text", "hex", "json", "base64")
UNSORTED = "parquet of records is written as they are read: --sort goes with other formats"
CLOCKS = ("utc", "local", "relative", "delta")
# Names in `query.fields.printed_fields.Behind` for the source of a row.
OF_NOTHING, OF_CONNECTIONS, OF_RECORDS, OF_EXCHANGES = (
    "nothing", "connection", "exchange of a record", "exchange",
)  # fmt: skip


def add_fields(parser: ArgumentParser, help_text: str) -> None:
    """Add `-e`; `choose_columns` turns its values into columns."""
    parser.add_argument(
        "-e",
        dest="fields",
        metavar="FIELD,...",
        action="append",
        default=[],
        help=f"{help_text}. +FIELD: the default columns, and this one",
    )
    parser.set_defaults(columns=(), and_usual=False)


def choose_columns(options: Namespace, fields: Sequence[RowField], behind: str = OF_NOTHING) -> None:
    """Set `options.columns` from `-e`, as `named_fields.columns_of` has them, and `options.order`.

    The order then cares for `--limit`. Raises ValueError.
    """
    if not options.fields and not options.sort:
        return
    from kdissect.cli.formats.named_fields import columns_of, split_more, split_names  # start-up: of -e

    options.fields, options.and_usual = split_more(split_names(options.fields))
    options.columns = columns_of(options.fields, fields, behind)
    if not options.sort:
        return
    from kdissect.cli.formats.held_rows import Order, split_way  # start-up: of --sort
    from kdissect.cli.formats.named_fields import needs_bodies

    name, way = split_way(options.sort)
    (column,) = columns_of([name], fields, behind)
    if needs_bodies([column]) and not (needs_bodies(options.columns) or getattr(options, "bodies", False)):
        raise ValueError(f"lines have no bodies: name {name} in -e, too")
    is_shown = not column.is_made or column.name in options.fields
    most = options.limit or in_force().sorted_rows
    options.order, options.limit = Order(column, way, most, options.limit is not None, is_shown), None


def add_printing(parser: ArgumentParser, formats: Sequence[str]) -> None:
    """Add the options; `options.format` is None where the user leaves the choice to us."""
    group = parser.add_argument_group("how to print them")
    add = group.add_argument
    add("--format", choices=formats, help=(
        "default: what -o FILE ends with, else table on a terminal, tsv otherwise"
    ))  # fmt: skip
    add("--json", dest="format", action="store_const", const="json", help="short for --format json")
    parser.set_defaults(formats=tuple(formats))
    add("--no-header", dest="header", action="store_false", help="no line with the names of the columns")
    add_output(group.add_argument)


def add_time(parser: ArgumentParser) -> None:
    """Add `--time`."""
    parser.add_argument("--time", choices=CLOCKS, default=CLOCKS[0], help=(
        "times in a table: of the day in UTC (default) or in the zone of this machine, with the date where "
        "days differ. Or seconds since the first packet, or since the row before"
    ))  # fmt: skip


def add_output(add: Callable[..., object]) -> None:
    """Add `-o` and `--color` to a parser or group."""
    add(
        "-o", "--output", metavar="FILE", help="write to FILE, or - for standard output, which is the default"
    )
    add("--color", choices=("auto", "always", "never"), default="auto", help="default: auto, on a terminal")
    add("--wide", action="store_true", help="tables with all columns, however narrow the terminal is")


def printing(
    parser: ArgumentParser, options: Namespace, dissection: Dissection, body: Callable[[Output], None]
) -> int:
    """Run `body` with the output open, report the inputs' faults and return the exit code."""
    wrote, read = written_and_read(parser, options, dissection, body)
    return wrote or read


def written_and_read(
    parser: ArgumentParser, options: Namespace, dissection: Dissection, body: Callable[[Output], None]
) -> tuple[int, int]:
    """Do `printing`, and return the exit codes of the output and of the inputs separately."""
    if options.output and is_input(dissection, options.output):
        parser.error(f"{options.output} is one of the captures to be read")

    def read_body(output: Output) -> None:
        body(output)
        if not was_read(dissection):
            output.keep_old()

    try:
        wrote = writing(parser, options, read_body, is_live(dissection))
    except KeyboardInterrupt:
        how_far = report_interrupted(dissection, options)
        raise KeyboardInterrupt(f"what is printed is partial: {how_far}") from None
    return wrote, OK if wrote else report(dissection, options)


def writing(
    parser: ArgumentParser, options: Namespace, body: Callable[[Output], None], live: bool = False
) -> int:
    """Run `body` with the output open and return the exit code."""
    settle_format(parser, options)
    try:
        output = Output(None if options.output == "-" else options.output, live)
    except OutputError as error:
        parser.error(str(error))
    try:
        with output:
            body(output)
    except UsageError as error:
        parser.error(str(error))
    except OutputError as error:
        say(str(error))
        return UNREADABLE
    return OK


# Options that commands share which print records.
def add_forms(parser: ArgumentParser) -> None:
    """Add `--key-format` and `--value-format`; None where the user leaves the choice to us."""
    for part in ("key", "value"):
        parser.add_argument(
            f"--{part}-format",
            choices=_FORMS,
            help=f"how to print {part}s (default: text, parquet: the bytes)",
        )


def add_limit(parser: ArgumentParser) -> None:
    """Add `--limit` and `--sort`."""
    parser.add_argument(
        "--limit", metavar="N", type=positive, help="stop after N lines, or print the first N of sorted lines"
    )
    parser.add_argument("--sort", metavar="FIELD", help=(
        "sort the lines at the end: the largest number first, texts in ascending order; FIELD:asc, "
        "FIELD:desc"
    ))  # fmt: skip
    parser.set_defaults(order=None)


def settle_format(parser: ArgumentParser, options: Namespace) -> None:
    """Without `--format` the name of `-o FILE` says it, where it ends like a format. May be called again.

    Exits with code 2 if Parquet is chosen and cannot be written.
    """
    if getattr(options, "format", "") is None and options.output:
        if options.output in options.formats:  # as `kubectl -o json`
            name = options.output
            parser.error(f"argument -o: --format {name} chooses the format (a file of that name: ./{name})")
        _, dot, end = options.output.rpartition(".")
        options.format = end if dot and end in options.formats else None
    try:
        check_parquet(options)
    except ValueError as error:
        parser.error(str(error))


def check_parquet(options: Namespace) -> None:
    """Raise ValueError if Parquet is chosen and cannot be written."""
    if getattr(options, "format", None) != "parquet":
        return
    if options.output in (None, "-"):
        raise ValueError("parquet needs --output FILE: it is no text")
    if not are_installed("pyarrow"):
        raise ValueError(f"parquet needs pyarrow: {how_to_install('arrow')}")


def positive(text: str) -> int:
    """Return a number of lines, 1 or more, for argparse."""
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a line count")
    return int(text)
