"""`kdissect decode`: one frame or body, given as hex, as a tree with the bytes of every field."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from typing import Any

from kdissect.cli.colour import paint, wants_colour
from kdissect.cli.diagnostics import OK, UNREADABLE, say
from kdissect.cli.options.api_names import api_key_of
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.output_options import add_output, writing
from kdissect.cli.output import Output
from kdissect.decoders.as_json.jsonable import bytes_value, float_value, uuid_text
from kdissect.decoders.frame_start import request_start, response_start
from kdissect.decoders.frames import dissect_body, dissect_request, dissect_response
from kdissect.decoders.generated.values import Value
from kdissect.decoders.headers import parse_request_header, response_body_offset
from kdissect.decoders.hexinput import HexError, parse_hex
from kdissect.decoders.messages import summarize_request, summarize_response
from kdissect.decoders.metadata_log import FETCHES, may_fetch_metadata_log, names_metadata_log
from kdissect.decoders.records.spans import nest_records
from kdissect.decoders.trees.masking import secret_nodes
from kdissect.decoders.trees.node import Node
from kdissect.decoders.trees.tree_text import render
from kdissect.model.errors import DecodeError
from kdissect.report.json_pages import json_document
from kdissect.schema.secrets import MASK
from kdissect.schema.types import Primitive


def run(arguments: Sequence[str]) -> int:
    """Print the tree and return the exit code: 3 if bytes do not fit, after printing the part that does."""
    parser = _parser()
    options = parser.parse_args(arguments)
    _check(parser, options)
    try:
        data = parse_hex(_stdin() if options.hex == "-" else options.hex)
    except HexError as error:
        parser.error(f"this is no hex: {error}")
    if not data:
        parser.error("no bytes given")
    node = _dissect(data, options)

    def body(output: Output) -> None:
        _print(node, data, options, output)

    return writing(parser, options, body) or _report(node)


def _parser() -> ArgumentParser:
    parser = command_parser(
        "decode",
        "Decode one request or response, with or without its 4-byte size, or a body alone. A response does "
        "not contain its API and version: name those of its request.",
    )
    add = parser.add_argument
    add(
        "hex",
        metavar="HEX",
        help="hex digits, a dump of xxd or Wireshark, \\x notation; - for standard input",
    )
    add("--api", metavar="NAME", help="name or key of the API: for a response or a body")
    add("--api-version", metavar="N", type=int, help="version of the request")
    add("--response", action="store_true", help="a response, not a request")
    add("--body", action="store_true", help="a body without size and header")
    add("--format", choices=("tree", "json"), default="tree", help="default: tree")
    add("--records", action="store_true", help="also decode the records in batches")
    add("--show-secrets", action="store_true", help="print passwords and tokens instead of ***")
    add_output(add)
    return parser


def _check(parser: ArgumentParser, options: Namespace) -> None:
    named = options.api is not None and options.api_version is not None
    if (options.response or options.body) and not named:
        parser.error("--response and --body need --api and --api-version: the bytes do not contain them")
    if options.api is not None:
        try:
            options.api = api_key_of(options.api)
        except ValueError as error:
            parser.error(str(error))


def _stdin() -> str:
    if sys.stdin is None:
        raise OSError("there is no standard input")
    return sys.stdin.buffer.read().decode("utf-8", "replace")  # what is no text is no hex either


def _dissect(data: bytes, options: Namespace) -> Node:
    node = _frame(data, options)
    if options.records:
        is_near = _may_hold_credentials(data, options)
        nest_records(node, data, may_be_cut=options.response, may_hold_secrets=is_near)
    return node


def _may_hold_credentials(data: bytes, options: Namespace) -> bool:
    """Return whether the records may belong to the metadata log. Also true if the header does not decode."""
    key, version, offset = options.api, options.api_version, 0
    try:
        if not options.body:
            if options.response:
                start = response_start(data, key, version)
                offset = response_body_offset(data, key, version, start)
            else:
                header = parse_request_header(data, request_start(data))
                key, version, offset = header.api_key, header.api_version, header.body_offset
    except DecodeError:
        return True
    summary = (summarize_response if options.response else summarize_request)(data, offset, key, version)
    if key in FETCHES:
        return may_fetch_metadata_log([(data, summary)])
    return names_metadata_log(data, summary)


def _frame(data: bytes, options: Namespace) -> Node:
    if options.body:
        return dissect_body(data, options.api, options.api_version, options.response)
    if options.response:
        return dissect_response(data, options.api, options.api_version)
    return dissect_request(data)


def _print(node: Node, data: bytes, options: Namespace, output: Output) -> None:
    if options.format == "json":
        output.write(_node_json(node, _errors(node), len(data), options.show_secrets))
        return
    colour = wants_colour(options.color, output.is_terminal)
    for line in _lines(node, data, options.show_secrets, colour):
        output.write(f"{line}\n".encode("utf-8", "replace"))


def _lines(node: Node, data: bytes, show_secrets: bool, colour: bool) -> Iterator[str]:
    for line in render(node, data, show_secrets=show_secrets):
        yield paint(line, "bad") if colour and line.lstrip().startswith("! ") else line


def _report(node: Node) -> int:
    """Say what does not fit.

    A wrong size alone is a warning: the other bytes were decoded all the same.
    """
    code = OK
    for error in _errors(node):
        if error.path == "size":
            say(f"warning: {error.why}")
        else:
            say(str(error))
            code = UNREADABLE
    return code


def _errors(node: Node) -> list[DecodeError]:
    errors = [child.error for child in node.children if child.error is not None]
    return errors or ([node.error] if node.error is not None else [])


def _node_json(node: Node, errors: Sequence[DecodeError], size: int, show_secrets: bool) -> bytes:
    """Return the document `{bytes, errors, tree}`.

    A node is `{name, type, start, end}` with `value` or `children`; `end` is excluded.
    """
    shown = [{"path": error.path, "offset": error.offset, "why": error.why} for error in errors]
    secret = frozenset() if show_secrets else secret_nodes(node)
    return json_document({"bytes": size, "errors": shown, "tree": _node(node, secret)})


def _node(node: Node, secret: frozenset[int]) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": node.name, "type": node.type, "start": node.start, "end": node.end}
    if node.error is not None:
        shown["error"] = node.error.why
    children = [
        child for child in node.children if child.field is not None or child.children or _stands_alone(child)
    ]
    if id(node) in secret:
        shown["value"] = None if node.value is None else MASK
    elif not children and not isinstance(node.value, Value | list):
        shown["value"] = _value(node)
    if children or "value" not in shown:
        shown["children"] = [_node(child, secret) for child in children]
    return shown


def _stands_alone(child: Node) -> bool:
    """Return whether a node without a field says something: the lengths and contents of a string do not."""
    return child.name not in ("length", "count", "content", "marker")


def _value(node: Node) -> Any:
    value = node.value
    if isinstance(value, bytes | memoryview):
        kind = None if node.field is None else node.field.type
        if kind is Primitive.RECORDS:  # as in bodies: records of Kafka's own logs contain secrets
            return {"bytes": len(value)}
        return uuid_text(bytes(value)) if kind is Primitive.UUID else bytes_value(value)
    if isinstance(value, float):
        return float_value(value)
    return value
