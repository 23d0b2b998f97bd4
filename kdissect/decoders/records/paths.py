"""The path of a records field within its message, for naming what does not fit."""

from kdissect.decoders.body_schemas import body_message
from kdissect.decoders.trees.node import Node
from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.model.errors import DecodeError


def records_path(
    data: bytes, offset: int, api_key: int, api_version: int, is_response: bool, start: int
) -> str:
    """`FetchResponse.responses[0].partitions[1].records` for the records that start at `start`.

    Costs a tree of the body, so it is for faults only. Raises nothing.
    """
    try:
        node = dissect(body_message(api_key, api_version, is_response), api_version, data, offset)
    except DecodeError:
        return "records"
    path = node.name
    while True:
        child = _around(node, start)
        if child is None or child.field is None:
            return path
        path += child.name if child.name.startswith("[") else f".{child.name}"
        node = child


def _around(node: Node, place: int) -> Node | None:
    for child in node.children:
        if child.start <= place < child.end or (child.start < place == child.end and not child.children):
            return child
    return None
