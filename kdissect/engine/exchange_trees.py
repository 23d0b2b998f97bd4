"""Frames of exchanges as trees, with the records and payloads in them."""

from __future__ import annotations

from collections.abc import Callable

from kdissect.decoders.payloads.internal_record_trees import nest_record_payloads
from kdissect.decoders.records.spans import nest_records
from kdissect.decoders.trees.node import Node
from kdissect.engine.records.internal_forms import may_hold_secrets_of
from kdissect.engine.records.logged_sizes import tree_with_sizes
from kdissect.engine.records.record_sets import record_sets
from kdissect.engine.records.record_values import RecordValues
from kdissect.engine.secrets.secret_spans import frame_tree
from kdissect.model.frame import Frame
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

NameOf = Callable[[ConnectionInfo, bytes], str | None]
"""The name of a topic id in the cluster of a connection."""


def whole_tree(
    exchange: Exchange, side: str, frame: Frame, name_of: NameOf, values: RecordValues | None = None
) -> Node | None:
    """Return the tree of one side, records inside compressed batches included. Raises nothing.

    None for a response of an unknown API. Offsets count from the end of the frame's 4-byte size.
    """
    tree = frame_tree(exchange, side, frame)
    if tree is not None:
        if exchange.connection.logged is not None:
            tree_with_sizes(tree)
        nest_all_records(exchange, tree, frame, name_of, values)
    return tree


def nest_all_records(
    exchange: Exchange, tree: Node, frame: Frame, name_of: NameOf, values: RecordValues | None = None
) -> None:
    """Put the records and their contents into the tree of a frame; `values` decodes users' records."""

    def topic_name(topic_id: bytes) -> str | None:
        return name_of(exchange.connection, topic_id)

    data = frame.data
    fields = [records.records_field for records in record_sets(exchange) if records.frame.data is data]
    names = [each.topic or topic_name(each.topic_id or b"") for each in fields]
    may_be_cut = tree.name == "Response" or frame.is_cut
    may_hold = exchange.is_near_secrets or any(map(may_hold_secrets_of, names))
    nest_records(tree, data, may_be_cut, may_hold_secrets=may_hold)
    nest_record_payloads(tree, data, topic_name, None if values is None else values.part)
