"""Groups in captures that begin in the middle: answers without the requests that they are to."""

from pathlib import Path

from kdissect.api import Dissection
from kdissect.history.topics.topic_names import TopicNames
from kdissect.session.exchange import State
from kdissect.stats.by_group.group_traffic import GroupTraffic


def test_an_offset_commit_answer_without_its_request_is_passed_over(reference: Path) -> None:
    traffic = GroupTraffic(TopicNames())
    orphans = 0
    for exchange in Dissection(str(reference / "captures" / "tansu_rdk216_rotated.pcap1")):
        orphans += exchange.state is State.ORPHAN_RESPONSE and exchange.api_key == 8
        traffic.add(exchange)
    assert orphans
