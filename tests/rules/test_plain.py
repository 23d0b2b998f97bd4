"""Bodies that pass for plain hold nothing that a rule about pieces would speak of."""

import pytest

from kdissect.api import Dissection
from kdissect.model.packets.packet import Packet
from kdissect.rules.body import body_of
from kdissect.rules.kinds import NodeRule
from kdissect.rules.pieces import pieces
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import REQUEST, RESPONSE
from tests.rules.dialogue import judged
from tests.rules.fixtures import values
from tests.support.console import CAPTURES
from tests.support.run import exchanges_of

NODE_RULES = [rule for rule in ALL_RULES if isinstance(rule, NodeRule)]


@pytest.mark.parametrize("name", ["tansu_kp3_groups.pcap", "tansu_rdk216_txn.pcap", "tansu_kp202_admin.pcap"])
def test_plain_bodies_are_clean(name: str) -> None:
    plain = total = 0
    for exchange in Dissection(CAPTURES / name):
        for side in (REQUEST, RESPONSE):
            body = body_of(exchange, side)
            if body is None or not body.fits:
                continue
            total += 1
            if body.is_plain:
                plain += 1
                for sort, node, _ in pieces(body.tree):
                    for rule in NODE_RULES:
                        assert sort not in rule.nodes or not list(rule.check(node, body))
    assert plain > total / 3


@pytest.mark.parametrize("rule", NODE_RULES, ids=lambda rule: rule.code)
def test_what_a_rule_speaks_of_is_not_plain(rule: NodeRule) -> None:
    packets = values.CASES[rule.code].violating()
    judge = judged([*packets])
    spoken = [finding for finding in judge.findings.all() if finding.code == rule.code]
    assert spoken
    assert not any(_is_plain(packets, finding.place.exchange, finding.place.side) for finding in spoken)


def _is_plain(packets: list[Packet], ordinal: int, side: str) -> bool:
    (exchange,) = [e for e in exchanges_of(packets) if e.ordinal == ordinal]
    body = body_of(exchange, side)
    assert body is not None
    return body.is_plain
