"""Nodes that a node of the metadata quorum chooses once: candidates and leaders by epoch (KIP-595).

Key: address of the node that answers, the cluster id in the request, partition and epoch. A node votes once
in an epoch and follows one leader in it, also over restarts. So the order of exchanges means nothing, and
connections are compared with each other. Requests without a cluster id are not compared: another cluster may
come to the same address.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, ClassVar

from kdissect.history import api_keys as apis
from kdissect.history.epochs.first_values import differs_from_first
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact
from kdissect.history.state_table import Table

CHOICES_KEPT = 10_000  # a state is 400 bytes; an epoch of a quorum has two for each of its nodes


class ChoiceFact(StrEnum):
    """Differences between choices of a node: the node that it chose before, and now."""

    OTHER_CANDIDATE = "other_candidate"
    OTHER_LEADER = "other_leader"


ChoiceKey = tuple[str, str, int, int, ChoiceFact]


class QuorumChoices:
    """The chosen node and its evidence by node that answers, partition and epoch."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset({apis.VOTE, apis.BEGIN_QUORUM_EPOCH})

    def __init__(self) -> None:
        self.choices: Table[ChoiceKey, tuple[int, Evidence]] = Table(CHOICES_KEPT)

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next exchange; its order means nothing."""
        if view.request is None or view.is_refused_whole or not view.request.cluster_id:
            return []
        facts: list[Fact] = []
        node = f"{view.info.scope} {view.info.broker_address} {view.request.cluster_id}"
        is_vote = view.key == apis.VOTE
        kind = ChoiceFact.OTHER_CANDIDATE if is_vote else ChoiceFact.OTHER_LEADER
        for topic, asked, answered, path in _rows(view):
            if answered.error_code or (is_vote and not answered.vote_granted) or _is_poll(asked):
                continue
            epoch, chosen = (
                (asked.replica_epoch, asked.replica_id) if is_vote else (asked.leader_epoch, asked.leader_id)
            )
            key: ChoiceKey = node, topic, asked.partition_index, epoch, kind
            facts += differs_from_first(self.choices, key, chosen, kind, view, ("response", path))
        return facts


def _is_poll(asked: Any) -> bool:
    """Whether a request asks how a node would vote, and nothing more."""
    return bool(getattr(asked, "pre_vote", False))


def _rows(view: ExchangeView) -> Iterator[tuple[str, Any, Any, str]]:
    """Topic, request and response of each partition, and the path of the response."""
    answers = {
        (str(topic.topic_name), row.partition_index): (row, f"topics[{at}].partitions[{index}]")
        for at, topic in enumerate(view.response.topics or ())
        for index, row in enumerate(topic.partitions or ())
    }
    for topic in getattr(view.request, "topics", None) or ():
        for row in topic.partitions or ():
            found = answers.get((str(topic.topic_name), row.partition_index))
            if found is not None:
                yield str(topic.topic_name), row, *found
