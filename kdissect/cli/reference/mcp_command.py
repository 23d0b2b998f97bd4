"""`kdissect mcp`: answers about named captures for assistants, over standard input and output."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.capture.files import open_captures, refusal
from kdissect.cli.diagnostics import OK, UNREADABLE, say
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.input_options import add_inputs, add_topic_ids
from kdissect.model.extras import are_installed, how_to_install


def run(arguments: Sequence[str]) -> int:
    """Serve until standard input ends, and return the exit code."""
    parser = command_parser(
        "mcp",
        "Serve the Model Context Protocol on standard input and output. Its read-only tools answer questions "
        "about these captures alone, with bounded results.",
    )
    add_inputs(parser)
    add_topic_ids(parser)
    options = parser.parse_args(arguments)
    if "-" in options.paths:
        parser.error("standard input carries the protocol: name files")
    if not are_installed("mcp"):
        parser.error(f"mcp needs the package mcp: {how_to_install('mcp')}")
    refused = [refusal(file) for file in open_captures(options.paths).files]
    if all(refused):  # otherwise the tools report unread inputs
        for error in refused:
            say(str(error))
        return UNREADABLE
    from kdissect.cli.reference.mcp_server import serve  # an extra

    serve(arguments)
    return OK
