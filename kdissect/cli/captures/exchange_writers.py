"""Writers of exchange lines, by the options of the list."""

from argparse import Namespace
from typing import Protocol

from kdissect.api import Dissection
from kdissect.cli.output import Output
from kdissect.session.exchange import Exchange

# One line an exchange for scripts, unless `-e` chooses columns.
_DEFAULT_COLUMNS = (
    "number", "request.time", "client", "broker", "client_id", "api_key", "api", "api_version",
    "correlation_id",
    "state", "latency_ns", "request.bytes", "response.bytes", "errors", "topics",
)  # fmt: skip
_BODY_COLUMNS = ("request.body", "request.error", "response.body", "response.error")


class Writer(Protocol):
    """Turns exchanges into bytes."""

    def head(self) -> bytes:
        """Return the bytes before the first exchange."""

    def skip(self) -> None:
        """One exchange is left out, and counted."""

    def line(self, exchange: Exchange) -> bytes:
        """Return one exchange, which the writer may also delay until a later one."""

    def tail(self) -> bytes:
        """Return the delayed bytes."""


def writer_of(dissection: Dissection, options: Namespace, output: Output) -> Writer:
    """Return the writer of the listed exchanges."""
    # at first use, for start-up: each writer loads modules that other writers do not need
    is_plain = not (options.fields or options.order or output.is_terminal or options.schemas)
    if options.format == "jsonl" and is_plain:
        return _lines(dissection, options)
    from kdissect.cli.formats.exchanges_as_rows import (  # start-up: other formats need none
        row_writer,
        tree_writer,
    )

    no_format = options.format is None and output.is_terminal
    if options.format == "tree" or (no_format and options.bodies and not (options.fields or options.order)):
        return tree_writer(dissection, options, output)
    return row_writer(
        dissection, options, output, _DEFAULT_COLUMNS + (_BODY_COLUMNS if options.bodies else ())
    )


def _lines(dissection: Dissection, options: Namespace) -> Writer:
    """Return a writer of JSON lines with all fields, without rows in between."""
    files, topics_of = dissection.file_names, dissection.topics.topics_of
    if not options.bodies:
        from kdissect.cli.formats.json_lines.fast_lines import FastLines  # start-up: other formats need none

        return FastLines(files, topics_of)
    from kdissect.cli.formats.exchanges_as_rows import nest_of
    from kdissect.cli.formats.json_lines.body_lines import BodyLines  # start-up: bodies

    if not options.records:
        return BodyLines(files, topics_of, options.show_secrets)
    nest, name_of = nest_of(dissection, options), dissection.topics.name
    return BodyLines(files, topics_of, options.show_secrets, nest, name_of)
